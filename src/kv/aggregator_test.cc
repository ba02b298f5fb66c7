#include "kv/aggregator.h"

#include <bit>
#include <cmath>
#include <limits>

#include "base/bytes.h"
#include "base/testing.h"

namespace sluice::kv {
namespace {

using types::DataType;
using types::DataTypePtr;
using types::PartValue;
using types::RowFormat;
using types::TypeKind;

constexpr RowFormat kFormats[] = {RowFormat::kCompacted, RowFormat::kIndexed};

Aggregator Make(const std::string& function, DataTypePtr type, RowFormat format,
                std::map<std::string, std::string> parameters = {}) {
  return *Aggregator::Make({.name = "c",
                            .type = std::move(type),
                            .agg_function = function,
                            .agg_parameters = std::move(parameters)},
                           format);
}

// Folds parts; the answer is a copy.
std::optional<std::string> Fold(const Aggregator& aggregator, const Part& a, const Part& b) {
  std::string room;
  const Part folded = *aggregator.Fold(a, b, &room);
  return folded ? std::optional(std::string(*folded)) : std::nullopt;
}

int64_t Integers(const std::string& function, const DataTypePtr& type, int64_t a, int64_t b,
                 RowFormat format = RowFormat::kCompacted) {
  const PartValue value(format, type);
  std::string old_part, new_part;
  value.PutInteger(a, &old_part);
  value.PutInteger(b, &new_part);
  return *value.Integer(*Fold(Make(function, type, format), old_part, new_part));
}

std::optional<std::string> Decimals(const std::string& function, int precision, int scale,
                                    const std::string& a, const std::string& b) {
  const DataTypePtr type = DataType::Decimal(precision, scale);
  std::optional<std::string> text;
  for (const RowFormat format : kFormats) {
    const PartValue value(format, type);
    std::string old_part, new_part;
    value.PutDecimal(arrow::Decimal256(a), &old_part);
    value.PutDecimal(arrow::Decimal256(b), &new_part);
    const auto folded = Fold(Make(function, type, format), old_part, new_part);
    text = folded ? std::optional(value.Decimal(*folded)->ToIntegerString()) : std::nullopt;
  }
  return text;
}

TEST(AggregatorTest, IntegersWrapAtTheWidthOfTheirType) {
  for (const RowFormat format : kFormats) {
    const DataTypePtr tiny = DataType::Of(TypeKind::kTinyInt);
    EXPECT_EQ(Integers("sum", tiny, 100, 27, format), 127);
    EXPECT_EQ(Integers("sum", tiny, 127, 1, format), -128);
    EXPECT_EQ(Integers("product", DataType::Of(TypeKind::kSmallInt), 300, 300, format),
              static_cast<int16_t>(90'000));
    EXPECT_EQ(Integers("sum", DataType::Of(TypeKind::kInteger), -5, 3, format), -2);
    const DataTypePtr big = DataType::Of(TypeKind::kBigInt);
    EXPECT_EQ(Integers("sum", big, std::numeric_limits<int64_t>::max(), 1, format),
              std::numeric_limits<int64_t>::min());
    EXPECT_EQ(Integers("product", big, -7, 6, format), -42);
    EXPECT_EQ(Integers("max", big, -7, 6, format), 6);
    EXPECT_EQ(Integers("min", DataType::Of(TypeKind::kDate), -7, 6, format), -7);
  }
}

TEST(AggregatorTest, DecimalsThatNoLongerFitAreNull) {
  EXPECT_EQ(Decimals("sum", 5, 2, "12345", "-45"), "12300");
  EXPECT_EQ(Decimals("sum", 5, 2, "99999", "1"), std::nullopt);
  EXPECT_EQ(Decimals("sum", 38, 0, std::string(38, '9'), "1"), std::nullopt);
  EXPECT_EQ(Decimals("sum", 38, 0, std::string(38, '9'), "-1"), std::string(37, '9') + "8");
  EXPECT_EQ(Decimals("product", 5, 2, "150", "150"), "225");  // 1.50 * 1.50
  EXPECT_EQ(Decimals("product", 5, 2, "5", "50"), "3");       // 0.05 * 0.50, half goes up.
  EXPECT_EQ(Decimals("product", 5, 2, "-5", "50"), "-3");     // Away from zero.
  EXPECT_EQ(Decimals("product", 5, 2, "99999", "300"), std::nullopt);
  EXPECT_EQ(Decimals("product", 38, 0, std::string(38, '9'), std::string(38, '9')), std::nullopt);
  EXPECT_EQ(Decimals("max", 38, 3, "-1", "12"), "12");
  EXPECT_EQ(Decimals("min", 20, 3, "-1", "12"), "-1");
}

double Doubles(const std::string& function, double a, double b) {
  return std::bit_cast<double>(Integers(function, DataType::Of(TypeKind::kDouble),
                                        std::bit_cast<int64_t>(a), std::bit_cast<int64_t>(b)));
}

TEST(AggregatorTest, FloatsAreOrderedAsInJava) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Doubles("sum", 0.1, 0.2), 0.1 + 0.2);
  EXPECT_EQ(Doubles("product", 0.9, 0.8), 0.9 * 0.8);
  EXPECT_TRUE(std::isnan(Doubles("max", kInfinity, kNan)));
  EXPECT_TRUE(std::isnan(Doubles("max", kNan, 1)));
  EXPECT_EQ(Doubles("min", kNan, 1), 1);
  EXPECT_FALSE(std::signbit(Doubles("max", -0.0, 0.0)));
  EXPECT_TRUE(std::signbit(Doubles("min", 0.0, -0.0)));
  const auto bits = [](float value) { return std::bit_cast<int32_t>(value); };
  EXPECT_EQ(Integers("sum", DataType::Of(TypeKind::kFloat), bits(-1.5F), bits(0.25F)),
            bits(-1.25F));
}

TEST(AggregatorTest, TextsAndTimesHaveAnOrder) {
  for (const RowFormat format : kFormats) {
    const PartValue text(format, DataType::Of(TypeKind::kString));
    std::string low, high;
    text.PutBytes("zebra", &low);
    text.PutBytes("\xc3\xa9t\xc3\xa9", &high);  // Bytes are unsigned.
    EXPECT_EQ(Fold(Make("max", DataType::Of(TypeKind::kString), format), low, high), high);
    EXPECT_EQ(Fold(Make("min", DataType::Of(TypeKind::kString), format), high, low), low);
  }
  std::string early, late;  // Milliseconds, and nanoseconds within.
  AppendLe<int64_t>(&early, -1), AppendLe<int32_t>(&early, 999'999);
  AppendLe<int64_t>(&late, 0), AppendLe<int32_t>(&late, 1);
  const Aggregator max = Make("max", DataType::Timestamp(9), RowFormat::kIndexed);
  EXPECT_EQ(Fold(max, late, early), late);
  EXPECT_EQ(Fold(max, early, late), late);
}

TEST(AggregatorTest, ListsHaveADelimiter) {
  for (const RowFormat format : kFormats) {
    const DataTypePtr type = DataType::Of(TypeKind::kString);
    const PartValue text(format, type);
    std::string a, b;
    text.PutBytes("a", &a);
    text.PutBytes("", &b);
    EXPECT_EQ(*text.Bytes(*Fold(Make("listagg", type, format), a, b)), "a,");
    EXPECT_EQ(*text.Bytes(*Fold(Make("string_agg", type, format, {{"delimiter", "; "}}), a, a)),
              "a; a");
  }
}

TEST(AggregatorTest, BooleansAreJoined) {
  const DataTypePtr type = DataType::Of(TypeKind::kBoolean);
  for (const int a : {0, 1}) {
    for (const int b : {0, 1}) {
      EXPECT_EQ(Integers("bool_and", type, a, b), a & b);
      EXPECT_EQ(Integers("bool_or", type, a, b), a | b);
    }
  }
}

TEST(AggregatorTest, BytesThatAreNoBitmapAreRefused) {
  const DataTypePtr type = DataType::Of(TypeKind::kBytes);
  std::string room;
  for (const char* function : {"rbm32", "rbm64"}) {
    const Aggregator aggregator = Make(function, type, RowFormat::kIndexed);
    const std::string bytes = "\x01none";
    EXPECT_CODE(ErrorCode::kInvalidTable, aggregator.Fold(Part(bytes), Part(bytes), &room));
    // The first one too: nothing could be folded into it.
    EXPECT_CODE(ErrorCode::kInvalidTable, aggregator.Fold(std::nullopt, Part(bytes), &room));
    EXPECT_CODE(ErrorCode::kInvalidTable, aggregator.CheckFirst(Part(bytes)));
    EXPECT_OK(aggregator.CheckFirst(std::nullopt));
    EXPECT_EQ(Fold(aggregator, std::nullopt, std::nullopt), std::nullopt);
  }
  const std::string empty(1, '\0');  // Of 64 bits.
  EXPECT_EQ(Fold(Make("rbm64", type, RowFormat::kIndexed), std::nullopt, empty), empty);
}

TEST(AggregatorTest, NullIsSkippedByAllButLastValue) {
  const DataTypePtr type = DataType::Of(TypeKind::kBigInt);
  const std::string a(1, '\x05'), b(1, '\x07');
  for (const char* function : {"sum", "product", "max", "min", "last_value_ignore_nulls",
                               "first_value", "first_value_ignore_nulls", ""}) {
    SCOPED_TRACE(function);
    const Aggregator aggregator = Make(function, type, RowFormat::kCompacted);
    EXPECT_EQ(Fold(aggregator, std::nullopt, b), b);
    EXPECT_EQ(Fold(aggregator, a, std::nullopt), a);
    EXPECT_EQ(Fold(aggregator, std::nullopt, std::nullopt), std::nullopt);
  }
  const Aggregator last = Make("last_value", type, RowFormat::kCompacted);
  EXPECT_EQ(Fold(last, a, b), b);
  EXPECT_EQ(Fold(last, a, std::nullopt), std::nullopt);
  EXPECT_EQ(Fold(Make("", type, RowFormat::kCompacted), a, b), b);  // last_value_ignore_nulls
  EXPECT_EQ(Fold(Make("first_value", type, RowFormat::kCompacted), a, b), a);
}

}  // namespace
}  // namespace sluice::kv
