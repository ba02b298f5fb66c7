#include "kv/kv_tablet.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "kv/changelog.h"
#include "kv/flusher.h"
#include "kv/key_rows.h"
#include "kv/kv_scan.h"
#include "kv/merge_cursor.h"
#include "kv/put_batch.h"
#include "kv/replayer.h"
#include "kv/row_merger.h"
#include "kv/row_versions.h"
#include "kv/write_back.h"
#include "wire/kv_batch.h"
#include "wire/log_batch.h"

namespace sluice::kv {
namespace {

// Scans freeze the active layer; every frozen layer is one more look on each read.
constexpr size_t kFrozenLayersMax = 8;
constexpr std::chrono::seconds kFlushRetryDelay{1};
constexpr size_t kKeysPerRead = 64;  // Of the store; each may have a large value.

Applied Advanced(const Applied& from, int64_t log_offset, int64_t row_count_delta) {
  Applied next{log_offset, from.row_count};
  if (next.row_count.has_value()) *next.row_count += row_count_delta;
  return next;
}

// Counts down what a read may still take.
class ByteBound {
 public:
  explicit ByteBound(size_t bytes_max) : bytes_max_(bytes_max), left_(bytes_max) {}
  Status Take(size_t size_bytes) {
    if (size_bytes > left_) {
      return Error(ErrorCode::kRecordTooLarge,
                   "values of the keys are too much for one read bytes_max=", bytes_max_);
    }
    left_ -= size_bytes;
    return Status::OK();
  }

 private:
  const size_t bytes_max_;
  size_t left_;
};

// Counts what one turn of a shard reads.
class Turn {
 public:
  void Take(size_t size_bytes) {
    ++rows_;
    bytes_ += size_bytes;
  }
  bool is_over() const { return rows_ >= kTurnRowsMax || bytes_ >= kTurnBytesMax; }

