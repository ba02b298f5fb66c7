#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "tiering/cluster_link.h"
#include "types/ids.h"
#include "types/schema.h"

namespace sluice::tiering {

/// One bucket as a round finds it: the lake holds what is below `from`, the log reaches to `to`.
struct BucketSpan {
  types::BucketId bucket;
  std::vector<std::string>
      partition;  ///< Values in partition-key order, empty when the table has no partitions.
  std::string partition_name;
  int64_t from = 0;
  int64_t to = 0;         ///< High watermark.
  bool recorded = false;  ///< The coordinator has an offset of it; else `from` is the log's start.
  /// Where the lake ends, when the log starts behind that, at `from`: what is between expired while
  /// tiering was switched off.
  std::optional<int64_t> gap_from;
};

/// All buckets of a table, also those with nothing to move.
///
/// A bucket that was never tiered starts at the log's earliest offset, and so does one whose log
/// was cut behind what the lake has. Of a primary-key table neither may lack a record, since the
/// lake would lack keys that were last changed by it. Errors: kInvalidTable when such a changelog
/// was cut; those of the calls.
Result<std::vector<BucketSpan>> PlanSpans(ClusterLink& link, const types::TableInfo& table,
                                          const std::optional<client::LakeSnapshot>& recorded);

}  // namespace sluice::tiering
