// The part of a replica that a primary-key table adds: its keys, and the puts that change them.
#include "base/log.h"
#include "kv/replayer.h"
#include "tablet/replica.h"
#include "wire/kv_batch.h"
#include "wire/log_batch.h"

namespace sluice::tablet {
namespace {

constexpr uint64_t kReplayBytes = 1 << 20;  // Of the log, read and folded at a time.

// Batches of a put request laid end to end.
Result<std::vector<wire::KvBatchView>> ParseBatches(std::string_view records) {
  std::vector<wire::KvBatchView> batches;
  while (!records.empty()) {
    ASSIGN_OR_RAISE(auto batch, wire::KvBatchView::Parse(records));
    records.remove_prefix(batch.bytes().size());
    batches.push_back(std::move(batch));
  }
  if (batches.empty()) return Corrupt("put has no batch");
  return batches;
}

}  // namespace

Result<kv::KvTablet*> Replica::Keys() {
  ARROW_RETURN_NOT_OK(CheckLeader());
  if (keys_ == nullptr) {
    return Error(ErrorCode::kNonPrimaryKeyTable,
                 "table has no primary key table=", options_.table->info().path);
  }
  return keys_.get();
}

Result<int64_t> Replica::RowCount() {
  ARROW_RETURN_NOT_OK(CheckLeader());
  return keys_ != nullptr ? keys_->RowCount() : log_->high_watermark() - start_offset();
}

kv::KvOptions Replica::MakeKvOptions() {
  const TabletOptions& server = *options_.server;
  kv::KvOptions options;
  options.folder = options_.folders.kv;
  options.bucket = id();
  options.table = options_.table->info();
  options.partition_values = options_.folders.partition_values;
  options.schema_of = [table = options_.table](int32_t schema_id) {
    return table->SchemaOf(schema_id);
  };
  options.stores = server.key_stores;
  options.loop = options_.loop;
  options.flush_pool = server.flush_pool;
  options.write_back_bytes_max = server.write_back_bytes_max;
  // The tablet waits for its flush before it goes, and it is ours.
  options.before_flush = [this](int64_t below_offset) { return log_sync_.Run(below_offset); };
  options.after_flush = [this](const Status& moved) { OnKeysMoved(moved); };
  return options;
}

io::Task<Status> Replica::OpenKeys() {
  auto self = shared_from_this();
  opened_replay_bytes_ = 0;
  // Opening a store reads files. Nothing else touches the tablet before this is done.
  const TableContextPtr table = options_.table;
  auto open = [kv_options = MakeKvOptions()] { return kv::KvTablet::Open(kv_options); };
  CO_ASSIGN_OR_RETURN(keys_, co_await options_.server->read_pool->Run(*options_.loop, open));
  if (keys_->log_offset() > log_->end_offset()) {
    // Only a power loss that took synced bytes can do this; the log is the truth.
    LogWarn("keys are ahead of their log and are built anew keys={} log_end={} {}",
            keys_->log_offset(), log_->end_offset(), id().ToString());
    CO_RETURN_NOT_OK(co_await CloseKeys(self, /*clean=*/false));
    auto remove = [stores = options_.server->key_stores, folder = options_.folders.kv] {
      return stores->Remove(folder);
    };
    CO_RETURN_NOT_OK(co_await options_.server->read_pool->Run(*options_.loop, std::move(remove)));
    CO_ASSIGN_OR_RETURN(keys_, co_await options_.server->read_pool->Run(*options_.loop, open));
  }
  // News of the table came too early for the keys.
  if (options_.table != table) CO_RETURN_NOT_OK(keys_->SetTable(options_.table->info()));
  if (keys_->log_offset() < log_->start_offset()) {
    co_return Error(ErrorCode::kKvStorage,
                    "the log no longer reaches back to where the keys end keys=",
                    keys_->log_offset(), " log_start=", log_->start_offset(), " ", id());
  }
  co_return co_await Replay();
}

// A pool reads and folds, the shard puts what it gets: others go on meanwhile, and so do the
// replays of other buckets.
io::Task<Status> Replica::Replay() {
  auto self = shared_from_this();
  int cold = 0;
  std::shared_ptr<kv::Replayer> replayer;
  while (keys_->log_offset() < log_->end_offset()) {
    const int64_t from = keys_->log_offset();
    log::Miss miss;
    const auto slice = log_->Read(from, kReplayBytes, log_->end_offset(), /*at_least_one=*/true,
                                  cold < kColdReadsMax ? &miss : nullptr);
    if (slice.status().IsCancelled()) {
      ++cold;
      auto warm = [miss] { return miss.Warm(); };
      CO_RETURN_NOT_OK(co_await options_.server->read_pool->Run(*options_.loop, std::move(warm)));
      continue;
    }
    CO_RETURN_NOT_OK(slice.status());
    cold = 0;
    if (replayer == nullptr) {
      CO_ASSIGN_OR_RETURN(replayer, keys_->MakeReplayer());
    }
    auto payload = std::make_shared<io::Payload>();
    for (const auto& range : slice->ranges) payload->Add(range);
    auto fold = [payload, replayer, from]() -> Result<kv::Replayed> {
      ASSIGN_OR_RAISE(const std::string records, payload->Flatten());
      return replayer->Fold(records, from);
    };
    CO_ASSIGN_OR_RETURN(const kv::Replayed part,
                        co_await options_.server->read_pool->Run(*options_.loop, std::move(fold)));
    keys_->Apply(part);
    opened_replay_bytes_ += part.log_bytes;
    options_.saver->NoteRead(0, part.log_bytes);
    Account();
    CO_RETURN_NOT_OK(co_await KeepReplayBounded());
  }
  co_return Status::OK();
}

io::Task<Status> Replica::KeepReplayBounded() {
  auto self = shared_from_this();
  const size_t bytes_max = options_.server->write_back_bytes_max;
  if (keys_->write_back_bytes() < bytes_max / 2) co_return Status::OK();
  while (keys_->flushing())  // Begun by somebody else.
    co_await io::Sleep(*options_.loop, std::chrono::milliseconds(1));
  const bool moved = co_await MoveKeys(self);
  if (moved || keys_->write_back_bytes() < bytes_max) co_return Status::OK();
  co_return Error(ErrorCode::kKvStorage,
                  "keys cannot be moved to their store size_bytes=", keys_->write_back_bytes(), " ",
                  id());
}

io::Task<bool> Replica::MoveKeys(std::shared_ptr<Replica> self) {
  const bool closing = self->role_ == Role::kClosed || self->role_ == Role::kFollower;
  if (closing || self->keys_ == nullptr || self->keys_moved_.has_value()) co_return true;
  self->keys_->StartFlush();
  // Not flushing now: nothing is left to move, or the pool is full.
  if (!self->keys_->flushing()) co_return self->keys_->replay_bytes() == 0;
  const io::Completion<bool> moved(*self->options_.loop);
  self->keys_moved_.emplace(moved);
  co_return co_await moved;
}

void Replica::OnKeysMoved(const Status& status) {
  if (log_sync_.failed()) log_->RefuseFurther();
  Account();
  if (const auto moved = std::exchange(keys_moved_, std::nullopt)) moved->Set(status.ok());
}

io::Task<Status> Replica::CloseKeys(std::shared_ptr<Replica> self, bool clean) {
  io::Loop& loop = *self->options_.loop;
  while (self->keys_ != nullptr && self->keys_->flushing())
    co_await io::Sleep(loop, std::chrono::milliseconds(1));
  if (self->keys_ == nullptr) co_return Status::OK();
  const auto keys = std::make_shared<std::unique_ptr<kv::KvTablet>>(std::move(self->keys_));
  if (const auto moved = std::exchange(self->keys_moved_, std::nullopt)) moved->Set(true);
  self->Account();
  for (;;) {
    // A store has files to write and to close.
    auto close = [keys, clean]() -> Status {
      Status closed = clean ? (*keys)->Close() : Status::OK();
      keys->reset();
      return closed;
    };
    Status closed = co_await self->options_.server->sync_pool->Run(loop, std::move(close));
    if (*keys == nullptr) co_return closed;
    co_await io::Sleep(loop, std::chrono::milliseconds(1));  // The pool has no room.
  }
}

void Replica::StartPut(Put put) {
  if (const auto keys = Keys(); !keys.ok()) return put.done(keys.status());
  if (const Status full = options_.saver->RefuseWhenFull(); !full.ok()) return put.done(full);
  auto batches = ParseBatches(put.records);
  if (!batches.ok()) return put.done(batches.status());
  put.batches = std::move(*batches);
  if (!puts_.empty() &&
      puts_bytes_ + put.records.size() > options_.server->waiting_puts_bytes_max) {
    return put.done(Error(ErrorCode::kStorageBackpressure, "too many puts wait for reads ", id()));
  }
  puts_bytes_ += put.records.size();
  puts_.push_back(std::move(put));
  RunPuts();
}

void Replica::RunPuts() {
  while (!puts_.empty() && !warming_) {
    if (RunFrontPut(kv::KvTablet::Reads::kCachedOnly)) continue;
    if (ids_lacking_ > 0) {
      warming_ = true;
      io::Spawn(FetchIds(shared_from_this(), ids_lacking_));
      return;
    }
    // Bring the keys into memory, then run this put whatever the cache says then.
    const auto keys = FrontKeys();
    auto warm = keys_->Warm({keys.begin(), keys.end()});
    warming_ =
        options_.server->read_pool->TryPost([self = shared_from_this(), warm = std::move(warm)] {
          const Status warmed = warm();  // An error shows again when the put itself reads.
          self->options_.loop->Post([self] {
            self->warming_ = false;
            if (!self->puts_.empty()) self->RunFrontPut(kv::KvTablet::Reads::kMayWait);
            self->RunPuts();
          });
        });
    if (!warming_) FailPuts(Error(ErrorCode::kStorageBackpressure, "the read pool is full ", id()));
  }
}

// A block of them, so that most puts find theirs here. What a stop leaves of it is lost.
io::Task<void> Replica::FetchIds(std::shared_ptr<Replica> self, int64_t count) {
  const TabletOptions& server = *self->options_.server;
  count = std::max(count, self->options_.table->id_block());
  const auto first =
      co_await server.new_column_ids(*self->options_.loop, self->id().table_id, count);
  self->warming_ = false;
  if (!first.ok()) {
    self->FailPuts(first.status());
    co_return;
  }
  if (self->keys_ != nullptr) self->keys_->AddIds(*first, count);
  self->RunPuts();
}

std::vector<std::string_view> Replica::FrontKeys() const {
  const Put& put = puts_.front();
  std::vector<std::string_view> keys;
  for (size_t i = put.batches_done; i < put.batches.size(); ++i) {
    for (const auto& record : put.batches[i].records()) keys.push_back(record.key);
  }
  return keys;
}

// False when it waits for reads or ids; what of it has run stands.
bool Replica::RunFrontPut(kv::KvTablet::Reads reads) {
  Result<int64_t> end_offset = RunPut(&puts_.front(), reads);
  if (end_offset.status().IsCancelled()) return false;
  const Put put = std::move(puts_.front());
  puts_.pop_front();
  puts_bytes_ -= put.records.size();
  put.done(std::move(end_offset));
  return true;
}

void Replica::FailPuts(const Status& error) {
  puts_bytes_ = 0;
  for (const Put& put : std::exchange(puts_, {})) put.done(error);
}

Result<int64_t> Replica::RunPut(Put* put, kv::KvTablet::Reads reads) {
  ARROW_RETURN_NOT_OK(Keys().status());
  Result<int64_t> end_offset = log_->end_offset();
  for (; put->batches_done < put->batches.size(); ++put->batches_done) {
    end_offset = RunPutBatch(put->batches[put->batches_done], *put, reads);
    if (!end_offset.ok()) break;
  }
  Advance();  // Also when a later batch failed: the ones before it stand.
  return end_offset;
}

Result<int64_t> Replica::RunPutBatch(const wire::KvBatchView& batch, const Put& put,
                                     kv::KvTablet::Reads reads) {
  if (batch.header().schema_id < 0 || batch.header().schema_id > options_.table->info().schema_id) {
    return Error(ErrorCode::kSchemaNotExist,
                 "kv batch of an unknown schema schema_id=", batch.header().schema_id, " ", id());
  }
  ids_lacking_ = keys_->IdsLacking(batch);
  if (ids_lacking_ > 0) return Status::Cancelled("ids are to be fetched");
  ASSIGN_OR_RAISE(auto prepared, keys_->Prepare(batch, put.target_columns, put.mode, reads));
  wire::LogBatchOptions options = options_.table->batch_options();
  options.writer_id = batch.header().writer_id;
  options.batch_sequence = batch.header().batch_sequence;
  if (prepared.changes.empty() && options.writer_id < 0) {
    // Nothing changed and no sequence to remember: no offset is spent on it.
    keys_->Abort(std::move(prepared));
    return log_->end_offset();
  }
  const auto changelog = keys_->BuildChangelog(prepared, options);
  if (!changelog.ok()) {
    keys_->Abort(std::move(prepared));
    return changelog.status();
  }
  const auto appended = log_->AppendAsLeader(*changelog, leadership_.leader_epoch);
  if (!appended.ok() || appended->duplicate) {
    keys_->Abort(std::move(prepared));  // A repeated batch is in the keys already.
    ARROW_RETURN_NOT_OK(appended.status());
    return appended->last_offset + 1;
  }
  keys_->Commit(std::move(prepared), appended->base_offset, appended->last_offset + 1,
                changelog->size());
  return appended->last_offset + 1;
}

}  // namespace sluice::tablet
