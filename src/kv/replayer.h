#pragma once
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "kv/put_batch.h"
#include "kv/write_back.h"

namespace sluice::kv {

/// A part of the changelog, folded by key: what KvTablet::Apply takes.
struct Replayed {
  int64_t base_offset = 0;
  int64_t next_offset = 0;
  Changes changes;
  int64_t row_count_delta = 0;
  uint64_t log_bytes = 0;
};

/// Reads changelog for one tablet's recovery, away from its shard: what costs most of it, the
/// decoding, needs nothing of the tablet.
///
/// Threads: any, one at a time.
class Replayer {
 public:
  explicit Replayer(std::unique_ptr<TabletRows> rows) : rows_(std::move(rows)) {}

  /// Fold the records of batches that lie end to end in `log`, from `base_offset` on; a fragment at
  /// the end is left. Errors: kCorruptRecord, kSchemaNotExist; kKvStorage when the batches begin
  /// above `base_offset` or have a gap.
  Result<Replayed> Fold(std::string_view log, int64_t base_offset);

 private:
  const std::unique_ptr<TabletRows> rows_;
};

}  // namespace sluice::kv
