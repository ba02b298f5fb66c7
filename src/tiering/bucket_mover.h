#pragma once
#include <atomic>
#include <memory>
#include <string>

#include "base/memory_budget.h"
#include "io/clock.h"
#include "lake/lake_table.h"
#include "tiering/cluster_link.h"
#include "tiering/plan.h"

namespace sluice::tiering {

/// What one bucket gave to a round.
struct BucketMoved {
  int64_t end_offset = 0;         ///< First offset that is not in `files`.
  int64_t max_timestamp_ms = -1;  ///< Of the rows, -1 when there are none.
  int64_t records = 0;
  std::unique_ptr<lake::PreparedFiles> files;  ///< Null when no row was read.
};

struct MoveLimits {
  int64_t bytes_max = 0;  ///< Decoded bytes; the batch that passes it is still taken.
  const io::Clock* clock = nullptr;
  std::chrono::nanoseconds until{};  ///< By `clock`; what is read first is taken all the same.
  MemoryBudget* rows =
      nullptr;  ///< Of all buckets; used up, it ends the move as the byte limit does.
  const std::atomic<bool>* cancelled =
      nullptr;  ///< Each ends the move with an error: another bucket failed,
  const std::atomic<bool>* stopping = nullptr;  ///< or the service stops.
};

/// Read a bucket's log over its span and write it into lake files that nobody can see yet.
///
/// Shape: ends at a batch boundary at or after span.to, or earlier at a limit. Batches
/// without rows move the end offset too. Errors: kOperationNotAttempted when cancelled;
/// kRequestTimeOut when the log gives nothing below its high watermark.
Result<BucketMoved> MoveBucket(ClusterLink& link, lake::LakeTable& lake,
                               const types::TablePath& path, const BucketSpan& span,
                               MoveLimits limits);

}  // namespace sluice::tiering
