#include <pthread.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "log/remote_manifest.h"
#include "tablet/cold_files_testing.h"
#include "tablet/testing_internal.h"
#include "wire/batch_statistics.h"

namespace sluice::tablet {
namespace {

namespace fs = std::filesystem;
using internal::kKeyTable;
using internal::kLogTable;
using internal::TestRow;

const types::BucketId kBucket{.table_id = kLogTable, .partition_id = {}, .bucket = 0};

// The machine's files, of which reads of those in one folder can be made to hang, as those of a
// network mount do. Other threads than those of the remote pool must not read there at all.
class HangingFiles : public internal::ColdFiles {
 public:
  explicit HangingFiles(std::string folder)
      : ColdFiles([] { return true; }), folder_(std::move(folder)) {}
  void Hang(bool hang) {
    hangs_ = hang;
    hangs_.notify_all();
  }
  int hanging() const { return hanging_; }
  int reads() const { return reads_; }
  int misplaced() const { return misplaced_; }  // Reads of other threads.

  Result<std::unique_ptr<io::File>> Open(const std::string& path, Mode mode) override {
    ASSIGN_OR_RAISE(auto file, io::LocalFileSystem().Open(path, mode));
    if (!path.starts_with(folder_)) return file;
    return std::make_unique<HangingFile>(*this, std::move(file));
  }

 private:
  class HangingFile : public internal::PassingFile {
   public:
    HangingFile(HangingFiles& files, std::unique_ptr<io::File> real)
        : PassingFile(std::move(real)), files_(files) {}
    Result<size_t> ReadAt(uint64_t position_bytes, size_t size, char* out) const override {
      files_.Wait();
      return PassingFile::ReadAt(position_bytes, size, out);
    }
    Result<bool> TryReadAt(uint64_t position_bytes, size_t size, char* out) const override {
      files_.Wait();
      return PassingFile::TryReadAt(position_bytes, size, out);
    }

   private:
    HangingFiles& files_;
  };

  void Wait() {
    char name[16] = {};
    pthread_getname_np(pthread_self(), name, sizeof name);
    if (!std::string_view(name).starts_with("remote")) ++misplaced_;
    ++reads_;
    ++hanging_;
    hangs_.wait(true);
    --hanging_;
  }

  const std::string folder_;
  std::atomic<bool> hangs_ = false;
  std::atomic<int> hanging_ = 0, reads_ = 0, misplaced_ = 0;
};

class RemoteLogTest : public internal::TabletTest {
 protected:
  void SetUp() override {
    options.log.segment_bytes = 2000;
    options.log.index_interval_bytes = 300;
    options.retention_interval = std::chrono::milliseconds(20);
    options.remote_log_interval = std::chrono::milliseconds(20);
    options.call_coordinator = [this](io::Loop&, io::Call call) { return Commit(this, call); };
    fs::create_directories(root());
    tables.SetRemoteRoot(root());
    files = &hanging_files;
    TabletTest::SetUp();
    LeadAll();
  }
  std::string root() const { return folder.path() + "/remote"; }
  std::string BucketFolder(const types::BucketId& id = kBucket) const {
    return log::RemoteBucketFolder(root(), {"db", id.table_id == kLogTable ? "log" : "keys"}, "",
                                   id);
  }

  // The coordinator's side: the catalog of this test.
  static io::Task<Result<std::string>> Commit(RemoteLogTest* self, io::Call call) {
    CO_ASSIGN_OR_RETURN(const auto request,
                        wire::ParseMessage<wire::CommitRemoteLogManifestRequest>(call.body));
    if (self->refuse) co_return Error(ErrorCode::kStorage, "no room");
    const types::BucketId id{request.table_id(), {}, request.bucket_id()};
    self->tables.SetRemoteLog(id, {.root = "",
                                   .manifest_path = request.remote_log_manifest_path(),
                                   .start_offset = request.remote_log_start_offset(),
                                   .end_offset = request.remote_log_end_offset(),
                                   .copied_end_offset = request.highest_copied_end_offset()});
    wire::CommitRemoteLogManifestResponse response;
    response.set_commitsuccess(!self->fail);
    co_return response.SerializeAsString();
  }

