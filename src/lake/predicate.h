#pragma once
#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string>
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

}  // namespace sluice::lake
