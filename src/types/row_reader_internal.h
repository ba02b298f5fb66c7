#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "types/column_sink_internal.h"

namespace sluice::types {

/// Takes rows apart into column sinks. The bytes come from outside: nothing is read beyond them,
/// and what does not fit gives kCorruptRecord. Sinks are of use only when all went well.
class RowReader {
 public:
  explicit RowReader(RowLayout layout) : layout_(layout) {}

  Status ReadRow(std::string_view row, std::vector<ColumnSink>* sinks) const;
  /// Take one value of a COMPACTED or INDEXED row that was taken apart; nullopt = NULL.
  Status ReadPart(std::optional<std::string_view> part, ColumnSink* sink) const;

 private:
  Status ReadCompactedRow(std::string_view row, std::vector<ColumnSink>* sinks) const;
  Status ReadCompactedValue(std::string_view* rest, ColumnSink* sink) const;
  Status ReadIndexedValue(std::string_view bytes, ColumnSink* sink) const;
  Status ReadIndexedRow(std::string_view row, std::vector<ColumnSink>* sinks) const;
  Status ReadBinaryRow(std::string_view row, std::vector<ColumnSink>* sinks) const;
  Status ReadArray(std::string_view bytes, ColumnSink* element, int64_t* count) const;
  Status ReadMap(std::string_view bytes, ColumnSink* map) const;
  /// A value of kBytes, kBigDecimal or a nested shape from its bytes.
  Status ReadWhole(std::string_view bytes, ColumnSink* sink) const;
  /// A value of any shape but kFixed from its slot in `section`; `budget` is what pieces may still
  /// add up to.
  Status ReadSlot(std::string_view section, uint64_t slot, size_t* budget, ColumnSink* sink) const;

  RowLayout layout_;
};

/// Where the bytes of each column lie in COMPACTED and INDEXED rows, nullopt = NULL. `out` has a
/// place for each layout.
Status SplitCompacted(const std::vector<ValueLayout>& layouts, std::string_view row,
                      std::span<std::optional<std::string_view>> out);
Status SplitIndexed(const std::vector<ValueLayout>& layouts, std::string_view row,
                    std::span<std::optional<std::string_view>> out);

}  // namespace sluice::types
