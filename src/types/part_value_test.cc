#include "types/part_value.h"

#include <arrow/array/builder_decimal.h>
#include <arrow/record_batch.h>

#include "base/testing.h"

namespace sluice::types {
namespace {

constexpr RowFormat kFormats[] = {RowFormat::kCompacted, RowFormat::kIndexed};

TEST(PartValueTest, IntegersOfEveryWidthComeBack) {
  for (const RowFormat format : kFormats) {
    for (const TypeKind kind : {TypeKind::kTinyInt, TypeKind::kSmallInt, TypeKind::kInteger,
                                TypeKind::kBigInt, TypeKind::kDate}) {
      const PartValue value(format, DataType::Of(kind));
      for (const int64_t number : {0, 1, -1, 127, -128}) {
        std::string part;
        value.PutInteger(number, &part);
        ASSERT_OK_AND_ASSIGN(const int64_t back, value.Integer(part));
        EXPECT_EQ(back, number);
      }
    }
    const PartValue small(format, DataType::Of(TypeKind::kTinyInt));
    std::string part;
    small.PutInteger(128, &part);
    ASSERT_OK_AND_ASSIGN(const int64_t wrapped, small.Integer(part));
    EXPECT_EQ(wrapped, -128);
    EXPECT_CODE(ErrorCode::kCorruptRecord, small.Integer(""));
  }
}

// As RowCodec writes them: the Java side takes only the shortest form.
TEST(PartValueTest, DecimalsAreThoseOfTheCodec) {
  const auto decimal = [](const char* digits) { return arrow::Decimal256(std::string(digits)); };
  for (const RowFormat format : kFormats) {
    for (const int precision : {18, 38}) {
      const DataTypePtr type = DataType::Decimal(precision, 0);
      const PartValue value(format, type);
      const RowCodec codec(format, {type});
      arrow::Decimal128Builder builder(arrow::decimal128(precision, 0));
      std::vector<std::string> expected;
      for (const char* digits : {"0", "127", "128", "-128", "-129", "255", "-1", "65535",
                                 "999999999999999999", "-999999999999999999"}) {
        ASSERT_OK(builder.Append(arrow::Decimal128(std::string(digits))));
        std::string part;
        value.PutDecimal(decimal(digits), &part);
        const std::optional<std::string_view> parts[] = {part};
        expected.push_back(codec.Join(parts));
        ASSERT_OK_AND_ASSIGN(const arrow::Decimal256 back, value.Decimal(part));
        EXPECT_EQ(back, decimal(digits));
      }
      ASSERT_OK_AND_ASSIGN(const auto array, builder.Finish());
      const auto batch = arrow::RecordBatch::Make(arrow::schema({arrow::field("d", array->type())}),
                                                  array->length(), {array});
      std::vector<std::string> rows;
      ASSERT_OK(codec.Encode(*batch, 0, batch->num_rows(), &rows));
      EXPECT_EQ(rows, expected);
    }
  }
}

TEST(PartValueTest, DamagedPartsAreRefused) {
  const PartValue text(RowFormat::kCompacted, DataType::Of(TypeKind::kString));
  EXPECT_CODE(ErrorCode::kCorruptRecord, text.Bytes(std::string("\x05"
                                                                "abc")));
  ASSERT_OK_AND_ASSIGN(const std::string_view bytes, text.Bytes("\x03"
                                                                "abc"));
  EXPECT_EQ(bytes, "abc");
  const PartValue time(RowFormat::kIndexed, DataType::Timestamp(6));
  EXPECT_CODE(ErrorCode::kCorruptRecord, time.Timestamp("short"));
  const PartValue wide(RowFormat::kCompacted, DataType::Decimal(38, 0));
  EXPECT_CODE(ErrorCode::kCorruptRecord, wide.Decimal(std::string("\x11") + std::string(17, 'x')));
}

}  // namespace
}  // namespace sluice::types
