#include "base/testing.h"
#include "tablet/slice_cut.h"
#include "tablet/testing_internal.h"
#include "wire/log_rows.h"
#include "wire/projection.h"

namespace sluice::tablet {
namespace {

using internal::kKeyTable;
using internal::kLogTable;
using internal::TestChange;
using internal::TestRow;

class LogCallsTest : public internal::TabletTest {
 protected:
  void SetUp() override {
    TabletTest::SetUp();
    LeadAll();
  }
};

std::vector<TestRow> SomeRows(int32_t first, int count, size_t name_bytes = 5) {
  std::vector<TestRow> rows;
  for (int32_t id = first; id < first + count; ++id)
    rows.push_back({id, std::string(name_bytes, 'a' + id % 26), id * 10L});
  return rows;
}

std::vector<TestRow> RowsOf(const std::vector<TestChange>& changes) {
  std::vector<TestRow> rows;
  for (const auto& change : changes) rows.push_back(change.row);
  return rows;
}

TEST_F(LogCallsTest, RecordsComeBackInOrder) {
  ASSERT_OK_AND_ASSIGN(const int64_t first, Produce(0, LogBatch(SomeRows(0, 10))));
  ASSERT_OK_AND_ASSIGN(const int64_t second,
                       Produce(0, LogBatch(SomeRows(10, 5)) + LogBatch(SomeRows(15, 5)), 1));
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 10);
  EXPECT_EQ(RowsOf(ReadAll(kLogTable, 0)), SomeRows(0, 20));
  EXPECT_TRUE(ReadAll(kLogTable, 1).empty());
  ASSERT_OK_AND_ASSIGN(const int64_t latest, OffsetOf(kLogTable, 0, 1));
  EXPECT_EQ(latest, 20);
}

TEST_F(LogCallsTest, EveryBucketOfARequestGetsItsEntry) {
  wire::ProduceLogView view{.acks = -1, .table_id = kLogTable, .timeout_ms = 1000};
  const std::string good = LogBatch(SomeRows(0, 3));
  std::string bad = good;
  bad.back() = static_cast<char>(bad.back() ^ 1);  // Fails the CRC.
  view.buckets = {{std::nullopt, 0, good}, {std::nullopt, 9, good}, {std::nullopt, 1, bad},
                  {std::nullopt, 2, good}, {int64_t{5}, 0, good},   {std::nullopt, 3, ""}};
  ASSERT_OK_AND_ASSIGN(const auto body, Send({static_cast<int16_t>(wire::ApiKey::kProduceLog), 0,
                                              wire::BuildProduceLog(view)}));
  ASSERT_OK_AND_ASSIGN(const auto response, wire::ParseMessage<wire::ProduceLogResponse>(body));
  ASSERT_EQ(response.buckets_resp_size(), 6);
  const std::vector<int> codes = {0, 21, 14, 0, 21, 14};
  for (int i = 0; i < 6; ++i) {
    const auto& entry = response.buckets_resp(i);
    EXPECT_EQ(entry.bucket_id(), view.buckets[i].bucket_id);
    EXPECT_EQ(entry.error_code(), codes[i]) << i << ": " << entry.error_message();
    EXPECT_EQ(entry.has_error_code(), codes[i] != 0);  // Absent on success.
    EXPECT_EQ(entry.has_base_offset(), codes[i] == 0);
  }
  EXPECT_TRUE(ReadAll(kLogTable, 1).empty());
}

TEST_F(LogCallsTest, RefusesWhatTheTableCannotHold) {
  EXPECT_CODE(ErrorCode::kInvalidRequiredAcks, Produce(0, LogBatch(SomeRows(0, 1)), 2));
  EXPECT_CODE(ErrorCode::kInvalidTable, Produce(0, LogBatch(SomeRows(0, 1)), -1, kKeyTable));
  EXPECT_CODE(ErrorCode::kSchemaNotExist, Produce(0, LogBatch(SomeRows(0, 1), {.schema_id = 2})));
  EXPECT_CODE(ErrorCode::kCorruptRecord, Produce(0, LogBatch(SomeRows(0, 1)).substr(0, 60)));
  // A batch with a column less than its schema.
  const auto schema = tables.SchemaOf(kLogTable, 1).ValueOrDie();
  ASSERT_OK_AND_ASSIGN(const auto narrow,
                       internal::ToArrow(*schema, SomeRows(0, 1))->RemoveColumn(2));
  ASSERT_OK_AND_ASSIGN(const auto batch, wire::BuildLogBatch({}, *narrow, {}));
  EXPECT_CODE(ErrorCode::kCorruptRecord, Produce(0, batch));
  // A changelog batch.
  const std::vector<wire::ChangeType> changes = {wire::ChangeType::kInsert};
  ASSERT_OK_AND_ASSIGN(
      const auto changelog,
      wire::BuildLogBatch({}, *internal::ToArrow(*schema, SomeRows(0, 1)), changes));
  EXPECT_CODE(ErrorCode::kCorruptRecord, Produce(0, changelog));
  EXPECT_TRUE(ReadAll(kLogTable, 0).empty());
}

TEST_F(LogCallsTest, NullInANotNullColumnIsRefused) {
  auto schema = *tables.SchemaOf(kLogTable, 1).ValueOrDie();
  arrow::Int32Builder ids;
  ASSERT_OK(ids.AppendNull());
  ASSERT_OK_AND_ASSIGN(const auto null_id, ids.Finish());
  const auto rows = internal::ToArrow(schema, SomeRows(0, 1));
  const auto with_null =
      arrow::RecordBatch::Make(rows->schema(), 1, {null_id, rows->column(1), rows->column(2)});
  ASSERT_OK_AND_ASSIGN(const auto batch, wire::BuildLogBatch({}, *with_null, {}));
  const auto refused = Produce(0, batch);
  EXPECT_CODE(ErrorCode::kInvalidTable, refused);
  EXPECT_THAT(refused.status().message(), testing::HasSubstr("column=id"));
}

TEST_F(LogCallsTest, RowsOfALogInRowsAreChecked) {
  auto schema = *tables.SchemaOf(kLogTable, 1).ValueOrDie();
  const auto rows = internal::ToArrow(schema, SomeRows(0, 3));
  for (const auto format : {types::LogFormat::kIndexed, types::LogFormat::kCompacted}) {
    const bool indexed = format == types::LogFormat::kIndexed;
    tables.SetProperty(kLogTable, "table.log.format", indexed ? "INDEXED" : "COMPACTED");
    ASSERT_OK(TellChanged(kLogTable));
    ASSERT_OK_AND_ASSIGN(const auto batch, wire::EncodeLogRows({}, format, schema, *rows, {}));
    EXPECT_OK(Produce(0, batch));
    // Rows of another format, cut, with a NULL, as a changelog.
    EXPECT_CODE(ErrorCode::kCorruptRecord, Produce(0, LogBatch(SomeRows(0, 1))));
    const std::vector<std::string_view> cut{std::string_view("\0\1", 2)};
    EXPECT_CODE(ErrorCode::kCorruptRecord, Produce(0, *wire::BuildRowBatch({}, cut, {})));
    const types::RowCodec codec(types::RowFormatOf(format), types::TypesOf(schema.columns));
    const std::string null_row = codec.Join(std::vector<std::optional<std::string_view>>(3));
    const std::vector<std::string_view> null_rows{null_row};
    const auto refused = Produce(0, *wire::BuildRowBatch({}, null_rows, {}));
    EXPECT_CODE(ErrorCode::kInvalidTable, refused);
    EXPECT_THAT(refused.status().message(), testing::HasSubstr("column=id"));
    const std::vector<wire::ChangeType> changes(3, wire::ChangeType::kInsert);
    EXPECT_CODE(ErrorCode::kCorruptRecord,
                Produce(0, *wire::EncodeLogRows({}, format, schema, *rows, changes)));
  }
  ASSERT_OK_AND_ASSIGN(const int64_t end, OffsetOf(kLogTable, 0, 1));
  EXPECT_EQ(end, 6);
}

TEST_F(LogCallsTest, RepeatedBatchGetsItsFirstOffset) {
  const std::string first = LogBatch(SomeRows(0, 4), {.writer_id = 7, .batch_sequence = 0});
  const std::string second = LogBatch(SomeRows(4, 4), {.writer_id = 7, .batch_sequence = 1});
  EXPECT_EQ(Produce(0, first).ValueOr(-1), 0);
  EXPECT_EQ(Produce(0, second).ValueOr(-1), 4);
  EXPECT_EQ(Produce(0, first).ValueOr(-1), 0);
  EXPECT_CODE(ErrorCode::kOutOfOrderSequence,
              Produce(0, LogBatch(SomeRows(8, 1), {.writer_id = 7, .batch_sequence = 3})));
  EXPECT_EQ(RowsOf(ReadAll(kLogTable, 0)), SomeRows(0, 8));
}

// Requests of one connection are started one after another without waiting for answers.
TEST_F(LogCallsTest, PipelinedBatchesAreAppendedInOrder) {
  std::vector<io::Call> calls;
  for (int32_t i = 0; i < 50; ++i) {
    wire::ProduceLogView view{.acks = -1, .table_id = kLogTable, .timeout_ms = 1000};
    const std::string batch = LogBatch(SomeRows(i, 1), {.writer_id = 9, .batch_sequence = i});
    for (int bucket = 0; bucket < 4; ++bucket)
      view.buckets.push_back({std::nullopt, bucket, batch});
    calls.push_back(
        {static_cast<int16_t>(wire::ApiKey::kProduceLog), 0, wire::BuildProduceLog(view)});
  }
  auto start_all = [](LogCallsTest* test, std::vector<io::Call> all) -> io::Task<int> {
    io::Completion<bool> done(test->loop());
    auto left = std::make_shared<size_t>(all.size());
    auto failed = std::make_shared<int>(0);
    for (auto& call : all) {
      io::Spawn([](LogCallsTest* t, io::Call c, std::shared_ptr<size_t> l, std::shared_ptr<int> f,
                   io::Completion<bool> d) -> io::Task<void> {
        const auto body = co_await SendTask(t->service.get(), &t->loop(), std::move(c));
        const auto response =
            wire::ParseMessage<wire::ProduceLogResponse>(body.ValueOrDie()).ValueOrDie();
        for (const auto& bucket : response.buckets_resp()) *f += bucket.has_error_code();
        if (--*l == 0) d.Set(true);
      }(test, std::move(call), left, failed, done));
    }
    co_await done;
    co_return *failed;
  };
  EXPECT_EQ(io::SyncWait(loop(), start_all(this, std::move(calls))), 0);
  for (int bucket = 0; bucket < 4; ++bucket)
    EXPECT_EQ(RowsOf(ReadAll(kLogTable, bucket)), SomeRows(0, 50));
}

TEST_F(LogCallsTest, FetchStartsWithTheBatchThatHoldsTheOffset) {
  ASSERT_OK(Produce(0, LogBatch(SomeRows(0, 10))));
  ASSERT_OK(Produce(0, LogBatch(SomeRows(10, 10))));
  ASSERT_OK_AND_ASSIGN(const auto fetched, Fetch({{0, 14}}));
  ASSERT_OK_AND_ASSIGN(const auto batch, wire::LogBatchView::Parse(fetched[0].records()));
  EXPECT_EQ(batch.header().base_offset, 10);
  EXPECT_EQ(fetched[0].high_watermark(), 20);
  EXPECT_EQ(fetched[0].log_start_offset(), 0);
}

TEST_F(LogCallsTest, FetchFromMinusTwoIsFromTheStart) {
  ASSERT_OK(Produce(0, LogBatch(SomeRows(0, 10))));
  ASSERT_OK_AND_ASSIGN(const auto fetched, Fetch({{0, -2}}));
  ASSERT_OK_AND_ASSIGN(const auto batch, wire::LogBatchView::Parse(fetched[0].records()));
  EXPECT_EQ(batch.header().base_offset, 0);
}

TEST_F(LogCallsTest, FetchAnswersEveryBucketOnce) {
  ASSERT_OK(Produce(0, LogBatch(SomeRows(0, 10))));
  ASSERT_OK_AND_ASSIGN(const auto fetched, Fetch({{1, 0}, {0, 0}, {7, 0}, {2, 5}, {0, 10}}));
  ASSERT_EQ(fetched.size(), 5u);
  EXPECT_TRUE(fetched[0].has_records() && fetched[0].records().empty() &&
              fetched[0].has_high_watermark());
  EXPECT_FALSE(fetched[1].records().empty());
  EXPECT_EQ(fetched[2].error_code(), 21);
  EXPECT_EQ(fetched[3].error_code(), 19);
  EXPECT_TRUE(fetched[4].has_records() && fetched[4].records().empty());
  EXPECT_EQ(fetched[4].high_watermark(), 10);
}

TEST_F(LogCallsTest, FetchKeepsItsLimitsButGivesOneBatch) {
  const std::string batch =
      LogBatch(SomeRows(0, 1000, 50), {.compression = wire::ArrowCompression::kNone});
  for (int i = 0; i < 5; ++i) {
    ASSERT_OK(Produce(0, batch));
    ASSERT_OK(Produce(1, batch));
  }
  FetchOptions how;
  how.max_fetch_bytes = 1;  // Smaller than a batch.
  ASSERT_OK_AND_ASSIGN(auto fetched, Fetch({{0, 0}}, how));
  EXPECT_EQ(fetched[0].records().size(), batch.size());
  how.max_fetch_bytes = static_cast<int32_t>(batch.size() * 2 + 10);
  ASSERT_OK_AND_ASSIGN(fetched, Fetch({{0, 0}}, how));
  EXPECT_EQ(fetched[0].records().size(), batch.size() * 2);
  how.max_bytes = static_cast<int32_t>(batch.size() * 3);  // Room for the first bucket's two only.
  ASSERT_OK_AND_ASSIGN(fetched, Fetch({{0, 0}, {1, 0}}, how));
  EXPECT_EQ(fetched[0].records().size(), batch.size() * 2);
  EXPECT_TRUE(fetched[1].has_records() && fetched[1].records().empty());
  EXPECT_FALSE(fetched[1].has_error_code());
}

TEST_F(LogCallsTest, ProjectionSendsTheChosenColumns) {
  const auto rows = SomeRows(0, 2000, 40);
  const std::string batch = LogBatch(rows, {.compression = wire::ArrowCompression::kNone});
  ASSERT_OK(Produce(0, batch));
  ASSERT_OK(Produce(0, LogBatch(SomeRows(2000, 3))));
  FetchOptions how;
  how.positions = {0, 2};
  ASSERT_OK_AND_ASSIGN(const auto fetched, Fetch({{0, 0}}, how));
  ASSERT_FALSE(fetched[0].has_error_code()) << fetched[0].error_message();
  EXPECT_LT(fetched[0].records().size(), batch.size() / 2);
  const auto schema = tables.SchemaOf(kLogTable, 1).ValueOrDie()->ToArrow();
  wire::LogBatchIterator batches(fetched[0].records());
  int64_t next = 0;
  for (;;) {
    ASSERT_OK_AND_ASSIGN(const auto projected, batches.Next());
    if (!projected) break;
    ASSERT_OK_AND_ASSIGN(
        const auto decoded,
        wire::DecodeRows(*projected, arrow::schema({schema->field(0), schema->field(2)})));
    for (int64_t i = 0; i < decoded->num_rows(); ++i, ++next) {
      ASSERT_EQ(static_cast<const arrow::Int32Array&>(*decoded->column(0)).Value(i), next);
      ASSERT_EQ(static_cast<const arrow::Int64Array&>(*decoded->column(1)).Value(i), next * 10);
    }
  }
  EXPECT_EQ(next, 2003);
}

// Produce refuses such a batch today; one that was stored before must not take its neighbours with
// it, nor the server.
TEST_F(LogCallsTest, ProjectionStopsInFrontOfADamagedBatch) {
  const std::string good = LogBatch(SomeRows(0, 10));
  std::string bad = good;
  bad[wire::kLogBatchHeaderBytes] = 0;  // No Arrow message begins so.
  const TempDir folder;
  ASSERT_OK_AND_ASSIGN(std::shared_ptr<io::File> file,
                       io::LocalFileSystem().Open(io::JoinPath(folder.path(), "segment"),
                                                  io::FileSystem::Mode::kCreateNew));
  ASSERT_OK(file->Append(good + bad + good));
  ASSERT_OK_AND_ASSIGN(const auto info, tables.ById(kLogTable));
  ASSERT_OK_AND_ASSIGN(const auto table, TableContext::Make(info, tables));
  const auto project = [&](size_t from) {
    log::Log::Slice slice;
    slice.size_bytes = 2 * good.size() + bad.size() - from;
    slice.ranges = {{file, from, slice.size_bytes}};
    return CutSlice(slice, *table, {.positions = {0}}, 1 << 20, /*may_wait=*/true);
  };
  ASSERT_OK_AND_ASSIGN(const auto front, project(0));
  ASSERT_OK_AND_ASSIGN(const std::string bytes, front->records.Flatten());
  wire::LogBatchIterator batches(bytes);
  ASSERT_OK_AND_ASSIGN(const auto first, batches.Next());
  EXPECT_EQ(first->header().record_count, 10);
  EXPECT_TRUE(batches.rest().empty());
  EXPECT_CODE(ErrorCode::kCorruptRecord, project(good.size()));
}

// A batch of nothing must not stop those who project, whatever schema it names.
TEST_F(LogCallsTest, EmptyBatchesNameAKnownSchema) {
  const std::string empty = wire::BuildEmptyLogBatch({.schema_id = 1}, /*append_only=*/true);
  const std::string unknown = wire::BuildEmptyLogBatch({.schema_id = 77}, /*append_only=*/true);
  ASSERT_OK(Produce(0, LogBatch(SomeRows(0, 10))));
  ASSERT_OK(Produce(0, empty));
  EXPECT_CODE(ErrorCode::kSchemaNotExist, Produce(0, unknown));
  ASSERT_OK(Produce(0, LogBatch(SomeRows(10, 10))));
  FetchOptions how;
  how.positions = {0};
  ASSERT_OK_AND_ASSIGN(const auto fetched, Fetch({{0, 0}}, how));
  EXPECT_FALSE(fetched[0].has_error_code()) << fetched[0].error_message();
  // Older versions took the other too.
  const TempDir folder;
  ASSERT_OK_AND_ASSIGN(std::shared_ptr<io::File> file,
                       io::LocalFileSystem().Open(io::JoinPath(folder.path(), "segment"),
                                                  io::FileSystem::Mode::kCreateNew));
  const std::string good = LogBatch(SomeRows(0, 10));
  ASSERT_OK(file->Append(unknown + good));
  ASSERT_OK_AND_ASSIGN(const auto info, tables.ById(kLogTable));
  ASSERT_OK_AND_ASSIGN(const auto table, TableContext::Make(info, tables));
  log::Log::Slice slice;
  slice.size_bytes = file->size_bytes();
  slice.ranges = {{file, 0, slice.size_bytes}};
  ASSERT_OK_AND_ASSIGN(const auto projected,
                       CutSlice(slice, *table, {.positions = {0}}, 1 << 20, /*may_wait=*/true));
  ASSERT_OK_AND_ASSIGN(const std::string bytes, projected->records.Flatten());
  wire::LogBatchIterator batches(bytes);
  ASSERT_OK_AND_ASSIGN(const auto first, batches.Next());
  EXPECT_EQ(first->header().record_count, 0);
  ASSERT_OK_AND_ASSIGN(const auto second, batches.Next());
  EXPECT_EQ(second->header().record_count, 10);
}

// One bit of a column that nobody asked for, or of one that somebody did, near and far from the
// batch's head: whoever gets a part of the batch cannot see it.
TEST_F(LogCallsTest, ABatchThatDoesNotMatchItsCrcIsNotProjected) {
  for (const int32_t rows : {10, 100'000}) {
    std::string bytes = LogBatch(SomeRows(0, rows));
    bytes[bytes.size() - 9] ^= 1;
    const TempDir folder;
    const std::string path = io::JoinPath(folder.path(), "segment");
    ASSERT_OK_AND_ASSIGN(std::shared_ptr<io::File> file,
                         io::LocalFileSystem().Open(path, io::FileSystem::Mode::kCreateNew));
    ASSERT_OK(file->Append(bytes));
    ASSERT_OK_AND_ASSIGN(const auto info, tables.ById(kLogTable));
    ASSERT_OK_AND_ASSIGN(const auto table, TableContext::Make(info, tables));
    log::Log::Slice slice;
    slice.size_bytes = bytes.size();
    slice.ranges = {{file, 0, bytes.size()}};
    for (const int32_t column : {0, 1, 2}) {
      const auto projected =
          CutSlice(slice, *table, {.positions = {column}}, 1 << 20, /*may_wait=*/true);
      EXPECT_CODE(ErrorCode::kCorruptRecord, projected);
      EXPECT_THAT(projected.status().message(), testing::HasSubstr("file=" + path));
    }
  }
}

TEST_F(LogCallsTest, ProjectionOutsideTheSchemaIsRefused) {
  ASSERT_OK(Produce(0, LogBatch(SomeRows(0, 10))));
  FetchOptions how;
  for (const std::vector<int32_t>& positions : {std::vector<int32_t>{3}, {2, 1}, {-1}}) {
    how.positions = positions;
    ASSERT_OK_AND_ASSIGN(const auto fetched, Fetch({{0, 0}}, how));
    EXPECT_EQ(fetched[0].error_code(), 34);
  }
}

// A new column: old batches have no such position, new ones do.
TEST_F(LogCallsTest, ProjectionFollowsEachBatchsSchema) {
  ASSERT_OK(Produce(0, LogBatch(SomeRows(0, 10))));
  tables.AddColumn(kLogTable, "more");
  FetchOptions how;
  how.positions = {0, 3};
  ASSERT_OK_AND_ASSIGN(auto fetched, Fetch({{0, 0}}, how));
  EXPECT_EQ(fetched[0].error_code(), 34);
  const auto schema = tables.SchemaOf(kLogTable, 2).ValueOrDie();
  const auto rows = internal::ToArrow(*tables.SchemaOf(kLogTable, 1).ValueOrDie(), SomeRows(10, 1));
  ASSERT_OK_AND_ASSIGN(const auto wide,
                       rows->AddColumn(3, schema->ToArrow()->field(3), rows->column(1)));
  ASSERT_OK_AND_ASSIGN(const auto batch, wire::BuildLogBatch({.schema_id = 2}, *wide, {}));
  ASSERT_OK(Produce(0, batch));
  ASSERT_OK_AND_ASSIGN(fetched, Fetch({{0, 10}}, how));
  EXPECT_FALSE(fetched[0].has_error_code()) << fetched[0].error_message();
}

TEST_F(LogCallsTest, WaitingFetchIsWokenByTheAppend) {
  FetchOptions how;
  how.min_bytes = 1;
  how.max_wait_ms = 20'000;
  const io::Call call =
      MakeCall(wire::ApiKey::kFetchLog, FetchRequest({{0, 0}, {1, 0}, {2, 0}, {3, 0}}, how));
  std::atomic<bool> answered = false;
  Result<std::string> body = std::string();
  const auto started = std::chrono::steady_clock::now();
  std::thread reader([&] {
    body = Send(call);
    answered = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(answered);
  const std::string batch = LogBatch(SomeRows(0, 2));
  ASSERT_OK(Produce(2, batch));
  reader.join();
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(10));
  ASSERT_OK_AND_ASSIGN(const auto response,
                       wire::ParseMessage<wire::FetchLogResponse>(body.ValueOrDie()));
  ASSERT_EQ(response.tables_resp(0).buckets_resp_size(), 4);
  EXPECT_EQ(response.tables_resp(0).buckets_resp(2).records().size(), batch.size());
}

TEST_F(LogCallsTest, WaitingFetchEndsWithItsTime) {
  FetchOptions how;
  how.min_bytes = 1;
  how.max_wait_ms = 100;
  const auto started = std::chrono::steady_clock::now();
  // A bucket that is not here does not end the wait, or its client would ask in a loop.
  ASSERT_OK_AND_ASSIGN(const auto fetched, Fetch({{0, 0}, {9, 0}}, how));
  EXPECT_GE(std::chrono::steady_clock::now() - started, std::chrono::milliseconds(95));
  EXPECT_TRUE(fetched[0].has_records());
  EXPECT_EQ(fetched[1].error_code(), 21);
}

TEST_F(LogCallsTest, ACallNotesItsBucketsAndTheWaitThatItAskedFor) {
  const auto notes_of = [&](int32_t max_wait_ms) {
    FetchOptions how;
    how.min_bytes = 1;
    how.max_wait_ms = max_wait_ms;
    io::CallNotes notes;
    io::Call call = MakeCall(wire::ApiKey::kFetchLog, FetchRequest({{2, 0}, {0, 0}}, how));
    call.notes = &notes;
    EXPECT_OK(Send(std::move(call)));
    EXPECT_EQ(notes.table_id, kLogTable);
    EXPECT_EQ(notes.bucket, 2);
    EXPECT_EQ(notes.buckets, 2u);
    return notes;
  };
  EXPECT_EQ(notes_of(0).waited.count(), 0);
  EXPECT_GE(notes_of(100).waited, std::chrono::milliseconds(95));
}

TEST_F(LogCallsTest, StopEndsWaitingFetches) {
  FetchOptions how;
  how.min_bytes = 1;
  how.max_wait_ms = 60'000;
  std::thread reader([&] { EXPECT_OK(Fetch({{0, 0}}, how).status()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_OK(io::SyncWait(loop(), service->Stop(loop())));
  reader.join();
  Drop();
}

// What a server does first, so that its listeners need not wait for such calls.
TEST_F(LogCallsTest, WaitsEndForGoodWhileTheServiceGoesOn) {
  FetchOptions how;
  how.min_bytes = 1;
  how.max_wait_ms = 60'000;
  std::thread reader([&] { EXPECT_OK(Fetch({{0, 0}}, how).status()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  service->EndWaits();
  reader.join();
  ASSERT_OK_AND_ASSIGN(auto fetched, Fetch({{0, 0}}, how));
  EXPECT_TRUE(fetched[0].records().empty());
  ASSERT_OK(Produce(0, LogBatch(SomeRows(0, 1))));
  ASSERT_OK_AND_ASSIGN(fetched, Fetch({{0, 0}}, how));
  EXPECT_FALSE(fetched[0].records().empty());
}

TEST_F(LogCallsTest, OffsetsByTimestamp) {
  const int64_t before_ms = io::SystemClock().NowMs();
  ASSERT_OK(Produce(0, LogBatch(SomeRows(0, 10))));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const int64_t between_ms = io::SystemClock().NowMs();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_OK(Produce(0, LogBatch(SomeRows(10, 10))));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  constexpr int32_t kEarliest = 0, kLatest = 1, kTimestamp = 2, kUnknown = 9;
  EXPECT_EQ(OffsetOf(kLogTable, 0, kEarliest).ValueOr(-1), 0);
  EXPECT_EQ(OffsetOf(kLogTable, 0, kLatest).ValueOr(-1), 20);
  EXPECT_EQ(OffsetOf(kLogTable, 0, kTimestamp, before_ms).ValueOr(-1), 0);
  EXPECT_EQ(OffsetOf(kLogTable, 0, kTimestamp, between_ms).ValueOr(-1), 10);
  EXPECT_EQ(OffsetOf(kLogTable, 0, kTimestamp, io::SystemClock().NowMs()).ValueOr(-1), 20);
  EXPECT_CODE(ErrorCode::kInvalidTimestamp,
              OffsetOf(kLogTable, 0, kTimestamp, io::SystemClock().NowMs() + 100'000));
  EXPECT_CODE(ErrorCode::kUnknownTableOrBucket, OffsetOf(kLogTable, 9, kLatest));
  EXPECT_CODE(ErrorCode::kUnknownServer, OffsetOf(kLogTable, 0, kUnknown));
}

TEST_F(LogCallsTest, LimitScanGivesTheLastRows) {
  for (int i = 0; i < 5; ++i) ASSERT_OK(Produce(0, LogBatch(SomeRows(i * 10, 10))));
  wire::LimitScanRequest request;
  request.set_table_id(kLogTable);
  request.set_bucket_id(0);
  request.set_limit(15);
  ASSERT_OK_AND_ASSIGN(const auto response,
                       Ask<wire::LimitScanResponse>(wire::ApiKey::kLimitScan, request));
  EXPECT_TRUE(response.is_log_table());
  EXPECT_FALSE(response.has_error_code());
  ASSERT_OK_AND_ASSIGN(const auto batch, wire::LogBatchView::Parse(response.records()));
  EXPECT_EQ(batch.header().base_offset, 30);
  request.set_bucket_id(9);
  ASSERT_OK_AND_ASSIGN(const auto refused,
                       Ask<wire::LimitScanResponse>(wire::ApiKey::kLimitScan, request));
  EXPECT_EQ(refused.error_code(), 21);
}

TEST_F(LogCallsTest, WriterIdsComeFromTheCoordinator) {
  ASSERT_OK_AND_ASSIGN(const auto first, Ask<wire::InitWriterResponse>(wire::ApiKey::kInitWriter,
                                                                       wire::InitWriterRequest()));
  ASSERT_OK_AND_ASSIGN(const auto second, Ask<wire::InitWriterResponse>(wire::ApiKey::kInitWriter,
                                                                        wire::InitWriterRequest()));
  EXPECT_EQ(second.writer_id(), first.writer_id() + 1);
}

TEST_F(LogCallsTest, RefusesUnknownCallsAndBrokenBodies) {
  EXPECT_CODE(ErrorCode::kUnsupportedVersion, Send({1001, 0, ""}));
  EXPECT_CODE(ErrorCode::kUnsupportedVersion, Send({1029, 0, ""}));
  for (const wire::ApiInfo& api : wire::Apis()) {
    EXPECT_FALSE(Send({static_cast<int16_t>(api.key), 0, "\xff\xff\xff"}).ok()) << api.name;
  }
}

}  // namespace
}  // namespace sluice::tablet