  // About three batches to a segment.
  void FillLog(int count = 20, wire::LogBatchOptions batch = {}) {
    batch.compression = wire::ArrowCompression::kNone;
    for (int i = 0; i < count; ++i, ++filled) {
      const TestRow row{filled, std::string(400, 'x'), filled};
      ASSERT_OK(Produce(0, LogBatch({row}, batch)));
    }
  }
  BucketStatus StatusOf(const types::BucketId& id = kBucket) {
    for (const BucketStatus& status : io::SyncWait(loop(), service->Buckets(loop()))) {
      if (status.id == id) return status;
    }
    return {};
  }
  // Everything closed was copied, and what may go here is gone.
  bool MovedUntil(int64_t offset) {
    return Soon([&] { return StatusOf().local_start_offset >= offset; });
  }
  void ExpectAllRows() {
    const auto changes = ReadAll(kLogTable, 0);
    ASSERT_EQ(changes.size(), static_cast<size_t>(filled));
    for (int i = 0; i < filled; ++i) EXPECT_EQ(changes[i].row.id, i);
  }
  size_t RemoteFolders(const std::string& folder) const {
    size_t count = 0;
    if (!fs::exists(folder)) return 0;
    for (const auto& entry : fs::directory_iterator(folder))
      count += entry.path().filename() != "metadata";
    return count;
  }

  Result<wire::LimitScanResponse> LastRows(int32_t limit) {
    wire::LimitScanRequest request;
    request.set_table_id(kLogTable);
    request.set_bucket_id(0);
    request.set_limit(limit);
    return Ask<wire::LimitScanResponse>(wire::ApiKey::kLimitScan, request);
  }

