#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/loop.h"
#include "io/pool.h"
#include "kv/key_store.h"
#include "kv/new_ids.h"
#include "types/schema.h"

namespace sluice::wire {
class KvBatchView;
class ValueBatchBuilder;
struct LogBatchOptions;
enum class ChangeType : uint8_t;
}  // namespace sluice::wire

namespace sluice::kv {

class Arena;
class Replayer;
struct Replayed;
struct TabletRows;
class MergeCursor;
class WriteBack;
struct Found;
class Flusher;

/// How a put meets the rows that are there.
enum class PutMode : uint8_t {
  kMerge,      ///< As the table's merge engine says.
  kOverwrite,  ///< Past the merge engine, and past the delete behavior.
  kIfAbsent,   ///< Only keys that are not there get a row.
};

struct KvOptions {
  std::string folder;                         ///< Of the key store: `…/kv-{bucket}`.
  types::BucketId bucket;                     ///< For messages.
  types::TableInfo table;                     ///< Latest schema and properties.
  std::vector<std::string> partition_values;  ///< Of the bucket's partition, as text.
  /// Columns of an older (or the latest) schema id. Errors: kSchemaNotExist.
  std::function<Result<std::shared_ptr<const types::Schema>>(int32_t schema_id)> schema_of;
  KeyStores* stores = nullptr;     ///< Outlives the tablet.
  io::Loop* loop = nullptr;        ///< The shard's loop: where a finished flush is told.
  io::Pool* flush_pool = nullptr;  ///< Where flushes run.
  size_t write_back_bytes_max =
      16 << 20;  ///< Beyond it Prepare refuses; a flush starts at half of it.
  /// Make the log durable below an offset before the store is; runs on the flush pool. May be
  /// empty.
  std::function<Status(int64_t log_offset)> before_flush;
  /// Told on the loop after each move that StartFlush began, with its outcome. May be empty.
  std::function<void(const Status&)> after_flush;
};

/// What one put batch changes, resolved and staged but not visible.
struct Prepared {
  uint64_t ticket = 0;                    ///< Names the staged entries.
  std::vector<wire::ChangeType> changes;  ///< One per row of the changelog; -U and +U adjacent.
  /// Rows in `table.kv.format` of the schema `schema_id`, without it. Views into `bytes`.
  std::vector<std::string_view> rows;
  std::shared_ptr<const Arena> bytes;
  int32_t schema_id = 0;  ///< Latest schema when it was prepared.
  int64_t row_count_delta = 0;
};

/// Values that one read or one put may take into memory.
constexpr size_t kReadBytesMax = 256 << 20;

/// Values that a shard reads in one turn. More are read on a pool, also from memory.
constexpr size_t kTurnRowsMax = 10'000;
constexpr size_t kTurnBytesMax = 4 << 20;

/// Keys to read: those that start with each prefix, at most `limit` of them each.
struct KeyRanges {
  std::vector<std::string> prefixes;  ///< "" = all keys.
  size_t limit = SIZE_MAX;
  size_t bytes_max = kReadBytesMax;  ///< Of all values; beyond it the read is refused.
};

/// Iterate over every live key as of one log offset, in key order.
///
/// Threads: one at a time, any (it holds what it reads). Lifetime: gone before the tablet closes.
class KvScan {
 public:
  virtual ~KvScan() = default;
  /// Log offset whose prefix this scan shows: all records below it.
  virtual int64_t log_offset() const = 0;
  /// Add the next values (int16 LE schema id + row) to an empty `out`: at least one, until
  /// `bytes_max` or `rows_max` is reached; none at the end.
  virtual Status Next(size_t bytes_max, int64_t rows_max, wire::ValueBatchBuilder* out) = 0;
  virtual bool done() const = 0;
};

/// The keys of one bucket of a primary-key table: newest versions in a write-back table over a key
/// store.
///
/// The changelog in the bucket's log is the truth: state at offset n = the log below n, folded by
/// key. Prepare turns a put batch into changelog rows; the caller appends them and then Commits.
/// Batches are prepared and committed in the same order, several may be prepared before the first
/// commits, and each sees what those before it staged. Values are int16 LE schema id + row in
/// `table.kv.format`. Threads: confined to the shard that owns the bucket; flushes run on the pool.
class KvTablet {
 public:
  /// Whether a read may wait for the device. If not, it gives Cancelled when it would.
  enum class Reads : uint8_t { kMayWait, kCachedOnly };

  /// Errors: kInvalidTable for a table that has no primary key or asks for what is not there yet;
  /// kKvStorage.
  static Result<std::unique_ptr<KvTablet>> Open(KvOptions options);
  /// Drops what is not in the store (the log has it); waits for a running flush.
  ~KvTablet();
  KvTablet(const KvTablet&) = delete;
  KvTablet& operator=(const KvTablet&) = delete;

  /// Next log offset that this tablet expects: where replay starts after Open, then the end of what
  /// was committed.
  int64_t log_offset() const;
  /// Offset below which the store has everything; the log must be kept from here.
  int64_t applied_offset() const;

