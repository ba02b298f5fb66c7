#include "types/agg_function.h"

#include <cctype>
#include <map>

#include "base/text.h"

namespace sluice::types {
namespace {

constexpr char kDelimiter[] = "delimiter";

bool IsNumber(TypeKind kind) {
  switch (kind) {
    case TypeKind::kTinyInt:
    case TypeKind::kSmallInt:
    case TypeKind::kInteger:
    case TypeKind::kBigInt:
    case TypeKind::kFloat:
    case TypeKind::kDouble:
    case TypeKind::kDecimal:
      return true;
    default:
      return false;
  }
}

bool HasOrder(TypeKind kind) {
  switch (kind) {
    case TypeKind::kChar:
    case TypeKind::kString:
    case TypeKind::kDate:
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      return true;
    default:
      return IsNumber(kind);
  }
}

bool Takes(AggFunction function, TypeKind kind) {
  switch (function) {
    case AggFunction::kSum:
    case AggFunction::kProduct:
      return IsNumber(kind);
    case AggFunction::kMax:
    case AggFunction::kMin:
      return HasOrder(kind);
    case AggFunction::kListAgg:
      return kind == TypeKind::kString;  // A CHAR(n) has no room for a list.
    case AggFunction::kBoolAnd:
    case AggFunction::kBoolOr:
      return kind == TypeKind::kBoolean;
    case AggFunction::kRbm32:
    case AggFunction::kRbm64:
      return kind == TypeKind::kBytes;
    default:
      return true;
  }
}

}  // namespace

std::string AggName(std::string_view name) {
  std::string lower = LowerCase(name);
  std::ranges::replace(lower, '-', '_');
  return lower;
}

std::optional<AggFunction> AggFunctionNamed(std::string_view name) {
  static const std::map<std::string, AggFunction, std::less<>> kFunctions = {
      {"sum", AggFunction::kSum},
      {"product", AggFunction::kProduct},
      {"max", AggFunction::kMax},
      {"min", AggFunction::kMin},
      {"last_value", AggFunction::kLastValue},
      {"last_value_ignore_nulls", AggFunction::kLastValueIgnoreNulls},
      {"first_value", AggFunction::kFirstValue},
      {"first_value_ignore_nulls", AggFunction::kFirstValueIgnoreNulls},
      {"listagg", AggFunction::kListAgg},
      {"string_agg", AggFunction::kListAgg},
      {"bool_and", AggFunction::kBoolAnd},
      {"bool_or", AggFunction::kBoolOr},
      {"rbm32", AggFunction::kRbm32},
      {"rbm64", AggFunction::kRbm64}};
  const auto found = kFunctions.find(name);
  return found == kFunctions.end() ? std::nullopt : std::optional(found->second);
}

std::string ListAggDelimiter(const Column& column) {
  const auto given = column.agg_parameters.find(kDelimiter);
  return given == column.agg_parameters.end() ? "," : given->second;
}

Status CheckAggFunction(const Column& column) {
  const auto function = AggFunctionNamed(column.agg_function);
  if (!function) {
    return Error(ErrorCode::kInvalidConfig, "unknown aggregate function column=", column.name,
                 " function=", column.agg_function);
  }
  if (!Takes(*function, column.type->kind())) {
    return Error(ErrorCode::kInvalidConfig,
                 "aggregate function does not take the type column=", column.name,
                 " function=", column.agg_function, " type=", column.type->ToString());
  }
  for (const auto& [name, value] : column.agg_parameters) {
    if (*function == AggFunction::kListAgg && name == kDelimiter && !value.empty()) continue;
    return Error(ErrorCode::kInvalidConfig,
                 "aggregate function does not take the parameter column=", column.name,
                 " function=", column.agg_function, " parameter=", name, " value=", value);
  }
  return Status::OK();
}

}  // namespace sluice::types
