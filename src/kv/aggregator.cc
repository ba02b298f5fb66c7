#include "kv/aggregator.h"

#include <bit>
#include <cmath>

#include "kv/bitmap_union.h"

namespace sluice::kv {
namespace {

using types::AggFunction;
using types::TypeKind;

template <typename T>
int Order(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

// As Java orders them: -0.0 below 0.0, NaN above all and equal to itself.
template <typename Float, typename Bits>
int OrderFloats(int64_t a_bits, int64_t b_bits) {
  const auto a = std::bit_cast<Float>(static_cast<Bits>(a_bits));
  const auto b = std::bit_cast<Float>(static_cast<Bits>(b_bits));
  if (std::isnan(a) || std::isnan(b)) return Order(std::isnan(a), std::isnan(b));
  return a == b ? Order(std::signbit(b), std::signbit(a)) : Order(a, b);
}

}  // namespace

Result<Aggregator> Aggregator::Make(const types::Column& column, types::RowFormat format) {
  if (column.agg_function.empty())
    return Aggregator(AggFunction::kLastValueIgnoreNulls, {format, column.type}, "");
  RETURN_NOT_OK(types::CheckAggFunction(column));
  return Aggregator(*types::AggFunctionNamed(column.agg_function), {format, column.type},
                    types::ListAggDelimiter(column));
}

Result<Part> Aggregator::Fold(const Part& old_value, const Part& new_value,
                              std::string* room) const {
  if (function_ == AggFunction::kLastValue) return new_value;
  if (!old_value.has_value()) {
    RETURN_NOT_OK(CheckFirst(new_value));
    return new_value;
  }
  if (!new_value.has_value()) return old_value;
  return FoldValues(*old_value, *new_value, room);
}

Status Aggregator::CheckFirst(const Part& value) const {
  const bool wide = function_ == AggFunction::kRbm64;
  if (!value.has_value() || (!wide && function_ != AggFunction::kRbm32)) return Status::OK();
  ASSIGN_OR_RAISE(const std::string_view bytes, value_.Bytes(*value));
  return wide ? CheckBitmap64(bytes) : CheckBitmap32(bytes);
}

Result<Part> Aggregator::FoldValues(std::string_view old_value, std::string_view new_value,
                                    std::string* room) const {
  switch (function_) {
    case AggFunction::kSum:
    case AggFunction::kProduct:
      return Sum(old_value, new_value, room);
    case AggFunction::kMax: {
      ASSIGN_OR_RAISE(const int order, Compare(old_value, new_value));
      return Part(order < 0 ? new_value : old_value);
    }
    case AggFunction::kMin: {
      ASSIGN_OR_RAISE(const int order, Compare(old_value, new_value));
      return Part(order < 0 ? old_value : new_value);
    }
    case AggFunction::kLastValue:
    case AggFunction::kLastValueIgnoreNulls:
      return Part(new_value);
    // A NULL is no first value, in Java neither: the row cannot tell it from none.
    case AggFunction::kFirstValue:
    case AggFunction::kFirstValueIgnoreNulls:
      return Part(old_value);
    case AggFunction::kListAgg:
      return List(old_value, new_value, room);
    case AggFunction::kBoolAnd:
    case AggFunction::kBoolOr: {
      ASSIGN_OR_RAISE(const int64_t before, value_.Integer(old_value));
      const bool decided = (before != 0) == (function_ == AggFunction::kBoolOr);
      return Part(decided ? old_value : new_value);
    }
    case AggFunction::kRbm32:
    case AggFunction::kRbm64:
      return Union(old_value, new_value, room);
  }
  return Part(new_value);
}

Result<Part> Aggregator::Sum(std::string_view old_value, std::string_view new_value,
                             std::string* room) const {
  switch (value_.type().kind()) {
    case TypeKind::kFloat:
      return SumFloats<float, int32_t>(old_value, new_value, room);
    case TypeKind::kDouble:
      return SumFloats<double, int64_t>(old_value, new_value, room);
    case TypeKind::kDecimal:
      return SumDecimals(old_value, new_value, room);
    default:
      break;
  }
  ASSIGN_OR_RAISE(const int64_t before, value_.Integer(old_value));
  ASSIGN_OR_RAISE(const int64_t now, value_.Integer(new_value));
  const auto a = static_cast<uint64_t>(before);
  const auto b = static_cast<uint64_t>(now);
  value_.PutInteger(static_cast<int64_t>(function_ == AggFunction::kSum ? a + b : a * b), room);
  return Part(*room);
}

template <typename Float, typename Bits>
Result<Part> Aggregator::SumFloats(std::string_view old_value, std::string_view new_value,
                                   std::string* room) const {
  ASSIGN_OR_RAISE(const int64_t before, value_.Integer(old_value));
  ASSIGN_OR_RAISE(const int64_t now, value_.Integer(new_value));
  const auto a = std::bit_cast<Float>(static_cast<Bits>(before));
  const auto b = std::bit_cast<Float>(static_cast<Bits>(now));
  const Float folded = function_ == AggFunction::kSum ? a + b : a * b;
  value_.PutInteger(std::bit_cast<Bits>(folded), room);
  return Part(*room);
}

Result<Part> Aggregator::SumDecimals(std::string_view old_value, std::string_view new_value,
                                     std::string* room) const {
  ASSIGN_OR_RAISE(const arrow::Decimal256 before, value_.Decimal(old_value));
  ASSIGN_OR_RAISE(const arrow::Decimal256 now, value_.Decimal(new_value));
  arrow::Decimal256 folded = before;
  if (function_ == AggFunction::kSum) {
    folded += now;
  } else {
    folded *= now;  // At most 76 digits, which fit.
    folded = arrow::Decimal256(folded.ReduceScaleBy(value_.type().scale(), /*round=*/true));
  }
  if (!folded.FitsInPrecision(value_.type().precision())) return Part();
  value_.PutDecimal(folded, room);
  return Part(*room);
}

Result<Part> Aggregator::List(std::string_view old_value, std::string_view new_value,
                              std::string* room) const {
  ASSIGN_OR_RAISE(const std::string_view before, value_.Bytes(old_value));
  ASSIGN_OR_RAISE(const std::string_view now, value_.Bytes(new_value));
  std::string list;
  list.reserve(before.size() + delimiter_.size() + now.size());
  list.append(before).append(delimiter_).append(now);
  value_.PutBytes(list, room);
  return Part(*room);
}

Result<Part> Aggregator::Union(std::string_view old_value, std::string_view new_value,
                               std::string* room) const {
  ASSIGN_OR_RAISE(const std::string_view before, value_.Bytes(old_value));
  ASSIGN_OR_RAISE(const std::string_view now, value_.Bytes(new_value));
  const bool wide = function_ == AggFunction::kRbm64;
  ASSIGN_OR_RAISE(const std::string bitmap,
                  wide ? UnionBitmaps64(before, now) : UnionBitmaps32(before, now));
  value_.PutBytes(bitmap, room);
  return Part(*room);
}

Result<int> Aggregator::Compare(std::string_view a, std::string_view b) const {
  switch (value_.type().kind()) {
    case TypeKind::kChar:
    case TypeKind::kString: {
      ASSIGN_OR_RAISE(const std::string_view a_text, value_.Bytes(a));
      ASSIGN_OR_RAISE(const std::string_view b_text, value_.Bytes(b));
      return a_text.compare(b_text);
    }
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz: {
      ASSIGN_OR_RAISE(const types::PartValue::Time a_time, value_.Timestamp(a));
      ASSIGN_OR_RAISE(const types::PartValue::Time b_time, value_.Timestamp(b));
      return Order(a_time, b_time);
    }
    case TypeKind::kDecimal: {
      ASSIGN_OR_RAISE(const arrow::Decimal256 a_number, value_.Decimal(a));
      ASSIGN_OR_RAISE(const arrow::Decimal256 b_number, value_.Decimal(b));
      return Order(a_number, b_number);
    }
    default:
      break;
  }
  ASSIGN_OR_RAISE(const int64_t a_number, value_.Integer(a));
  ASSIGN_OR_RAISE(const int64_t b_number, value_.Integer(b));
  if (value_.type().kind() == TypeKind::kFloat)
    return OrderFloats<float, int32_t>(a_number, b_number);
  if (value_.type().kind() == TypeKind::kDouble)
    return OrderFloats<double, int64_t>(a_number, b_number);
  return Order(a_number, b_number);
}

Result<std::vector<Aggregator>> MakeAggregators(const types::Schema& schema,
                                                types::RowFormat format) {
  std::vector<Aggregator> aggregators;
  for (const types::Column& column : schema.columns) {
    ASSIGN_OR_RAISE(Aggregator aggregator, Aggregator::Make(column, format));
    aggregators.push_back(std::move(aggregator));
  }
  return aggregators;
}

}  // namespace sluice::kv