  HangingFiles hanging_files{root()};
  std::atomic<bool> refuse = false;  // Commits.
  std::atomic<bool> fail = false;    // After they are recorded.
  int filled = 0;                    // Rows of bucket 0.
};

TEST_F(RemoteLogTest, ClosedSegmentsMoveAndAreReadThroughTheServer) {
  FillLog();
  ASSERT_TRUE(MovedUntil(10));
  EXPECT_EQ(StatusOf().log_start_offset, 0);
  EXPECT_EQ(StatusOf().remote_copy_errors, 0u);
  EXPECT_TRUE(Soon([&] { return StatusOf().remote_segments == RemoteFolders(BucketFolder()); }));
  EXPECT_EQ(OffsetOf(kLogTable, 0, 0).ValueOrDie(), 0);  // Earliest.
  ExpectAllRows();
  EXPECT_EQ(Fetch({{0, -2}}).ValueOrDie()[0].error_code(), 0);
  FillLog();
  ExpectAllRows();
}

TEST_F(RemoteLogTest, TwoSegmentsStayByDefaultAndOneWhereTheTableSaysSo) {
  FillLog();
  const auto local_segments = [&] {
    size_t count = 0;
    for (const auto& entry : fs::directory_iterator(folder.path() + "/db/log-3/log-0"))
      count += entry.path().extension() == ".log";
    return count;
  };
  EXPECT_TRUE(Soon([&] { return local_segments() == 2; }));
  tables.SetProperty(kLogTable, "table.log.tiered.local-segments", "1");
  ASSERT_OK(TellChanged(kLogTable));
  EXPECT_TRUE(Soon([&] { return local_segments() == 1; }));
  ExpectAllRows();
}

TEST_F(RemoteLogTest, ColumnsOfRemoteSegmentsAreProjected) {
  FillLog();
  ASSERT_TRUE(MovedUntil(10));
  const auto fetched = Fetch({{0, 0}}, {.positions = {0}}).ValueOrDie();
  ASSERT_FALSE(fetched[0].has_error_code()) << fetched[0].error_message();
  wire::LogBatchIterator batches(fetched[0].records());
  ASSERT_OK_AND_ASSIGN(const auto batch, batches.Next());
  EXPECT_LT(batch->bytes().size(), 400u);
  EXPECT_EQ(batch->header().base_offset, 0);
}

class RemoteStatisticsTest : public RemoteLogTest {
 public:
  void SetUp() override {
    tables.SetProperty(kLogTable, "table.statistics.columns", "id");
    RemoteLogTest::SetUp();
    wire::LogBatchOptions batch;
    batch.statistics = std::make_shared<const wire::StatisticsWriter>(
        *tables.SchemaOf(kLogTable, 1).ValueOrDie(), std::vector<int>{0});
    FillLog(20, batch);
    ASSERT_TRUE(MovedUntil(10));
  }
};

// An answer without a record comes at once too: it says where to go on.
TEST_F(RemoteStatisticsTest, BatchesOfRemoteSegmentsAreSkipped) {
  const wire::RowFilter filter{.op = wire::RowFilter::Op::kGreater,
                               .column_id = 0,
                               .values = {wire::OrderedValue(int64_t{17})},
                               .children = {}};
  std::vector<int64_t> found;
  int64_t offset = 0;
  while (offset < 20) {
    auto request = FetchRequest({{0, offset}}, {.min_bytes = 1, .max_wait_ms = 60'000});
    auto* table = request.mutable_tables_req(0);
    ASSERT_OK(wire::WriteFilter(filter, *tables.SchemaOf(kLogTable, 1).ValueOrDie(),
                                table->mutable_filter_predicate()));
    table->set_filter_schema_id(1);
    ASSERT_OK_AND_ASSIGN(const auto response,
                         Ask<wire::FetchLogResponse>(wire::ApiKey::kFetchLog, request));
    const auto& answer = response.tables_resp(0).buckets_resp(0);
    ASSERT_FALSE(answer.has_error_code()) << answer.error_message();
    int64_t next = answer.has_filtered_end_offset() ? answer.filtered_end_offset() : offset;
    wire::LogBatchIterator batches(answer.records());
    while (const auto batch = batches.Next().ValueOrDie()) {
      found.push_back(batch->header().base_offset);
      next = std::max(next, batch->header().next_offset());
    }
    ASSERT_GT(next, offset);
    offset = next;
  }
  EXPECT_EQ(found, (std::vector<int64_t>{18, 19}));
  EXPECT_EQ(service->skipped_batches(), 18u);
}

TEST_F(RemoteStatisticsTest, OldClientsGetRemoteBatchesInMagic0) {
  client_name = "fluss";
  const auto fetched = Fetch({{0, 0}}).ValueOrDie();
  EXPECT_FALSE(fetched[0].has_remote_log_fetch_info());
  wire::LogBatchIterator batches(fetched[0].records());
  ASSERT_OK_AND_ASSIGN(const auto batch, batches.Next());
  EXPECT_EQ(batch->header().magic, 0);
  EXPECT_TRUE(batch->CrcMatches());
  // The last rows come from both parts.
  const auto rows = LastRows(20).ValueOrDie();
  wire::LogBatchIterator all(rows.records());
  int64_t next = 0;
  while (const auto one = all.Next().ValueOrDie()) {
    EXPECT_EQ(one->header().magic, 0);
    next = one->header().next_offset();
  }
  EXPECT_EQ(next, 20);
}

TEST_F(RemoteLogTest, FlussClientsGetSegmentsByName) {
  FillLog();
  ASSERT_TRUE(MovedUntil(10));
  for (const char* name : {"fluss", "fluss-rust"}) {
    client_name = name;
    const auto fetched = Fetch({{0, 4}}).ValueOrDie();
    ASSERT_TRUE(fetched[0].has_remote_log_fetch_info());
    EXPECT_FALSE(fetched[0].has_records());
    const auto& info = fetched[0].remote_log_fetch_info();
    EXPECT_EQ(info.remote_log_tablet_dir(), "file://" + BucketFolder());
    ASSERT_GT(info.remote_log_segments_size(), 1);
    const auto& first = info.remote_log_segments(0);
    EXPECT_LE(first.remote_log_start_offset(), 4);
    EXPECT_GT(first.remote_log_end_offset(), 4);
    for (int i = 1; i < info.remote_log_segments_size(); ++i) {
      EXPECT_EQ(info.remote_log_segments(i).remote_log_start_offset(),
                info.remote_log_segments(i - 1).remote_log_end_offset());
    }
    const std::string digits = std::to_string(first.remote_log_start_offset());
    const std::string file = BucketFolder() + "/" + first.remote_log_segment_id() + "/" +
                             std::string(20 - digits.size(), '0') + digits + ".log";
    EXPECT_EQ(fs::file_size(file), static_cast<size_t>(first.segment_size_in_bytes()));
    ASSERT_TRUE(info.has_first_start_pos());
    EXPECT_LT(info.first_start_pos(), first.segment_size_in_bytes());
    // What is here comes as records.
    const auto local = Fetch({{0, StatusOf().local_start_offset}}).ValueOrDie();
    EXPECT_FALSE(local[0].records().empty());
  }
}

TEST_F(RemoteLogTest, EverythingIsThereAfterAKillAndAStop) {
  FillLog();
  ASSERT_TRUE(MovedUntil(10));
  for (const bool clean : {false, true}) {
    clean ? Stop() : Drop();
    TabletTest::Start();
    LeadAll();
    EXPECT_EQ(OffsetOf(kLogTable, 0, 0).ValueOrDie(), 0);
    ExpectAllRows();
    FillLog();
    ExpectAllRows();
  }
}

TEST_F(RemoteLogTest, NothingGoesWhileTheCoordinatorDoesNotRecordIt) {
  refuse = true;
  FillLog();
  EXPECT_TRUE(Soon([&] { return StatusOf().remote_copy_errors > 1; }));
  EXPECT_EQ(StatusOf().local_start_offset, 0);
  ExpectAllRows();
  refuse = false;
  ASSERT_TRUE(MovedUntil(10));
  ExpectAllRows();
  // What the failed tries left is removed.
  EXPECT_TRUE(Soon([&] { return RemoteFolders(BucketFolder()) == StatusOf().remote_segments; }));
}

TEST_F(RemoteLogTest, ACommitThatIsOnRecordThoughItFailedCounts) {
  fail = true;
  FillLog();
  EXPECT_TRUE(Soon([&] { return StatusOf().remote_end_offset > 0; }));
  ExpectAllRows();
  fail = false;
  ASSERT_TRUE(MovedUntil(10));
  ExpectAllRows();
  EXPECT_TRUE(Soon([&] { return RemoteFolders(BucketFolder()) == StatusOf().remote_segments; }));
}

TEST_F(RemoteLogTest, WhatAKillLeftIsRemoved) {
  FillLog();
  ASSERT_TRUE(MovedUntil(10));
  Drop();
  fs::create_directories(BucketFolder() + "/half-a-copy");
  std::ofstream(BucketFolder() + "/metadata/old.manifest") << "{}";
  TabletTest::Start();
  LeadAll();
  EXPECT_TRUE(Soon([&] {
    return !fs::exists(BucketFolder() + "/half-a-copy") &&
           !fs::exists(BucketFolder() + "/metadata/old.manifest");
  }));
  ExpectAllRows();
}

TEST_F(RemoteLogTest, StorageThatIsAwayHoldsUpNothingElse) {
  FillLog();
  ASSERT_TRUE(MovedUntil(10));
  Stop();
  fs::rename(root(), root() + "-away");
  TabletTest::Start();
  LeadAll();
  const int64_t time_ms = io::SystemClock().NowMs();
  FillLog();
  // All that was copied before goes here; from then on nothing does.
  ASSERT_TRUE(
      Soon([&] { return StatusOf().local_start_offset == StatusOf().remote_copied_offset; }));
  const int64_t local_start = StatusOf().local_start_offset;
  // What the local log knows alone is found, though the remote manifest was not read yet.
  EXPECT_EQ(OffsetOf(kLogTable, 0, 2, time_ms).ValueOr(-1), 20);
  EXPECT_CODE(ErrorCode::kLogStorage, OffsetOf(kLogTable, 0, 2, 0));
  EXPECT_EQ(ReadAll(kLogTable, 0, local_start).size(), static_cast<size_t>(filled - local_start));
  EXPECT_EQ(Fetch({{0, 0}}).ValueOrDie()[0].error_code(), static_cast<int>(ErrorCode::kLogStorage));
  EXPECT_EQ(OffsetOf(kLogTable, 0, 0).ValueOrDie(), 0);
  EXPECT_FALSE(fs::exists(root()));
  fs::rename(root() + "-away", root());
  ExpectAllRows();
  ASSERT_TRUE(MovedUntil(30));
  ExpectAllRows();
}

// Answers of remote records do not touch the storage any more once the remote pool has read them.
TEST_F(RemoteLogTest, StorageThatHangsHoldsUpItsReadersAlone) {
  FillLog();
  ASSERT_TRUE(MovedUntil(10));
  const auto whole = [&] { return Fetch({{0, 0}}).ValueOrDie()[0].records(); };
  const auto projected = [&] {
    return Fetch({{0, 0}}, {.positions = {1}}).ValueOrDie()[0].records();
  };
  const auto scanned = [&] { return LastRows(18).ValueOrDie().records(); };
  for (const std::function<std::string()>& read :
       std::vector<std::function<std::string()>>{whole, projected, scanned}) {
    const std::string before = read();
    EXPECT_FALSE(before.empty());
    hanging_files.Hang(true);
    std::string after;
    std::thread reader([&] { after = read(); });
    EXPECT_TRUE(Soon([&] { return hanging_files.hanging() > 0; }));
    EXPECT_OK(Produce(1, LogBatch({{1, "one", 1}})));
    EXPECT_EQ(ReadAll(kLogTable, 0, filled - 1).size(), 1u);
    hanging_files.Hang(false);
    reader.join();
    EXPECT_EQ(after, before);
  }
  EXPECT_EQ(hanging_files.misplaced(), 0);
}

// Remote records go through memory: no more of them than the answer takes.
TEST_F(RemoteLogTest, AnAnswerReadsNoMoreOfRemoteStorageThanItHolds) {
  FillLog();
  ASSERT_TRUE(MovedUntil(10));
  const auto reads_of = [&](size_t buckets) {
    const int before = hanging_files.reads();
    const std::vector<std::pair<int, int64_t>> wanted(buckets, {0, 0});
    const auto fetched = Fetch(wanted, {.max_bytes = 1}).ValueOrDie();
    size_t answered = 0;
    for (const auto& bucket : fetched) {
      EXPECT_FALSE(bucket.has_error_code()) << bucket.error_message();
      answered += !bucket.records().empty();
    }
    EXPECT_EQ(answered, 1u);
    return hanging_files.reads() - before;
  };
  reads_of(1);                                // Opens the segment.
  EXPECT_LT(reads_of(20), reads_of(1) + 15);  // It may be opened again.
}

TEST_F(RemoteLogTest, OffsetsByTimestampAskRemoteStorageOnlyWhereTheyMust) {
  FillLog();
  ASSERT_TRUE(MovedUntil(10));
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const int64_t time_ms = io::SystemClock().NowMs();
  Stop();
  hanging_files.Hang(true);
  TabletTest::Start();
  LeadAll();
  FillLog();
  std::atomic<int64_t> early = -1, late = -1;
  std::thread early_reader([&] { early = OffsetOf(kLogTable, 0, 2, 1).ValueOr(-2); });
  std::thread late_reader([&] { late = OffsetOf(kLogTable, 0, 2, time_ms).ValueOr(-2); });
  EXPECT_TRUE(Soon([&] { return late == 20; }));  // Needs the local log alone.
  EXPECT_TRUE(Soon([&] { return hanging_files.hanging() > 0; }));
  EXPECT_EQ(early, -1);
  hanging_files.Hang(false);
  early_reader.join();
  late_reader.join();
  EXPECT_EQ(early, 0);
  EXPECT_EQ(late, 20);
  EXPECT_TRUE(MovedUntil(30));
  EXPECT_EQ(OffsetOf(kLogTable, 0, 2, time_ms).ValueOr(-1), 20);
}

TEST_F(RemoteLogTest, OffsetsByTimestampAreFoundInBothParts) {
  std::vector<int64_t> times;
  for (int i = 0; i < 20; ++i) {
    times.push_back(io::SystemClock().NowMs());
    FillLog(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  ASSERT_TRUE(MovedUntil(10));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(OffsetOf(kLogTable, 0, 2, times[i]).ValueOrDie(), i);
  EXPECT_EQ(OffsetOf(kLogTable, 0, 2, 0).ValueOrDie(), 0);
  EXPECT_EQ(OffsetOf(kLogTable, 0, 2, io::SystemClock().NowMs()).ValueOrDie(), 20);
}

TEST_F(RemoteLogTest, RemoteSegmentsExpireByTheWholeTtl) {
  FillLog();
  ASSERT_TRUE(MovedUntil(10));
  tables.SetProperty(kLogTable, "table.log.ttl", "1 ms");
  ASSERT_OK(TellChanged(kLogTable));
  EXPECT_TRUE(Soon([&] { return RemoteFolders(BucketFolder()) == 0; }));
  EXPECT_TRUE(Soon([&] { return StatusOf().remote_end_offset == -1; }));
  const int64_t start = OffsetOf(kLogTable, 0, 0).ValueOrDie();
  EXPECT_GE(start, 10);
  EXPECT_EQ(Fetch({{0, 0}}).ValueOrDie()[0].error_code(), 19);
  EXPECT_EQ(ReadAll(kLogTable, 0, start).size(), static_cast<size_t>(20 - start));
  // And what expired is not copied again.
  const uint64_t copied = StatusOf().remote_copied_segments;
  FillLog(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LE(StatusOf().remote_copied_segments, copied + 1);
}

TEST_F(RemoteLogTest, RemoteSegmentsThatTheLakeLacksStay) {
  tables.SetProperty(kLogTable, "table.datalake.enabled", "true");
  tables.SetProperty(kLogTable, "table.log.ttl", "1 ms");
  ASSERT_OK(TellChanged(kLogTable));
  FillLog();
  ASSERT_TRUE(MovedUntil(10));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  ExpectAllRows();
}

TEST_F(RemoteLogTest, TheLocalTtlLetsGoOfWhatWasCopied) {
  tables.SetProperty(kLogTable, "table.log.tiered.local-segments", "100");
  tables.SetProperty(kLogTable, "table.log.local-ttl", "1 ms");
  ASSERT_OK(TellChanged(kLogTable));
  refuse = true;
  FillLog();
  EXPECT_TRUE(Soon([&] { return StatusOf().remote_copy_errors > 1; }));
  EXPECT_EQ(StatusOf().local_start_offset, 0);
  refuse = false;
  EXPECT_TRUE(MovedUntil(10));
  ExpectAllRows();
}

TEST_F(RemoteLogTest, AChangelogStaysUntilItsKeysAreStored) {
  const std::string name(700, 'n');
  for (int32_t id = 0; id < 40; ++id) ASSERT_OK(Put(0, {{id, name, id}}));
  const types::BucketId keys{.table_id = kKeyTable, .partition_id = {}, .bucket = 0};
  EXPECT_TRUE(Soon([&] { return StatusOf(keys).remote_end_offset > 10; }));
  EXPECT_EQ(StatusOf(keys).local_start_offset, 0);
  Drop();
  TabletTest::Start();
  LeadAll();
  for (int32_t id = 0; id < 40; ++id) {
    ASSERT_OK_AND_ASSIGN(const auto found, Lookup(0, {id}));
    EXPECT_EQ(found[0], (TestRow{id, name, id}));
  }
  Stop();  // Moves the keys.
  TabletTest::Start();
  LeadAll();
  EXPECT_TRUE(Soon([&] { return StatusOf(keys).local_start_offset > 10; }));
  EXPECT_EQ(ReadAll(kKeyTable, 0).size(), 40u);
}

TEST_F(RemoteLogTest, ALogThatWasLostGoesOnAfterItsRemotePart) {
  FillLog();
  ASSERT_TRUE(MovedUntil(10));
  Drop();  // Ends what copies more.
  const int64_t copied = tables.RemoteLogOf(kBucket).copied_end_offset;
  fs::remove_all(folder.path() + "/db");
  TabletTest::Start();
  LeadAll();
  EXPECT_EQ(OffsetOf(kLogTable, 0, 1).ValueOrDie(), copied);
  ASSERT_OK_AND_ASSIGN(const int64_t offset, Produce(0, LogBatch({{99, "new", 1}})));
  EXPECT_EQ(offset, copied);
  EXPECT_EQ(ReadAll(kLogTable, 0).size(), static_cast<size_t>(copied + 1));
}

TEST_F(RemoteLogTest, TheLastRowsComeFromBothParts) {
  FillLog();
  ASSERT_TRUE(MovedUntil(10));
  ASSERT_OK_AND_ASSIGN(const auto response, LastRows(18));
  ASSERT_OK(wire::ErrorOf(response));
  wire::LogBatchIterator batches(response.records());
  int64_t next = 2;
  while (const auto batch = batches.Next().ValueOrDie()) {
    EXPECT_EQ(batch->header().base_offset, next);
    next = batch->header().next_offset();
  }
  EXPECT_EQ(next, 20);
  EXPECT_TRUE(batches.rest().empty());
}

}  // namespace
}  // namespace sluice::tablet
