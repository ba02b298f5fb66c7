#pragma once
#include <string>
#include <vector>

#include "base/error.h"
#include "kv/row_check.h"
#include "types/agg_function.h"
#include "types/part_value.h"

namespace sluice::kv {

/// Folds the values of one column as its aggregate function says. Immutable.
///
/// NULL is skipped, except that last_value takes it. Integers wrap; a decimal that passes its
/// precision is NULL. Source: FieldAggregator of the Java server.
class Aggregator {
 public:
  /// Errors: kInvalidConfig for a function that is none, or not for this type.
  static Result<Aggregator> Make(const types::Column& column, types::RowFormat format);

  /// The value of `old_value` with `new_value` folded in: a view of one of them, or of `room`.
  /// Errors: kInvalidTable for a bitmap that is none.
  Result<Part> Fold(const Part& old_value, const Part& new_value, std::string* room) const;
  /// Check a value that is stored with nothing to fold it into: later ones are to be folded into
  /// it. Errors: as Fold.
  Status CheckFirst(const Part& value) const;

 private:
  Aggregator(types::AggFunction function, types::PartValue value, std::string delimiter)
      : function_(function), value_(std::move(value)), delimiter_(std::move(delimiter)) {}

  Result<Part> FoldValues(std::string_view old_value, std::string_view new_value,
                          std::string* room) const;
  Result<Part> Sum(std::string_view old_value, std::string_view new_value, std::string* room) const;
  template <typename Float, typename Bits>
  Result<Part> SumFloats(std::string_view old_value, std::string_view new_value,
                         std::string* room) const;
  Result<Part> SumDecimals(std::string_view old_value, std::string_view new_value,
                           std::string* room) const;
  Result<Part> List(std::string_view old_value, std::string_view new_value,
                    std::string* room) const;
  Result<Part> Union(std::string_view old_value, std::string_view new_value,
                     std::string* room) const;
  // Below, at or above 0 as `a` is below, at or above `b`.
  Result<int> Compare(std::string_view a, std::string_view b) const;

  types::AggFunction function_;
  types::PartValue value_;
  std::string delimiter_;  // Of a listagg.
};

/// One per column.
Result<std::vector<Aggregator>> MakeAggregators(const types::Schema& schema,
                                                types::RowFormat format);

}  // namespace sluice::kv
