#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/payload.h"
#include "log/batch_scan.h"
#include "log/miss.h"

namespace sluice::log {

class FileCache;
struct LeaderEpoch;
class LogState;
class Segment;
class WriterStates;

struct LogOptions {
  uint64_t segment_bytes = 1u << 30;     ///< A batch that would pass this opens a new segment.
  uint32_t index_interval_bytes = 4096;  ///< Log bytes between two index entries.
  int64_t writer_expiry_ms = int64_t{7} * 24 * 3600 * 1000;
  size_t loaded_indexes_max = 4;  ///< Closed segments whose indexes stay in memory.
  FileCache* files = nullptr;  ///< Open files of the whole shard; null: a small cache of its own.
};

/// One bucket's log: batches with dense offsets, in segments, with the memory of who wrote them.
///
/// An appended batch is in the page cache when the call returns: the end of this process loses
/// nothing. `Flush` makes it survive a power loss. Format: README.md of this module. Threads:
/// confined to the shard that owns the bucket, except Open and PendingFlush::Run.
class Log {
 public:
  /// Values of Open's `recovery_point`: nothing, or everything, is known to be whole.
  static constexpr int64_t kScanAll = -1;
  static constexpr int64_t kCleanlyClosed = std::numeric_limits<int64_t>::max();

  struct Appended {
    int64_t base_offset;
    int64_t last_offset;
    int64_t commit_timestamp_ms;
    bool duplicate;  ///< Every batch had been appended before; these are its offsets then.
  };
  struct Slice {
    std::vector<io::Payload::FileRange> ranges;
    uint64_t size_bytes = 0;
    int64_t first_offset = 0;  ///< Base of the first batch, at or below the offset asked for.
    int64_t next_offset = 0;   ///< Where the next read goes on.
  };
  struct SegmentInfo {
    int64_t base_offset;
    int64_t end_offset;
    uint64_t size_bytes;
  };
  /// What may go. Oldest segments first, never past the high watermark or the recovery point, never
  /// the newest.
  struct Retention {
    int64_t delete_before_ms =
        std::numeric_limits<int64_t>::min();                     ///< Newest record older than this.
    int64_t floor_offset = std::numeric_limits<int64_t>::max();  ///< Records at and after it stay.
    size_t segments_min = 1;
    bool roll_active = false;  ///< Close the newest segment first when all of it has expired.
  };

  enum class FlushKind {
    kData,        ///< Records survive a power loss.
    kCheckpoint,  ///< And recovery starts here: indexes and writer states are saved too.
    /// A checkpoint of a log that has not changed since a Lock::SyncAll. It waits for
    /// nothing: only after another SyncAll it counts. Nothing but the end of the log may follow.
    kBetweenSyncs,
  };
  /// What a flush has to sync, taken at one moment of the log.
  class PendingFlush {
   public:
    /// Wait for the device. Any thread; the log may go on meanwhile.
    Status Run() const;

   private:
    friend class Log;
    io::FileSystem* file_system_ = nullptr;
    FlushKind kind_ = FlushKind::kData;
    std::string folder_;
    bool names_ = false;  // Sync those in the folder.
    bool path_ = false;   // And those that lead to it.
    std::vector<std::shared_ptr<io::File>> files_;
    std::string snapshot_path_;
    std::string snapshot_;
    int64_t offset_ = 0;
    int64_t newest_segment_ = 0;
    uint64_t truncations_ = 0;
    uint64_t marks_ = 0;
    uint64_t written_bytes_ = 0;
  };

  /// Segments that are to be deleted, and are in the log no more. The log outlives it.
  class PendingDeletion {
   public:
    PendingDeletion(PendingDeletion&&) noexcept;
    PendingDeletion& operator=(PendingDeletion&&) noexcept;
    ~PendingDeletion();
    /// Segments that are still to go.
    size_t count() const { return segments_.size(); }
    /// Remove the files. Any thread; the log may go on meanwhile.
    Status Run();

   private:
    friend class Log;
    PendingDeletion(io::FileSystem& file_system, LogState& state, int64_t start_offset);
    io::FileSystem* file_system_;
    LogState* state_;
    int64_t start_offset_;
    std::vector<std::unique_ptr<Segment>> segments_;  // Whose files are still there.
  };

  /// Open or create the log in `folder`. What lies below its last checkpoint flush is trusted; what
  /// lies above is checked batch by batch and cut at the first that is torn. Writer states and
  /// indexes are brought up to the end. The folder's newest writer snapshot says where that flush
  /// was; `recovery_point` counts only when there is none. Errors: kCorruptRecord, naming file and
  /// offset, when bytes below that point are damaged or gone.
  static Result<std::unique_ptr<Log>> Open(io::FileSystem& file_system, io::Clock& clock,
                                           std::string folder, LogOptions options,
                                           int64_t recovery_point);
  ~Log();