 private:
  size_t rows_ = 0;
  size_t bytes_ = 0;
};

// Values that start with `prefix`. Those of a `turn` end with it.
Result<std::vector<std::string>> ReadRange(MergeCursor& cursor, std::string_view prefix,
                                           size_t limit, ByteBound* bound, Turn* turn) {
  std::vector<std::string> values;
  if (limit == 0) return values;
  for (cursor.Seek(prefix); cursor.valid() && cursor.key().starts_with(prefix); cursor.Next()) {
    if (turn != nullptr && turn->is_over()) break;
    if (turn != nullptr) turn->Take(cursor.value().size());
    RETURN_NOT_OK(bound->Take(cursor.value().size()));
    values.emplace_back(cursor.value());
    if (values.size() == limit) break;
  }
  RETURN_NOT_OK(cursor.status());
  return values;
}

}  // namespace

Result<std::unique_ptr<KvTablet>> KvTablet::Open(KvOptions options) {
  CHECK(options.stores != nullptr && options.loop != nullptr && options.flush_pool != nullptr);
  ASSIGN_OR_RAISE(auto rows, TabletRows::Make(options.table, options.schema_of));
  ASSIGN_OR_RAISE(auto store, options.stores->Open(options.folder));
  ASSIGN_OR_RAISE(Applied applied, store->applied());
  if (rows->rules().blind_upserts()) applied.row_count = std::nullopt;
  auto tablet =
      std::unique_ptr<KvTablet>(new KvTablet(std::move(options), std::move(store), applied));
  tablet->rows_ = std::move(rows);
  return tablet;
}

KvTablet::KvTablet(KvOptions options, std::shared_ptr<KeyStore> store, Applied applied)
    : options_(std::move(options)),
      store_(std::move(store)),
      applied_(applied),
      write_back_(std::make_unique<WriteBack>(applied)),
      flusher_(std::make_unique<Flusher>(store_, *options_.flush_pool, *options_.loop,
                                         options_.before_flush)) {}

namespace {

// What is wrong with rows that came whole is wrong again when they are sent again, which clients do
// for ever with what kCorruptRecord refuses.
Status AsWrongRows(const Status& status) {
  if (CodeOf(status) != ErrorCode::kCorruptRecord) return status;
  return Error(ErrorCode::kInvalidTable, status.message());
}

}  // namespace

KvTablet::~KvTablet() = default;

int64_t KvTablet::log_offset() const { return write_back_->upto().log_offset; }
int64_t KvTablet::applied_offset() const { return applied_.log_offset; }

Result<Prepared> KvTablet::Prepare(const wire::KvBatchView& batch,
                                   std::span<const int> target_columns, PutMode mode, Reads reads) {
  MaybeStartFlush();  // Also when refused: a failed flush is tried again by the puts that it holds
                      // up.
  RETURN_NOT_OK(RefuseWhenFull());
  if (!batch.CrcMatches()) return Corrupt("kv batch fails its crc ", options_.bucket.ToString());
  auto parsed = PutBatch::Parse(*rows_, batch, target_columns, mode);
  if (!parsed.ok()) return AsWrongRows(parsed.status());
  PutBatch put = std::move(parsed).ValueUnsafe();
  const auto keys = put.keys_to_read();
  ASSIGN_OR_RAISE(const Values old_values,
                  Read(keys, &WriteBack::FindNewest, reads, kReadBytesMax));
  RETURN_NOT_OK(put.SetOldValues(old_values.list));
  CHECK(IdsLacking(batch) == 0);
  RETURN_NOT_OK(put.Merge(&ids_));
  Changes changes = put.TakeChanges();
  Prepared prepared = put.TakePrepared();
  prepared.ticket = next_ticket_++;
  write_back_->Stage(prepared.ticket, std::move(changes));
  return prepared;
}

Result<KvTablet::KeyBatch> KvTablet::BatchOfKeys(std::span<const std::string_view> keys,
                                                 size_t bytes_max) const {
  const RowVersion& latest = rows_->versions.latest();
  ASSIGN_OR_RAISE(const KeyRows key_rows,
                  KeyRows::Make(options_.table.descriptor, latest, options_.partition_values));
  ASSIGN_OR_RAISE(const std::vector<std::string> rows, key_rows.RowsOf(keys, bytes_max));
  std::vector<wire::KvRecord> records;
  for (size_t i = 0; i < keys.size(); ++i) records.push_back({keys[i], rows[i]});
  return KeyBatch{wire::BuildKvBatch(static_cast<int16_t>(latest.schema_id), -1, -1, records),
                  key_rows.key_columns()};
}

int64_t KvTablet::IdsLacking(const wire::KvBatchView& batch) const {
  if (rows_->rules().auto_column < 0) return 0;
  return std::max<int64_t>(0, static_cast<int64_t>(batch.records().size()) - ids_.left());
}

Status KvTablet::RefuseWhenFull() const {
  if (write_back_->size_bytes() < options_.write_back_bytes_max) return Status::OK();
  return Error(ErrorCode::kStorageBackpressure, "write-back table is full ",
               options_.bucket.ToString(), " size_bytes=", write_back_->size_bytes(),
               " bytes_max=", options_.write_back_bytes_max);
}

// The write-back table first, then the store for what it does not know, some keys at a time so that
// the bound holds.
Result<KvTablet::Values> KvTablet::Read(std::span<const std::string_view> keys, Find find,
                                        Reads reads, size_t bytes_max) const {
  ByteBound bound(bytes_max);
  Values values;
  values.list.resize(keys.size());
  std::vector<size_t> missing;
  std::vector<std::string_view> missing_keys;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (const Found found = (*write_back_.*find)(keys[i]); found.known) {
      RETURN_NOT_OK(bound.Take(found.value.value_or("").size()));
      values.list[i] = found.value;
    } else {
      missing.push_back(i);
      missing_keys.push_back(keys[i]);
    }
  }
  values.stored.reserve(missing.size());
  const std::span<const std::string_view> all(missing_keys);
  for (size_t from = 0; from < all.size(); from += kKeysPerRead) {
    const auto some = all.subspan(from, std::min(kKeysPerRead, all.size() - from));
    std::optional<std::vector<std::optional<std::string>>> read;
    if (reads == Reads::kMayWait) {
      ASSIGN_OR_RAISE(read, store_->Get(some));
    } else {
      ASSIGN_OR_RAISE(read, store_->GetCached(some));
    }
    if (!read.has_value()) return Status::Cancelled("keys are not in memory");
    for (auto& value : *read) {
      RETURN_NOT_OK(bound.Take(value.has_value() ? value->size() : 0));
      values.stored.push_back(std::move(value));
    }
  }
  for (size_t i = 0; i < missing.size(); ++i) {
    if (values.stored[i].has_value()) values.list[missing[i]] = *values.stored[i];
  }
  return values;
}

