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
  /// the lake reaches.
  Result<std::vector<BucketLag>> Measure(const types::TableInfo& table);
  /// Forget a table that is gone.
  void Forget(int64_t table_id);

 private:
  struct Oldest {
    int64_t offset;
    int64_t commit_ms;
  };
  Result<int64_t> OldestTime(const types::TablePath& path, const BucketLag& lag);

  ClusterLink& link_;
  io::Clock& clock_;
  std::map<types::BucketId, Oldest> oldest_;
};

}  // namespace sluice::tiering
