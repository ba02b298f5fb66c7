#pragma once
#include <arrow/type_fwd.h>
#include <arrow/util/decimal.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "types/schema.h"

namespace sluice::wire {

class BatchStatistics;
class PbPredicate;

/// A value that has an order: whole numbers, dates and times of day (ns); reals; decimals by their
/// unscaled value and timestamps (ns); text and bytes.
using OrderedValue = std::variant<int64_t, double, arrow::Decimal128, std::string>;

/// Value `row` of a column as log batches hold it; nullopt for a NULL and for nested types.
std::optional<OrderedValue> OrderedValueOf(const arrow::Array& array, int64_t row);

/// A condition on rows, with which a fetch leaves out batches. Source: PbPredicate.
///
/// It is about columns by id, so that it holds for batches of every schema of the table.
struct RowFilter {
  enum class Op : uint8_t {
    kEqual,
    kNotEqual,
    kLess,
    kLessOrEqual,
    kGreater,
    kGreaterOrEqual,
    kIsNull,
    kIsNotNull,
    kStartsWith,
    kContains,
    kEndsWith,
    kIn,
    kNotIn,
    kAnd,
    kOr
  };
  Op op = Op::kAnd;
  int32_t column_id = -1;                           ///< Not of kAnd and kOr,
  std::vector<std::optional<OrderedValue>> values;  ///< nor these; nullopt = NULL.
  std::vector<RowFilter> children;                  ///< Of kAnd and kOr alone.
};

/// What is known of a column's values in some rows.
struct ColumnBounds {
  std::optional<OrderedValue> min, max;  ///< Inclusive; nullopt = not known.
  std::optional<int64_t> null_count;
};

/// False when no row of a batch can meet `filter`. `schema` is that of the batch: a column that it
/// lacks is NULL in all rows. `statistics` is null when the batch has none.
///
/// Readers do not agree on the order of reals (0.0 and -0.0, NaN); the answer holds for all.
bool MayMatch(const RowFilter& filter, const types::Schema& schema,
              const BatchStatistics* statistics, int64_t row_count);

/// Read the filter of a fetch; `schema` is the one that it names.
/// Errors: kCorruptMessage for unknown codes and columns, and values of another type.
Result<RowFilter> ReadFilter(const PbPredicate& message, const types::Schema& schema);
/// Errors: kCorruptMessage for a value that its column's literals cannot say.
Status WriteFilter(const RowFilter& filter, const types::Schema& schema, PbPredicate* message);

}  // namespace sluice::wire
