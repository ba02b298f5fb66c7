// What a restart after a kill has to read, and how much may be unsaved.
#include "tablet/tablet_core.h"
#include "tablet/testing_internal.h"

namespace sluice::tablet {
namespace {

using internal::kKeyTable;
using internal::kLogTable;
using internal::TestRow;

class UnsavedTest : public internal::TabletTest {
 protected:
  static constexpr uint64_t kKiB = 1024;
  void SetUp() override {
    options.save_soon_bytes_min = 8 * kKiB;
    options.recovery_checkpoint_interval = std::chrono::hours(1);
    TabletTest::SetUp();
    LeadAll();
  }
  void Kill() {
    Drop();
    Start();
    LeadAll();
  }
  BucketStatus StatusOf(int64_t table_id, int bucket) {
    for (const BucketStatus& status : io::SyncWait(loop(), service->Buckets(loop()))) {
      if (status.id == types::BucketId{table_id, std::nullopt, bucket}) return status;
    }
    return {};
  }
  template <typename Value>
  uint64_t Sum(Value BucketStatus::* value) {
    uint64_t sum = 0;
    for (const BucketStatus& status : io::SyncWait(loop(), service->Buckets(loop())))
      sum += status.*value;
    return sum;
  }
  // About 16 KiB into one bucket of each table.
  void Write(int round) {
    for (int32_t i = 0; i < 16; ++i) {
      ASSERT_OK(Produce(0, LogBatch({{i, Unpacked(1000), i}})));
      ASSERT_OK(Put(0, {{i, Unpacked(1000), round}}));
    }
  }
  // Put a batch that was not written whole behind the 16 of the log.
  void Tear() {
    std::string torn = LogBatch({{1, Unpacked(60 * kKiB), 1}});
    StoreLe(torn.data(), int64_t{16});
    torn.back() = static_cast<char>(torn.back() ^ 1);
    const auto log_folder =
        BucketFolders::Of(folder.path(), {"db", "log"}, "", {kLogTable, std::nullopt, 0}).log;
    ASSERT_OK_AND_ASSIGN(const auto file, io::LocalFileSystem().Open(
                                              io::JoinPath(log_folder, "00000000000000000000.log"),
                                              io::FileSystem::Mode::kCreate));
    ASSERT_OK(file->Append(torn));
  }
  // Text that compression does not shrink to nothing.
  std::string Unpacked(size_t size_bytes) {
    std::string text;
    while (text.size() < size_bytes) text += static_cast<char>('!' + random.Below(90));
    return text;
  }
  io::SeededRandom random{1};
};

// Without saving after recovery each restart would read what all rounds before wrote.
TEST_F(UnsavedTest, KillsInARowDoNotAddUp) {
  uint64_t scanned = 0;
  uint64_t replayed = 0;
  for (int round = 0; round < 8; ++round) {
    Write(round);
    Kill();
    const BucketStatus log = StatusOf(kLogTable, 0);
    const BucketStatus keys = StatusOf(kKeyTable, 0);
    if (round == 0) {
      scanned = log.opened_scan_bytes;
      replayed = keys.opened_replay_bytes;
      ASSERT_GT(scanned, 8 * kKiB);
      ASSERT_GT(replayed, 8 * kKiB);
    }
    EXPECT_LE(log.opened_scan_bytes, 2 * scanned) << "restart " << round;
    EXPECT_LE(keys.opened_scan_bytes, 3 * replayed) << "restart " << round;
    EXPECT_LE(keys.opened_replay_bytes, 3 * replayed) << "restart " << round;
    EXPECT_TRUE(Soon([&] {
      return StatusOf(kLogTable, 0).unsaved_log_bytes == 0 &&
             StatusOf(kKeyTable, 0).unsaved_log_bytes == 0 &&
             StatusOf(kKeyTable, 0).replay_bytes == 0;
    })) << "restart "
        << round;
  }
  EXPECT_EQ(ReadAll(kLogTable, 0).size(), 8u * 16);
  for (int32_t id = 0; id < 16; ++id) EXPECT_EQ(Lookup(0, {id}).ValueOrDie()[0]->amount, 7);
}

class UnsavedBoundTest : public UnsavedTest {
 protected:
  void SetUp() override {
    options.unsaved_log_bytes_max = 40 * kKiB;
    options.replay_bytes_max = 40 * kKiB;
    UnsavedTest::SetUp();
  }
};

// One hot set of keys: memory never fills, so only the bound on bytes moves it.
TEST_F(UnsavedBoundTest, WhatARestartReadsIsBounded) {
  for (int round = 0; round < 12; ++round) Write(round);
  EXPECT_TRUE(Soon([&] {
    return Sum(&BucketStatus::unsaved_log_bytes) <= 80 * kKiB &&
           Sum(&BucketStatus::replay_bytes) <= 40 * kKiB;
  }));
  Kill();
  EXPECT_LE(Sum(&BucketStatus::opened_scan_bytes), 80 * kKiB);
  EXPECT_LE(Sum(&BucketStatus::opened_replay_bytes), 40 * kKiB);
  for (int32_t id = 0; id < 16; ++id) EXPECT_EQ(Lookup(0, {id}).ValueOrDie()[0]->amount, 11);
}

// The bytes of a torn batch count as read, and there is nothing to save of them but that they are
// gone: the shard must not be busy with it for ever.
TEST_F(UnsavedBoundTest, ATornBatchIsSavedAway) {
  Write(0);
  Stop();
  Tear();
  Start();
  LeadAll();
  EXPECT_GT(StatusOf(kLogTable, 0).opened_scan_bytes, 40 * kKiB);
  EXPECT_TRUE(Soon([&] { return StatusOf(kLogTable, 0).unsaved_log_bytes == 0; }));
  EXPECT_EQ(ReadAll(kLogTable, 0).size(), 16u);
}

// As when a port is in use: nobody has looked at the logs, so that nobody may say that they are
// whole.
TEST_F(UnsavedBoundTest, AStartThatEndsBeforeItsBucketsAreOpenTellsOfNoCleanStop) {
  Write(0);
  Stop();
  Start();
  LeadAll();
  Drop();
  Tear();
  Start();
  Stop();
  Start();
  LeadAll();
  EXPECT_GT(StatusOf(kLogTable, 0).opened_scan_bytes, 0u);
  EXPECT_EQ(ReadAll(kLogTable, 0).size(), 16u);
  ASSERT_OK(Produce(0, LogBatch({{99, "next", 99}})));
  EXPECT_EQ(ReadAll(kLogTable, 0).size(), 17u);
  Stop();
  Start();
  LeadAll();
  EXPECT_EQ(StatusOf(kLogTable, 0).opened_scan_bytes, 0u);
}

class WriteBackShareTest : public UnsavedTest {
 protected:
  void SetUp() override {
    options.write_back_share_bytes = 128 * kKiB;  // 64 per shard; far below that of a bucket.
    UnsavedTest::SetUp();
  }
};

TEST_F(WriteBackShareTest, AllBucketsTogetherKeepToIt) {
  std::vector<TestRow> rows;
  for (int32_t id = 0; id < 20; ++id) rows.push_back({id, std::string(1000, 'n'), id});
  for (int round = 0; round < 40; ++round) {
    for (int bucket = 0; bucket < 4; ++bucket) {
      for (TestRow& row : rows) row.id += 20;
      Result<int64_t> put = Put(bucket, rows);
      for (int retry = 0; !put.ok() && retry < 500; ++retry) {
        EXPECT_CODE(ErrorCode::kStorageBackpressure, put);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        put = Put(bucket, rows);
      }
      ASSERT_OK(put);
      // One put per shard may pass the bound.
      EXPECT_LE(service->write_back_bytes(), 128 * kKiB + 2 * 32 * kKiB);
    }
  }
  EXPECT_TRUE(Soon([&] {  // A move may end between the two looks.
    const uint64_t all = service->write_back_bytes();
    return all <= 64 * kKiB && all == Sum(&BucketStatus::write_back_bytes);
  }));
  ASSERT_OK_AND_ASSIGN(const auto found, Lookup(0, {20, 39}));
  for (const auto& row : found) EXPECT_TRUE(row.has_value());
}

TEST_F(UnsavedTest, EveryShardHasItsPartOfATable) {
  const auto core = std::make_shared<TabletCore>(options);
  ASSERT_EQ(core->shard_count(), 2u);
  for (int64_t table_id = 0; table_id < 50; ++table_id) {
    int on_first = 0;
    for (int bucket = 0; bucket < 4; ++bucket) {
      const types::BucketId id{table_id, table_id % 2, bucket};
      on_first += core->ShardOf(id) == 0;
    }
    EXPECT_EQ(on_first, 2) << "table " << table_id;
  }
}

}  // namespace
}  // namespace sluice::tablet
