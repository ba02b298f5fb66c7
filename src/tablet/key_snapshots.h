#pragma once
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/task.h"
#include "tablet/replica.h"
#include "tablet/tablet_service.h"

namespace sluice::tablet {

/// Makes KV snapshots of the buckets of one shard, one after another: each bucket once per
/// `kv_snapshot_interval`, as it is at each look, when its log has grown since the newest one.
///
/// One snapshot: keys move to the store; on a pool a checkpoint of the store is made beside it and
/// its files go to the remote folder; then the coordinator records it. What fails is tried again
/// after the interval. Threads: confined to the shard's loop.
class KeySnapshots {
 public:
  KeySnapshots(const TabletOptions* server, io::Loop* loop) : server_(server), loop_(loop) {}

  bool enabled() const { return server_->snapshot_pool != nullptr && server_->call_coordinator; }
  /// How long after now RunDue is to be called next.
  static std::chrono::milliseconds LookInterval(const LiveOptions& live);
  /// Make those that are due. Returns at once when it runs already.
  static io::Task<void> RunDue(KeySnapshots* snapshots,
                               std::vector<std::shared_ptr<Replica>> replicas);
  /// Let one of this bucket that is being made end soon.
  void Cancel(const types::BucketId& id);
  /// The same of all; none begins any more.
  void Stop();
  /// Threads: any.
  SnapshotCounts counts() const { return {made_, failed_, copied_bytes_}; }

 private:
  bool TakeTurn(const Replica& replica);
  io::Task<Status> Make(std::shared_ptr<Replica> replica);
  io::Task<Status> Record(std::shared_ptr<Replica> replica, std::string json);

  const TabletOptions* const server_;
  io::Loop* const loop_;
  // A bucket is next an interval, as it is then, after this. Those that are gone leave with the
  // next look.
  std::unordered_map<types::BucketId, std::chrono::nanoseconds> counted_from_;
  std::optional<types::BucketId> making_;
  std::shared_ptr<std::atomic<bool>> stop_making_;
  bool running_ = false;
  bool stopped_ = false;
  std::atomic<uint64_t> made_{0};
  std::atomic<uint64_t> failed_{0};
  std::atomic<uint64_t> copied_bytes_{0};
};

}  // namespace sluice::tablet