  /// Append one or several whole batches: all or none. Offsets and commit timestamp are stamped on
  /// the way; the timestamp is the clock's, but never below one already in the log. A batch that
  /// its writer sent before is not appended again. Errors: kCorruptRecord (format, CRC);
  /// kOutOfOrderSequence; kFencedLeaderEpoch below leader_epoch(); kLogStorage when the disk
  /// fails.
  Result<Appended> AppendAsLeader(std::string_view batches, int32_t leader_epoch);

  /// Remember, durably, that what comes next is appended under `epoch`; else the first append does
  /// it. Threads: any, while nothing is appended or cut.
  Status AddEpoch(int32_t epoch);

  /// Append batches as the leader stamped them; `leader_epoch` is that of the leader they were
  /// fetched from, since batches of magic 0 and 1 do not carry their own. Errors: as above;
  /// kFencedLeaderEpoch; kDuplicateSequence; kLogOffsetOutOfRange when they do not start at
  /// end_offset().
  Status AppendAsFollower(std::string_view batches, int32_t leader_epoch);

  /// Find whole batches, from the one that contains `offset` up to `max_bytes` and below
  /// `upper_offset` (exclusive). With `at_least_one` the first batch may be larger than
  /// `max_bytes`. With a `miss` the slice ends before what is not in memory; see there. Errors:
  /// kLogOffsetOutOfRange outside [start_offset, end_offset]; Cancelled when it would be empty.
  Result<Slice> Read(int64_t offset, uint64_t max_bytes, int64_t upper_offset, bool at_least_one,
                     Miss* miss = nullptr);

  /// Base offset of the first batch committed at or after `timestamp_ms`, end_offset() when there
  /// is none. Errors: Cancelled with a `miss`, see there.
  Result<int64_t> OffsetOfTimestamp(int64_t timestamp_ms, Miss* miss = nullptr);
  /// Largest commit timestamp of the closed segment that begins at `base_offset`; its index files
  /// are in order then. Errors: kLogOffsetOutOfRange when there is none; Cancelled with a `miss`.
  Result<int64_t> LargestTimestampOfSegment(int64_t base_offset, Miss* miss = nullptr);
  /// Commit timestamp of the batch that contains `offset`; none at the end of the log.
  Result<std::optional<int64_t>> TimestampOf(int64_t offset);

  /// Drop everything at and after `offset`; a batch that contains it goes whole. Not while a flush
  /// is under way.
  Status TruncateTo(int64_t offset);
  /// Drop everything; the next record gets `offset`.
  Status TruncateFullyAndStartAt(int64_t offset);
  /// Start a new segment, unless the newest is empty.
  Status Roll();
  /// Delete closed segments as `policy` allows; returns how many went. The three calls below in
  /// one.
  Result<size_t> DeleteSegments(const Retention& policy);
  /// Take what may go out of the log. Errors: Cancelled with a `miss`, see there.
  Result<PendingDeletion> BeginDeletion(const Retention& policy, Miss* miss = nullptr);
  /// `ran` is what Run gave. What is still there comes back into the log.
  Status FinishDeletion(PendingDeletion deletion, const Status& ran);
  /// Forget writers that have been silent for longer than the expiry.
  void ExpireWriters();

  /// Make everything appended so far durable: the three calls below in one.
  Status Flush(FlushKind kind = FlushKind::kCheckpoint);
  Result<PendingFlush> BeginFlush(FlushKind kind);
  /// `ran` is what Run gave. After a failed one the log refuses to go on: the kernel may have
  /// dropped the pages.
  Status FinishFlush(const PendingFlush& flush, const Status& ran);
  /// As after a failed flush: somebody else's sync of these files failed.
  void RefuseFurther() { broken_ = true; }
  /// Checkpoint flush, so that Open reads almost nothing.
  Status Close();
  /// Whether Close has nothing to write.
  bool IsSaved() const;

