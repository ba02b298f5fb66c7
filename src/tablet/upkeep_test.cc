// What runs by itself: checkpoints, retention, and the small parts behind them.
#include "log/checkpoint.h"
#include "tablet/failing_sync_testing.h"
#include "tablet/log_sync.h"
#include "tablet/scanners.h"
#include "tablet/table_context.h"
#include "tablet/testing_internal.h"

namespace sluice::tablet {
namespace {

using internal::kKeyTable;
using internal::kLogTable;
using internal::TestRow;

class UpkeepTest : public internal::TabletTest {
 protected:
  void SetUp() override {
    options.log.segment_bytes = 2000;
    options.recovery_checkpoint_interval = std::chrono::milliseconds(20);
    options.checkpoint_file_interval = std::chrono::milliseconds(20);
    options.retention_interval = std::chrono::milliseconds(20);
    options.write_back_bytes_max = 64 << 10;
    tables.SetProperty(kLogTable, "table.log.ttl", "1 ms");
    TabletTest::SetUp();
    LeadAll();
  }
  // Enough batches for several segments of bucket 0.
  void FillLog() {
    for (int i = 0; i < 20; ++i) ASSERT_OK(Produce(0, LogBatch({{i, std::string(200, 'x'), i}})));
  }
  int64_t Start(int64_t table_id) { return OffsetOf(table_id, 0, 0).ValueOr(-1); }
  void TellLake(int64_t end_offset, int64_t snapshot_id, int64_t table_id = kLogTable) {
    wire::NotifyLakeTableOffsetRequest request;
    request.set_coordinator_epoch(1);
    auto* bucket = request.add_notify_buckets_req();
    bucket->set_table_id(table_id);
    bucket->set_bucket_id(0);
    bucket->set_snapshot_id(snapshot_id);
    bucket->set_log_end_offset(end_offset);
    ASSERT_OK(
        Ask<wire::NotifyLakeTableOffsetResponse>(wire::ApiKey::kNotifyLakeTableOffset, request));
  }
};

TEST_F(UpkeepTest, ExpiredSegmentsGo) {
  FillLog();
  EXPECT_TRUE(Soon([&] { return Start(kLogTable) > 0; }));
  const int64_t start = Start(kLogTable);
  EXPECT_LT(start, 20);  // The newest segment stays.
  EXPECT_EQ(Fetch({{0, 0}}).ValueOrDie()[0].error_code(), 19);
  EXPECT_EQ(ReadAll(kLogTable, 0, start).size(), static_cast<size_t>(20 - start));
}

TEST_F(UpkeepTest, TheNewestSegmentExpiresWhenItMay) {
  FillLog();
  EXPECT_TRUE(Soon([&] { return Start(kLogTable) > 0; }));
  EXPECT_LT(Start(kLogTable), 20);
  options.live->roll_active_segment = true;  // While it runs.
  EXPECT_TRUE(Soon([&] { return Start(kLogTable) == 20; }));
  ASSERT_OK(Produce(0, LogBatch({{7, "seven", 7}})));
  EXPECT_EQ(OffsetOf(kLogTable, 0, 1).ValueOr(-1), 21);
}

TEST_F(UpkeepTest, SegmentsThatTheLakeLacksStay) {
  tables.SetProperty(kLogTable, "table.datalake.enabled", "true");
  Stop();
  TabletTest::Start();
  LeadAll();
  FillLog();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(Start(kLogTable), 0);
  TellLake(12, 1);
  EXPECT_TRUE(Soon([&] { return Start(kLogTable) > 0; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LE(Start(kLogTable), 12);
  // Older news changes nothing.
  TellLake(20, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LE(Start(kLogTable), 12);
  // What only the lake has is no error: the reader goes on from there.
  const auto fetched = Fetch({{0, 0}}).ValueOrDie();
  EXPECT_FALSE(fetched[0].has_error_code()) << fetched[0].error_message();
  EXPECT_TRUE(fetched[0].has_records() && fetched[0].records().empty());
}

// Tiering is off: an append table may lose what the lake lacks, a changelog may not.
TEST_F(UpkeepTest, ChangelogThatTheLakeLacksStaysWhileTieringIsOff) {
  tables.SetProperty(kKeyTable, "table.log.ttl", "1 ms");
  tables.SetProperty(kKeyTable, "table.datalake.enabled", "false");
  tables.SetInLake(kKeyTable);
  tables.SetInLake(kLogTable);
  for (int32_t id = 0; id < 10; ++id) ASSERT_OK(Put(0, {{id, std::string(2000, 'n'), id}}));
  Stop();  // Moves the keys to the store.
  TabletTest::Start();
  LeadAll();
  FillLog();
  EXPECT_TRUE(Soon([&] { return Start(kLogTable) > 0; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(Start(kKeyTable), 0);  // Nobody has told yet how far the lake is.
  TellLake(5, 1, kKeyTable);
  EXPECT_TRUE(Soon([&] { return Start(kKeyTable) > 0; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LE(Start(kKeyTable), 5);
}

// The table came into the lake after this server last read what it looks like.
TEST_F(UpkeepTest, ChangelogOfATableThatCameIntoTheLakeStays) {
  tables.SetProperty(kKeyTable, "table.log.ttl", "1 ms");
  ASSERT_OK(TellChanged(kKeyTable));
  ASSERT_OK(Put(0, {{0, "first", 0}}));
  tables.SetInLake(kKeyTable);
  int64_t end = 1;
  // More than stays in memory only.
  for (int32_t id = 1; id < 200; ++id) {
    Result<int64_t> put = Put(0, {{id, std::string(2000, 'n'), id}});
    for (int retry = 0; !put.ok() && retry < 500; ++retry) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      put = Put(0, {{id, std::string(2000, 'n'), id}});
    }
    ASSERT_OK_AND_ASSIGN(end, put);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(Start(kKeyTable), 0);
  TellLake(end, 1, kKeyTable);
  EXPECT_TRUE(Soon([&] { return Start(kKeyTable) > 0; }));
}

// The lake has the rows of a changelog, not its records: its reader must not wait for them.
TEST_F(UpkeepTest, ChangelogThatWasCutIsOutOfRangeThoughTheLakeHasItsRows) {
  tables.SetProperty(kKeyTable, "table.log.ttl", "1 ms");
  tables.SetProperty(kKeyTable, "table.datalake.enabled", "true");
  Stop();
  TabletTest::Start();
  LeadAll();
  for (int32_t id = 0; id < 10; ++id) ASSERT_OK(Put(0, {{id, std::string(2000, 'n'), id}}));
  Stop();  // Moves the keys to the store.
  TabletTest::Start();
  LeadAll();
  TellLake(10, 1, kKeyTable);
  EXPECT_TRUE(Soon([&] { return Start(kKeyTable) > 0; }));
  EXPECT_EQ(Fetch({{0, 0}}, {.table_id = kKeyTable}).ValueOrDie()[0].error_code(), 19);
}

TEST_F(UpkeepTest, ChangelogStaysUntilItsKeysAreStored) {
  tables.SetProperty(kKeyTable, "table.log.ttl", "1 ms");
  Stop();
  TabletTest::Start();
  LeadAll();
  const std::string name(2000, 'n');
  for (int32_t id = 0; id < 10; ++id) ASSERT_OK(Put(0, {{id, name, id}}));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(Start(kKeyTable), 0);  // All keys are still in memory.
  Stop();                          // Moves them to the store.
  TabletTest::Start();
  LeadAll();
  EXPECT_TRUE(Soon([&] { return Start(kKeyTable) > 0; }));
  Stop();
  TabletTest::Start();
  LeadAll();
  for (int32_t id = 0; id < 10; ++id) {
    ASSERT_OK_AND_ASSIGN(const auto found, Lookup(0, {id}));
    EXPECT_EQ(found[0], (TestRow{id, name, id}));
  }
}

// Who reads a snapshot of the keys reads on in the changelog from there.
TEST_F(UpkeepTest, ChangelogStaysFromTheNewestSnapshotOn) {
  const types::BucketId id{kKeyTable, std::nullopt, 0};
  tables.SetProperty(kKeyTable, "table.log.ttl", "1 ms");
  tables.SetKvSnapshot(id, {.snapshot_id = 0, .log_offset = 4, .metadata_path = ""});
  for (int32_t key = 0; key < 10; ++key) ASSERT_OK(Put(0, {{key, std::string(2000, 'n'), key}}));
  Stop();  // Moves the keys to the store.
  TabletTest::Start();
  LeadAll();
  EXPECT_TRUE(Soon([&] { return Start(kKeyTable) > 0; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LE(Start(kKeyTable), 4);
  tables.SetKvSnapshot(id, {.snapshot_id = 1, .log_offset = 8, .metadata_path = ""});
  EXPECT_TRUE(Soon([&] { return Start(kKeyTable) > 4; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LE(Start(kKeyTable), 8);
}

// A scan of the last rows tells that they are damaged, not that they are too many.
TEST_F(UpkeepTest, ALimitScanOverDamageSaysSo) {
  tables.SetProperty(kLogTable, "table.log.ttl", "0");
  Stop();
  TabletTest::Start();
  LeadAll();
  FillLog();
  const auto scan = [&]() -> Result<wire::LimitScanResponse> {
    wire::LimitScanRequest request;
    request.set_table_id(kLogTable);
    request.set_bucket_id(0);
    request.set_limit(20);
    ASSIGN_OR_RAISE(auto response, Ask<wire::LimitScanResponse>(wire::ApiKey::kLimitScan, request));
    RETURN_NOT_OK(wire::ErrorOf(response));
    return response;
  };
  ASSERT_OK(scan());  // Its indexes are in memory now.
  auto& files = io::LocalFileSystem();
  const std::string folder_of_log = io::JoinPath(folder.path(), "db/log-3/log-0");
  std::vector<std::string> segments;
  for (const auto& entry : files.List(folder_of_log).ValueOrDie()) {
    if (entry.name.ends_with(".log")) segments.push_back(entry.name);
  }
  ASSERT_GT(segments.size(), 2u);
  ASSERT_OK_AND_ASSIGN(const auto file, files.Open(io::JoinPath(folder_of_log, segments[1]),
                                                   io::FileSystem::Mode::kReadWrite));
  ASSERT_OK(file->WriteAt(0, std::string(48, '\xff')));
  EXPECT_CODE(ErrorCode::kCorruptRecord, scan());
}

TEST_F(UpkeepTest, CheckpointFileFollowsTheLogs) {
  tables.SetProperty(kLogTable, "table.log.ttl", "0");
  Stop();
  TabletTest::Start();
  LeadAll();
  FillLog();
  auto& files = io::LocalFileSystem();
  const types::BucketId id{kLogTable, std::nullopt, 0};
  const std::string path = io::JoinPath(folder.path(), log::kRecoveryPointFile);
  EXPECT_TRUE(Soon([&] {
    const auto read = log::ReadCheckpoint(files, path).ValueOrDie();
    return read.contains(id) && read.at(id) == 20;
  }));
  // Nothing would read it, so nothing writes it.
  EXPECT_FALSE(files.Exists(io::JoinPath(folder.path(), "high-watermark-checkpoint")).ValueOrDie());
  const std::string marker = io::JoinPath(folder.path(), log::kCleanShutdownFile);
  EXPECT_FALSE(files.Exists(marker).ValueOrDie());
  Stop();
  EXPECT_TRUE(files.Exists(marker).ValueOrDie());
}

// More puts than the write-back table holds: flushes keep up, or the client is told to wait, by its
// version.
TEST_F(UpkeepTest, WriteBackIsBounded) {
  const std::string name(1000, 'n');
  std::vector<TestRow> rows;
  for (int32_t id = 0; id < 20; ++id) rows.push_back({id, name, id});
  for (int round = 0; round < 50; ++round) {
    for (TestRow& row : rows) row.id += 20;
    Result<int64_t> put = Put(0, rows);
    for (int retry = 0; !put.ok() && retry < 500; ++retry) {
      EXPECT_CODE(ErrorCode::kStorageBackpressure, put);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      put = Put(0, rows);
    }
    ASSERT_OK(put);
  }
  ASSERT_OK_AND_ASSIGN(const auto found, Lookup(0, {20, 500, 1019}));
  for (const auto& row : found) EXPECT_TRUE(row.has_value());
}

// Tables that change while they are read.
struct ChangingTables : internal::TestTables {
  Result<std::shared_ptr<const types::TableInfo>> ById(int64_t table_id) const override {
    auto read = TestTables::ById(table_id);
    if (on_read) std::exchange(on_read, nullptr)();
    return read;
  }
  mutable std::function<void()> on_read;
};

TEST(TableContextsTest, WhatWasReadBeforeNewsCameIsNotKept) {
  ChangingTables tables;
  TableContexts contexts(tables);
  tables.SetProperty(kLogTable, "table.log.ttl", "1 d");
  tables.on_read = [&] {
    tables.SetProperty(kLogTable, "table.log.ttl", "1 ms");
    contexts.Forget(kLogTable);
  };
  ASSERT_OK(contexts.Get(kLogTable));
  ASSERT_OK_AND_ASSIGN(const TableContextPtr context, contexts.Get(kLogTable));
  EXPECT_EQ(context->log_ttl_ms(), 1);
  EXPECT_EQ(contexts.Get(kLogTable).ValueOrDie(), context);
}

TEST(LogSyncTest, SyncsWhatIsThere) {
  TempDir folder;
  auto& files = io::LocalFileSystem();
  LogSync sync(files, folder.path());
  EXPECT_OK(sync.Run(0));
  for (const char* name :
       {"00000000000000000000.log", "00000000000000000010.log", "00000000000000000010.index"}) {
    ASSERT_OK_AND_ASSIGN(
        auto file, files.Open(io::JoinPath(folder.path(), name), io::FileSystem::Mode::kCreateNew));
    ASSERT_OK(file->Append("x"));
  }
  EXPECT_OK(sync.Run(15));
  ASSERT_OK(files.Remove(io::JoinPath(folder.path(), "00000000000000000000.log")));
  EXPECT_OK(sync.Run(20));
  LogSync missing(files, io::JoinPath(folder.path(), "no"));
  EXPECT_FALSE(missing.Run(1).ok());
}

// The kernel tells a failed write once; whoever syncs after that sees none.
TEST(LogSyncTest, FailsForGood) {
  TempDir folder;
  internal::FailingSyncFiles files;
  ASSERT_OK(files.Open(io::JoinPath(folder.path(), "00000000000000000000.log"),
                       io::FileSystem::Mode::kCreateNew));
  LogSync sync(files, folder.path());
  files.fails_next = true;
  EXPECT_FALSE(sync.Run(1).ok());
  EXPECT_TRUE(sync.failed());
  EXPECT_CODE(ErrorCode::kLogStorage, sync.Run(1));
  EXPECT_CODE(ErrorCode::kLogStorage, sync.RunOther([] { return Status::OK(); }));
  // The other way round: what the log's own flush was told.
  LogSync another(files, folder.path());
  EXPECT_OK(another.RunOther([] { return Status::OK(); }));
  EXPECT_OK(another.Run(1));
  EXPECT_FALSE(another.RunOther([] { return Status::IOError("lost"); }).ok());
  EXPECT_CODE(ErrorCode::kLogStorage, another.Run(2));
}

class LostWriteTest : public UpkeepTest {
 protected:
  void SetUp() override {
    files = &failing;
    UpkeepTest::SetUp();
    Stop();
    options.write_back_bytes_max = 4 << 20;  // It must not be full before the sync has failed.
    TabletTest::Start();
    LeadAll();
  }
  internal::FailingSyncFiles failing;
};

// Else the keys would be ahead of a log that lacks records.
TEST_F(LostWriteTest, KeysDoNotMovePastALogWhoseSyncFailed) {
  failing.fails_next = true;
  const std::string name(10'000, 'n');
  Status put;
  for (int32_t id = 0; id < 20'000 && CodeOf(put) != ErrorCode::kLogStorage; ++id) {
    put = Put(0, {{id, name, id}}).status();
    if (!put.ok()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_CODE(ErrorCode::kLogStorage, put);
  EXPECT_FALSE(failing.fails_next);
  EXPECT_OK(Put(1, {{1, name, 1}}));  // Other buckets go on.
  // All that was acknowledged comes back from the log: nothing of it is in the store.
  Drop();
  TabletTest::Start();
  LeadAll();
  const auto buckets = io::SyncWait(loop(), service->Buckets(loop()));
  for (const BucketStatus& bucket : buckets) {
    if (bucket.id.table_id != kKeyTable || bucket.id.bucket != 0) continue;
    EXPECT_EQ(bucket.opened_replay_bytes, bucket.log_size_bytes);
  }
  EXPECT_OK(Put(0, {{1, name, 1}}));
}

class ScannersTest : public testing::Test {
 protected:
  std::shared_ptr<Scanner> Of(int bucket) {
    auto scanner = std::make_shared<Scanner>();
    scanner->bucket = {1, std::nullopt, bucket};
    return scanner;
  }
  io::SeededRandom random{1};
  Scanners scanners{3, {.per_bucket = 2, .in_all = 3, .ttl = std::chrono::seconds(10)}, random};
};

TEST_F(ScannersTest, IdNamesItsShard) {
  const std::string id = scanners.Add(Of(0));
  EXPECT_EQ(id.size(), 32u);
  EXPECT_EQ(Scanners::ShardOf(id, 8).ValueOr(99), 3u);
  EXPECT_CODE(ErrorCode::kUnknownScannerId, Scanners::ShardOf(id, 3));
  EXPECT_CODE(ErrorCode::kUnknownScannerId, Scanners::ShardOf("", 8));
  EXPECT_CODE(ErrorCode::kUnknownScannerId, Scanners::ShardOf(std::string(32, 'z'), 8));
}

TEST_F(ScannersTest, RoomIsBounded) {
  scanners.Add(Of(0));
  EXPECT_OK(scanners.CheckRoom(Of(0)->bucket));
  scanners.Add(Of(0));
  EXPECT_CODE(ErrorCode::kTooManyScanners, scanners.CheckRoom(Of(0)->bucket));
  EXPECT_OK(scanners.CheckRoom(Of(1)->bucket));
  scanners.Add(Of(1));
  EXPECT_CODE(ErrorCode::kTooManyScanners, scanners.CheckRoom(Of(2)->bucket));
}

TEST_F(ScannersTest, IdleOnesExpireAndSaySo) {
  const auto scanner = Of(0);
  const std::string id = scanners.Add(scanner);
  scanner->used_at = std::chrono::seconds(100);
  scanners.Expire(std::chrono::seconds(110));
  EXPECT_OK(scanners.Find(id).status());
  scanner->busy = true;
  scanners.Expire(std::chrono::seconds(111));
  EXPECT_OK(scanners.Find(id).status());  // A call is under way.
  scanner->busy = false;
  scanners.Expire(std::chrono::seconds(111));
  EXPECT_CODE(ErrorCode::kScannerExpired, scanners.Find(id));
  scanners.Expire(std::chrono::seconds(130));
  EXPECT_CODE(ErrorCode::kUnknownScannerId, scanners.Find(id));
}

TEST_F(ScannersTest, ClosingABucketWaitsForItsCalls) {
  const auto busy = Of(0);
  scanners.Add(busy);
  scanners.Add(Of(0));
  scanners.Add(Of(1));
  busy->busy = true;
  EXPECT_FALSE(scanners.CloseBucket(busy->bucket));
  EXPECT_EQ(scanners.size(), 2u);
  busy->busy = false;
  EXPECT_TRUE(scanners.CloseBucket(busy->bucket));
  EXPECT_EQ(scanners.size(), 1u);
}

// A call of it still reads the keys: its bucket waits for that.
TEST_F(ScannersTest, ClosedDuringACallItGoesAfterIt) {
  const auto busy = Of(0);
  const std::string id = scanners.Add(busy);
  busy->busy = true;
  scanners.Close(id);
  EXPECT_CODE(ErrorCode::kUnknownScannerId, scanners.Find(id));
  EXPECT_EQ(scanners.size(), 1u);
  EXPECT_FALSE(scanners.CloseBucket(busy->bucket));
  busy->busy = false;
  scanners.Close(id);
  EXPECT_EQ(scanners.size(), 0u);
  EXPECT_TRUE(scanners.CloseBucket(busy->bucket));
  scanners.Close("no such");
}

}  // namespace
}  // namespace sluice::tablet
