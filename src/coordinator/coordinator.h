#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/cluster_configs.h"
#include "coordinator/settings.h"
#include "io/clock.h"
#include "io/disk_guard.h"
#include "io/file.h"
#include "io/loop.h"
#include "io/pool.h"
#include "io/random.h"
#include "io/transport.h"
#include "lake/lake_catalog.h"
#include "meta/catalog.h"

namespace sluice::coordinator {

struct CoordinatorCore;

/// The one that changes the catalog: DDL, assignment and epochs, lake snapshots, the tiering queue.
///
/// It answers the calls of coordinator scope, and the reads that need no more than the catalog. All
/// state lives on one loop; file and lake work runs on the pool. Tablet servers are told by the
/// protocol's private calls. Threads: Handle and the other tasks may start on any loop and go on
/// there when they are done.
class Coordinator : public io::Service {
 public:
  struct Options {
    meta::Catalog* catalog = nullptr;
    lake::LakeCatalog* lake = nullptr;  ///< Null: the cluster has no lake.
    io::Loop* loop = nullptr;           ///< The coordinator's own; it may wait for a metadata sync.
    io::Pool* pool = nullptr;
    io::FileSystem* files = nullptr;
    io::Clock* clock = nullptr;
    io::Random* random = nullptr;
    const io::DiskGuard* disk = nullptr;  ///< Of the metadata; null = changes are always taken.
    ClusterConfigs* configs = nullptr;    ///< Null: no setting may be changed.
    ClusterSettings settings;
    CoordinatorAddress address;
    std::vector<TabletServer> tablet_servers;
  };

  explicit Coordinator(Options options);
  ~Coordinator() override;

  /// Take office: raise the epoch, finish or undo half-done DDL, tell the tablet servers
  /// everything, start the timers. A tablet server that does not answer is told again later; it
  /// does not fail the start.
  io::Task<Status> Start(io::Loop& loop);
  /// Refuse new calls, wait for those under way, stop the timers. To be awaited before the object
  /// goes.
  io::Task<void> Stop(io::Loop& loop);

  /// Errors: as the protocol's documents say; kUnsupportedVersion for a call that is not ours.
  io::Task<Result<io::Payload>> Handle(io::Loop& loop,
                                       std::shared_ptr<const io::Principal> principal,
                                       io::Call call) override;

  /// A writer id never given before (INIT_WRITER; the caller has checked rights and tables).
  io::Task<Result<int64_t>> NewWriterId(io::Loop& loop);
  /// As Catalog::NextColumnIds.
  io::Task<Result<int64_t>> NewColumnIds(io::Loop& loop, int64_t table_id, int64_t count);

  /// The tables whose last tiering round failed, and in how long each is queued again.
  io::Task<std::map<int64_t, std::chrono::milliseconds>> NextTries(io::Loop& loop);

  // Views of the SQL side, which have no call in the protocol.
  io::Task<Status> CreateView(io::Loop& loop, meta::ViewInfo view, bool replace);
  io::Task<Status> DropView(io::Loop& loop, types::TablePath path);

 private:
  std::shared_ptr<CoordinatorCore> core_;  // Shared with what still runs on the loop.
};

}  // namespace sluice::coordinator
