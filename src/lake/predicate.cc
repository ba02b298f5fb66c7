#include "lake/predicate.h"

#include <arrow/buffer.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include <algorithm>

namespace sluice::lake {
namespace {

template <typename ScalarType>
OrderedValue Whole(const arrow::Scalar& scalar) {
  return static_cast<int64_t>(static_cast<const ScalarType&>(scalar).value);
}

}  // namespace

std::optional<OrderedValue> OrderedValueOf(const arrow::Scalar& scalar) {
  if (!scalar.is_valid) return std::nullopt;
  switch (scalar.type->id()) {
    case arrow::Type::BOOL:
      return Whole<arrow::BooleanScalar>(scalar);
    case arrow::Type::INT8:
      return Whole<arrow::Int8Scalar>(scalar);
    case arrow::Type::INT16:
      return Whole<arrow::Int16Scalar>(scalar);
    case arrow::Type::INT32:
      return Whole<arrow::Int32Scalar>(scalar);
    case arrow::Type::INT64:
      return Whole<arrow::Int64Scalar>(scalar);
    case arrow::Type::DATE32:
      return Whole<arrow::Date32Scalar>(scalar);
    case arrow::Type::TIMESTAMP:
      return Whole<arrow::TimestampScalar>(scalar);
    case arrow::Type::DECIMAL128:
      return static_cast<const arrow::Decimal128Scalar&>(scalar).value;
    case arrow::Type::STRING:
      return static_cast<const arrow::StringScalar&>(scalar).value->ToString();
    default:
      return std::nullopt;
  }
}

bool MayMatch(const Predicate& predicate, const ColumnRange& range) {
  using Op = Predicate::Op;
  if (predicate.op == Op::kIsNull) return range.null_count != 0;
  if (range.null_count == range.row_count && range.row_count > 0) return false;
  if (predicate.op == Op::kIsNotNull || !range.min || !range.max) return true;
  return std::ranges::any_of(predicate.values, [&](const std::shared_ptr<arrow::Scalar>& scalar) {
    const auto value = OrderedValueOf(*scalar);
    if (!value || value->index() != range.min->index() || value->index() != range.max->index())
      return true;
    switch (predicate.op) {
      case Op::kLess:
        return *range.min < *value;
      case Op::kLessOrEqual:
        return *range.min <= *value;
      case Op::kGreater:
        return *range.max > *value;
      case Op::kGreaterOrEqual:
        return *range.max >= *value;
      default:
        return *range.min <= *value && *value <= *range.max;
    }
  });
}

bool Meets(const Predicate& predicate, const arrow::Scalar& value) {
  const auto ordered = OrderedValueOf(value);
  return MayMatch(predicate, {ordered, ordered, value.is_valid ? 0 : 1, 1});
}

}  // namespace sluice::lake
