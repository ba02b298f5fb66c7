#include <arrow/api.h>
#include <arrow/util/byte_size.h>

#include <map>

#include "base/testing.h"
#include "sql/key_merge_internal.h"
#include "sql/key_store_internal.h"

namespace sluice::sql {
namespace {

using wire::ChangeType;

class KeyMergeTest : public testing::Test {
 protected:
  KeyMergeTest() {
    schema_.columns = {{"id", types::DataType::Of(types::TypeKind::kBigInt)->WithNullable(false)},
                       {"v", types::DataType::Of(types::TypeKind::kBigInt)}};
    schema_.primary_key = {"id"};
  }

  using Pairs = std::vector<std::pair<int64_t, int64_t>>;
  static std::shared_ptr<arrow::RecordBatch> Rows(const Pairs& pairs) {
    arrow::Int64Builder ids;
    arrow::Int64Builder values;
    for (const auto& [id, value] : pairs) {
      EXPECT_OK(ids.Append(id));
      EXPECT_OK(values.Append(value));
    }
    const auto schema = arrow::schema(
        {arrow::field("id", arrow::int64(), false), arrow::field("v", arrow::int64())});
    return arrow::RecordBatch::Make(schema, static_cast<int64_t>(pairs.size()),
                                    {*ids.Finish(), *values.Finish()});
  }

  /// A base and the log beside it, merged to one end of the log, by id.
  Result<std::map<int64_t, int64_t>> Merged(const Pairs& base, std::vector<LogTail::Rows> log,
                                            KeyTail::To to) const {
    ASSIGN_OR_RAISE(const KeyOf key_of, KeyOf::Make(schema_));
    MemoryBudget memory(1 << 20);
    KeyTail tail(memory);
    for (LogTail::Rows& rows : log) RETURN_NOT_OK(tail.Add(std::move(rows), key_of, to));
    MergeReader reader(std::make_unique<BatchListReader>(
                           std::vector<std::shared_ptr<arrow::RecordBatch>>{Rows(base)}),
                       std::move(tail), key_of, {"id", "v"});
    std::map<int64_t, int64_t> state;
    while (true) {
      ASSIGN_OR_RAISE(const auto batch, reader.Next());
      if (batch == nullptr) return state;
      const auto& ids = static_cast<const arrow::Int64Array&>(*batch->column(0));
      const auto& values = static_cast<const arrow::Int64Array&>(*batch->column(1));
      for (int64_t i = 0; i < batch->num_rows(); ++i)
        EXPECT_TRUE(state.emplace(ids.Value(i), values.Value(i)).second)
            << "twice: " << ids.Value(i);
    }
  }

  /// 1: untouched. 2: updated twice. 3: deleted. 4: new. 5: new and gone again. 6: gone and new
  /// again.
  std::vector<LogTail::Rows> Log() const {
    return {{Rows({{2, 20}, {2, 21}, {3, 30}, {4, 41}}),
             {ChangeType::kUpdateBefore, ChangeType::kUpdateAfter, ChangeType::kDelete,
              ChangeType::kInsert}},
            {Rows({{5, 51}, {2, 21}, {2, 22}, {6, 60}, {5, 51}, {6, 61}}),
             {ChangeType::kInsert, ChangeType::kUpdateBefore, ChangeType::kUpdateAfter,
              ChangeType::kDelete, ChangeType::kDelete, ChangeType::kInsert}}};
  }
  /// Updates of 500 keys from `first` on: old and new rows by turns.
  static LogTail::Rows Updates(int64_t first) {
    Pairs pairs;
    std::vector<ChangeType> changes;
    for (int64_t id = first; id < first + 500; ++id) {
      pairs.emplace_back(id, id);
      changes.push_back(ChangeType::kUpdateBefore);
      pairs.emplace_back(id, id + 1'000'000);
      changes.push_back(ChangeType::kUpdateAfter);
    }
    return {Rows(pairs), std::move(changes)};
  }
  const Pairs before_ = {{1, 10}, {2, 20}, {3, 30}, {6, 60}};
  const Pairs after_ = {{1, 10}, {2, 22}, {4, 41}, {6, 61}};

