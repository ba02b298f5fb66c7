#pragma once
#include <memory>
#include <optional>

#include "coordinator/tablet_link.h"
#include "coordinator/tiering_queue.h"
#include "io/clock.h"
#include "io/loop.h"
#include "meta/catalog.h"
#include "shard/gate.h"
#include "wire/proto/lake.pb.h"

namespace sluice::coordinator {

/// Runs the tiering queue: follows the catalog's lake tables, probes them by the clock, answers
/// heartbeats.
///
/// Threads: confined to the coordinator's loop. Lifetime: shared with its timer and its probes
/// until Stop.
class TieringDesk : public std::enable_shared_from_this<TieringDesk> {
 public:
  struct Options {
    const meta::Catalog* catalog = nullptr;
    io::Loop* loop = nullptr;
    io::Clock* clock = nullptr;
    TabletLink* link = nullptr;
  };
  explicit TieringDesk(Options options) : options_(options) {}

  /// Take up the lake tables that exist. Once.
  void Start();
  /// Take no more time, and wait for the probes under way.
  io::Task<void> Stop();
  /// A table was created, altered or dropped.
  void TableChanged(int64_t table_id);
  /// The service's call: failed, then tiering, then finished tables, then perhaps one table to tier
  /// (Java's LakeTableTieringManager).
  wire::LakeTieringHeartbeatResponse Heartbeat(const wire::LakeTieringHeartbeatRequest& request);

  /// The tiering epoch of the round under way, if any.
  std::optional<int64_t> RoundOf(int64_t table_id) const { return queue_.RoundOf(table_id); }
  std::map<int64_t, TieringQueue::Time> NextTries() const { return queue_.NextTries(Now()); }

 private:
  TieringQueue::Time Now() const;
  void Tick();
  void Arm();
  static io::Task<void> Probe(std::shared_ptr<TieringDesk> self, int64_t table_id);

  Options options_;
  TieringQueue queue_;
  io::Loop::TimerId timer_ = 0;
  bool armed_ = false;
  bool stopped_ = true;
  shard::Gate probes_;  // Those under way hold it.
};

}  // namespace sluice::coordinator
