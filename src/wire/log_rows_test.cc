#include "wire/log_rows.h"

#include <arrow/record_batch.h>

#include "base/bytes.h"
#include "base/testing.h"
#include "types/row.h"

namespace sluice::wire {
namespace {

constexpr types::LogFormat kFormats[] = {types::LogFormat::kArrow, types::LogFormat::kIndexed,
                                         types::LogFormat::kCompacted};
const std::vector<ChangeType> kChanges = {ChangeType::kInsert, ChangeType::kUpdateBefore,
                                          ChangeType::kUpdateAfter};

types::Schema SmallSchema() {
  types::Schema schema;
  schema.columns = {{.name = "id", .type = types::DataType::Of(types::TypeKind::kInteger)},
                    {.name = "name", .type = types::DataType::Of(types::TypeKind::kString)}};
  return schema;
}

// Three rows: (1, "a"), (-2, "longer"), (null, null).
std::shared_ptr<arrow::RecordBatch> SmallRows() {
  const types::RowCodec codec(types::RowFormat::kCompacted, types::TypesOf(SmallSchema().columns));
  const std::string rows[] = {std::string("\0\1\1a", 4),
                              std::string("\0\xfe\xff\xff\xff\x0f\6longer", 13),
                              std::string("\3", 1)};
  const std::vector<std::string_view> views(std::begin(rows), std::end(rows));
  const auto batch = codec.Decode(views).ValueOrDie();
  return arrow::RecordBatch::Make(SmallSchema().ToArrow(), 3, batch->columns());
}

TEST(LogRowsTest, EveryFormatComesBack) {
  for (const types::LogFormat format : kFormats) {
    for (const bool append_only : {true, false}) {
      const auto changes = append_only ? std::vector<ChangeType>() : kChanges;
      ASSERT_OK_AND_ASSIGN(const std::string bytes,
                           EncodeLogRows({.schema_id = 3, .writer_id = 7}, format, SmallSchema(),
                                         *SmallRows(), changes));
      ASSERT_OK_AND_ASSIGN(const auto batch, LogBatchView::Parse(bytes));
      EXPECT_TRUE(batch.CrcMatches());
      EXPECT_EQ(batch.append_only(), append_only);
      EXPECT_EQ(batch.header().record_count, 3);
      ASSERT_OK_AND_ASSIGN(const LogRows rows, DecodeLogRows(batch, format, SmallSchema()));
      EXPECT_TRUE(rows.rows->Equals(*SmallRows()));
      EXPECT_EQ(rows.changes, append_only ? "" : "\1\2\3");
    }
    const std::string nothing = BuildEmptyLogBatch({}, /*append_only=*/false);
    ASSERT_OK_AND_ASSIGN(const auto empty, LogBatchView::Parse(nothing));
    ASSERT_OK_AND_ASSIGN(const LogRows rows, DecodeLogRows(empty, format, SmallSchema()));
    EXPECT_EQ(rows.rows->num_rows(), 0);
  }
}

TEST(LogRowsTest, RecordsHaveASizeAndAChange) {
  const std::vector<std::string_view> rows{"row"};
  const ChangeType deleted[] = {ChangeType::kDelete};
  ASSERT_OK_AND_ASSIGN(const std::string bytes, BuildRowBatch({}, rows, deleted));
  EXPECT_EQ(ToHex(bytes.substr(kLogBatchHeaderBytes)), "0400000004726f77");
  ASSERT_OK_AND_ASSIGN(const auto batch, LogBatchView::Parse(bytes));
  ASSERT_OK_AND_ASSIGN(const RowRecords records, SplitRowBatch(batch));
  EXPECT_EQ(records.rows, rows);
  EXPECT_EQ(records.changes, "\4");
}

TEST(LogRowsTest, RecordsThatDoNotFitTheBatchAreRefused) {
  ASSERT_OK_AND_ASSIGN(
      const std::string good,
      EncodeLogRows({}, types::LogFormat::kIndexed, SmallSchema(), *SmallRows(), kChanges));
  const auto split = [](std::string bytes) {
    StoreLe(bytes.data() + 8, static_cast<int32_t>(bytes.size() - kLogBatchLengthBytes));
    return SplitRowBatch(LogBatchView::Parse(bytes).ValueOrDie()).status();
  };
  EXPECT_OK(split(good));
  EXPECT_CODE(ErrorCode::kCorruptRecord, split(good + "x"));
  for (size_t size = kLogBatchHeaderBytes + 3; size < good.size(); ++size)
    EXPECT_CODE(ErrorCode::kCorruptRecord, split(good.substr(0, size)));
  for (const int32_t size : {0, -1, 1 << 30}) {
    std::string bad = good;
    StoreLe(bad.data() + kLogBatchHeaderBytes, size);
    EXPECT_CODE(ErrorCode::kCorruptRecord, split(bad));
  }
  std::string change = good;
  change[kLogBatchHeaderBytes + 4] = 5;
  EXPECT_CODE(ErrorCode::kCorruptRecord, split(change));
  ASSERT_OK_AND_ASSIGN(std::string appended, EncodeLogRows({}, types::LogFormat::kIndexed,
                                                           SmallSchema(), *SmallRows(), {}));
  appended[kLogBatchHeaderBytes + 4] = 1;  // Appending is all that its records may do.
  EXPECT_CODE(ErrorCode::kCorruptRecord, split(appended));
}

}  // namespace
}  // namespace sluice::wire