  /// Resolve a batch against the newest state, staged or not; nothing is visible yet.
  ///
  /// `target_columns`: positions of a partial update in the batch's schema, empty = all.
  /// Errors: kCorruptRecord, kSchemaNotExist,
  /// kInvalidTargetColumn, kDeletionDisabled (nothing is staged); kRecordTooLarge when old values
  /// or changes pass kReadBytesMax; kStorageBackpressure when the write-back table is full;
  /// Cancelled with `kCachedOnly`.
  Result<Prepared> Prepare(const wire::KvBatchView& batch, std::span<const int> target_columns,
                           PutMode mode, Reads reads = Reads::kMayWait);
  /// What Prepare takes with `kIfAbsent` to give these keys rows of nothing else, a partial update
  /// of `target_columns`. Errors: kCorruptRecord for bytes that are no key; kRecordTooLarge when
  /// keys and rows pass `bytes_max`.
  struct KeyBatch {
    std::string batch;
    std::vector<int> target_columns;
  };
  Result<KeyBatch> BatchOfKeys(std::span<const std::string_view> keys,
                               size_t bytes_max = kReadBytesMax) const;
  /// Ids that Prepare needs at most for a batch of a table with an auto-increment column and does
  /// not have: to be added before. Unused ones are lost with the tablet.
  int64_t IdsLacking(const wire::KvBatchView& batch) const;
  void AddIds(int64_t first, int64_t count) { ids_.Add(first, count); }
  /// The changelog batch of `prepared` for the log, an empty one when nothing
  /// changed. Writer id, sequence and compression come from `options`, the schema id from
  /// `prepared`.
  Result<std::string> BuildChangelog(const Prepared& prepared, wire::LogBatchOptions options) const;
  /// Make the oldest staged batch visible: its changelog stands in the log from `base_offset` to
  /// before `next_offset`.
  /// `log_bytes`: its size there.
  void Commit(Prepared prepared, int64_t base_offset, int64_t next_offset, size_t log_bytes);
  /// Drop the newest staged batch (after a failed or duplicate append); abort later ones first.
  void Abort(Prepared prepared);

  /// Recovery: what folds the changelog from log_offset() on, on any thread, for Apply.
  Result<std::unique_ptr<Replayer>> MakeReplayer() const;
  /// Make a part visible that begins at log_offset(). The caller keeps write_back_bytes() bounded.
  void Apply(const Replayed& part);

  /// One slot per key, in order. Errors: Cancelled with `kCachedOnly`; then call Warm first.
  /// kRecordTooLarge when the values pass `bytes_max`.
  Result<std::vector<std::optional<std::string>>> Lookup(std::span<const std::string_view> keys,
                                                         Reads reads = Reads::kMayWait,
                                                         size_t bytes_max = kReadBytesMax) const;
  /// Values in key order, one list per prefix, from memory alone; nullopt when the device would
  /// have to be read, or more than a shard reads in one turn. Errors: kRecordTooLarge.
  Result<std::optional<std::vector<std::vector<std::string>>>> ReadCached(
      const KeyRanges& ranges) const;
  /// The first `limit` values of all keys as a value batch; nullopt and errors as above.
  Result<std::optional<std::string>> FirstCached(size_t limit,
                                                 size_t bytes_max = kReadBytesMax) const;
  /// The same as ReadCached as work for a read pool, which shows the keys as they are now: it has
  /// copies of what is only in memory, `copied_bytes` of them. The store should be open (Warm of no
  /// keys). Errors: kRecordTooLarge when the copies pass kReadBytesMax.
  Result<std::function<Result<std::vector<std::vector<std::string>>>()>> ReadLater(
      KeyRanges ranges, size_t* copied_bytes = nullptr) const;
  /// Errors: kTooManyScanners while the flusher has too much left to move.
  Result<std::unique_ptr<KvScan>> OpenScan();
  /// False while the store has files that are not open: Warm opens them.
  Result<bool> StoreIsOpen() const;
  /// Work for a read pool that brings the keys' blocks into the cache.
  std::function<Status()> Warm(std::vector<std::string> keys) const;

  /// Work for a pool that makes a checkpoint of the store: of what has been moved, see StartFlush.
  std::function<Result<std::optional<KeyStore::Checkpoint>>()> CheckpointLater(
      std::string folder) const;

  /// Live keys. Errors: kInvalidTable when the changelog image leaves them uncounted.
  Result<int64_t> RowCount() const;

  /// Newest schema and properties after an ALTER.
  Status SetTable(types::TableInfo table);

  /// Start moving everything committed to the store unless a move is under way; the pool does the
  /// work. Afterwards flushing() is true unless there is nothing to move or the pool is full.
  void StartFlush();
  bool flushing() const;
  size_t write_back_bytes() const;
  /// Changelog that the store lacks: what would have to be replayed after a kill now.
  uint64_t replay_bytes() const { return replay_bytes_; }
  /// Move everything committed to the store and close it: the next Open has nothing to replay.
  /// Blocks. Nothing may be flushing().
  Status Close();

 private:
  KvTablet(KvOptions options, std::shared_ptr<KeyStore> store, Applied applied);
  // Stored values, one slot per key; views into the write-back table and `stored`.
  struct Values {
    std::vector<std::optional<std::string_view>> list;
    std::vector<std::optional<std::string>> stored;
  };
  using Find = Found (WriteBack::*)(std::string_view) const;
  Result<Values> Read(std::span<const std::string_view> keys, Find find, Reads reads,
                      size_t bytes_max) const;
  Result<MergeCursor> CachedCursor() const;
  Status RefuseWhenFull() const;
  void MaybeStartFlush();
  void FreezeAll();
  void OnFlushed(size_t layers, uint64_t moved_log_bytes, const Status& status);
  Status FlushAll();

  KvOptions options_;
  std::shared_ptr<KeyStore> store_;
  Applied applied_;
  std::unique_ptr<TabletRows> rows_;  // Schemas, keys and merge rules of the table.
  std::unique_ptr<WriteBack> write_back_;
  std::unique_ptr<Flusher> flusher_;
  std::chrono::nanoseconds retry_flush_at_{
      0};  // After a failed flush, on the loop's monotonic clock.
  NewIds ids_;
  uint64_t next_ticket_ = 1;
  uint64_t replay_bytes_ = 0;  // Of the log between applied_ and log_offset().
};

}  // namespace sluice::kv
