#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/ddl.h"
#include "io/clock.h"
#include "io/loop.h"
#include "meta/catalog.h"
#include "shard/gate.h"

namespace sluice::coordinator {

/// Makes the partitions that tables with `table.auto-partition.enabled` are to have by the wall
/// clock, and drops those that are over.
///
/// One table after another, each change a DDL of its own that waits for its turn and is left out
/// when the table's options, as they are then, want it no more. What fails is logged and comes
/// again with the next look. Threads: confined to the coordinator's loop. Lifetime: shared with its
/// timer until Stop.
class PartitionKeeper : public std::enable_shared_from_this<PartitionKeeper> {
 public:
  struct Options {
    const meta::Catalog* catalog = nullptr;
    io::Loop* loop = nullptr;
    const io::Clock* clock = nullptr;
    Ddl* ddl = nullptr;
    const ClusterSettings* settings = nullptr;
    std::function<Status()> may_create;  ///< Whether the disk has room for more metadata.
  };
  explicit PartitionKeeper(Options options) : options_(std::move(options)) {}

  /// Look at all tables now and then once per interval. Once.
  void Start();
  /// Take no more time, and wait for the look under way.
  io::Task<void> Stop();
  /// Look at one table, as after it was created or altered.
  static io::Task<void> Keep(std::shared_ptr<PartitionKeeper> self, types::TablePath path);

 private:
  void Arm();
  static io::Task<void> KeepAll(std::shared_ptr<PartitionKeeper> self);
  io::Task<void> DropOver(meta::TablePtr table, int64_t now_ms);
  io::Task<void> CreateWanted(meta::TablePtr table, int64_t now_ms);

  Options options_;
  std::optional<io::Loop::TimerId> timer_;
  bool stopped_ = true;
  shard::Gate looks_;  // KeepAll holds it.
};

}  // namespace sluice::coordinator
