// A plan with predicates gives, once its rows are filtered, what the plan without them gives.
#include "lake/paimon/pruning.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/json/from_string.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include <cmath>
#include <set>

#include "lake/paimon/parquet_file.h"
#include "lake/workload_testing.h"

namespace sluice::lake {
namespace {

using Op = Predicate::Op;

struct Rows {
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  int64_t files = 0, skipped = 0;
};

Result<Rows> ReadRows(LakeTable& table, const LakeSnapshot& snapshot,
                      const std::vector<Predicate>& pushed) {
  ASSIGN_OR_RAISE(const LakePlan plan, table.Plan(snapshot, {.predicates = pushed}));
  Rows rows{.skipped = plan.files_skipped};
  for (const LakeSplit& split : plan.splits) {
    rows.files += static_cast<int64_t>(split.files.size());
    ASSIGN_OR_RAISE(const auto reader, table.Read(split, Names(table.schema().columns)));
    while (true) {
      ASSIGN_OR_RAISE(auto batch, reader->Next());
      if (batch == nullptr) break;
      rows.batches.push_back(std::move(batch));
    }
  }
  return rows;
}

// Names of the rows that meet all predicates: no two have the same bucket, offset and time.
Result<std::vector<std::string>> Filter(const Rows& rows,
                                        const std::vector<Predicate>& predicates) {
  std::vector<std::string> names;
  for (const auto& batch : rows.batches) {
    for (int64_t row = 0; row < batch->num_rows(); ++row) {
      bool meets = true;
      for (const Predicate& predicate : predicates) {
        ASSIGN_OR_RAISE(const auto value, batch->GetColumnByName(predicate.column)->GetScalar(row));
        meets = meets && Meets(predicate, *value);
      }
      if (!meets) continue;
      std::string& name = names.emplace_back();
      for (const auto column : {kBucketColumn, kOffsetColumn, kTimestampColumn}) {
        ASSIGN_OR_RAISE(const auto value,
                        batch->GetColumnByName(std::string(column))->GetScalar(row));
        name += value->ToString() + " ";
      }
    }
  }
  std::ranges::sort(names);
  return names;
}

// Conditions with values that occur in `rows` or beside them.
Predicate RandomPredicate(const arrow::RecordBatch& rows, io::Random& random) {
  while (true) {
    const int column = static_cast<int>(random.Below(static_cast<uint64_t>(rows.num_columns())));
    Predicate predicate{.column = rows.schema()->field(column)->name(),
                        .op = static_cast<Op>(random.Below(8))};
    if (predicate.op == Op::kIsNull || predicate.op == Op::kIsNotNull) return predicate;
    const size_t wanted = predicate.op == Op::kIn ? 1 + random.Below(3) : 1;
    for (int attempt = 0; attempt < 20 && predicate.values.size() < wanted; ++attempt) {
      const auto at = static_cast<int64_t>(random.Below(static_cast<uint64_t>(rows.num_rows())));
      const auto value = rows.column(column)->GetScalar(at).ValueOrDie();
      if (OrderedValueOf(*value)) predicate.values.push_back(value);
    }
    if (predicate.values.size() == wanted) return predicate;
  }
}

struct Kind {
  const char* name;
  bool primary_key, bucket_key, partitioned;
};

class PruningTest : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    const Kind& kind = GetParam();
    workload_ = LakeWorkload::Create(
                    catalog_.get(),
                    {{"db", "t"},
                     AllTypesTable(kind.primary_key, kind.bucket_key, kind.partitioned, 3, false),
                     200},
                    7)
                    .ValueOrDie();
    for (int i = 0; i < 5; ++i) ASSERT_OK(workload_->Round(60));
    // Half merged: some rows lie in raw files of a high level, some in files to be merged.
    ASSERT_OK(workload_->table().Compact({.full = true}));
    for (int i = 0; i < 3; ++i) ASSERT_OK(workload_->Round(20));
    snapshot_ = **workload_->table().LatestSnapshot();
  }