Result<std::string> KvTablet::BuildChangelog(const Prepared& prepared,
                                             wire::LogBatchOptions options) const {
  ASSIGN_OR_RAISE(const RowVersion* version, rows_->versions.Find(prepared.schema_id));
  auto batch =
      BuildChangelogBatch(*version, rows_->log_format, prepared.changes, prepared.rows, options);
  if (!batch.ok()) return AsWrongRows(batch.status());
  return batch;
}

void KvTablet::Commit(Prepared prepared, int64_t base_offset, int64_t next_offset,
                      size_t log_bytes) {
  CHECK(base_offset == log_offset() &&
        next_offset > base_offset);  // The log and its keys move together.
  write_back_->Commit(prepared.ticket,
                      Advanced(write_back_->upto(), next_offset, prepared.row_count_delta));
  replay_bytes_ += log_bytes;
  MaybeStartFlush();
}

void KvTablet::Abort(Prepared prepared) { write_back_->Abort(prepared.ticket); }

Result<std::unique_ptr<Replayer>> KvTablet::MakeReplayer() const {
  ASSIGN_OR_RAISE(auto rows, TabletRows::Make(options_.table, options_.schema_of));
  return std::make_unique<Replayer>(std::move(rows));
}

void KvTablet::Apply(const Replayed& part) {
  CHECK(part.base_offset == log_offset());
  write_back_->Apply(part.changes,
                     Advanced(write_back_->upto(), part.next_offset, part.row_count_delta));
  replay_bytes_ += part.log_bytes;
  MaybeStartFlush();
}

Result<std::vector<std::optional<std::string>>> KvTablet::Lookup(
    std::span<const std::string_view> keys, Reads reads, size_t bytes_max) const {
  ASSIGN_OR_RAISE(const Values values, Read(keys, &WriteBack::FindVisible, reads, bytes_max));
  return std::vector<std::optional<std::string>>(values.list.begin(), values.list.end());
}

// What is visible now over what of the store is in memory. Lives until the next change.
Result<MergeCursor> KvTablet::CachedCursor() const {
  std::vector<const Layer*> layers{&write_back_->active()};
  const auto& frozen = write_back_->frozen();
  for (auto layer = frozen.rbegin(); layer != frozen.rend(); ++layer)
    layers.push_back(&(*layer)->layer);
  ASSIGN_OR_RAISE(auto store_cursor, store_->NewCursor(KeyStore::CursorUse::kCached));
  return MergeCursor(std::move(layers), std::move(store_cursor));
}

Result<std::optional<std::string>> KvTablet::FirstCached(size_t limit, size_t bytes_max) const {
  ASSIGN_OR_RAISE(MergeCursor cursor, CachedCursor());
  ByteBound bound(bytes_max);
  Turn turn;
  wire::ValueBatchBuilder batch;
  size_t left = limit;
  if (left > 0) cursor.Seek("");
  for (; left > 0 && cursor.valid(); --left) {
    if (turn.is_over()) return std::nullopt;
    turn.Take(cursor.value().size());
    RETURN_NOT_OK(bound.Take(cursor.value().size()));
    batch.Add(cursor.value());
    if (left > 1) cursor.Next();
  }
  RETURN_NOT_OK(cursor.status());
  if (cursor.missed()) return std::nullopt;
  return batch.Finish();
}

