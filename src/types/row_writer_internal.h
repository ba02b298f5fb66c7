#pragma once
#include "types/column_view_internal.h"

namespace sluice::types {

/// Appends rows, keys and binary sections made from column views to a byte string.
///
/// Problems with values (text longer than its CHAR(n)) are kept: ask `status` at the end.
class RowWriter {
 public:
  explicit RowWriter(RowLayout layout) : layout_(layout) {}

  void AppendRow(const std::vector<ColumnView>& columns, int64_t row, std::string* out);
  /// The COMPACTED encoding of one value that is not NULL.
  void AppendCompactedValue(const ColumnView& column, int64_t row, std::string* out);

  const Status& status() const { return status_; }

 private:
  void AppendCompactedRow(const std::vector<ColumnView>& columns, int64_t row, std::string* out);
  void AppendIndexedRow(const std::vector<ColumnView>& columns, int64_t row, std::string* out);
  void AppendIndexedValue(const ColumnView& column, int64_t row, std::string* out);
  void AppendBinaryRow(const std::vector<ColumnView>& columns, int64_t row, std::string* out);
  void AppendArray(const ColumnView& element, ColumnView::Range range, std::string* out);
  void AppendMap(const ColumnView& map, int64_t row, std::string* out);
  /// The bytes of an ARRAY, MAP or ROW value.
  std::string Nested(const ColumnView& column, int64_t row);
  /// Fill the slot at `slot` of the section that starts at `base` of `out` with a value of any
  /// shape but kFixed.
  void PutSlot(const ColumnView& column, int64_t row, size_t base, size_t slot, std::string* out);
  void AppendPadded(std::string_view bytes, const ValueLayout& layout, std::string* out);

  RowLayout layout_;
  Status status_;
};

}  // namespace sluice::types