  TempDir folder_;
  HandClock clock_;
  io::SeededRandom random_{3};
  std::unique_ptr<LakeCatalog> catalog_ =
      LakeCatalog::Open({.properties = {{"warehouse", folder_.path()}},
                         .files = &io::LocalFileSystem(),
                         .clock = &clock_,
                         .random = &random_})
          .ValueOrDie();
  std::unique_ptr<LakeWorkload> workload_;
  LakeSnapshot snapshot_;
};

TEST_P(PruningTest, RandomPredicatesSkipNoRowThatMeetsThem) {
  LakeTable& table = workload_->table();
  auto samples = RandomRows(AllTypeColumns(false), 50, random_);
  samples =
      WithInts(samples, "id", [&](int64_t) { return static_cast<int64_t>(random_.Below(210)); });
  ASSERT_OK_AND_ASSIGN(const Rows whole, ReadRows(table, snapshot_, {}));
  for (int i = 0; i < 40; ++i) {
    std::vector<Predicate> predicates{RandomPredicate(*samples, random_)};
    if (random_.Below(3) == 0) predicates.push_back(RandomPredicate(*samples, random_));
    SCOPED_TRACE(predicates.front().column + " op " +
                 std::to_string(static_cast<int>(predicates.front().op)));
    ASSERT_OK_AND_ASSIGN(const Rows pushed, ReadRows(table, snapshot_, predicates));
    ASSERT_OK_AND_ASSIGN(const auto found, Filter(pushed, predicates));
    ASSERT_OK_AND_ASSIGN(const auto expected, Filter(whole, predicates));
    ASSERT_EQ(found, expected);
    ASSERT_EQ(pushed.files + pushed.skipped, whole.files);
  }
}

TEST_P(PruningTest, AKeyFindsItsBucketAndADayItsPartition) {
  LakeTable& table = workload_->table();
  const Predicate on_id{"id", Op::kEqual, {std::make_shared<arrow::Int32Scalar>(17)}};
  ASSERT_OK_AND_ASSIGN(const LakePlan whole, table.Plan(snapshot_, {}));
  ASSERT_OK_AND_ASSIGN(const LakePlan plan, table.Plan(snapshot_, {.predicates = {on_id}}));
  if (GetParam().primary_key || GetParam().bucket_key) {
    EXPECT_GT(plan.files_skipped, 0);
    std::set<int32_t> buckets;
    for (const LakeSplit& split : plan.splits) buckets.insert(split.bucket);
    EXPECT_LE(buckets.size(), 1u);
    for (int32_t bucket = 0; bucket < 3; ++bucket) {
      ASSERT_OK_AND_ASSIGN(
          const bool may,
          table.MayHold(GetParam().partitioned ? std::vector<std::string>{"2026-01-01"}
                                               : std::vector<std::string>{},
                        bucket, {on_id}));
      EXPECT_TRUE(may || !buckets.contains(bucket));
    }
  }
  if (!GetParam().partitioned) return;
  const Predicate on_day{"dt", Op::kEqual, {std::make_shared<arrow::StringScalar>("2026-01-02")}};
  ASSERT_OK_AND_ASSIGN(const LakePlan day, table.Plan(snapshot_, {.predicates = {on_day}}));
  EXPECT_GT(day.files_skipped, 0);
  for (const LakeSplit& split : day.splits) EXPECT_EQ(split.partition.front(), "2026-01-02");
  ASSERT_OK_AND_ASSIGN(const bool other, table.MayHold({"2026-01-01"}, 0, {on_day}));
  EXPECT_FALSE(other);
}

