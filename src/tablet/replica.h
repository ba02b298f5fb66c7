#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/task.h"
#include "kv/kv_tablet.h"
#include "log/log.h"
#include "tablet/bucket_folders.h"
#include "tablet/cold_read.h"
#include "tablet/log_sync.h"
#include "tablet/remote_copier.h"
#include "tablet/remote_log.h"
#include "tablet/saver.h"
#include "tablet/table_context.h"
#include "tablet/tablet_service.h"
#include "types/ids.h"
#include "wire/kv_batch.h"

namespace sluice::tablet {

/// What the coordinator decided about a bucket. Epochs start at 0 and only grow.
struct Leadership {
  int32_t leader = -1;  ///< Server id.
  int32_t leader_epoch = 0;
  int32_t bucket_epoch = 0;
  std::vector<int32_t> isr;
};

/// Lake progress of a bucket, as the coordinator tells it.
struct LakeOffsets {
  int64_t snapshot_id = -1;
  int64_t end_offset = -1;  ///< Exclusive; -1 = nothing is tiered.
};

/// `offset_type` of LIST_OFFSETS.
enum OffsetType : int32_t {
  kEarliestOffset = 0,
  kLatestOffset = 1,
  kTimestampOffset = 2,
  kElectionOffset = 3
};

/// A fetch that waits for data in any of its buckets. Woken at most once.
using FetchWait = io::Completion<bool>;

/// What one bucket answers to a fetch: where its bytes lie.
struct FetchPart {
  Status error;
  log::Log::Slice slice;
  int64_t high_watermark = 0;
  TableContextPtr table;
  std::shared_ptr<RemoteLog> remote;  ///< Not null: `remote_offset` is to be read there.
  int64_t remote_offset = 0;
  std::string remote_info;  ///< Which remote segments the client reads, in place of the bytes.
  std::shared_ptr<const std::string> remote_records;  ///< Or the bytes, in place of `slice`,
  std::optional<int64_t> remote_filtered_end;         ///< and where to go on behind what a filter
                                                      ///< left out of them.
  bool put_off = false;  ///< They are there, but other buckets filled the answer.
};

/// One bucket on this server: its log, its keys when it is of a primary-key table and leads, its
/// high watermark and those who wait for it.
///
/// Invariants: start <= high watermark <= log end; a key read shows nothing at or above the high
/// watermark, and everything below it. Threads: confined to the bucket's shard. Lifetime: shared by
/// the shard's map and by what runs; after Close every call fails with kUnknownTableOrBucket.
class Replica : public std::enable_shared_from_this<Replica> {
 public:
  struct Options {
    const TabletOptions* server = nullptr;
    io::Loop* loop = nullptr;             ///< Of the shard.
    log::FileCache* log_files = nullptr;  ///< Of the shard.
    Saver* saver = nullptr;               ///< Of the shard.
    types::BucketId id;
    types::TablePath path;
    std::string partition_name;  ///< Empty = unpartitioned.
    BucketFolders folders;
    TableContextPtr table;
    int64_t recovery_point = log::Log::kScanAll;
  };

  /// Open or create the log. The replica is a follower until it is told otherwise. Blocks on files:
  /// any thread.
  static Result<std::shared_ptr<Replica>> Open(Options options);

  /// Take a leadership that CheckEpochs accepted. A new leader of a primary-key table brings its
  /// keys up to the log's end first. Errors: kKvStorage, kCorruptRecord; the replica leads nothing
  /// then.
  static io::Task<Status> Take(std::shared_ptr<Replica> self, Leadership leadership);
  /// Errors: kInvalidUpdateVersion, kFencedLeaderEpoch for news that is older than what is known.
  Status CheckEpochs(int32_t leader_epoch, int32_t bucket_epoch) const;
  /// Errors: kNotLeaderOrFollower.
  Status CheckLeader() const;

  /// Append batches that a client sent to a log table. Errors: kInvalidTable for a primary-key
  /// table or a NULL where none may be; kSchemaNotExist; kCorruptRecord; those of the log.
  Result<log::Log::Appended> Append(std::string_view records);
  /// One or several KV batches of a client, and whom to tell the log's end after their changelog.
  struct Put {
    std::shared_ptr<const void> owner;  ///< Keeps `records` and `target_columns` alive.
    std::string_view records;
    std::span<const int> target_columns;
    kv::PutMode mode = kv::PutMode::kMerge;
    std::function<void(Result<int64_t> end_offset)> done;
    std::vector<wire::KvBatchView> batches;  ///< Of `records`; StartPut fills it.
    size_t batches_done = 0;                 ///< The rest waits for reads.
  };
  /// Run a put after those before it: its changelog is appended, then it is visible. When keys must
  /// be read from the device the puts of this bucket wait in line. Errors (through `done`): as
  /// KvTablet::Prepare and Append; kStorageBackpressure when the line is full.
  void StartPut(Put put);

