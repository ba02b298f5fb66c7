#include "wire/row_filter.h"

#include <arrow/array.h>
#include <arrow/type.h>

#include <algorithm>
#include <cmath>

#include "wire/batch_statistics.h"

namespace sluice::wire {
namespace {

using Op = RowFilter::Op;

template <typename ArrayType>
OrderedValue WholeAt(const arrow::Array& array, int64_t row, int64_t unit = 1) {
  return static_cast<int64_t>(static_cast<const ArrayType&>(array).Value(row)) * unit;
}

int64_t NanosOf(arrow::TimeUnit::type unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND:
      return 1'000'000'000;
    case arrow::TimeUnit::MILLI:
      return 1'000'000;
    case arrow::TimeUnit::MICRO:
      return 1'000;
    case arrow::TimeUnit::NANO:
      break;
  }
  return 1;
}

// Less, equal, greater as -1, 0, 1; nullopt where that cannot be said.
std::optional<int> Compare(const OrderedValue& a, const OrderedValue& b) {
  if (a.index() != b.index()) return std::nullopt;
  if (const auto* real = std::get_if<double>(&a)) {
    const double other = std::get<double>(b);
    if (std::isnan(*real) || std::isnan(other)) return std::nullopt;
    return *real < other ? -1 : *real > other ? 1 : 0;
  }
  return a < b ? -1 : b < a ? 1 : 0;
}

// Bounds that are NaN say nothing: whether NaN is above all numbers differs among readers.
bool Says(const std::optional<OrderedValue>& bound) {
  if (!bound) return false;
  const auto* real = std::get_if<double>(&*bound);
  return real == nullptr || !std::isnan(*real);
}

// Whether `bound` lies on the side of `value` that `allowed` names, as far as is known.
template <typename Allowed>
bool Lies(const std::optional<OrderedValue>& bound, const OrderedValue& value, Allowed allowed) {
  if (!bound) return true;
  const std::optional<int> order = Compare(*bound, value);
  return !order || allowed(*order);
}

class Leaf {
 public:
  Leaf(const RowFilter& filter, const ColumnBounds& bounds) : filter_(filter), bounds_(bounds) {
    // A column with a NaN has one as a bound, and then the other bound leaves it out.
    for (const auto* bound : {&bounds.min, &bounds.max}) unknown_ |= *bound && !Says(*bound);
  }

  // Of rows that are not all NULL.
  bool MayMatch() const {
    switch (filter_.op) {
      case Op::kIn:
        return std::ranges::any_of(filter_.values,
                                   [&](const auto& value) { return value && MayEqual(*value); });
      case Op::kNotIn:
        return std::ranges::all_of(filter_.values,
                                   [&](const auto& value) { return value && MayDiffer(*value); });
      default:
        break;
    }
    // A comparison with NULL holds for no row.
    return filter_.values.front() && MayCompare(*filter_.values.front());
  }

 private:
  bool MayCompare(const OrderedValue& value) const {
    switch (filter_.op) {
      case Op::kEqual:
        return MayEqual(value);
      case Op::kNotEqual:
        return MayDiffer(value);
      case Op::kLess:
        return Starts(value, [&](int order) { return order < 0 || (order == 0 && IsReal(value)); });
      case Op::kLessOrEqual:
        return Starts(value, [](int order) { return order <= 0; });
      case Op::kGreater:
        return Ends(value, [&](int order) { return order > 0 || (order == 0 && IsReal(value)); });
      case Op::kGreaterOrEqual:
        return Ends(value, [](int order) { return order >= 0; });
      case Op::kStartsWith:
        return MayStartWith(value);
      default:
        return true;
    }
  }

  // 0.0 and -0.0 are one number for some readers, and in order for others.
  static bool IsReal(const OrderedValue& value) { return std::holds_alternative<double>(value); }

  template <typename Allowed>
  bool Starts(const OrderedValue& value, Allowed allowed) const {
    return unknown_ || Lies(bounds_.min, value, allowed);
  }
  template <typename Allowed>
  bool Ends(const OrderedValue& value, Allowed allowed) const {
    return unknown_ || Lies(bounds_.max, value, allowed);
  }

  bool MayEqual(const OrderedValue& value) const {
    return Starts(value, [](int order) { return order <= 0; }) &&
           Ends(value, [](int order) { return order >= 0; });
  }

