#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "io/payload.h"
#include "log/log.h"
#include "tablet/table_context.h"

namespace sluice::tablet {

/// The batches of `slice` cut down to the columns at `positions`, each by its own schema, up to
/// `bytes_max` of result (one batch at least). Large column ranges stay in the file.
///
/// Each batch is read whole for its CRC, which its reader cannot check any more.
///
/// With `may_wait` false only what the page cache holds is read, and no more than 1 MiB of it;
/// nullopt when that is not enough.
/// Errors: kInvalidColumnProjection; kSchemaNotExist; kCorruptRecord for a first batch that is
/// damaged: in front of a later one the result ends.
/// Threads: any.
Result<std::optional<io::Payload>> ProjectSlice(const log::Log::Slice& slice,
                                                const TableContext& table,
                                                const std::vector<int32_t>& positions,
                                                uint64_t bytes_max, bool may_wait);

}  // namespace sluice::tablet