  /// Call `done` once everything below `offset` is replicated. Errors: kRequestTimeOut.
  void WhenReplicated(int64_t offset, std::chrono::milliseconds timeout,
                      std::function<void(Status)> done);

  /// Find what a fetch from `offset` gets (-2 = earliest). When there is nothing yet, `wait` is
  /// woken by new data. With a `miss` the part's error may be Cancelled: see there. What a client
  /// asks for and only remote storage has is named in the part, not read.
  FetchPart Fetch(int64_t offset, uint64_t bytes_max, bool follower,
                  const std::shared_ptr<FetchWait>& wait, log::Miss* miss);
  /// LIST_OFFSETS. Errors: kInvalidTimestamp; Cancelled with a `miss`, see there.
  Result<int64_t> OffsetOf(int32_t offset_type, int64_t timestamp_ms, bool follower,
                           log::Miss* miss);

  /// The keys, which only a leader has. Errors: kNonPrimaryKeyTable, kNotLeaderOrFollower.
  Result<kv::KvTablet*> Keys();
  /// While one lives the keys' store is in use by a pool, and Close waits.
  class Reading {
   public:
    explicit Reading(std::shared_ptr<Replica> replica) : replica_(std::move(replica)) {
      ++replica_->reads_;
    }
    ~Reading() { --replica_->reads_; }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

   private:
    const std::shared_ptr<Replica> replica_;
  };
  /// Live rows: of the log, or keys. Errors: kInvalidTable when they are not counted.
  Result<int64_t> RowCount();

  /// LIST_OFFSETS by timestamp, of the whole log: `local` is what OffsetOf found here, which is the
  /// answer unless it is where the local part starts. Errors: those of RemoteLog.
  static io::Task<Result<int64_t>> AlsoRemote(std::shared_ptr<Replica> self, int64_t timestamp_ms,
                                              int64_t local);
  /// Where the log starts for clients: in remote storage, or here.
  int64_t start_offset() const { return remote_->StartOffset(log_->start_offset()); }
  const std::shared_ptr<RemoteLog>& remote() const { return remote_; }

  void SetTable(TableContextPtr table);
  void SetLakeOffsets(LakeOffsets offsets);
  /// Delete what has expired, and what was copied to remote storage but for the newest.
  static io::Task<void> Retain(std::shared_ptr<Replica> self);
  /// Copy closed segments to remote storage, expire there, and let go of what was copied.
  static io::Task<void> TendRemote(std::shared_ptr<Replica> self, int32_t coordinator_epoch);
  /// End a copy that is under way soon; there will be no other.
  void StopCopying() { copier_->Stop(); }
  /// Make the log a checkpoint; does nothing while one is under way or nothing changed. False when
  /// it could not.
  static io::Task<bool> Checkpoint(std::shared_ptr<Replica> self);
  /// Move all keys to the store and wait for it. False when that failed.
  static io::Task<bool> MoveKeys(std::shared_ptr<Replica> self);
  /// As last told to the saver.
  const Unsaved& unsaved() const { return unsaved_; }
  bool checkpointing() const { return checkpointing_; }
  bool moving_keys() const { return keys_moved_.has_value(); }
  /// Wake every fetch, as when the server stops.
  void WakeFetches();

  /// How a bucket stops.
  struct Closing {
    bool save_log = false;   ///< Make it a checkpoint; else only memory is let go.
    bool move_keys = false;  ///< To the store; else the next start replays them.
    /// A Lock::SyncAll came after the last append, and another will follow.
    bool between_syncs = false;
  };
  /// Stop for good.
  static io::Task<Status> Close(std::shared_ptr<Replica> self, Closing closing);

  const types::BucketId& id() const { return options_.id; }
  const BucketFolders& folders() const { return options_.folders; }
  const TableContextPtr& table() const { return options_.table; }
  const log::Log& log() const { return *log_; }
  const Leadership& leadership() const { return leadership_; }
  bool leading() const { return role_ == Role::kLeader; }
  BucketStatus status() const;

