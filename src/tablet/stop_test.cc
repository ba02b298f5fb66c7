// A clean stop leaves nothing to check and to replay, also one of many buckets.
#include "tablet/cold_files_testing.h"
#include "tablet/testing_internal.h"

namespace sluice::tablet {
namespace {

using internal::kKeyTable;
using internal::kLogTable;
using internal::TestRow;

class StopTest : public internal::TabletTest {
 protected:
  static constexpr int kBuckets = 60;
  void SetUp() override {
    files = &counted_;
    TabletTest::SetUp();
    LeadMany();
  }
  void LeadMany() {
    for (const int64_t table : {kLogTable, kKeyTable}) {
      for (int bucket = 0; bucket < kBuckets; ++bucket) ASSERT_OK(Lead(table, bucket, 0, 0));
    }
  }
  // One row into each bucket.
  void Write(int32_t round) {
    for (int bucket = 0; bucket < kBuckets; ++bucket) {
      ASSERT_OK(Produce(bucket, LogBatch({{round, "name", round}})));
      ASSERT_OK(Put(bucket, {{bucket, "name", round}}));
    }
  }
  size_t Waits(std::string_view operation) const {
    return static_cast<size_t>(std::ranges::count_if(
        counted_.Waits(), [&](const auto& wait) { return wait.starts_with(operation); }));
  }
  uint64_t Replayed() {
    uint64_t sum = 0;
    for (const BucketStatus& status : io::SyncWait(loop(), service->Buckets(loop()))) {
      EXPECT_EQ(status.opened_scan_bytes, 0u) << status.id.ToString();
      sum += status.opened_replay_bytes > 0 ? 1 : 0;
    }
    return sum;
  }

  std::atomic<bool> counting_{false};
  internal::ColdFiles counted_{[this] { return !counting_.load(); }};
};

TEST_F(StopTest, ManyBucketsAreSyncedAsOne) {
  Write(0);
  Drop();
  Start();
  LeadMany();
  Write(1);
  counting_ = true;
  Stop();
  counting_ = false;
  EXPECT_EQ(Waits("sync all "), 2u);
  // Of each bucket whose keys move: its segment, names and way, and the mark of the closed store.
  EXPECT_LE(Waits("sync"), 5u * kBuckets + 20);
  Start();
  LeadMany();
  EXPECT_EQ(Replayed(), 0u);
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    EXPECT_EQ(ReadAll(kLogTable, bucket).size(), 2u) << bucket;
    ASSERT_OK_AND_ASSIGN(const auto found, Lookup(bucket, {bucket}));
    EXPECT_EQ(found[0], (TestRow{bucket, "name", 1})) << bucket;
  }
}

TEST_F(StopTest, WithoutASyncOfAllEachLogIsSyncedByItself) {
  counted_.RefuseSyncAll();
  Write(0);
  counting_ = true;
  Stop();
  counting_ = false;
  EXPECT_EQ(Waits("sync all "), 1u);
  EXPECT_GE(Waits("sync "), 2u * kBuckets);
  Start();
  LeadMany();
  EXPECT_EQ(Replayed(), 0u);
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    EXPECT_EQ(ReadAll(kLogTable, bucket).size(), 1u) << bucket;
    ASSERT_OK_AND_ASSIGN(const auto found, Lookup(bucket, {bucket}));
    EXPECT_EQ(found[0], (TestRow{bucket, "name", 0})) << bucket;
  }
}

TEST_F(StopTest, ManyKeysAreMovedToo) {
  constexpr int32_t kRows = 24;
  for (int32_t id = 0; id < kRows; ++id) ASSERT_OK(Put(0, {{id, std::string(1 << 20, 'n'), id}}));
  ASSERT_OK(Put(1, {{1, "name", 1}}));
  Stop();
  Start();
  LeadMany();
  EXPECT_EQ(Replayed(), 0u);
  EXPECT_EQ(service->opening_bytes().replayed, 0u);
  EXPECT_EQ(service->opening_bytes().scanned, 0u);
  ASSERT_OK_AND_ASSIGN(const auto found, Lookup(0, {0, kRows - 1}));
  EXPECT_TRUE(found[0].has_value() && found[1].has_value());
}

class HurriedStopTest : public StopTest {
 protected:
  void SetUp() override {
    options.stop_moves_max = std::chrono::milliseconds(0);
    StopTest::SetUp();
  }
};

TEST_F(HurriedStopTest, KeysThatThereIsNoTimeToMoveAreReplayed) {
  Write(0);
  Stop();
  Start();
  LeadMany();
  EXPECT_EQ(Replayed(), static_cast<uint64_t>(kBuckets));
  EXPECT_GT(service->opening_bytes().replayed, 0u);
  EXPECT_EQ(service->opening_bytes().scanned, 0u);
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    ASSERT_OK_AND_ASSIGN(const auto found, Lookup(bucket, {bucket}));
    EXPECT_EQ(found[0], (TestRow{bucket, "name", 0})) << bucket;
  }
}

// So that one bucket waits for no one else's writes.
TEST_F(StopTest, AFewLogsAreSyncedByThemselves) {
  ASSERT_OK(Produce(0, LogBatch({{1, "name", 1}})));
  counting_ = true;
  Stop();
  counting_ = false;
  EXPECT_EQ(Waits("sync all "), 0u);
  Start();
  LeadMany();
  EXPECT_EQ(Replayed(), 0u);
  EXPECT_EQ(ReadAll(kLogTable, 0).size(), 1u);
}

}  // namespace
}  // namespace sluice::tablet
