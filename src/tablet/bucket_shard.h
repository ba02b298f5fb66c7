#pragma once
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/task.h"
#include "log/file_cache.h"
#include "shard/turnstile.h"
#include "tablet/gather.h"
#include "tablet/key_snapshots.h"
#include "tablet/replica.h"
#include "tablet/saver.h"
#include "tablet/scanners.h"
#include "tablet/tablet_service.h"

namespace sluice::tablet {

/// All replicas that live on one shard.
///
/// Threads: confined to the shard's loop.
class BucketShard {
 public:
  struct Options {
    const TabletOptions* server = nullptr;
    TableContexts* tables = nullptr;
    size_t index = 0;  ///< Of the shard.
    /// Told once a bucket's log has opened.
    std::function<void(const types::BucketId& id)> opened;
  };
  explicit BucketShard(Options options);

  /// News of a bucket from the coordinator.
  struct News {
    types::BucketId id;
    types::TablePath path;
    std::string partition_name;
    Leadership leadership;
    int64_t recovery_point = log::Log::kScanAll;  ///< Should its log not be open yet.
  };
  struct Stop {
    types::BucketId id;
    int32_t leader_epoch = 0;
    bool remove = false;  ///< Its files too.
  };
  /// Open the replica when it is new, then take the leadership. Errors: those of the replica and
  /// its log.
  io::Task<Status> Take(News news);
  /// Close the replica; fine when there is none.
  io::Task<Status> StopReplica(Stop stop);
  /// Close everything: logs whole, and all keys that there is time to move (`stop_moves_max`), most
  /// to replay first. `between_syncs`: see Replica::Closing. Errors: the first one, after all were
  /// closed.
  io::Task<Status> CloseAll(bool between_syncs);
  /// Logs that are not checkpoints as they are.
  size_t UnsavedLogs() const;

  /// Errors: kUnknownTableOrBucket.
  Result<std::shared_ptr<Replica>> Find(const types::BucketId& id) const;
  std::vector<std::shared_ptr<Replica>> Replicas() const;
  /// Let the buckets of a table see it as it is now.
  void Refresh(int64_t table_id);

  Scanners& scanners() { return scanners_; }
  const Saver& saver() const { return saver_; }
  KeySnapshots& snapshots() { return snapshots_; }
  io::Loop& loop() const { return *loop_; }

 private:
  // Opens and stops of a bucket run one after another, in the lane that its id says; so a few of
  // them wait for the device at a time, and no more.
  static constexpr size_t kLanes = 4;
  shard::Turnstile& LaneOf(const types::BucketId& id);
  bool LanesAreFree() const;

  io::Task<Status> TakeInTurn(News news);
  io::Task<Result<std::shared_ptr<Replica>>> OpenReplica(News news);
  io::Task<Status> CloseReplica(std::shared_ptr<Replica> replica, Replica::Closing closing);
  io::Task<Status> RemoveFiles(BucketFolders folders);
  io::Task<Status> RemoveLeftovers(types::BucketId id);
  struct ToClose {
    std::deque<std::shared_ptr<Replica>> left;
    bool between_syncs = false;
    std::chrono::nanoseconds moves_until{};  // On the loop's monotonic clock.
  };
  std::deque<std::shared_ptr<Replica>> TakeAll();
  static io::Task<void> CloseLane(BucketShard* shard, std::shared_ptr<ToClose> all,
                                  Gather<Status> closed, size_t lane);

  const Options options_;
  io::Loop* const loop_;
  log::FileCache log_files_;
  Scanners scanners_;
  std::unordered_map<types::BucketId, std::shared_ptr<Replica>> replicas_;
  std::map<types::BucketId, std::string> not_opened_;  // What opening them failed at.
  std::set<types::BucketId> in_order_;  // The same ones, those of a table side by side.
  Saver saver_;
  KeySnapshots snapshots_;
  std::array<shard::Turnstile, kLanes> lanes_;
};

}  // namespace sluice::tablet
