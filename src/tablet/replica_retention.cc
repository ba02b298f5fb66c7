// The part of a replica that makes its log shorter: by age, and by what was copied to remote
// storage.
#include <algorithm>

#include "base/log.h"
#include "tablet/replica.h"

namespace sluice::tablet {

bool Replica::Copies() const {
  const TabletOptions& server = *options_.server;
  return server.remote_pool != nullptr && server.remote_log_interval.count() > 0 &&
         !remote_->record().root.empty();
}

io::Task<Status> Replica::JoinRemote(std::shared_ptr<Replica> self) {
  self->remote_->Refresh();
  const int64_t copied = self->remote_->copied_end_offset();
  if (copied <= self->log_->end_offset()) co_return Status::OK();
  // Only durable segments are copied, so the log has lost what a power loss does not take. No
  // offset may be given twice: the log goes on where the copies end.
  if (self->options_.table->has_primary_key()) {
    co_return Error(ErrorCode::kLogStorage,
                    "log ends before its remote part log_end=", self->log_->end_offset(),
                    " copied=", copied, " ", self->id());
  }
  LogWarn("log was lost and goes on after its remote part log_end={} copied={} {}",
          self->log_->end_offset(), copied, self->id().ToString());
  while (self->checkpointing_ || self->retaining_)
    co_await io::Sleep(*self->options_.loop, std::chrono::milliseconds(1));
  co_return self->log_->TruncateFullyAndStartAt(copied);
}

int64_t Replica::LakeFloor() const {
  // Untiered records stay. Those of a changelog also while tiering is switched off: a lake that
  // lacks some of them could never again become what the keys are.
  const TableContext& table = *options_.table;
  // Asked at each use: a table comes into the lake and leaves it without news of it.
  const auto in_lake = [&] {
    return lake_.end_offset >= 0 || options_.server->tables->InLake(id().table_id);
  };
  const bool holds = table.lake_enabled() || (table.has_primary_key() && in_lake());
  return holds ? std::max<int64_t>(lake_.end_offset, 0) : INT64_MAX;
}

int64_t Replica::ExpiryFloor() const {
  const int64_t floor = LakeFloor();
  if (!options_.table->has_primary_key()) return floor;
  // Clients read the newest snapshot of the keys, and then the changelog from its offset on.
  const auto snapshot = options_.server->tables->LatestKvSnapshot(id());
  return snapshot ? std::min(floor, snapshot->log_offset) : floor;
}

log::Log::Retention Replica::RetentionNow(Reason reason) const {
  const TableContext& table = *options_.table;
  const int64_t now_ms = options_.server->clock->NowMs();
  log::Log::Retention policy;
  // Records stay somewhere until they are in the lake: here, or in remote storage, which keeps them
  // as long.
  const int64_t copied = std::max<int64_t>(remote_->copied_end_offset(), 0);
  switch (reason) {
    case Reason::kExpired:
      policy.delete_before_ms = now_ms - table.log_ttl_ms();
      policy.roll_active = options_.server->live->roll_active_segment;
      policy.floor_offset = ExpiryFloor();
      break;
    case Reason::kLocalExpired:
      policy.delete_before_ms = now_ms - table.local_ttl_ms();
      policy.floor_offset = copied;
      break;
    case Reason::kCopied:
      policy.delete_before_ms = INT64_MAX;
      policy.floor_offset = copied;
      policy.segments_min = table.local_segments();
      break;
  }
  if (table.has_primary_key()) {
    // Keys that are only in memory come back from the log.
    policy.floor_offset =
        std::min(policy.floor_offset, keys_ == nullptr ? int64_t{0} : keys_->applied_offset());
  }
  return policy;
}

std::vector<Replica::Reason> Replica::Reasons() const {
  const TableContext& table = *options_.table;
  std::vector<Reason> reasons;
  if (table.log_ttl_ms() > 0) reasons.push_back(Reason::kExpired);
  if (!Copies()) return reasons;
  const bool local_is_shorter =
      table.local_ttl_ms() > 0 &&
      (table.log_ttl_ms() == 0 || table.local_ttl_ms() < table.log_ttl_ms());
  if (local_is_shorter) reasons.push_back(Reason::kLocalExpired);
  reasons.push_back(Reason::kCopied);
  return reasons;
}

io::Task<void> Replica::Retain(std::shared_ptr<Replica> self) {
  if (self->role_ == Role::kClosed || self->retaining_) co_return;
  self->log_->ExpireWriters();
  self->retaining_ = true;
  const std::vector<Reason> reasons = self->Reasons();
  for (const Reason reason : reasons) {
    if (self->role_ != Role::kClosed) co_await RetainBy(self, reason);
  }
  self->retaining_ = false;
}

io::Task<void> Replica::RetainBy(std::shared_ptr<Replica> self, Reason reason) {
  const Result<size_t> deleted = co_await DeleteSegments(self, reason);
  LogIfError(deleted.status(), "retention of " + self->id().ToString());
  if (deleted.ok() && *deleted > 0) {
    LogInfo("deleted {} log segments count={} {}", reason == Reason::kCopied ? "copied" : "expired",
            *deleted, self->id().ToString());
  }
}

io::Task<Result<size_t>> Replica::DeleteSegments(std::shared_ptr<Replica> self, Reason reason) {
  const TabletOptions& server = *self->options_.server;
  log::Miss miss;
  auto begun = self->log_->BeginDeletion(self->RetentionNow(reason), &miss);
  for (int cold = 1; begun.status().IsCancelled(); ++cold) {
    auto warm = [miss] { return miss.Warm(); };
    CO_RETURN_NOT_OK(co_await server.read_pool->Run(*self->options_.loop, std::move(warm)));
    if (self->role_ == Role::kClosed) co_return size_t{0};
    begun = self->log_->BeginDeletion(self->RetentionNow(reason),
                                      cold < kColdReadsMax ? &miss : nullptr);
  }
  CO_RETURN_NOT_OK(begun.status());
  const auto deletion = std::make_shared<log::Log::PendingDeletion>(*std::move(begun));
  const size_t count = deletion->count();
  Status ran = Status::OK();
  if (count > 0) {
    auto run = [deletion] { return deletion->Run(); };
    ran = co_await server.sync_pool->Run(*self->options_.loop, std::move(run));
  }
  CO_RETURN_NOT_OK(self->log_->FinishDeletion(std::move(*deletion), ran));
  co_return count;
}

RemoteCopier::Policy Replica::RemotePolicy(int32_t coordinator_epoch) const {
  const TableContext& table = *options_.table;
  RemoteCopier::Policy policy;
  policy.leader_epoch = leadership_.leader_epoch;
  policy.coordinator_epoch = coordinator_epoch;
  const io::DiskGuard* disk = options_.server->remote_disk;
  policy.may_copy = disk == nullptr || disk->CheckWrite().ok();
  if (table.log_ttl_ms() > 0)
    policy.delete_before_ms = options_.server->clock->NowMs() - table.log_ttl_ms();
  policy.delete_below = ExpiryFloor();
  return policy;
}

io::Task<void> Replica::TendRemote(std::shared_ptr<Replica> self, int32_t coordinator_epoch) {
  if (!self->leading() || self->tending_ || !self->Copies() || self->copier_->stopped()) co_return;
  self->tending_ = true;
  self->remote_->ForgetUnread();
  // Only what a power loss leaves may be copied.
  if (self->copier_->HasWork(*self->log_)) co_await Checkpoint(self);
  if (self->leading()) {
    const RemoteCopier::Policy policy = self->RemotePolicy(coordinator_epoch);
    const Status tended = co_await RemoteCopier::Run(self->copier_, self->log_.get(), policy);
    if (!tended.ok() && !self->copier_->stopped() && !RemoteCopier::IsPassing(tended))
      LogWarn("remote log is not kept up {} {}", self->id().ToString(), tended.ToString());
  }
  self->tending_ = false;
  co_await Retain(self);
}

io::Task<Result<int64_t>> Replica::AlsoRemote(std::shared_ptr<Replica> self, int64_t timestamp_ms,
                                              int64_t local) {
  CO_RETURN_NOT_OK(self->CheckLeader());
  // Where the local part starts is asked only now: segments may have gone while it was searched,
  // and what it found then may be their end.
  const int64_t local_start = self->log_->start_offset();
  if (local > local_start || self->start_offset() >= local_start) co_return local;
  CO_ASSIGN_OR_RETURN(const auto remote,
                      co_await RemoteLog::OffsetOfTimestamp(self->remote_, timestamp_ms, local));
  co_return remote.value_or(local);
}

}  // namespace sluice::tablet
