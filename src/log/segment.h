#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "log/batch_scan.h"
#include "log/file_cache.h"
#include "log/offset_index.h"
#include "log/time_index.h"

namespace sluice::log {

/// "<folder>/00000000000000000042.log"
std::string SegmentPath(const std::string& folder, int64_t base_offset, std::string_view suffix);

/// The offset in "00000000000000000042.log" when the name ends in `suffix`.
std::optional<int64_t> OffsetInName(std::string_view name, std::string_view suffix);

inline constexpr std::string_view kLogSuffix = ".log";
inline constexpr std::string_view kIndexSuffix = ".index";
inline constexpr std::string_view kTimeIndexSuffix = ".timeindex";

/// One segment of a log: a file of batches and its two indexes, which are in memory only while it
/// is loaded.
///
/// Threads: confined to the shard that owns the bucket.
class Segment {
 public:
  /// A segment whose log file has `size_bytes` already; its files are created at first use.
  Segment(FileCache& files, const std::string& folder, int64_t base_offset, uint64_t size_bytes);

  int64_t base_offset() const { return base_offset_; }
  uint64_t size_bytes() const { return size_bytes_; }
  const std::string& log_path() const { return log_path_; }

  /// Take the indexes into memory.
  /// Errors: kCorruptRecord when a file is torn or disagrees with the log file; Cancelled, see
  /// Miss.
  Status Load(Miss* miss = nullptr);
  bool loaded() const { return offsets_.has_value(); }
  void Unload();
  /// Make both indexes empty, in memory and on disk.
  Status ResetIndexes();
  /// Make both indexes anew for the batches below `upper_offset`, durably: half an index must not
  /// be taken for one; and load them.
  Status Rebuild(uint32_t interval_bytes, int64_t upper_offset, bool closed);
  /// The first half of it, of a segment that does not change meanwhile: what is returned makes the
  /// files on any thread, and may outlive the segment.
  Result<std::function<Status()>> BeginRebuild(uint32_t interval_bytes, int64_t upper_offset,
                                               bool closed);
  /// Drop index entries at and after `offset`.
  Status TruncateIndexes(int64_t offset);

  /// Whether bytes of this size, up to this last offset, may be added. (A batch larger than a
  /// segment gets an empty one.)
  bool Fits(uint64_t size_bytes, int64_t last_offset, uint64_t segment_bytes) const;
  /// Add bytes to the log file; on an error it is as before.
  Status Append(std::span<const std::string_view> parts);
  /// Add a batch that stands at `position_bytes` to the indexes when the last entry is far enough
  /// back.
  Status Index(const wire::LogBatchHeader& header, uint64_t position_bytes,
               uint32_t interval_bytes);
  /// See whether the last entry of the loaded time index is that of a batch: what a power loss
  /// left may be zeros, which look like an entry. Errors: kCorruptRecord.
  Status CheckLastTime();
  /// Close the time index with the segment's last batch.
  Status Seal();
  /// See whether the loaded time index ends as Seal left it.
  /// Errors: kCorruptRecord when its last entries are lost; Cancelled, see Miss.
  Status CheckSealed(Miss* miss = nullptr);
  /// Cut the log file, durably, and the indexes.
  Status Truncate(uint64_t size_bytes, int64_t offset);
  Status Remove(io::FileSystem& file_system);

  /// Batches from `entry` of the offset index on.
  Result<BatchScan> ScanFrom(OffsetIndex::Entry entry,
                             size_t window_bytes = BatchScan::kLookupBytes, Miss* miss = nullptr);

  const OffsetIndex& offsets() const { return *offsets_; }
  const TimeIndex& times() const { return *times_; }
  Result<std::shared_ptr<io::File>> LogFile() const { return files_.Get(log_path_); }
  Result<std::shared_ptr<io::File>> OffsetIndexFile() const { return files_.Get(index_path_); }
  Result<std::shared_ptr<io::File>> TimeIndexFile() const { return files_.Get(time_index_path_); }

 private:
  struct NewEntries {
    std::string offset;
    std::string time;
  };
  static NewEntries AddEntries(const TimeIndex::Entry& batch, uint64_t position_bytes,
                               uint32_t interval_bytes, OffsetIndex* offsets, TimeIndex* times);
  Status CheckLastEntry(Miss* miss);
  Result<std::optional<TimeIndex::Entry>> FindNewest(Miss* miss);

  FileCache& files_;
  const int64_t base_offset_;
  const std::string log_path_;
  const std::string index_path_;
  const std::string time_index_path_;
  uint64_t size_bytes_;
  std::optional<OffsetIndex> offsets_;
  std::optional<TimeIndex> times_;
  std::optional<TimeIndex::Entry> newest_;  // Last batch seen by Index, for Seal.
  std::shared_ptr<std::mutex> rebuilding_ = std::make_shared<std::mutex>();  // One at a time.
};

}  // namespace sluice::log
