#pragma once
#include <compare>
#include <string>

#include "sql/duckdb_api.h"
#include "sql/sql_type.h"

namespace sluice::sql {

/// Exact arithmetic on two DECIMALs with Flink's scales, rounding (half up) and NULL on overflow;
/// the operands come as DECIMAL(38, left_scale) and DECIMAL(38, right_scale), the result is
/// DECIMAL(38, scale) of at most `precision` digits. The engine knows only functions of fixed
/// types, so each combination is a function of its own.
struct DecimalFunction {
  Arithmetic op = Arithmetic::kPlus;
  int32_t left_scale = 0;
  int32_t right_scale = 0;
  int32_t precision = 38;
  int32_t scale = 0;
  auto operator<=>(const DecimalFunction&) const = default;
  /// "flink_divide_2_0_38_6".
  std::string Name() const;
};

/// Register the `flink_*` functions that generated SQL calls where the engine's own differ from
/// Flink's.
Status RegisterScalarFunctions(const duckdb::Api& api, duckdb::Connection connection);
Status RegisterDecimalFunction(const duckdb::Api& api, duckdb::Connection connection,
                               const DecimalFunction& function);

}  // namespace sluice::sql
