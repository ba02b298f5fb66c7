// Fetches with a filter, and batches with statistics.
#include "base/testing.h"
#include "tablet/testing_internal.h"
#include "wire/batch_statistics.h"
#include "wire/row_filter.h"

namespace sluice::tablet {
namespace {

using internal::kLogTable;
using internal::TestRow;

std::vector<TestRow> NumberedRows(int32_t first, int count) {
  std::vector<TestRow> rows;
  for (int32_t id = first; id < first + count; ++id) rows.push_back({id, "name", id * 10L});
  return rows;
}

class FilteredFetchTest : public internal::TabletTest {
 public:
  void SetUp() override {
    tables.SetProperty(kLogTable, "table.statistics.columns", "*");
    TabletTest::SetUp();
    LeadAll();
  }

  // Rows of ids [from, from + count) with statistics.
  std::string WithStatistics(int32_t from, int32_t count) {
    const auto schema = tables.SchemaOf(kLogTable, 1).ValueOrDie();
    wire::LogBatchOptions batch;
    batch.statistics =
        std::make_shared<const wire::StatisticsWriter>(*schema, std::vector<int>{0, 1, 2});
    return LogBatch(NumberedRows(from, count), batch);
  }

  static wire::RowFilter IdIs(wire::RowFilter::Op op, int64_t id) {
    return {.op = op, .column_id = 0, .values = {wire::OrderedValue(id)}, .children = {}};
  }

  wire::FetchLogRequest Request(const wire::RowFilter& filter, int64_t offset,
                                const FetchOptions& how) {
    wire::FetchLogRequest request = FetchRequest({{0, offset}}, how);
    auto* table = request.mutable_tables_req(0);
    const auto schema = tables.SchemaOf(kLogTable, 1).ValueOrDie();
    EXPECT_OK(wire::WriteFilter(filter, *schema, table->mutable_filter_predicate()));
    table->set_filter_schema_id(1);
    return request;
  }
  Result<wire::PbFetchLogRespForBucket> Ask1(const wire::FetchLogRequest& request) {
    ASSIGN_OR_RAISE(const auto response,
                    Ask<wire::FetchLogResponse>(wire::ApiKey::kFetchLog, request));
    return response.tables_resp(0).buckets_resp(0);
  }