  types::Schema schema_;
};

TEST_F(KeyMergeTest, TheLogLeadsForward) {
  ASSERT_OK_AND_ASSIGN(const auto state, Merged(before_, Log(), KeyTail::To::kEnd));
  EXPECT_EQ(state, (std::map<int64_t, int64_t>{{1, 10}, {2, 22}, {4, 41}, {6, 61}}));
}

TEST_F(KeyMergeTest, TheLogLeadsBack) {
  ASSERT_OK_AND_ASSIGN(const auto state, Merged(after_, Log(), KeyTail::To::kBegin));
  EXPECT_EQ(state, (std::map<int64_t, int64_t>{{1, 10}, {2, 20}, {3, 30}, {6, 60}}));
}

TEST_F(KeyMergeTest, ALogWithoutOldRowsDoesNotLeadBack) {
  std::vector<LogTail::Rows> log{{Rows({{2, 22}}), {ChangeType::kUpdateAfter}}};
  EXPECT_CODE(ErrorCode::kCorruptRecord, Merged(after_, log, KeyTail::To::kBegin));
}

TEST_F(KeyMergeTest, RowsOfTheLogComeBatchByBatchWithNoOthers) {
  ASSERT_OK_AND_ASSIGN(const KeyOf key_of, KeyOf::Make(schema_));
  MemoryBudget memory(1 << 20);
  KeyTail tail(memory);
  std::vector<std::weak_ptr<arrow::RecordBatch>> log;
  for (int64_t batch = 0; batch < 2; ++batch) {
    LogTail::Rows rows = Updates(batch * 1000);
    log.push_back(rows.rows);
    ASSERT_OK(tail.Add(std::move(rows), key_of, KeyTail::To::kEnd));
  }
  MergeReader reader(nullptr, std::move(tail), key_of, {"v"});
  for (int64_t batch = 0; batch < 2; ++batch) {
    ASSERT_OK_AND_ASSIGN(const auto rows, reader.Next());
    ASSERT_TRUE(rows != nullptr);
    EXPECT_EQ(rows->num_rows(), 500);
    EXPECT_EQ(static_cast<const arrow::Int64Array&>(*rows->column(0)).Value(499),
              batch * 1000 + 499 + 1'000'000);
    EXPECT_LT(arrow::util::TotalBufferSize(*rows), 500 * 8 + 128);
    EXPECT_TRUE(log[static_cast<size_t>(batch)].expired());
    EXPECT_EQ(log[1].expired(), batch == 1);
  }
  ASSERT_OK_AND_ASSIGN(const auto end, reader.Next());
  EXPECT_TRUE(end == nullptr);
}

TEST_F(KeyMergeTest, KeptRowsAreCountedWithAllThatTheyHold) {
  ASSERT_OK_AND_ASSIGN(const KeyOf key_of, KeyOf::Make(schema_));
  const auto memory = std::make_shared<MemoryBudget>(1 << 20);
  KeptKeys kept(memory);
  const auto open = [&]() -> Result<std::unique_ptr<BatchReader>> {
    KeyTail tail(*memory);
    RETURN_NOT_OK(tail.Add(Updates(0), key_of, KeyTail::To::kEnd));
    Pairs base;  // Every second one has changed since.
    for (int64_t i = 0; i < 1000; ++i) base.emplace_back(i % 2 == 0 ? i / 2 : -i, i);
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches{Rows(base)};
    return std::make_unique<MergeReader>(std::make_unique<BatchListReader>(std::move(batches)),
                                         std::move(tail), key_of,
                                         std::vector<std::string>{"id", "v"});
  };
  ASSERT_OK_AND_ASSIGN(const auto batches, kept.Rows({"d", "t"}, {}, open));
  int64_t rows = 0;
  int64_t bytes = 0;
  for (const auto& batch : batches) {
    rows += batch->num_rows();
    bytes += arrow::util::TotalBufferSize(*batch);
  }
  EXPECT_EQ(rows, 1000);
  EXPECT_EQ(batches.size(), 2u);
  EXPECT_LE(bytes, memory->used_bytes());
}

// Arrow keeps a hundred times of a row beside a batch that has no other.
TEST_F(KeyMergeTest, ManySmallBatchesTakeTheMemoryOfTheirRows) {
  constexpr int64_t kRows = 20'000;
  ASSERT_OK_AND_ASSIGN(const KeyOf key_of, KeyOf::Make(schema_));
  MemoryBudget memory(kRows * 200);
  KeyTail tail(memory);
  for (int64_t i = 0; i < kRows; ++i) {
    const int64_t id = i % (kRows / 2);  // Each twice.
    ASSERT_OK(tail.Add({Rows({{id, i}}), {ChangeType::kUpdateAfter}}, key_of, KeyTail::To::kEnd));
  }
  EXPECT_LE(tail.rows.batches().size(), 50u);
  int64_t next = kRows / 2;
  while (true) {
    ASSERT_OK_AND_ASSIGN(const auto rows, tail.Next({"v"}));
    if (rows == nullptr) break;
    for (int64_t i = 0; i < rows->num_rows(); ++i)
      EXPECT_EQ(static_cast<const arrow::Int64Array&>(*rows->column(0)).Value(i), next++);
  }
  EXPECT_EQ(next, kRows);
}

TEST_F(KeyMergeTest, ATailTakesItsShareOfMemoryAndGivesItBack) {
  ASSERT_OK_AND_ASSIGN(const KeyOf key_of, KeyOf::Make(schema_));
  Pairs pairs;
  for (int64_t i = 0; i < 100; ++i) pairs.emplace_back(i, i);
  MemoryBudget memory(100'000);
  {
    KeyTail tail(memory);
    ASSERT_OK(tail.Add({Rows(pairs), {}}, key_of, KeyTail::To::kEnd));
    const int64_t once = memory.used_bytes();
    EXPECT_GE(once, 100 * (2 * 8 + 8));
    // Known keys take nothing anew.
    ASSERT_OK(tail.Add({Rows(pairs), {}}, key_of, KeyTail::To::kEnd));
    EXPECT_EQ(memory.used_bytes(), once + types::HeldBytes(*Rows(pairs)));
    KeyTail other(memory);
    Status added;
    for (int i = 0; i < 100 && added.ok(); ++i)
      added = other.Add({Rows(pairs), {}}, key_of, KeyTail::To::kEnd);
    EXPECT_CODE(ErrorCode::kStorageBackpressure, added);
    EXPECT_THAT(added.message(), testing::HasSubstr("bytes_max=100000"));
    const KeyTail moved = std::move(tail);
    EXPECT_GT(memory.used_bytes(), once);
  }
  EXPECT_EQ(memory.used_bytes(), 0);
}

}  // namespace
}  // namespace sluice::sql
