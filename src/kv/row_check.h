#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "types/part_value.h"
#include "types/row.h"
#include "types/schema.h"
#include "types/table_options.h"

namespace sluice::wire {
class LogBatchView;
}  // namespace sluice::wire

namespace sluice::kv {

/// The encoded value of a column of a row, nullopt = NULL. Views.
using Part = std::optional<std::string_view>;
using Parts = std::vector<Part>;

/// What rows of a client must be beyond what taking them apart shows: nothing follows the last
/// column, text is UTF-8, decimals, times and BINARY are in the range of their types, nested values
/// decode whole. Such rows can be read back: the log says nothing that a replay refuses.
///
/// Other numbers and bytes need no look: each of their bit patterns is a value. Immutable.
class RowCheck {
 public:
  /// For rows of `codec`, whose columns are those of `schema`.
  RowCheck(const types::Schema& schema, const types::RowCodec& codec);

  /// `parts` are `rows` taken apart, end to end. Errors: kCorruptRecord, naming record and column;
  /// kRecordTooLarge for nested values that would not decode together.
  Status Check(std::span<const std::string_view> rows, std::span<const Part> parts) const;

  /// Nested values of the rows of one batch that await their check. Views.
  struct Nested {
    Parts parts;
    size_t binary_bytes = 0;  // Of those that were checked.
  };
  /// Check one row of a batch, but its nested values only when there are many of them. At the
  /// batch's end comes CheckNested.
  Status CheckNext(std::string_view row, std::span<const Part> parts, Nested* nested) const;
  Status CheckNested(Nested* nested) const;

 private:
  struct TextColumn {
    size_t position;
    std::string name;
  };
  struct RangeColumn {
    size_t position;
    std::string name;
    types::PartValue value;
  };
  Status CheckRow(std::string_view row, std::span<const Part> parts) const;

  size_t width_;         // Columns.
  size_t header_bytes_;  // Of a row: what stands before the first value.
  bool sized_;           // A value begins with its size.
  std::vector<TextColumn> texts_;
  std::vector<RangeColumn> ranges_;
  std::vector<size_t> nested_;
  types::RowCodec nested_codec_;  // Rows of the nested columns alone.
};

/// Check the rows that a client appends to a log in a row format, in little memory beside the
/// batch. Errors: kCorruptRecord; kInvalidTable, naming the column, for a NULL where none may be;
/// kRecordTooLarge for BINARY that would not decode together.
Status CheckLogRows(const wire::LogBatchView& batch, types::LogFormat format,
                    const types::Schema& schema);

}  // namespace sluice::kv