  // Base offsets of the batches in an answer.
  static std::vector<int64_t> Bases(const wire::PbFetchLogRespForBucket& answer) {
    std::vector<int64_t> bases;
    wire::LogBatchIterator batches(answer.records());
    while (const auto batch = batches.Next().ValueOrDie())
      bases.push_back(batch->header().base_offset);
    return bases;
  }
};

TEST_F(FilteredFetchTest, BatchesWithoutAMatchAreSkipped) {
  for (int32_t from = 0; from < 100; from += 10) ASSERT_OK(Produce(0, WithStatistics(from, 10)));
  using Op = wire::RowFilter::Op;
  ASSERT_OK_AND_ASSIGN(auto answer, Ask1(Request(IdIs(Op::kEqual, 35), 0, {})));
  EXPECT_EQ(Bases(answer), (std::vector<int64_t>{30}));
  EXPECT_EQ(answer.filtered_end_offset(), 100);
  EXPECT_EQ(service->skipped_batches(), 9u);
  // Behind the last record there is nothing to tell.
  ASSERT_OK_AND_ASSIGN(answer, Ask1(Request(IdIs(Op::kGreaterOrEqual, 80), 0, {})));
  EXPECT_EQ(Bases(answer), (std::vector<int64_t>{80, 90}));
  EXPECT_FALSE(answer.has_filtered_end_offset());
  // Everything is skipped, also from the middle of a batch.
  ASSERT_OK_AND_ASSIGN(answer, Ask1(Request(IdIs(Op::kLess, 0), 25, {})));
  EXPECT_TRUE(answer.has_records() && answer.records().empty());
  EXPECT_EQ(answer.filtered_end_offset(), 100);
  // With a projection.
  FetchOptions how;
  how.positions = {1};
  ASSERT_OK_AND_ASSIGN(answer, Ask1(Request(IdIs(Op::kLess, 5), 0, how)));
  EXPECT_EQ(Bases(answer), (std::vector<int64_t>{0}));
  EXPECT_EQ(answer.filtered_end_offset(), 100);
}

TEST_F(FilteredFetchTest, TheEndOfWhatWasSkippedStaysWithinTheAnswer) {
  const std::string batch = WithStatistics(10, 10);
  for (int32_t from = 0; from < 60; from += 10)
    ASSERT_OK(Produce(0, WithStatistics(from % 20, 10)));
  FetchOptions how;  // Room for one batch: those of ids 0 to 9 are every other one.
  how.max_fetch_bytes = static_cast<int32_t>(batch.size());
  using Op = wire::RowFilter::Op;
  int64_t offset = 0;
  std::vector<int64_t> found;
  for (int fetches = 0; offset < 60; ++fetches) {
    ASSERT_LT(fetches, 7);
    ASSERT_OK_AND_ASSIGN(const auto answer, Ask1(Request(IdIs(Op::kGreater, 12), offset, how)));
    const auto bases = Bases(answer);
    ASSERT_LE(bases.size(), 1u);
    int64_t next = answer.has_filtered_end_offset() ? answer.filtered_end_offset() : offset;
    for (const int64_t base : bases) {
      found.push_back(base);
      next = std::max(next, base + 10);
    }
    ASSERT_GT(next, offset);
    offset = next;
  }
  EXPECT_EQ(found, (std::vector<int64_t>{10, 30, 50}));
}

TEST_F(FilteredFetchTest, WhatCannotBeJudgedIsSent) {
  ASSERT_OK(Produce(0, LogBatch(NumberedRows(0, 10))));  // Without statistics.
  ASSERT_OK(Produce(0, WithStatistics(10, 10)));
  using Op = wire::RowFilter::Op;
  const auto none = IdIs(Op::kLess, 0);
  ASSERT_OK_AND_ASSIGN(auto answer, Ask1(Request(none, 0, {})));
  EXPECT_EQ(Bases(answer), (std::vector<int64_t>{0}));
  // Filters that say nothing.
  auto request = Request(none, 0, {});
  request.mutable_tables_req(0)->mutable_filter_predicate()->mutable_leaf()->set_field_id(77);
  ASSERT_OK_AND_ASSIGN(answer, Ask1(request));
  EXPECT_EQ(Bases(answer).size(), 2u);
  request = Request(none, 0, {});
  request.mutable_tables_req(0)->set_filter_schema_id(9);
  ASSERT_OK_AND_ASSIGN(answer, Ask1(request));
  EXPECT_EQ(Bases(answer).size(), 2u);
  request.mutable_tables_req(0)->clear_filter_schema_id();
  EXPECT_CODE(ErrorCode::kUnknownServer, Ask1(request));
}

TEST_F(FilteredFetchTest, AColumnThatABatchLacksIsNull) {
  ASSERT_OK(Produce(0, LogBatch(NumberedRows(0, 10))));
  tables.AddColumn(kLogTable, "more");
  ASSERT_OK(TellChanged(kLogTable));
  using Op = wire::RowFilter::Op;
  const auto schema = tables.SchemaOf(kLogTable, 2).ValueOrDie();
  for (const bool null : {true, false}) {
    wire::RowFilter filter{.op = null ? Op::kIsNull : Op::kEqual, .column_id = 3};
    if (!null) filter.values = {wire::OrderedValue(std::string("x"))};
    auto request = FetchRequest({{0, 0}}, {});
    auto* table = request.mutable_tables_req(0);
    ASSERT_OK(wire::WriteFilter(filter, *schema, table->mutable_filter_predicate()));
    table->set_filter_schema_id(2);
    ASSERT_OK_AND_ASSIGN(const auto answer, Ask1(request));
    EXPECT_EQ(Bases(answer).size(), null ? 1u : 0u);
    EXPECT_EQ(answer.filtered_end_offset(), null ? 0 : 10);
  }
}

// Java 0.9.1 takes magic 1 for another layout. It is told by a fetch without a place to read from.
TEST_F(FilteredFetchTest, OldClientsGetBatchesOfMagic0) {
  ASSERT_OK(Produce(0, WithStatistics(0, 10)));
  ASSERT_OK(Produce(0, LogBatch(NumberedRows(10, 10))));
  const auto magics = [&](const wire::FetchLogRequest& request) {
    const auto answer = Ask1(request).ValueOrDie();
    std::vector<int> found;
    wire::LogBatchIterator batches(answer.records());
    while (const auto batch = batches.Next().ValueOrDie()) {
      EXPECT_TRUE(batch->CrcMatches());
      found.push_back(batch->header().magic);
    }
    return found;
  };
  auto request = FetchRequest({{0, 0}}, {});
  EXPECT_EQ(magics(request), (std::vector<int>{1, 0}));
  client_name = "fluss";
  EXPECT_EQ(magics(request), (std::vector<int>{0, 0}));
  request.set_read_preference(0);
  EXPECT_EQ(magics(request), (std::vector<int>{1, 0}));
  client_name = "fluss-rust";
  request.clear_read_preference();
  EXPECT_EQ(magics(request), (std::vector<int>{1, 0}));
  // A limit scan does not say whose it is.
  wire::LimitScanRequest scan;
  scan.set_table_id(kLogTable);
  scan.set_bucket_id(0);
  scan.set_limit(20);
  ASSERT_OK_AND_ASSIGN(const auto rows,
                       Ask<wire::LimitScanResponse>(wire::ApiKey::kLimitScan, scan));
  wire::LogBatchIterator batches(rows.records());
  int64_t count = 0;
  while (const auto batch = batches.Next().ValueOrDie()) {
    EXPECT_EQ(batch->header().magic, 0);
    EXPECT_TRUE(batch->CrcMatches());
    count += batch->header().record_count;
  }
  EXPECT_EQ(count, 20);
}

}  // namespace
}  // namespace sluice::tablet