  bool MayDiffer(const OrderedValue& value) const {
    if (IsReal(value) || !bounds_.min || !bounds_.max) return true;
    return Compare(*bounds_.min, value) != 0 || Compare(*bounds_.max, value) != 0;
  }

  // Text with a prefix is at or above it, and below all that is above it without it.
  bool MayStartWith(const OrderedValue& value) const {
    const auto* prefix = std::get_if<std::string>(&value);
    const auto* min = bounds_.min ? std::get_if<std::string>(&*bounds_.min) : nullptr;
    if (prefix == nullptr) return true;
    if (min != nullptr && *min > *prefix && !min->starts_with(*prefix)) return false;
    return Ends(value, [](int order) { return order >= 0; });
  }

  const RowFilter& filter_;
  const ColumnBounds& bounds_;
  bool unknown_ = false;
};

bool LeafMayMatch(const RowFilter& filter, const ColumnBounds& bounds, int64_t row_count) {
  if (filter.op == Op::kIsNull) return bounds.null_count != 0;
  if (bounds.null_count == row_count) return false;
  if (filter.op == Op::kIsNotNull) return true;
  if (filter.values.empty()) return true;
  return Leaf(filter, bounds).MayMatch();
}

}  // namespace

std::optional<OrderedValue> OrderedValueOf(const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) return std::nullopt;
  switch (array.type_id()) {
    case arrow::Type::BOOL:
      return WholeAt<arrow::BooleanArray>(array, row);
    case arrow::Type::INT8:
      return WholeAt<arrow::Int8Array>(array, row);
    case arrow::Type::INT16:
      return WholeAt<arrow::Int16Array>(array, row);
    case arrow::Type::INT32:
      return WholeAt<arrow::Int32Array>(array, row);
    case arrow::Type::INT64:
      return WholeAt<arrow::Int64Array>(array, row);
    case arrow::Type::DATE32:
      return WholeAt<arrow::Date32Array>(array, row);
    case arrow::Type::TIME32:
      return WholeAt<arrow::Time32Array>(
          array, row, NanosOf(static_cast<const arrow::Time32Type&>(*array.type()).unit()));
    case arrow::Type::TIME64:
      return WholeAt<arrow::Time64Array>(
          array, row, NanosOf(static_cast<const arrow::Time64Type&>(*array.type()).unit()));
    case arrow::Type::TIMESTAMP: {
      const auto unit = static_cast<const arrow::TimestampType&>(*array.type()).unit();
      return arrow::Decimal128(static_cast<const arrow::TimestampArray&>(array).Value(row)) *
             arrow::Decimal128(NanosOf(unit));
    }
    case arrow::Type::FLOAT:
      return static_cast<double>(static_cast<const arrow::FloatArray&>(array).Value(row));
    case arrow::Type::DOUBLE:
      return static_cast<const arrow::DoubleArray&>(array).Value(row);
    case arrow::Type::DECIMAL128:
      return arrow::Decimal128(static_cast<const arrow::Decimal128Array&>(array).GetValue(row));
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return static_cast<const arrow::BinaryArray&>(array).GetString(row);
    case arrow::Type::FIXED_SIZE_BINARY:
      return static_cast<const arrow::FixedSizeBinaryArray&>(array).GetString(row);
    default:
      return std::nullopt;
  }
}

bool MayMatch(const RowFilter& filter, const types::Schema& schema,
              const BatchStatistics* statistics, int64_t row_count) {
  if (row_count == 0) return true;
  const auto child = [&](const RowFilter& part) {
    return MayMatch(part, schema, statistics, row_count);
  };
  if (filter.op == Op::kAnd) return std::ranges::all_of(filter.children, child);
  if (filter.op == Op::kOr)
    return filter.children.empty() || std::ranges::any_of(filter.children, child);
  const auto column = std::ranges::find(schema.columns, filter.column_id, &types::Column::id);
  if (column == schema.columns.end()) {
    const ColumnBounds nothing{.min = {}, .max = {}, .null_count = row_count};
    return LeafMayMatch(filter, nothing, row_count);
  }
  const ColumnBounds* bounds =
      statistics == nullptr
          ? nullptr
          : statistics->Find(static_cast<size_t>(column - schema.columns.begin()));
  return LeafMayMatch(filter, bounds == nullptr ? ColumnBounds() : *bounds, row_count);
}

}  // namespace sluice::wire
