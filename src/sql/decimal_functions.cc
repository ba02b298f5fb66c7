#include <arrow/util/decimal.h>

#include "sql/engine_guard.h"
#include "sql/scalar_functions.h"

namespace sluice::sql {

namespace {

using Decimal256 = arrow::BasicDecimal256;
using Int128 = __int128;

std::string_view NameOf(Arithmetic op) {
  switch (op) {
    case Arithmetic::kPlus:
      return "plus";
    case Arithmetic::kMinus:
      return "minus";
    case Arithmetic::kTimes:
      return "times";
    case Arithmetic::kDivide:
      return "divide";
    case Arithmetic::kModulo:
      return "modulo";
  }
  return "";
}

Decimal256 Wide(Int128 value) {
  return Decimal256(
      arrow::BasicDecimal128(static_cast<int64_t>(value >> 64), static_cast<uint64_t>(value)));
}

Decimal256 PowerOfTen(int32_t exponent) {
  Decimal256 power(1);
  for (int32_t i = 0; i < exponent; ++i) power *= Decimal256(10);
  return power;
}

// a / b to the nearest integer, halves away from zero. b is not zero.
Decimal256 RoundedQuotient(const Decimal256& a, const Decimal256& b) {
  Decimal256 quotient = a / b;
  Decimal256 twice = a % b;
  twice += twice;
  if (Decimal256::Abs(twice) >= Decimal256::Abs(b)) {
    quotient += (a < Decimal256(0)) == (b < Decimal256(0)) ? Decimal256(1) : Decimal256(-1);
  }
  return quotient;
}

/// What a call of one DecimalFunction needs, worked out once.
struct DecimalKernel {
  DecimalFunction function;
  Decimal256 left_factor{1};  // Bring the operands to the scale the operation wants.
  Decimal256 right_factor{1};
  Decimal256 divisor{1};  // Digits to round off after it.
  Decimal256 limit{1};    // Results of this size or more are NULL.
  Decimal256 left_limit{
      1};  // Left operands above it would leave 256 bits; their results are far over the limit.

  explicit DecimalKernel(const DecimalFunction& f) : function(f), limit(PowerOfTen(f.precision)) {
    const int32_t widest = std::max(f.left_scale, f.right_scale);
    switch (f.op) {
      case Arithmetic::kTimes:
        divisor = PowerOfTen(f.left_scale + f.right_scale - f.scale);
        break;
      case Arithmetic::kDivide: {
        const int32_t shift = f.scale + f.right_scale - f.left_scale;
        left_factor = PowerOfTen(std::max(shift, 0));
        right_factor = PowerOfTen(std::max(-shift, 0));
        break;
      }
      default:
        left_factor = PowerOfTen(widest - f.left_scale);
        right_factor = PowerOfTen(widest - f.right_scale);
        divisor = PowerOfTen(widest - f.scale);
    }
    left_limit = PowerOfTen(76) / left_factor;
  }

  // False when the result is NULL. `by_zero` is set on division by zero.
  bool Apply(Int128 a, Int128 b, bool* by_zero, Int128* out) const {
    if (Decimal256::Abs(Wide(a)) > left_limit) return false;
    Decimal256 left = Wide(a) * left_factor;
    const Decimal256 right = Wide(b) * right_factor;
    switch (function.op) {
      case Arithmetic::kPlus:
        left += right;
        break;
      case Arithmetic::kMinus:
        left -= right;
        break;
      case Arithmetic::kTimes:
        left *= right;
        break;
      case Arithmetic::kDivide:
      case Arithmetic::kModulo:
        if (b == 0) {
          *by_zero = true;
          return false;
        }
        left = function.op == Arithmetic::kDivide ? RoundedQuotient(left, right) : left % right;
    }
    if (divisor != Decimal256(1)) left = RoundedQuotient(left, divisor);
    if (Decimal256::Abs(left) >= limit) return false;
    const auto words = left.little_endian_array();
    *out = static_cast<Int128>(static_cast<unsigned __int128>(words[1]) << 64 | words[0]);
    return true;
  }
};

bool IsValid(const uint64_t* mask, duckdb::Index row) {
  return mask == nullptr || (mask[row / 64] >> row % 64 & 1) != 0;
}

Status Call(duckdb::FunctionInfo info, duckdb::DataChunk input, duckdb::Vector output) {
  const duckdb::Api& api = duckdb::Loaded();
  const auto& kernel = *static_cast<const DecimalKernel*>(api.scalar_function_get_extra_info(info));
  const duckdb::Vector left = api.data_chunk_get_vector(input, 0);
  const duckdb::Vector right = api.data_chunk_get_vector(input, 1);
  const auto* a = static_cast<const Int128*>(api.vector_get_data(left));
  const auto* b = static_cast<const Int128*>(api.vector_get_data(right));
  const uint64_t* a_mask = api.vector_get_validity(left);
  const uint64_t* b_mask = api.vector_get_validity(right);
  auto* out = static_cast<Int128*>(api.vector_get_data(output));
  uint64_t* out_mask = nullptr;
  bool by_zero = false;
  const duckdb::Index rows = api.data_chunk_get_size(input);
  for (duckdb::Index row = 0; row < rows && !by_zero; ++row) {
    if (IsValid(a_mask, row) && IsValid(b_mask, row) &&
        kernel.Apply(a[row], b[row], &by_zero, &out[row]))
      continue;
    if (out_mask == nullptr) {
      api.vector_ensure_validity_writable(output);
      out_mask = api.vector_get_validity(output);
    }
    out_mask[row / 64] &= ~(uint64_t{1} << row % 64);
  }
  return by_zero ? Status::ExecutionError("division by zero") : Status::OK();
}

}  // namespace

std::string DecimalFunction::Name() const {
  std::string name = "flink_";
  name += NameOf(op);
  for (const int32_t part : {left_scale, right_scale, precision, scale})
    name += "_" + std::to_string(part);
  return name;
}

Status RegisterDecimalFunction(const duckdb::Api& api, duckdb::Connection connection,
                               const DecimalFunction& function) {
  duckdb::Owned<duckdb::ScalarFunction> made(api.create_scalar_function(),
                                             api.destroy_scalar_function);
  const auto left = duckdb::MakeType(api, SqlType::Decimal(38, function.left_scale));
  const auto right = duckdb::MakeType(api, SqlType::Decimal(38, function.right_scale));
  const auto result = duckdb::MakeType(api, SqlType::Decimal(38, function.scale));
  api.scalar_function_set_name(made.get(), function.Name().c_str());
  api.scalar_function_add_parameter(made.get(), left.get());
  api.scalar_function_add_parameter(made.get(), right.get());
  api.scalar_function_set_return_type(made.get(), result.get());
  api.scalar_function_set_extra_info(made.get(), new DecimalKernel(function), [](void* kernel) {
    delete static_cast<DecimalKernel*>(kernel);
  });
  api.scalar_function_set_function(made.get(), duckdb::Callback<Call>);
  if (api.register_scalar_function(connection, made.get()) != duckdb::State::kSuccess) {
    return Status::Invalid("query engine does not take a function, name=", function.Name());
  }
  return Status::OK();
}

}  // namespace sluice::sql