  int64_t start_offset() const;
  int64_t end_offset() const { return end_offset_; }
  /// What readers may see; starts at start_offset() after Open, moved by the replica.
  int64_t high_watermark() const { return high_watermark_; }
  /// Raise the high watermark to `offset`, within the log; lower values change nothing.
  void AdvanceHighWatermark(int64_t offset);
  /// Records below it survive a power loss.
  int64_t synced_offset() const { return synced_offset_; }
  /// Where Open starts to check: the last checkpoint flush. It falls with TruncateTo.
  int64_t recovery_point() const { return recovery_point_; }
  /// Bytes past the recovery point: what Open would have to check after a kill now.
  uint64_t unsaved_bytes() const { return written_bytes_ - saved_bytes_; }
  /// Bytes that Open had to check.
  uint64_t scanned_bytes() const { return scanned_bytes_; }
  /// -1 while the log is empty.
  int64_t largest_timestamp_ms() const { return largest_timestamp_ms_; }
  int32_t leader_epoch() const;
  /// Which records are which leader's, as in log_state.h; those before the first are of epoch 0.
  const std::vector<LeaderEpoch>& leader_epochs() const;
  uint64_t size_bytes() const;
  std::vector<SegmentInfo> Segments() const;
  const std::string& folder() const { return folder_; }

 private:
  friend class Recovery;
  class MemoryOnly;
  struct Planned;
  using Plan = std::vector<Planned>;

  Log(io::FileSystem& file_system, io::Clock& clock, std::string folder, LogOptions options);

  Status Usable() const;
  bool NeverUsed() const;
  /// Decide, without changing anything, what each batch becomes.
  Result<Plan> PlanAppend(std::string_view batches, bool leader) const;
  Status CheckEpoch(int32_t leader_epoch) const;
  Status Append(const Plan& plan, int32_t leader_epoch);
  Status AppendFailed(const Status& reason) const;
  Status Write(const Plan& plan);
  Status WriteRun(std::span<const Planned> run);
  /// Drop what stands at and after the batch boundary `offset`.
  Status CutAt(int64_t offset);
  Status StartSegment(int64_t base_offset);
  /// Remove the segments [first, last).
  Status RemoveSegments(size_t first, size_t last);
  /// Remove the writer snapshots with offsets in [from, to).
  Status RemoveSnapshots(int64_t from, int64_t to);
  Status WriteSnapshot(int64_t offset, const WriterStates& writers);
  Result<WriterStates> WritersAt(int64_t offset);
  Status RestartAt(int64_t offset);
  Status FinishCut(int64_t offset);
  void MarkDirty(int64_t base_offset);
  void UnmarkDirty(int64_t base_offset);
  Result<BatchScan::Batch> BatchAt(int64_t offset);
  Result<int64_t> LargestTimestampOf(size_t index);
  Status ExtendSlice(Segment& segment, int64_t segment_end, uint64_t max_bytes,
                     int64_t upper_offset, bool at_least_one, Slice* slice) const;
  size_t SegmentIndexOf(int64_t offset) const;
  int64_t EndOfSegment(size_t index) const;
  /// The segment with its indexes in memory.
  Result<Segment*> Loaded(size_t index);

  io::FileSystem& file_system_;
  io::Clock& clock_;
  const std::string folder_;
  const LogOptions options_;
  std::unique_ptr<FileCache> own_files_;  // Used when the options name none.
  FileCache* files_;
  std::unique_ptr<LogState> state_;
  std::unique_ptr<WriterStates> writers_;
  std::vector<std::unique_ptr<Segment>>
      segments_;  // By base offset, without gaps, never empty; the last grows.
  std::vector<int64_t>
      loaded_;  // Base offsets of closed segments with indexes in memory, longest unused first.
  // Segments written since the last checkpoint flush, longest untouched first.
  struct Dirty {
    int64_t base_offset;
    uint64_t mark;  // When it was last written to, as a count.
  };
  std::vector<Dirty> dirty_;
  uint64_t marks_ = 0;
  std::vector<int64_t> snapshots_;  // Offsets of the writer snapshot files, ascending.
  bool names_durable_ = false;      // Those of the files in the folder; a kill leaves it open.
  bool path_durable_ = false;       // The names that lead to it; never false again.
  Miss* miss_ = nullptr;            // Of the call under way, which reads from memory alone.
  bool deleting_ = false;           // Between BeginDeletion and FinishDeletion.
  bool broken_ = false;             // A failed write could not be undone; only Open helps.
  int64_t end_offset_ = 0;
  int64_t high_watermark_ = 0;
  int64_t synced_offset_ = 0;
  int64_t recovery_point_ = 0;
  int64_t largest_timestamp_ms_ = -1;
  uint64_t truncations_ = 0;
  // Checked by Open or appended since; TruncateTo does not lower it.
  uint64_t written_bytes_ = 0;
  uint64_t saved_bytes_ = 0;  // Those of them that a checkpoint flush has covered.
  uint64_t scanned_bytes_ = 0;
};

}  // namespace sluice::log
