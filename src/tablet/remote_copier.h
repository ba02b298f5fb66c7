#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tablet/remote_log.h"

namespace sluice::tablet {

/// Copies the closed segments of a bucket's log to remote storage, and removes what has expired
/// there.
///
/// A segment counts as copied once its files are durable, a manifest that names it is, and the
/// coordinator has that manifest on record, in this order. What a kill or an error leaves beside
/// the manifest on record is removed before the next copy. Threads: confined to the bucket's shard.
class RemoteCopier {
 public:
  explicit RemoteCopier(std::shared_ptr<RemoteLog> remote) : remote_(std::move(remote)) {}

  /// What the table and the replica say now.
  struct Policy {
    int32_t leader_epoch = 0;
    int32_t coordinator_epoch = 0;
    bool may_copy = true;                  ///< The remote disk has room.
    int64_t delete_before_ms = INT64_MIN;  ///< Segments whose newest record is older expire,
    int64_t delete_below = INT64_MAX;      ///< when all their records are below it.
  };
  /// Whether a closed segment is to be copied, be it durable or not.
  bool HasWork(const log::Log& log) const;
  /// Copy what is closed, durable and below the high watermark, a few segments at most; expire what
  /// is too old; record both. Errors: what was done before is recorded and stays done.
  static io::Task<Status> Run(std::shared_ptr<RemoteCopier> self, log::Log* log, Policy policy);
  /// End a run soon, and let none begin.
  void Stop() { stop_->store(true); }
  bool stopped() const { return stop_->load(); }
  /// Whether Run failed by no fault of the storage: the table was dropped, which its buckets learn
  /// last, or the coordinator is not there yet.
  static bool IsPassing(const Status& failed);

 private:
  /// Remove from the bucket's folder what the manifest on record does not name.
  static io::Task<Status> Sweep(std::shared_ptr<RemoteCopier> self);
  /// The closed segments that are not copied yet. Errors: kLogStorage when the log does not go on
  /// where the copies end.
  Result<std::vector<log::Log::SegmentInfo>> Candidates(const log::Log& log) const;
  static io::Task<Result<log::RemoteSegment>> Copy(std::shared_ptr<RemoteCopier> self,
                                                   log::Log* log, log::Log::SegmentInfo info);
  /// Write the manifest and have it recorded.
  static io::Task<Status> Commit(std::shared_ptr<RemoteCopier> self, log::RemoteManifest manifest,
                                 Policy policy);
  static io::Task<Result<std::string>> WriteManifest(std::shared_ptr<RemoteCopier> self,
                                                     log::RemoteManifest manifest);

  const std::shared_ptr<RemoteLog> remote_;
  bool swept_ = false;
  const std::shared_ptr<std::atomic<bool>> stop_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace sluice::tablet
