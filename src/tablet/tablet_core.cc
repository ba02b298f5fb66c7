#include "tablet/tablet_core.h"

#include <numeric>

#include "base/check.h"
#include "base/log.h"
#include "tablet/request_limits.h"

namespace sluice::tablet {
namespace {

constexpr char kLockFile[] = ".lock";
constexpr size_t kLogsSyncedAlone = 32;  // When the server stops.

io::Task<void> CloseOn(BucketShard* shard, bool between_syncs, Gather<Status> gather, size_t slot) {
  gather.Set(slot, co_await shard->CloseAll(between_syncs));
}

}  // namespace

TabletCore::TabletCore(TabletOptions options)
    : options_(std::move(options)),
      call_budget_(std::make_shared<MemoryBudget>(static_cast<int64_t>(options_.call_bytes_max))),
      tables_(*options_.tables) {
  CHECK(options_.shards != nullptr && options_.files != nullptr && options_.key_stores != nullptr);
  for (size_t i = 0; i < options_.shards->size(); ++i) {
    auto opened = [this](const types::BucketId& id) { ForgetRecoveryPoint(id); };
    shards_.push_back(std::make_unique<BucketShard>(
        BucketShard::Options{&options_, &tables_, i, std::move(opened)}));
  }
  timers_.resize(shards_.size());
  tending_.resize(shards_.size());
}

std::string TabletCore::DataPath(const char* name) const {
  return io::JoinPath(options_.data_dir, name);
}

io::Task<Status> TabletCore::Start(io::Loop& loop) {
  auto open = [self = shared_from_this()] { return self->OpenFolder(); };
  CO_RETURN_NOT_OK(co_await options_.sync_pool->Run(loop, std::move(open)));
  StartTimers();
  co_return Status::OK();
}

Status TabletCore::OpenFolder() {
  io::FileSystem& files = *options_.files;
  ARROW_RETURN_NOT_OK(files.MakeFolders(options_.data_dir));
  ASSIGN_OR_RAISE(folder_lock_, files.LockFile(DataPath(kLockFile)));
  ASSIGN_OR_RAISE(auto recovery_points,
                  log::ReadCheckpoint(files, DataPath(log::kRecoveryPointFile)));
  ASSIGN_OR_RAISE(const bool clean, log::TakeCleanShutdown(files, options_.data_dir));
  const std::lock_guard lock(mutex_);
  recovery_points_ = std::move(recovery_points);
  cleanly_closed_ = clean;
  return Status::OK();
}

int64_t TabletCore::RecoveryPointOf(const types::BucketId& id) {
  const std::lock_guard lock(mutex_);
  const auto found = recovery_points_.find(id);
  if (found == recovery_points_.end()) return log::Log::kScanAll;
  return cleanly_closed_ ? log::Log::kCleanlyClosed : found->second;
}

void TabletCore::ForgetRecoveryPoint(const types::BucketId& id) {
  const std::lock_guard lock(mutex_);
  recovery_points_.erase(id);
}

bool TabletCore::HasUncheckedLogs() {
  const std::lock_guard lock(mutex_);
  return !cleanly_closed_ && !recovery_points_.empty();
}

void TabletCore::StartTimers() {
  for (size_t i = 0; i < shards_.size(); ++i) {
    PostTo(i, [self = shared_from_this(), i](BucketShard& shard) {
      // Timers hold the core weakly: they must not keep a server that nobody stopped.
      const std::weak_ptr<TabletCore> weak = self;
      auto& timers = self->timers_[i];
      timers.push_back(
          Periodic::Start(shard.loop(), self->options_.recovery_checkpoint_interval, [weak, i] {
            if (auto core = weak.lock()) io::Spawn(CheckpointShard(core, i));
          }));
      timers.push_back(Periodic::Start(shard.loop(), self->options_.retention_interval, [weak, i] {
        if (auto core = weak.lock()) io::Spawn(RetainShard(core, i));
      }));
      if (shard.snapshots().enabled()) {
        const auto interval = [live = self->options_.live] {
          return KeySnapshots::LookInterval(*live);
        };
        timers.push_back(Periodic::StartChanging(shard.loop(), interval, [weak, i] {
          if (auto core = weak.lock()) io::Spawn(SnapshotShard(core, i));
        }));
      }
      if (self->options_.remote_log_interval.count() > 0) {
        timers.push_back(
            Periodic::Start(shard.loop(), self->options_.remote_log_interval, [weak, i] {
              if (auto core = weak.lock()) io::Spawn(TendRemoteOf(core, i));
            }));
      }
      if (i != 0) return;
      timers.push_back(
          Periodic::Start(shard.loop(), self->options_.checkpoint_file_interval, [weak, &shard] {
            if (auto core = weak.lock()) io::Spawn(WriteCheckpointFile(core, shard.loop()));
          }));
    });
  }
}

std::vector<std::vector<size_t>> TabletCore::Cut(std::span<const types::BucketId> ids) const {
  std::vector<std::vector<size_t>> by_shard(shards_.size());
  for (size_t i = 0; i < ids.size(); ++i) by_shard[ShardOf(ids[i])].push_back(i);
  return by_shard;
}

bool TabletCore::RunOn(size_t shard, size_t size_bytes, std::function<void(BucketShard&)> work) {
  if (shards_[shard]->loop().IsCurrent()) {
    work(*shards_[shard]);
    return true;
  }
  return options_.shards->TryPost(
      shard, size_bytes,
      [self = shared_from_this(), shard, work = std::move(work)] { work(*self->shards_[shard]); });
}

void TabletCore::PostTo(size_t shard, std::function<void(BucketShard&)> work) {
  options_.shards->Post(shard, [self = shared_from_this(), shard, work = std::move(work)] {
    work(*self->shards_[shard]);
  });
}

Status TabletCore::MailboxFull(size_t shard) const {
  return Error(ErrorCode::kStorageBackpressure, "too many requests wait shard=", shard,
               " waiting_bytes=", options_.shards->mailbox_bytes(shard));
}

Result<CallMemoryPtr> TabletCore::HoldNames(size_t count) const {
  if (count * kBytesPerName <= CallMemory::kUncountedBytes) return nullptr;
  CallMemoryPtr memory = NewCallMemory();
  ARROW_RETURN_NOT_OK(memory->Grow(count * kBytesPerName));
  return memory;
}

Status TabletCore::SeeCoordinator(int32_t epoch) {
  int32_t known = coordinator_epoch_.load();
  while (epoch > known && !coordinator_epoch_.compare_exchange_weak(known, epoch)) {
  }
  if (epoch >= known) return Status::OK();
  return Error(ErrorCode::kInvalidCoordinator, "coordinator epoch is old coordinator_epoch=", epoch,
               " known=", known);
}

io::Task<std::vector<BucketStatus>> TabletCore::Statuses(io::Loop& loop) {
  Gather<std::vector<BucketStatus>> gather(loop, shards_.size());
  for (size_t i = 0; i < shards_.size(); ++i) {
    PostTo(i, [gather, i](BucketShard& shard) {
      std::vector<BucketStatus> statuses;
      for (const auto& replica : shard.Replicas()) statuses.push_back(replica->status());
      gather.Set(i, std::move(statuses));
    });
  }
  auto parts = co_await gather.Take();
  std::vector<BucketStatus> all;
  for (auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  co_return all;
}

io::Task<void> TabletCore::CheckpointShard(std::shared_ptr<TabletCore> core, size_t shard) {
  const auto pass = core->gate_.Enter();
  if (!pass) co_return;
  const auto replicas = core->shards_[shard]->Replicas();
  for (const auto& replica : replicas) co_await Replica::Checkpoint(replica);
}

io::Task<void> TabletCore::RetainShard(std::shared_ptr<TabletCore> core, size_t shard) {
  const auto pass = core->gate_.Enter();
  if (!pass) co_return;
  BucketShard& buckets = *core->shards_[shard];
  buckets.scanners().Expire(core->options_.clock->Monotonic());
  const auto replicas = buckets.Replicas();
  for (const auto& replica : replicas) {
    co_await Replica::Retain(replica);
    co_await io::Sleep(buckets.loop(), std::chrono::milliseconds(0));  // Others go in between.
  }
}

io::Task<void> TabletCore::SnapshotShard(std::shared_ptr<TabletCore> core, size_t shard) {
  const auto pass = core->gate_.Enter();
  if (!pass) co_return;
  auto replicas = core->shards_[shard]->Replicas();
  co_await KeySnapshots::RunDue(&core->shards_[shard]->snapshots(), std::move(replicas));
}

io::Task<void> TabletCore::TendRemoteOf(std::shared_ptr<TabletCore> core, size_t shard) {
  const auto pass = core->gate_.Enter();
  if (!pass || core->tending_[shard]) co_return;
  core->tending_[shard] = true;
  BucketShard& buckets = *core->shards_[shard];
  const auto replicas = buckets.Replicas();
  size_t tended = 0;
  for (const auto& replica : replicas) {
    if (core->waits_ended()) break;
    co_await Replica::TendRemote(replica, core->coordinator_epoch_.load());
    // Most have nothing to copy. Others go in between.
    if (++tended % 16 == 0) co_await io::Sleep(buckets.loop(), std::chrono::milliseconds(0));
  }
  core->tending_[shard] = false;
}

io::Task<void> TabletCore::WriteCheckpointFile(std::shared_ptr<TabletCore> core, io::Loop& loop) {
  const auto pass = core->gate_.Enter();
  if (!pass) co_return;
  LogIfError(co_await core->WriteOffsets(loop), "checkpoint file");
}

io::Task<Status> TabletCore::WriteOffsets(io::Loop& loop) {
  log::Checkpoint points;
  const auto statuses = co_await Statuses(loop);
  for (const BucketStatus& status : statuses) points[status.id] = status.recovery_point;
  {
    // Logs that are not open yet keep the points that they had.
    const std::lock_guard lock(mutex_);
    points.insert(recovery_points_.begin(), recovery_points_.end());
  }
  auto write = [self = shared_from_this(), points = std::move(points)] {
    return self->WriteFile(points);
  };
  co_return co_await options_.sync_pool->Run(loop, std::move(write));
}

Status TabletCore::WriteFile(const log::Checkpoint& recovery_points) {
  const std::lock_guard lock(file_mutex_);
  if (recovery_points == written_) return Status::OK();
  ARROW_RETURN_NOT_OK(
      log::WriteCheckpoint(*options_.files, DataPath(log::kRecoveryPointFile), recovery_points));
  written_ = recovery_points;
  return Status::OK();
}

void TabletCore::EndWaits() {
  waits_ended_ = true;  // Before they are woken, so that none begins to wait behind that.
  for (size_t i = 0; i < shards_.size(); ++i) {
    PostTo(i, [](BucketShard& shard) {
      for (const auto& replica : shard.Replicas()) {
        replica->WakeFetches();
        replica->StopCopying();  // It would wait for the coordinator.
      }
    });
  }
}

io::Task<Status> TabletCore::Stop(io::Loop& loop) {
  gate_.Close();
  EndWaits();
  for (size_t i = 0; i < shards_.size(); ++i) {
    PostTo(i, [self = shared_from_this(), i](BucketShard& shard) {
      shard.snapshots().Stop();
      for (const auto& timer : std::exchange(self->timers_[i], {})) timer->Stop();
    });
  }
  co_await gate_.CloseAndWait(loop);
  const Status written = co_await WriteOffsets(loop);
  // Each of a few logs is synced by itself; with many the device would take minutes.
  bool between_syncs = co_await UnsavedLogs(loop) > kLogsSyncedAlone;
  if (between_syncs) {
    const Status synced = co_await SyncAll(loop);
    LogIfError(synced, "sync of all files, each is synced by itself");
    between_syncs = synced.ok();
  }
  CO_RETURN_NOT_OK(co_await CloseShards(loop, between_syncs));
  if (between_syncs) CO_RETURN_NOT_OK(co_await SyncAll(loop));
  CO_RETURN_NOT_OK(written);
  auto mark = [self = shared_from_this()] {
    // What was killed, and not opened since, is still to be checked.
    if (self->HasUncheckedLogs()) return Status::OK();
    return log::WriteCleanShutdown(*self->options_.files, self->options_.data_dir);
  };
  Status marked = co_await options_.sync_pool->Run(loop, std::move(mark));
  folder_lock_.reset();
  co_return marked;
}

io::Task<size_t> TabletCore::UnsavedLogs(io::Loop& loop) {
  Gather<size_t> gather(loop, shards_.size());
  for (size_t i = 0; i < shards_.size(); ++i)
    PostTo(i, [gather, i](BucketShard& shard) { gather.Set(i, shard.UnsavedLogs()); });
  const auto counts = co_await gather.Take();
  co_return std::accumulate(counts.begin(), counts.end(), size_t{0});
}

io::Task<Status> TabletCore::SyncAll(io::Loop& loop) {
  auto sync = [self = shared_from_this()] { return self->folder_lock_->SyncAll(); };
  co_return co_await options_.sync_pool->Run(loop, std::move(sync));
}

io::Task<Status> TabletCore::CloseShards(io::Loop& loop, bool between_syncs) {
  Gather<Status> gather(loop, shards_.size());
  for (size_t i = 0; i < shards_.size(); ++i) {
    PostTo(i, [gather, i, between_syncs](BucketShard& shard) {
      io::Spawn(CloseOn(&shard, between_syncs, gather, i));
    });
  }
  const auto closed = co_await gather.Take();
  for (const Status& status : closed) CO_RETURN_NOT_OK(status);
  co_return Status::OK();
}

}  // namespace sluice::tablet
