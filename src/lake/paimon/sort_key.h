#pragma once
#include <arrow/type_fwd.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "types/data_type.h"

namespace sluice::lake::paimon {

/// Keys of many rows as byte strings whose order is Paimon's key order:
/// comparing them is memcmp.
class SortKeys {
 public:
  std::string_view operator[](size_t row) const {
    const size_t from = row == 0 ? 0 : ends_[row - 1];
    return std::string_view(bytes_).substr(from, ends_[row] - from);
  }
  size_t size() const { return ends_.size(); }
  size_t size_bytes() const { return bytes_.size() + ends_.size() * sizeof(size_t); }

  /// Add the keys of rows whose columns are given in file form.
  /// Errors: kInvalidTable for a type that has no order.
  Status Append(const std::vector<std::shared_ptr<arrow::Array>>& columns, int64_t rows);

 private:
  std::string bytes_;
  std::vector<size_t> ends_;
};

/// Sort keys of serialized rows (manifest keys, arity in front), for columns of these types.
Result<SortKeys> SortKeysOfRows(const std::vector<types::DataTypePtr>& types,
                                std::span<const std::string_view> rows);

/// Row numbers in key order; equal keys stay in row order.
std::vector<uint32_t> SortedRows(const SortKeys& keys);

}  // namespace sluice::lake::paimon
