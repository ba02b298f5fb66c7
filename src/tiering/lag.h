#pragma once
#include <chrono>
#include <map>
#include <vector>

#include "io/clock.h"
#include "tiering/cluster_link.h"
#include "tiering/table_state.h"

namespace sluice::tiering {

/// Measures how far the lake is behind the logs: by offsets, and by the age of the oldest untiered
/// record.
///
/// Threads: one at a time.
class LagMeter {
 public:
  LagMeter(ClusterLink& link, io::Clock& clock) : link_(link), clock_(clock) {}

  /// One entry per bucket. A record's commit time is read from the log once for each offset that
  /// the lake reaches. A record is at least as old as the time since it was first seen here, which
  /// counts after the wall clock was set back behind its commit time. The log's ends of the last
  /// measurements come along, fewer of the older ones.
  Result<std::vector<BucketLag>> Measure(const types::TableInfo& table);
  /// Forget a table that is gone.
  void Forget(int64_t table_id);

 private:
  struct Oldest {
    int64_t offset;
    int64_t commit_ms;                 // -1: not known yet.
    std::chrono::nanoseconds seen_at;  // Monotonic.
  };
  static constexpr size_t kLogEndsMax = 32;  // Per bucket.
  Status SetAge(const types::TablePath& path, BucketLag* lag);
  void NoteLogEnd(const types::BucketId& bucket, LogEndSeen end);
  void ForgetBuckets(int64_t table_id, const std::vector<BucketLag>& but);

  ClusterLink& link_;
  io::Clock& clock_;
  std::map<types::BucketId, Oldest> oldest_;
  std::map<types::BucketId, std::vector<LogEndSeen>> log_ends_;
};

}  // namespace sluice::tiering