Result<std::optional<std::vector<std::vector<std::string>>>> KvTablet::ReadCached(
    const KeyRanges& ranges) const {
  ASSIGN_OR_RAISE(MergeCursor cursor, CachedCursor());
  ByteBound bound(ranges.bytes_max);
  Turn turn;
  std::vector<std::vector<std::string>> lists;
  for (const std::string& prefix : ranges.prefixes) {
    ASSIGN_OR_RAISE(auto values, ReadRange(cursor, prefix, ranges.limit, &bound, &turn));
    if (cursor.missed() || turn.is_over()) return std::nullopt;
    lists.push_back(std::move(values));
  }
  return lists;
}

Result<std::function<Result<std::vector<std::vector<std::string>>>()>> KvTablet::ReadLater(
    KeyRanges ranges, size_t* copied_bytes) const {
  struct Snapshot {
    KeyRanges ranges;
    std::vector<Layer> layers;  // Per range.
    std::vector<std::unique_ptr<KeyStore::Cursor>> cursors;
  };
  auto snapshot = std::make_shared<Snapshot>(Snapshot{std::move(ranges), {}, {}});
  ByteBound copies(kReadBytesMax);
  size_t copied = 0;
  for (const std::string& prefix : snapshot->ranges.prefixes) {
    const bool everything = prefix.empty() && snapshot->ranges.limit > kTurnRowsMax;
    const auto use = everything ? KeyStore::CursorUse::kWhole : KeyStore::CursorUse::kRange;
    snapshot->layers.push_back(write_back_->VisibleIn(prefix, snapshot->ranges.limit));
    copied += snapshot->layers.back().size_bytes();
    RETURN_NOT_OK(copies.Take(snapshot->layers.back().size_bytes()));
    ASSIGN_OR_RAISE(auto cursor, store_->NewCursor(use));
    snapshot->cursors.push_back(std::move(cursor));
  }
  if (copied_bytes != nullptr) *copied_bytes = copied;
  return [store = store_, snapshot]() -> Result<std::vector<std::vector<std::string>>> {
    std::vector<std::vector<std::string>> lists;
    ByteBound bound(snapshot->ranges.bytes_max);
    for (size_t i = 0; i < snapshot->layers.size(); ++i) {
      MergeCursor cursor({&snapshot->layers[i]}, std::move(snapshot->cursors[i]));
      ASSIGN_OR_RAISE(auto values, ReadRange(cursor, snapshot->ranges.prefixes[i],
                                             snapshot->ranges.limit, &bound, /*turn=*/nullptr));
      lists.push_back(std::move(values));
    }
    return lists;
  };
}

Result<std::unique_ptr<KvScan>> KvTablet::OpenScan() {
  if (!write_back_->active().empty() && write_back_->frozen().size() >= kFrozenLayersMax) {
    return Error(ErrorCode::kTooManyScanners, "flusher is behind ", options_.bucket.ToString());
  }
  write_back_->Freeze();  // What a scan reads changes no more.
  ASSIGN_OR_RAISE(auto store_cursor, store_->NewCursor(KeyStore::CursorUse::kWhole));
  const auto& frozen = write_back_->frozen();
  auto scan = std::make_unique<LayeredScan>(LayeredScan::Layers(frozen.begin(), frozen.end()),
                                            store_, std::move(store_cursor), log_offset());
  MaybeStartFlush();
  return scan;
}

Result<bool> KvTablet::StoreIsOpen() const {
  ASSIGN_OR_RAISE(const auto none, store_->GetCached({}));
  return none.has_value();
}

