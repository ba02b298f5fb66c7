#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "types/schema.h"

namespace sluice::types {

/// How the aggregation merge engine folds the values of one column. Source: AggFunctionType.
enum class AggFunction : uint8_t {
  kSum,
  kProduct,
  kMax,
  kMin,
  kLastValue,
  kLastValueIgnoreNulls,  ///< Of columns that name none.
  kFirstValue,
  kFirstValueIgnoreNulls,
  kListAgg,  ///< Also named string_agg.
  kBoolAnd,
  kBoolOr,
  kRbm32,
  kRbm64,
};

/// A function's name as schemas have it: lower case, with '_'.
std::string AggName(std::string_view name);
/// The function of such a name, nullopt when there is none.
std::optional<AggFunction> AggFunctionNamed(std::string_view name);

/// What stands between two texts of a listagg.
std::string ListAggDelimiter(const Column& column);

/// Whether the function that a column names takes its type and parameters. Errors: kInvalidConfig.
Status CheckAggFunction(const Column& column);

}  // namespace sluice::types
