#include "types/agg_function.h"

#include "base/testing.h"

namespace sluice::types {
namespace {

Status Check(const std::string& function, DataTypePtr type,
             std::map<std::string, std::string> parameters = {}) {
  return CheckAggFunction({.name = "c",
                           .type = std::move(type),
                           .agg_function = function,
                           .agg_parameters = std::move(parameters)});
}

TEST(AggFunctionTest, NamesAreReadInAnyForm) {
  EXPECT_EQ(AggName("Last-Value-Ignore-NULLS"), "last_value_ignore_nulls");
  EXPECT_EQ(AggFunctionNamed("last_value_ignore_nulls"), AggFunction::kLastValueIgnoreNulls);
  EXPECT_EQ(AggFunctionNamed("string_agg"), AggFunctionNamed("listagg"));
  EXPECT_EQ(AggFunctionNamed("average"), std::nullopt);
}

TEST(AggFunctionTest, EachTakesTypesOfItsOwn) {
  const DataTypePtr text = DataType::Of(TypeKind::kString);
  const DataTypePtr number = DataType::Of(TypeKind::kTinyInt);
  EXPECT_OK(Check("sum", number));
  EXPECT_OK(Check("product", DataType::Decimal(38, 10)));
  EXPECT_OK(Check("max", text));
  EXPECT_OK(Check("min", DataType::Timestamp(9)));
  EXPECT_OK(Check("first_value", DataType::Array(text)));
  EXPECT_OK(Check("bool_or", DataType::Of(TypeKind::kBoolean)));
  EXPECT_OK(Check("rbm64", DataType::Of(TypeKind::kBytes)));
  EXPECT_CODE(ErrorCode::kInvalidConfig, Check("sum", text));
  EXPECT_CODE(ErrorCode::kInvalidConfig, Check("max", DataType::Of(TypeKind::kBoolean)));
  EXPECT_CODE(ErrorCode::kInvalidConfig, Check("min", DataType::Of(TypeKind::kBytes)));
  EXPECT_CODE(ErrorCode::kInvalidConfig, Check("bool_and", number));
  EXPECT_CODE(ErrorCode::kInvalidConfig, Check("listagg", number));
  EXPECT_CODE(ErrorCode::kInvalidConfig, Check("rbm32", DataType::Binary(4)));
  EXPECT_CODE(ErrorCode::kInvalidConfig, Check("average", number));
}

TEST(AggFunctionTest, ListaggAloneHasAParameter) {
  const DataTypePtr text = DataType::Of(TypeKind::kString);
  EXPECT_OK(Check("listagg", text, {{"delimiter", "; "}}));
  EXPECT_CODE(ErrorCode::kInvalidConfig, Check("listagg", text, {{"delimiter", ""}}));
  EXPECT_CODE(ErrorCode::kInvalidConfig, Check("listagg", text, {{"separator", ";"}}));
  EXPECT_CODE(ErrorCode::kInvalidConfig, Check("max", text, {{"delimiter", ";"}}));
  EXPECT_EQ(ListAggDelimiter({}), ",");
}

}  // namespace
}  // namespace sluice::types
