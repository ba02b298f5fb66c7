#pragma once
#include <arrow/type_fwd.h>
#include <arrow/util/decimal.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace sluice::lake {

/// A condition on one column that every row of the result meets: a scan may use it to skip data and
/// may ignore it, since the query checks it again.
struct Predicate {
  enum class Op : uint8_t {
    kEqual,
    kLess,
    kLessOrEqual,
    kGreater,
    kGreaterOrEqual,
    kIsNull,
    kIsNotNull,
    kIn
  };
  std::string column;
  Op op = Op::kEqual;
  /// One value of the column's Arrow type (none for the null tests, one or more for kIn); never a
  /// null scalar.
  std::vector<std::shared_ptr<arrow::Scalar>> values;
};

/// A value that has an order; nullopt elsewhere means "not known".
using OrderedValue = std::variant<int64_t, arrow::Decimal128, std::string>;

/// The scalar's value; nullopt for a null and for types whose order is not used.
std::optional<OrderedValue> OrderedValueOf(const arrow::Scalar& scalar);

/// What is known of a column's values in some rows.
struct ColumnRange {
  std::optional<OrderedValue> min, max;  ///< Inclusive bounds.
  std::optional<int64_t> null_count;
  int64_t row_count = 0;
};

/// False when no row of the range can meet the predicate.
bool MayMatch(const Predicate& predicate, const ColumnRange& range);

/// Whether a row with this value meets the predicate; true also where nothing can be said.
bool Meets(const Predicate& predicate, const arrow::Scalar& value);

}  // namespace sluice::lake
