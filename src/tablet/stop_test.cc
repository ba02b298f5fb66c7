// A clean stop of many buckets waits for the device a bounded number of times.
#include "tablet/bucket_shard.h"
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
  constexpr size_t kMoves = 2 * BucketShard::kMovesAtStop;
  EXPECT_LE(Waits("sync"), 5 * kMoves + 20);
  Start();
  LeadMany();
  EXPECT_EQ(Replayed(), kBuckets - kMoves);
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
  Replayed();  // And nothing is scanned.
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    EXPECT_EQ(ReadAll(kLogTable, bucket).size(), 1u) << bucket;
    ASSERT_OK_AND_ASSIGN(const auto found, Lookup(bucket, {bucket}));
    EXPECT_EQ(found[0], (TestRow{bucket, "name", 0})) << bucket;
  }
}

TEST_F(StopTest, KeysThatTakeLongToMoveAreLeftToReplay) {
  constexpr int32_t kRows = 12;
  for (int32_t id = 0; id < kRows; ++id)
    ASSERT_OK(Put(0, {{id, std::string(BucketShard::kMovedBytesAtStop / 8, 'n'), id}}));
  ASSERT_OK(Put(1, {{1, "name", 1}}));
  Stop();
  Start();
  LeadMany();
  EXPECT_EQ(Replayed(), 1u);
  ASSERT_OK_AND_ASSIGN(const auto found, Lookup(0, {0, kRows - 1}));
  EXPECT_TRUE(found[0].has_value() && found[1].has_value());
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