 private:
  enum class Role { kFollower, kBecomingLeader, kLeader, kClosed };
  struct Waiter {
    int64_t offset;
    std::function<void(Status)> done;
  };

  explicit Replica(Options options);

  Status CheckBatch(const wire::LogBatchView& batch) const;
  /// Move the high watermark as far as replication and visibility allow, and wake those who waited.
  void Advance();

  /// Tell the saver what is unsaved now.
  void Account();

  /// Bring this replica to where it may lead: its epoch on record, its keys at the log's end.
  static io::Task<Status> GetReady(std::shared_ptr<Replica> self);
  io::Task<Status> OpenKeys();
  /// Let the keys go, after what runs on them; `clean` = move all of them to the store first.
  static io::Task<Status> CloseKeys(std::shared_ptr<Replica> self, bool clean);
  /// Checkpoint flush of the log; false when the pool has no room.
  static io::Task<Result<bool>> SaveLog(std::shared_ptr<Replica> self, log::Log::FlushKind kind);
  /// Whether segments are to be copied to remote storage; they stay here until they are.
  bool Copies() const;
  /// Bring the log to where its remote part ends, if it was lost.
  static io::Task<Status> JoinRemote(std::shared_ptr<Replica> self);
  /// Why a segment goes.
  enum class Reason {
    kExpired,       ///< By the whole TTL, copied or not.
    kLocalExpired,  ///< By the TTL of what remote storage holds too.
    kCopied,        ///< It is there, and not among the newest.
  };
  // Records at and after it are not in the lake.
  int64_t LakeFloor() const;
  // Records at and after it must not expire, for the lake or a reader's sake.
  int64_t ExpiryFloor() const;
  log::Log::Retention RetentionNow(Reason reason) const;
  std::vector<Reason> Reasons() const;
  static io::Task<void> RetainBy(std::shared_ptr<Replica> self, Reason reason);
  /// How many segments went.
  static io::Task<Result<size_t>> DeleteSegments(std::shared_ptr<Replica> self, Reason reason);
  RemoteCopier::Policy RemotePolicy(int32_t coordinator_epoch) const;
  void OnKeysMoved(const Status& status);
  kv::KvOptions MakeKvOptions();
  io::Task<Status> Replay();
  /// Move what a long replay has put; fails when that cannot be and memory is full.
  io::Task<Status> KeepReplayBounded();

  void RunPuts();
  static io::Task<void> FetchIds(std::shared_ptr<Replica> self, int64_t count);
  std::vector<std::string_view> FrontKeys() const;
  bool RunFrontPut(kv::KvTablet::Reads reads);
  Result<int64_t> RunPut(Put* put, kv::KvTablet::Reads reads);
  Result<int64_t> RunPutBatch(const wire::KvBatchView& batch, const Put& put,
                              kv::KvTablet::Reads reads);
  void FailPuts(const Status& error);

  Options options_;
  std::unique_ptr<log::Log> log_;
  LogSync log_sync_;
  const std::shared_ptr<RemoteLog> remote_;
  const std::shared_ptr<RemoteCopier> copier_;
  std::unique_ptr<kv::KvTablet> keys_;  // Null unless this leads a primary-key table.
  Role role_ = Role::kFollower;
  Leadership leadership_;
  Status why_not_leader_;  // What the last news failed at, as clients may see it.
  int64_t end_offset_at_election_ = 0;
  LakeOffsets lake_;

  std::deque<Put> puts_;  // Waiting in line, oldest first.
  size_t puts_bytes_ = 0;
  bool warming_ = false;     // The front of the line waits for the read pool, or for ids.
  int64_t ids_lacking_ = 0;  // Why the front of the line did not run, if not for reads.

  std::vector<std::shared_ptr<Waiter>> waiters_;  // For replication.
  struct WaitingFetch {
    int64_t offset;  // Wakes when the bound its reader sees passes this.
    bool follower;
    std::weak_ptr<FetchWait> wait;
  };
  std::vector<WaitingFetch> fetches_;
  size_t fetches_swept_ = 0;  // Size after the last removal of those who gave up.
  bool checkpointing_ = false;
  bool retaining_ = false;
  bool tending_ = false;  // Remote storage.
  size_t reads_ = 0;
  std::optional<io::Completion<bool>> keys_moved_;  // While MoveKeys waits.
  Unsaved unsaved_;
  uint64_t opened_replay_bytes_ = 0;
};

}  // namespace sluice::tablet