// 0.0 equals -0.0 and a NaN has no place in an order: bytes and bounds of reals tell nothing.
TEST_P(PruningTest, RealsSkipNothing) {
  LakeTable& table = workload_->table();
  for (const double value : {0.0, -0.0, std::nan("")}) {
    const Predicate predicate{
        "c_double", Op::kEqual, {std::make_shared<arrow::DoubleScalar>(value)}};
    ASSERT_OK_AND_ASSIGN(const LakePlan plan, table.Plan(snapshot_, {.predicates = {predicate}}));
    EXPECT_EQ(plan.files_skipped, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, PruningTest,
                         testing::Values(Kind{"append", false, false, false},
                                         Kind{"append_by_key", false, true, true},
                                         Kind{"keyed", true, false, false},
                                         Kind{"keyed_by_day", true, false, true}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(RowGroupTest, GroupsAreSkippedByTheirStatistics) {
  const TempDir folder;
  io::FileSystem& files = io::LocalFileSystem();
  const std::string path = io::JoinPath(folder.path(), "f.parquet");
  const std::vector<paimon::FileColumn> columns{
      {"a", types::DataType::Of(types::TypeKind::kBigInt), 0}};
  {
    ASSERT_OK_AND_ASSIGN(const auto writer, paimon::ParquetFileWriter::Create(
                                                files, path, columns, {.row_group_bytes = 1}));
    for (int64_t group = 0; group < 4; ++group) {
      arrow::Int64Builder values;
      for (int64_t i = 0; i < 10; ++i) ASSERT_OK(values.Append(group * 10 + i));
      ASSERT_OK_AND_ASSIGN(auto array, values.Finish());
      ASSERT_OK(writer->Write(
          *arrow::RecordBatch::Make(paimon::FileArrowSchema(columns), 10, {std::move(array)})));
    }
    ASSERT_OK(writer->Close());
  }
  paimon::ReadCounters counts;
  const Predicate wanted{"a", Op::kGreaterOrEqual, {std::make_shared<arrow::Int64Scalar>(25)}};
  ASSERT_OK_AND_ASSIGN(
      const auto reader,
      paimon::ParquetFileReader::Open(files, path, {"a"}, {.rows = 100}, {wanted}, &counts));
  EXPECT_EQ(reader->row_count(), 20);
  int64_t rows = 0;
  while (true) {
    ASSERT_OK_AND_ASSIGN(const auto batch, reader->Next());
    if (batch == nullptr) break;
    rows += batch->num_rows();
  }
  EXPECT_EQ(rows, 20);
  EXPECT_EQ(counts.files, 1);
  EXPECT_EQ(counts.row_groups, 2);
  EXPECT_EQ(counts.row_groups_skipped, 2);
}

// A list without elements counts as a NULL among the elements, though it is none itself.
TEST(RowGroupTest, NullTestsOfNestedColumnsSkipNothing) {
  const TempDir folder;
  io::FileSystem& files = io::LocalFileSystem();
  const std::string path = io::JoinPath(folder.path(), "f.parquet");
  const std::vector<paimon::FileColumn> columns{
      {"a", types::DataType::Array(types::DataType::Of(types::TypeKind::kInteger)), 0}};
  const auto schema = paimon::FileArrowSchema(columns);
  {
    ASSERT_OK_AND_ASSIGN(const auto writer,
                         paimon::ParquetFileWriter::Create(files, path, columns, {}));
    const auto values = arrow::json::ArrayFromJSONString(schema->field(0)->type(), "[[], [], []]");
    ASSERT_OK(values.status());
    ASSERT_OK(writer->Write(*arrow::RecordBatch::Make(schema, 3, {*values})));
    ASSERT_OK(writer->Close());
  }
  const Predicate wanted{"a", Op::kIsNotNull, {}};
  ASSERT_OK_AND_ASSIGN(
      const auto reader,
      paimon::ParquetFileReader::Open(files, path, {"a"}, {.rows = 100}, {wanted}, nullptr));
  EXPECT_EQ(reader->row_count(), 3);
}

}  // namespace
}  // namespace sluice::lake
