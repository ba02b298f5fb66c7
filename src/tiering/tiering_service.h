#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "io/clock.h"
#include "io/loop.h"
#include "tiering/cluster_link.h"
#include "tiering/table_state.h"

namespace sluice::lake {
class LakeCatalog;
}

namespace sluice::tiering {

struct ServiceOptions {
  std::shared_ptr<ClusterLink> link;  ///< The cluster, over its protocol (MakeClientLink).
  lake::LakeCatalog* lake = nullptr;  ///< Outlives the service.
  io::Loop* loop = nullptr;           ///< For timers and the clock; outlives the service.
  /// `table.datalake.freshness` of a table.
  std::function<std::chrono::milliseconds(const types::TableDescriptor&)> freshness_of;
  /// Whether the lake's disk has room for another round; may be empty. Runs on any thread.
  std::function<Status()> has_room;
  size_t rounds_max = 2;      ///< Tables tiered at a time.
  size_t bucket_threads = 2;  ///< Buckets read and written at a time, over all tables.
  int64_t round_bytes_max =
      64 << 20;  ///< Decoded bytes of one round; the rest is for the next, at once.
  int64_t row_bytes_max = 256 << 20;             ///< Decoded rows held in memory, over all rounds.
  std::chrono::milliseconds poll_interval{100};  ///< Between heartbeats while a round could start.
  std::chrono::milliseconds lag_interval{1000};  ///< Between measurements of lag.
  std::chrono::milliseconds discovery_interval{
      5000};  ///< Between looks for lake tables nobody has tiered yet.
  /// Of one round; a table that needs longer goes on in its next round, after the others.
  std::chrono::milliseconds round_time_max = std::chrono::minutes(10);
  std::optional<bool> expire_all;    ///< Whether snapshots expire, see KeepUp.
  int32_t compaction_files_min = 5;  ///< Small files of a bucket that are worth a compaction.
};

/// Moves rows from the logs into the lake, round by round, as the coordinator hands tables out.
///
/// A table's rounds: heartbeat → plan → read the log into lake files → prepare → lake commit →
/// commit → heartbeat. A table that fails is reported with its reason and tried again by the
/// coordinator's queue; others go on. Threads: its own pools; Tables() from any thread.
class TieringService {
 public:
  explicit TieringService(ServiceOptions options);
  /// Stops.
  ~TieringService();
  TieringService(const TieringService&) = delete;
  TieringService& operator=(const TieringService&) = delete;

  void Start();
  /// No new rounds; rounds under way end early, without effect or whole. Blocks until they have.
  void Stop();

  /// As last measured, by path.
  std::vector<TableState> Tables() const;
  /// Decoded rows held in memory now.
  int64_t row_bytes() const;

 private:
  class Engine;
  std::shared_ptr<Engine> engine_;  // Shared with timers, which may fire after this object is gone.
};

}  // namespace sluice::tiering
