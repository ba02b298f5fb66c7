#include "tablet/replica.h"

#include <algorithm>

#include "base/log.h"
#include "kv/row_check.h"
#include "tablet/client_error.h"
#include "wire/log_batch.h"

namespace sluice::tablet {
namespace {

constexpr int64_t kEarliest = -2;  // A fetch offset.

}  // namespace

Result<std::shared_ptr<Replica>> Replica::Open(Options options) {
  std::shared_ptr<Replica> replica(new Replica(std::move(options)));
  const Options& o = replica->options_;
  log::LogOptions log_options = o.server->log;
  log_options.files = o.log_files;
  ASSIGN_OR_RAISE(replica->log_, log::Log::Open(*o.server->files, *o.server->clock, o.folders.log,
                                                log_options, o.recovery_point));
  return replica;
}

Replica::Replica(Options options)
    : options_(std::move(options)),
      log_sync_(*options_.server->files, options_.folders.log),
      remote_(std::make_shared<RemoteLog>(
          RemoteLog::Options{.server = options_.server,
                             .loop = options_.loop,
                             .id = options_.id,
                             .path = options_.path,
                             .partition_name = options_.partition_name})),
      copier_(std::make_shared<RemoteCopier>(remote_)) {}

Status Replica::CheckEpochs(int32_t leader_epoch, int32_t bucket_epoch) const {
  if (bucket_epoch < leadership_.bucket_epoch) {
    return Error(ErrorCode::kInvalidUpdateVersion,
                 "bucket epoch is old bucket_epoch=", bucket_epoch,
                 " known=", leadership_.bucket_epoch, " ", id());
  }
  if (leader_epoch < leadership_.leader_epoch) {
    return Error(ErrorCode::kFencedLeaderEpoch, "leader epoch is old leader_epoch=", leader_epoch,
                 " known=", leadership_.leader_epoch, " ", id());
  }
  return Status::OK();
}

Status Replica::CheckLeader() const {
  if (role_ == Role::kLeader) return Status::OK();
  if (role_ == Role::kClosed)
    return Error(ErrorCode::kUnknownTableOrBucket, "bucket is closed ", id());
  if (why_not_leader_.ok())
    return Error(ErrorCode::kNotLeaderOrFollower, "this server does not lead the bucket ", id());
  return Error(ErrorCode::kNotLeaderOrFollower, "this server cannot lead the bucket ", id(),
               " cause=", why_not_leader_.message());
}

io::Task<Status> Replica::Take(std::shared_ptr<Replica> self, Leadership leadership) {
  const bool leads = leadership.leader == self->options_.server->server_id;
  const bool same_term = self->leadership_.leader == leadership.leader &&
                         self->leadership_.leader_epoch == leadership.leader_epoch;
  self->leadership_ = std::move(leadership);
  self->why_not_leader_ = Status::OK();
  if (leads && same_term && self->leading()) co_return Status::OK();
  if (!leads) {
    self->role_ = Role::kFollower;
    self->FailPuts(self->CheckLeader());
    co_return co_await CloseKeys(self, /*clean=*/false);
  }
  self->role_ = Role::kBecomingLeader;
  Status ready = co_await GetReady(self);
  if (!ready.ok()) {
    CO_RETURN_NOT_OK(co_await CloseKeys(self, /*clean=*/false));
    self->role_ = Role::kFollower;
    self->leadership_.leader = -1;  // The same news again is a new try.
    self->why_not_leader_ = ForClient(ready, nullptr, self->options_.server->data_dir);
    co_return ready;
  }
  self->role_ = Role::kLeader;
  self->end_offset_at_election_ = self->log_->end_offset();
  self->Advance();
  co_return Status::OK();
}

io::Task<Status> Replica::GetReady(std::shared_ptr<Replica> self) {
  const int32_t epoch = self->leadership_.leader_epoch;
  if (epoch > self->log_->leader_epoch()) {
    auto note = [self, epoch] { return self->log_->AddEpoch(epoch); };
    CO_RETURN_NOT_OK(
        co_await self->options_.server->sync_pool->Run(*self->options_.loop, std::move(note)));
  }
  CO_RETURN_NOT_OK(co_await JoinRemote(self));
  if (!self->options_.table->has_primary_key() || self->keys_ != nullptr) co_return Status::OK();
  co_return co_await self->OpenKeys();
}

Status Replica::CheckBatch(const wire::LogBatchView& batch) const {
  const TableContext& table = *options_.table;
  if (!batch.append_only()) return Corrupt("log tables take append-only batches ", id());
  const int32_t schema_id = batch.header().schema_id;
  if (table.log_format() == types::LogFormat::kArrow) {
    ASSIGN_OR_RAISE(const auto schema, table.ArrowSchemaOf(schema_id));
    return batch.header().record_count == 0 ? Status::OK() : wire::CheckRows(batch, *schema);
  }
  ASSIGN_OR_RAISE(const auto schema, table.SchemaOf(schema_id));
  if (batch.header().record_count == 0) return Status::OK();
  return kv::CheckLogRows(batch, table.log_format(), *schema);
}

Result<log::Log::Appended> Replica::Append(std::string_view records) {
  ARROW_RETURN_NOT_OK(CheckLeader());
  if (options_.table->has_primary_key()) {
    return Error(ErrorCode::kInvalidTable, "a primary-key table takes puts, not log batches table=",
                 options_.table->info().path);
  }
  wire::LogBatchIterator batches(records);
  for (;;) {
    ASSIGN_OR_RAISE(const auto batch, batches.Next());
    if (!batch) break;
    ARROW_RETURN_NOT_OK(CheckBatch(*batch));
  }
  if (records.empty() || !batches.rest().empty())
    return Corrupt("records are no whole log batches ", id());
  ASSIGN_OR_RAISE(const auto appended, log_->AppendAsLeader(records, leadership_.leader_epoch));
  Advance();
  return appended;
}

// The high watermark is the smallest log end in the in-sync set, which is this server alone today,
// and for a primary-key table not beyond what its keys show.
void Replica::Advance() {
  int64_t offset = log_->end_offset();
  if (keys_ != nullptr) offset = std::min(offset, keys_->log_offset());
  log_->AdvanceHighWatermark(offset);
  Account();

  const int64_t high_watermark = log_->high_watermark();
  std::erase_if(fetches_, [&](const WaitingFetch& fetch) {
    if (fetch.offset >= (fetch.follower ? log_->end_offset() : high_watermark)) return false;
    if (const auto wait = fetch.wait.lock()) wait->Set(true);
    return true;
  });
  std::vector<std::shared_ptr<Waiter>> ready;
  std::erase_if(waiters_, [&](const std::shared_ptr<Waiter>& waiter) {
    if (waiter->offset > high_watermark) return false;
    ready.push_back(waiter);
    return true;
  });
  for (const auto& waiter : ready) std::exchange(waiter->done, nullptr)(Status::OK());
}

void Replica::WhenReplicated(int64_t offset, std::chrono::milliseconds timeout,
                             std::function<void(Status)> done) {
  if (offset <= log_->high_watermark()) return done(Status::OK());
  auto waiter = std::make_shared<Waiter>(Waiter{offset, std::move(done)});
  waiters_.push_back(waiter);
  options_.loop->After(timeout, [self = weak_from_this(), waiter] {
    if (waiter->done == nullptr) return;
    std::exchange(waiter->done, nullptr)(
        Error(ErrorCode::kRequestTimeOut, "not replicated in time offset=", waiter->offset));
    if (const auto replica = self.lock()) std::erase(replica->waiters_, waiter);
  });
}

FetchPart Replica::Fetch(int64_t offset, uint64_t bytes_max, bool follower,
                         const std::shared_ptr<FetchWait>& wait, log::Miss* miss) {
  FetchPart part;
  part.table = options_.table;
  part.error = CheckLeader();
  if (!part.error.ok()) return part;
  part.high_watermark = log_->high_watermark();
  const int64_t upper = follower ? log_->end_offset() : part.high_watermark;
  if (offset == kEarliest) offset = follower ? log_->start_offset() : start_offset();
  if (!follower && offset < log_->start_offset() && remote_->Covers(offset)) {
    part.remote = remote_;
    part.remote_offset = offset;
    return part;
  }
  // As in Fluss: records below the start that the lake has are no error, since whoever reads on
  // from the lake finds them there. Of a changelog the lake keeps the rows, not the records.
  const bool only_in_lake = !options_.table->has_primary_key() && offset >= 0 &&
                            offset < log_->start_offset() && offset < lake_.end_offset;
  if (!only_in_lake) {
    auto slice = log_->Read(offset, bytes_max, upper, /*at_least_one=*/true, miss);
    part.error = slice.status();
    if (slice.ok()) part.slice = std::move(*slice);
  }
  if (part.error.ok() && part.slice.size_bytes == 0 && wait != nullptr) {
    fetches_.push_back({std::max(offset, log_->start_offset()), follower, wait});
    if (fetches_.size() >
        2 * fetches_swept_ + 16) {  // Those who gave up must not pile up in an idle bucket.
      std::erase_if(fetches_, [](const WaitingFetch& fetch) { return fetch.wait.expired(); });
      fetches_swept_ = fetches_.size();
    }
  }
  return part;
}

void Replica::WakeFetches() {
  for (const WaitingFetch& fetch : std::exchange(fetches_, {})) {
    if (const auto wait = fetch.wait.lock()) wait->Set(true);
  }
}

Result<int64_t> Replica::OffsetOf(int32_t offset_type, int64_t timestamp_ms, bool follower,
                                  log::Miss* miss) {
  ARROW_RETURN_NOT_OK(CheckLeader());
  const int64_t latest = follower ? log_->end_offset() : log_->high_watermark();
  switch (offset_type) {
    case kEarliestOffset:
      return follower ? log_->start_offset() : start_offset();
    case kLatestOffset:
      return latest;
    case kElectionOffset:
      return end_offset_at_election_;
    case kTimestampOffset: {
      const int64_t now_ms = options_.server->clock->NowMs();
      if (timestamp_ms > now_ms) {
        return Error(ErrorCode::kInvalidTimestamp,
                     "timestamp is in the future timestamp=", timestamp_ms, " now=", now_ms, " ",
                     id());
      }
      ASSIGN_OR_RAISE(const int64_t offset, log_->OffsetOfTimestamp(timestamp_ms, miss));
      return std::min(offset, latest);
    }
    default:
      return Status::Invalid("unknown offset type=", offset_type);
  }
}

void Replica::SetTable(TableContextPtr table) {
  if (keys_ != nullptr)
    LogIfError(keys_->SetTable(table->info()), "new schema or options of a bucket's keys");
  options_.table = std::move(table);
}

void Replica::SetLakeOffsets(LakeOffsets offsets) {
  if (offsets.snapshot_id >= lake_.snapshot_id) lake_ = offsets;
}

io::Task<Result<bool>> Replica::SaveLog(std::shared_ptr<Replica> self, log::Log::FlushKind kind) {
  CO_ASSIGN_OR_RETURN(auto flush, self->log_->BeginFlush(kind));
  auto pending = std::make_shared<log::Log::PendingFlush>(std::move(flush));
  auto began = std::make_shared<bool>(false);
  auto run = [self, pending, began] {
    *began = true;
    return self->log_sync_.RunOther([&] { return pending->Run(); });
  };
  const Status ran =
      co_await self->options_.server->sync_pool->Run(*self->options_.loop, std::move(run));
  // A flush that the full pool refused leaves the log as it was; one that failed does not.
  if (!*began) co_return false;
  CO_RETURN_NOT_OK(self->log_->FinishFlush(*pending, ran));
  co_return true;
}

io::Task<bool> Replica::Checkpoint(std::shared_ptr<Replica> self) {
  if (self->role_ == Role::kClosed || self->checkpointing_) co_return true;
  if (self->log_->recovery_point() == self->log_->end_offset() && self->log_->unsaved_bytes() == 0)
    co_return true;
  self->checkpointing_ = true;
  const Result<bool> saved = co_await SaveLog(self, log::Log::FlushKind::kCheckpoint);
  self->checkpointing_ = false;
  LogIfError(saved.status(), "checkpoint of " + self->id().ToString());
  self->Account();
  co_return saved.ok() && *saved;
}

io::Task<Status> Replica::Close(std::shared_ptr<Replica> self, Closing closing) {
  self->role_ = Role::kClosed;
  self->FailPuts(self->CheckLeader());
  self->WakeFetches();
  for (const auto& waiter : std::exchange(self->waiters_, {})) {
    std::exchange(waiter->done, nullptr)(self->CheckLeader());
  }
  self->copier_->Stop();
  while (self->checkpointing_ || self->retaining_ || self->tending_ || self->warming_ ||
         self->reads_ > 0)
    co_await io::Sleep(*self->options_.loop, std::chrono::milliseconds(1));
  Status closed = co_await CloseKeys(self, closing.move_keys);
  const auto kind =
      closing.between_syncs ? log::Log::FlushKind::kBetweenSyncs : log::Log::FlushKind::kCheckpoint;
  Result<bool> saved = !closing.save_log || self->log_->IsSaved();
  while (saved.ok() && !*saved) {
    saved = co_await SaveLog(self, kind);
    if (saved.ok() && !*saved)
      co_await io::Sleep(*self->options_.loop, std::chrono::milliseconds(1));
  }
  self->options_.saver->Changed(std::exchange(self->unsaved_, {}), {});
  if (closed.ok()) closed = saved.status();
  co_return closed;
}

void Replica::Account() {
  if (role_ == Role::kClosed) return;
  Unsaved now{.log_bytes = log_->unsaved_bytes()};
  if (keys_ != nullptr) {
    now.replay_bytes = keys_->replay_bytes();
    now.key_bytes = keys_->write_back_bytes();
  }
  options_.saver->Changed(std::exchange(unsaved_, now), now);
}

BucketStatus Replica::status() const {
  BucketStatus status;
  status.id = id();
  status.leader = leading();
  status.leader_epoch = leadership_.leader_epoch;
  status.log_start_offset = start_offset();
  status.local_start_offset = log_->start_offset();
  status.remote_end_offset = remote_->end_offset();
  status.remote_copied_offset = remote_->copied_end_offset();
  const RemoteLog::Numbers remote = remote_->numbers();
  status.remote_segments = remote.segments;
  status.remote_size_bytes = remote.size_bytes;
  status.remote_copied_segments = remote.copied_segments;
  status.remote_copied_bytes = remote.copied_bytes;
  status.remote_copy_errors = remote.copy_errors;
  status.log_end_offset = log_->end_offset();
  status.high_watermark = log_->high_watermark();
  status.recovery_point = log_->recovery_point();
  status.lake_end_offset = lake_.end_offset;
  status.log_size_bytes = log_->size_bytes();
  status.write_back_bytes = keys_ == nullptr ? 0 : keys_->write_back_bytes();
  status.unsaved_log_bytes = log_->unsaved_bytes();
  status.replay_bytes = keys_ == nullptr ? 0 : keys_->replay_bytes();
  status.opened_scan_bytes = log_->scanned_bytes();
  status.opened_replay_bytes = opened_replay_bytes_;
  return status;
}

}  // namespace sluice::tablet
