#include "types/row_batches.h"

#include <arrow/api.h>

#include <algorithm>

#include "base/testing.h"

namespace sluice::types {
namespace {

using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

// Rows `first`, `first` + 1, … as (number, text of it).
BatchPtr Numbered(int64_t first, int64_t count) {
  arrow::Int64Builder numbers;
  arrow::StringBuilder texts;
  for (int64_t i = first; i < first + count; ++i) {
    EXPECT_OK(numbers.Append(i));
    EXPECT_OK(texts.Append(std::to_string(i)));
  }
  const auto schema =
      arrow::schema({arrow::field("n", arrow::int64()), arrow::field("t", arrow::utf8())});
  return arrow::RecordBatch::Make(schema, count, {*numbers.Finish(), *texts.Finish()});
}

int64_t HeldBy(const RowBatches::Batches& batches) {
  int64_t bytes = 0;
  for (const auto& batch : batches) bytes += HeldBytes(*batch);
  return bytes;
}

TEST(RowBatchesTest, MemoryFollowsTheRowsHoweverManyBatchesBringThem) {
  constexpr int64_t kRows = 100'000;
  RowBatches rows;
  int64_t most_batches = 0;
  for (int64_t i = 0; i < kRows; ++i) {
    ASSERT_OK(rows.Add(Numbered(i, 1)));
    most_batches = std::max(most_batches, static_cast<int64_t>(rows.batches().size()));
  }
  EXPECT_LE(most_batches, kRows / 4096 + 40);
  EXPECT_EQ(rows.held_bytes(), HeldBy(rows.batches()));
  EXPECT_LE(rows.held_bytes(), kRows * (8 + 4 + 6) * 3 / 2);
  EXPECT_EQ(rows.row_count(), kRows);
  const auto all = arrow::ConcatenateRecordBatches(rows.Take()).ValueOrDie();
  EXPECT_TRUE(all->Equals(*Numbered(0, kRows)));
  EXPECT_EQ(rows.held_bytes(), 0);
}

TEST(RowBatchesTest, LargeBatchesStayAsTheyAre) {
  RowBatches rows;
  std::vector<const arrow::RecordBatch*> large;
  for (int64_t i = 0; i < 50; ++i) {
    const BatchPtr batch = Numbered(i * 5001, 5000);
    large.push_back(batch.get());
    ASSERT_OK(rows.Add(batch));
    ASSERT_OK(rows.Add(Numbered(i * 5001 + 5000, 1)));
  }
  const auto batches = rows.Take();
  for (const arrow::RecordBatch* one : large) {
    EXPECT_TRUE(
        std::ranges::any_of(batches, [&](const auto& batch) { return batch.get() == one; }));
  }
  EXPECT_TRUE(
      arrow::ConcatenateRecordBatches(batches).ValueOrDie()->Equals(*Numbered(0, 50 * 5001)));
}

TEST(RowBatchesTest, ABatchOfOneRowHoldsFarMoreThanItsRow) {
  const int64_t one = HeldBytes(*Numbered(0, 1));
  EXPECT_GE(one, 1500);
  EXPECT_LE(HeldBytes(*Numbered(0, 10'000)), one + 10'000 * (8 + 4 + 4));
  // A slice keeps all of what it was cut from.
  EXPECT_EQ(HeldBytes(*Numbered(0, 10'000)->Slice(5, 1)), HeldBytes(*Numbered(0, 10'000)));
}

}  // namespace
}  // namespace sluice::types
