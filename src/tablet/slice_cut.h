#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "io/payload.h"
#include "log/log.h"
#include "tablet/table_context.h"
#include "wire/row_filter.h"

namespace sluice::tablet {

/// What a reader wants of a log's batches.
struct SliceWish {
  std::vector<int32_t> positions;                 ///< Columns; empty = all.
  std::shared_ptr<const wire::RowFilter> filter;  ///< Null = all batches.
  bool magic0 = false;                            ///< The reader knows no other layout.

  /// Batches are wanted as they are.
  bool whole() const { return positions.empty() && filter == nullptr && !magic0; }
};

/// Batches as a reader wants them.
struct CutBatches {
  io::Payload records;
  int64_t kept_end = 0;          ///< Behind the last batch in `records`,
  int64_t seen_end = 0;          ///< and behind the last one that was looked at.
  uint64_t batches_skipped = 0;  ///< By the filter.

  /// Where the reader goes on when that is not behind the last record: batches after it were
  /// skipped.
  std::optional<int64_t> filtered_end() const {
    return seen_end > kept_end ? std::optional(seen_end) : std::nullopt;
  }
};

/// The batches of `slice` as `wish` has them, each by its own schema, up to `bytes_max` of result
/// (one batch at least, if the filter leaves one). Large column ranges, and batches that stay
/// whole, stay in the file.
///
/// A batch that does not go out as it is is read whole for its CRC, which its reader cannot check
/// any more.
///
/// With `may_wait` false only what the page cache holds is read, and no more than 1 MiB of it;
/// nullopt when that is not enough.
/// Errors: kInvalidColumnProjection; kSchemaNotExist; kCorruptRecord for a first batch that is
/// damaged: in front of a later one the result ends.
/// Threads: any.
Result<std::optional<CutBatches>> CutSlice(const log::Log::Slice& slice, const TableContext& table,
                                           const SliceWish& wish, uint64_t bytes_max,
                                           bool may_wait);

}  // namespace sluice::tablet
