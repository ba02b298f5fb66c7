#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"

namespace sluice::sql {

/// One bucket as a union read sees it: a partition by its name (empty = the table is not
/// partitioned) and a number.
struct UnionBucket {
  std::string partition;  ///< Values joined by '$'.
  int32_t bucket = 0;
  auto operator<=>(const UnionBucket&) const = default;
};

/// What was learned of a table, in this order: the readable lake snapshot with its offsets in one
/// answer, then the partitions and the high watermark of every bucket.
struct UnionFacts {
  bool primary_key = false;
  std::optional<int64_t> snapshot_id;              ///< Nullopt: never tiered.
  std::map<UnionBucket, int64_t> lake_offsets;     ///< First offset that is not in the snapshot.
  std::map<UnionBucket, int64_t> high_watermarks;  ///< Buckets that have a log.
};

/// What to read of one bucket.
struct UnionPart {
  enum class Base {
    kNothing,  ///< The log alone.
    kLake,     ///< The bucket's rows in the lake snapshot.
    kKeys,     ///< The key store as it was at `log_to`.
  };
  static constexpr int64_t kEarliest = -2;  ///< As the log's start: whatever is there first.
  UnionBucket bucket;
  Base base = Base::kNothing;
  int64_t log_from = kEarliest;
  int64_t log_to = 0;  ///< Exclusive: the high watermark.
  /// Records from here to `log_from` are nowhere: they expired while tiering was switched off.
  std::optional<int64_t> gap_from;
  /// "Earliest" of a log that never had a row is its end, 0.
  bool reads_log() const { return std::max<int64_t>(log_from, 0) < log_to; }
};

struct UnionPlan {
  std::optional<int64_t> snapshot_id;  ///< The lake snapshot to read, whole.
  std::vector<UnionPart>
      parts;  ///< By bucket. Lake rows of buckets that are not here are read too.
};

/// Plan a read of lake and log that has every row once.
///
/// Append tables: lake rows at the snapshot and log rows from its offset to the high watermark.
/// Primary-key tables: the same, where a key found in the log part wins over the lake. A table
/// never tiered is its whole log, or, with a primary key, its key store. Lake offsets above the
/// high watermark mean that nothing is left to read from the log.
UnionPlan PlanUnion(const UnionFacts& facts);

/// Make a part whose log starts past `log_from`, where the lake ends, one that can be read: from
/// the log's start, or of a primary-key table from its key store, which lacks nothing.
void PassGap(UnionPart* part, bool primary_key, int64_t log_start);

/// Lines for EXPLAIN.
std::vector<std::string> DescribePlan(const UnionPlan& plan, bool primary_key);

}  // namespace sluice::sql
