#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/payload.h"
#include "io/task.h"
#include "log/remote_manifest.h"
#include "log/remote_segment.h"
#include "tablet/slice_cut.h"
#include "tablet/table_source.h"
#include "tablet/tablet_service.h"

namespace sluice::tablet {

/// The part of a bucket's log that lies in remote storage: what the coordinator has on record of
/// it, the manifest once it was read, and the reading of segments.
///
/// Nothing here waits for the storage but on the remote pool, so a storage that is slow or away
/// holds up its own readers alone. Threads: confined to the bucket's shard. Lifetime: shared by the
/// replica and by what reads.
class RemoteLog {
 public:
  struct Options {
    const TabletOptions* server = nullptr;
    io::Loop* loop = nullptr;  ///< Of the shard.
    types::BucketId id;
    types::TablePath path;
    std::string partition_name;
  };
  explicit RemoteLog(Options options) : options_(std::move(options)) {}

  /// Take what the coordinator has on record now; the manifest is read again at next use when it is
  /// another.
  void Refresh();

  /// Everything below it was copied once; -1 = nothing was.
  int64_t copied_end_offset() const { return record_.copied_end_offset; }
  /// End of what is there; -1 = nothing.
  int64_t end_offset() const { return record_.end_offset; }
  /// Where the log starts for its readers, whose local part starts at `local_start`.
  int64_t StartOffset(int64_t local_start) const;
  /// Whether records from `offset` on are there.
  bool Covers(int64_t offset) const {
    return record_.start_offset <= offset && offset < record_.end_offset;
  }

  // What follows brings in the manifest first. Errors: kLogStorage while the storage cannot be
  // read; kLogOffsetOutOfRange when the records have expired meanwhile.

  /// The answer to a client that reads segments by itself: a serialized PbRemoteLogFetchInfo of all
  /// segments from the one that contains `offset`. Empty when that one is too large to be named.
  static io::Task<Result<std::string>> FetchInfo(std::shared_ptr<RemoteLog> self, int64_t offset);
  /// Records in memory: whoever sends them has nothing more to do with the storage.
  struct Records {
    std::shared_ptr<const std::string> bytes;
    int64_t next_offset = 0;  ///< Where the next read goes on, unless `cut` left some out.
    std::optional<int64_t> filtered_end;  ///< See CutBatches, as the next.
    uint64_t batches_skipped = 0;
  };
  /// What is wanted of the batches that were found. Runs on the remote pool and may wait there.
  using Cut = std::function<Result<CutBatches>(const log::Log::Slice& slice)>;
  /// Whole batches from the one that contains `offset`, of one segment, up to `max_bytes` but at
  /// least one; what `cut` makes of them when it is there. Errors: also those of `cut`.
  static io::Task<Result<Records>> Read(std::shared_ptr<RemoteLog> self, int64_t offset,
                                        uint64_t max_bytes, Cut cut);
  /// Base offset of the first batch that was committed at or after `timestamp_ms`, when it is below
  /// `local`, which the local log found; else none.
  static io::Task<Result<std::optional<int64_t>>> OffsetOfTimestamp(std::shared_ptr<RemoteLog> self,
                                                                    int64_t timestamp_ms,
                                                                    int64_t local);

  /// Once per upkeep: let go of a segment that nobody has read since the last one.
  void ForgetUnread();

  struct Numbers {
    size_t segments = 0;  ///< Of the manifest, when it was read.
    uint64_t size_bytes = 0;
    uint64_t copied_segments = 0;  ///< Since the bucket was opened.
    uint64_t copied_bytes = 0;
    uint64_t copy_errors = 0;
  };
  Numbers numbers() const;

  // For RemoteCopier, which alone changes what is there.
  const Options& options() const { return options_; }
  const RemoteLogRecord& record() const { return record_; }
  const log::RemoteManifest& manifest() const { return *manifest_; }
  /// Bring in the manifest.
  static io::Task<Status> Load(std::shared_ptr<RemoteLog> self);
  /// A new manifest is on record.
  void Adopt(RemoteLogRecord record, log::RemoteManifest manifest);
  /// What is on record is not known, after a failed commit.
  void Forget();
  Numbers& counted() { return counted_; }
  std::string folder() const;

 private:
  using Reader = std::shared_ptr<const log::RemoteSegmentReader>;
  log::RemoteManifest EmptyManifest() const;
  Result<log::RemoteSegment> SegmentAt(int64_t offset) const;
  /// The segment, opened: the last one that was read stays so.
  static io::Task<Result<Reader>> Open(std::shared_ptr<RemoteLog> self, log::RemoteSegment segment);

  const Options options_;
  RemoteLogRecord record_;
  std::shared_ptr<const log::RemoteManifest> manifest_;  // Null until it was read.
  Reader open_;
  bool read_since_ = false;  // Since ForgetUnread.
  Numbers counted_;
};

}  // namespace sluice::tablet