std::function<Status()> KvTablet::Warm(std::vector<std::string> keys) const {
  return [store = store_, keys = std::move(keys)] {
    const std::vector<std::string_view> all(keys.begin(), keys.end());
    Status read = store->Get({}).status();  // Opens it.
    for (size_t from = 0; from < all.size() && read.ok(); from += kKeysPerRead) {
      const size_t count = std::min(kKeysPerRead, all.size() - from);
      read = store->Get(std::span(all).subspan(from, count)).status();
    }
    return read;
  };
}

std::function<Result<std::optional<KeyStore::Checkpoint>>()> KvTablet::CheckpointLater(
    std::string folder) const {
  return [store = store_, folder = std::move(folder)] { return store->MakeCheckpoint(folder); };
}

Result<int64_t> KvTablet::RowCount() const {
  const auto& count = write_back_->upto().row_count;
  if (!count.has_value()) {
    return Error(ErrorCode::kInvalidTable, "rows are not counted with changelog image WAL ",
                 options_.bucket.ToString());
  }
  return *count;
}

Status KvTablet::SetTable(types::TableInfo table) {
  ASSIGN_OR_RAISE(rows_, TabletRows::Make(table, options_.schema_of));
  options_.table = std::move(table);
  return Status::OK();
}

void KvTablet::MaybeStartFlush() {
  const bool due = write_back_->size_bytes() >= options_.write_back_bytes_max / 2 ||
                   write_back_->frozen().size() >= kFrozenLayersMax / 2;
  if (due && options_.loop->clock().Monotonic() >= retry_flush_at_) StartFlush();
}

void KvTablet::StartFlush() {
  if (flusher_->running()) return;
  FreezeAll();
  const auto& frozen = write_back_->frozen();
  if (frozen.empty()) return;
  const size_t count = frozen.size();
  const bool started =
      flusher_->Start(Flusher::Layers(frozen.begin(), frozen.end()),
                      [this, count, log_bytes = replay_bytes_](const Status& status) {
                        OnFlushed(count, log_bytes, status);
                      });
  if (!started) retry_flush_at_ = options_.loop->clock().Monotonic() + kFlushRetryDelay;
}

// So that a move brings the store to the end of what was committed, also when the last batches
// changed no key.
void KvTablet::FreezeAll() {
  write_back_->Freeze();
  const auto& frozen = write_back_->frozen();
  const Applied& last = frozen.empty() ? applied_ : frozen.back()->upto;
  if (last.log_offset < write_back_->upto().log_offset) write_back_->FreezeEmpty();
}

void KvTablet::OnFlushed(size_t layers, uint64_t moved_log_bytes, const Status& status) {
  if (!status.ok()) {
    LogError("flush of keys failed, will be tried again {} error={}", options_.bucket.ToString(),
             status.ToString());
    retry_flush_at_ = options_.loop->clock().Monotonic() + kFlushRetryDelay;
  } else {
    applied_ = write_back_->frozen()[layers - 1]->upto;
    write_back_->DropFrozen(layers);
    replay_bytes_ -= moved_log_bytes;
    MaybeStartFlush();
  }
  if (options_.after_flush) options_.after_flush(status);
}

bool KvTablet::flushing() const { return flusher_->running(); }
size_t KvTablet::write_back_bytes() const { return write_back_->size_bytes(); }

Status KvTablet::FlushAll() {
  DCHECK(!flushing());  // A move that ends later would drop these layers again.
  write_back_->Freeze();
  const auto& frozen = write_back_->frozen();
  const Applied upto = write_back_->upto();
  if (upto == applied_ && frozen.empty()) return Status::OK();
  RETURN_NOT_OK(flusher_->FlushNow(Flusher::Layers(frozen.begin(), frozen.end()), upto));
  applied_ = upto;
  replay_bytes_ = 0;
  write_back_->DropFrozen(frozen.size());
  return Status::OK();
}

Status KvTablet::Close() {
  RETURN_NOT_OK(FlushAll());
  return store_->Close();
}

}  // namespace sluice::kv
