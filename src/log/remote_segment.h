#pragma once
#include <atomic>
#include <memory>
#include <string>

#include "io/file.h"
#include "io/remote_folder.h"
#include "log/log.h"
#include "log/offset_index.h"
#include "log/remote_manifest.h"
#include "log/time_index.h"

namespace sluice::log {

/// A segment in remote storage, opened for reading, with its indexes in memory.
///
/// Immutable. Everything waits for the storage: on a pool, any thread.
class RemoteSegmentReader {
 public:
  /// Errors: kLogStorage when a file is not there or not readable, which may pass; kCorruptRecord
  /// when it is not of the segment's size, or an index is damaged.
  static Result<std::shared_ptr<const RemoteSegmentReader>> Open(io::FileSystem& files,
                                                                 const std::string& bucket_folder,
                                                                 RemoteSegment segment);

  const RemoteSegment& segment() const { return segment_; }
  /// Where a batch begins that contains `offset` or stands before it, as near as the index knows.
  uint32_t PositionOf(int64_t offset) const { return offsets_.Floor(offset).position_bytes; }
  /// Whole batches from the one that contains `offset`, within this segment, up to `max_bytes` but
  /// at least one. Errors: kLogStorage, which may pass; kCorruptRecord.
  Result<Log::Slice> Read(int64_t offset, uint64_t max_bytes) const;
  /// Base offset of the first batch committed at or after `timestamp_ms`; the segment's end when
  /// there is none.
  Result<int64_t> OffsetOfTimestamp(int64_t timestamp_ms) const;

 private:
  RemoteSegmentReader(RemoteSegment segment, std::shared_ptr<io::File> file, OffsetIndex offsets,
                      TimeIndex times)
      : segment_(std::move(segment)),
        file_(std::move(file)),
        offsets_(std::move(offsets)),
        times_(std::move(times)) {}
  BatchScan ScanFrom(OffsetIndex::Entry entry) const;
  Status Unreadable(const Status& cause) const;
  Result<Log::Slice> ReadBatches(int64_t offset, uint64_t max_bytes) const;
  Result<int64_t> FindTimestamp(int64_t timestamp_ms) const;

  const RemoteSegment segment_;
  const std::shared_ptr<io::File> file_;
  const OffsetIndex offsets_;
  const TimeIndex times_;
};

/// Copies a closed segment with its indexes to remote storage.
struct SegmentCopy {
  io::FileSystem* files = nullptr;
  std::string from_folder;    ///< Of the log.
  io::RemoteFolder remote;    ///< Not written to while it is away.
  std::string root;           ///< Of the remote storage, which must be there.
  std::string bucket_folder;  ///< Below it; the segment gets a folder of its own in it.
  RemoteSegment segment;
  std::shared_ptr<const std::atomic<bool>> stop;  ///< Set by another thread to end it early.

  /// Returns when the copy is durable. Blocks; any thread. Errors: those of the files; Cancelled
  /// after `stop`.
  Status Run() const;
};

/// `{bucket folder}/{segment id}`
std::string RemoteSegmentFolder(const std::string& bucket_folder, const RemoteSegment& segment);

}  // namespace sluice::log
