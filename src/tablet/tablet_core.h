#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "io/task.h"
#include "log/checkpoint.h"
#include "shard/gate.h"
#include "tablet/bucket_shard.h"
#include "tablet/call_memory.h"
#include "tablet/client_error.h"
#include "tablet/gather.h"
#include "tablet/periodic.h"
#include "tablet/table_context.h"
#include "tablet/tablet_service.h"

namespace sluice::tablet {

/// What all calls of a tablet server share: its shards of buckets, its tables, its data folder.
///
/// Threads: any, except what a member says.
class TabletCore : public std::enable_shared_from_this<TabletCore> {
 public:
  explicit TabletCore(TabletOptions options);

  io::Task<Status> Start(io::Loop& loop);
  io::Task<Status> Stop(io::Loop& loop);

  const TabletOptions& options() const { return options_; }
  TableContexts& tables() { return tables_; }
  shard::Gate& gate() { return gate_; }
  /// Let every fetch that waits for data answer, and none wait from now on.
  void EndWaits();
  bool waits_ended() const { return waits_ended_.load(); }
  size_t shard_count() const { return shards_.size(); }
  BucketShard& shard(size_t index) { return *shards_[index]; }

  /// The buckets of a table (or partition) go round the shards, from one that its ids choose: each
  /// shard has its share of every table, and no one needs a table of who is where.
  size_t ShardOf(const types::BucketId& id) const {
    const types::BucketId first{id.table_id, id.partition_id, 0};
    const size_t start = std::hash<types::BucketId>()(first) % shards_.size();
    return (start + static_cast<uint32_t>(id.bucket)) % shards_.size();
  }
  /// Positions in `ids` by owner shard, in order.
  std::vector<std::vector<size_t>> Cut(std::span<const types::BucketId> ids) const;
  /// Run `work` on a shard: now when this is its thread, else after what was posted to it before.
  /// Work from one loop runs in the order of its calls. False when the shard's mailbox is full.
  [[nodiscard]] bool RunOn(size_t shard, size_t size_bytes, std::function<void(BucketShard&)> work);
  /// The same for control messages of the coordinator and the server's own work, which are never
  /// refused.
  void PostTo(size_t shard, std::function<void(BucketShard&)> work);
  Status MailboxFull(size_t shard) const;
  /// What a call holds in memory counts with what all others do.
  CallMemoryPtr NewCallMemory() const { return std::make_shared<CallMemory>(call_budget_); }
  /// The memory of a call that names so many buckets; null when they are few. Errors: those of
  /// CallMemory.
  Result<CallMemoryPtr> HoldNames(size_t count) const;
  const std::shared_ptr<MemoryBudget>& call_budget() const { return call_budget_; }
  /// Errors: kDiskWriteLocked while the disk takes no more records.
  Status CheckWrite() const {
    return options_.disk == nullptr ? Status::OK() : options_.disk->CheckWrite();
  }
  /// An error of a bucket as its client may see it.
  Status Told(const types::BucketId& id, const Status& status) const {
    return ForClient(status, &id, options_.data_dir);
  }

  /// Batches that filters left out of fetches.
  void CountSkippedBatches(uint64_t count) { skipped_batches_ += count; }
  uint64_t skipped_batches() const { return skipped_batches_; }

  /// Accept a call of the coordinator with this epoch. Errors: kInvalidCoordinator when a newer one
  /// was seen.
  Status SeeCoordinator(int32_t epoch);
  /// Where to start checking a log that opens for the first time since the start.
  int64_t RecoveryPointOf(const types::BucketId& id);
  /// It has opened: what is recorded from now on is the log's own. One that could not be opened
  /// keeps its point, since what lies below it is never cut without a person.
  void ForgetRecoveryPoint(const types::BucketId& id);
  /// Did the last process die, and are logs of it not opened yet?
  bool HasUncheckedLogs();

  io::Task<std::vector<BucketStatus>> Statuses(io::Loop& loop);

 private:
  Status OpenFolder();
  std::string DataPath(const char* name) const;
  void StartTimers();
  static io::Task<void> CheckpointShard(std::shared_ptr<TabletCore> core, size_t shard);
  static io::Task<void> RetainShard(std::shared_ptr<TabletCore> core, size_t shard);
  static io::Task<void> SnapshotShard(std::shared_ptr<TabletCore> core, size_t shard);
  static io::Task<void> TendRemoteOf(std::shared_ptr<TabletCore> core, size_t shard);
  static io::Task<void> WriteCheckpointFile(std::shared_ptr<TabletCore> core, io::Loop& loop);
  io::Task<Status> WriteOffsets(io::Loop& loop);
  Status WriteFile(const log::Checkpoint& recovery_points);
  io::Task<Status> CloseShards(io::Loop& loop, bool between_syncs);
  io::Task<size_t> UnsavedLogs(io::Loop& loop);
  io::Task<Status> SyncAll(io::Loop& loop);

  const TabletOptions options_;
  const std::shared_ptr<MemoryBudget> call_budget_;
  TableContexts tables_;
  std::vector<std::unique_ptr<BucketShard>> shards_;
  shard::Gate gate_;
  std::atomic<bool> waits_ended_{false};
  std::atomic<uint64_t> skipped_batches_{0};
  std::atomic<int32_t> coordinator_epoch_{-1};
  std::unique_ptr<io::FileSystem::Lock> folder_lock_;
  std::vector<std::vector<std::shared_ptr<Periodic>>>
      timers_;                 // By shard; touched on that shard's loop.
  std::vector<char> tending_;  // The same: whether TendRemoteOf is under way.

  std::mutex mutex_;  // Guards what follows.
  log::Checkpoint recovery_points_;
  bool cleanly_closed_ = false;  // Then all of them are at their logs' ends.

  std::mutex file_mutex_;  // One writer of the checkpoint file; pool threads only.
  log::Checkpoint written_;
};
using TabletCorePtr = std::shared_ptr<TabletCore>;

}  // namespace sluice::tablet
