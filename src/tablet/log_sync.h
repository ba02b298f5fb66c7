#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "base/error.h"
#include "io/file.h"

namespace sluice::tablet {

/// Makes a bucket's log durable from a pool thread, without its shard: before keys move to the
/// store, the records that they come from must survive a power loss, else the store would be ahead
/// of its log.
///
/// It syncs the segment files themselves, so it needs nothing of the Log object, which is confined
/// to the shard. The kernel tells a failed write once: whoever syncs after that sees no error. So
/// all syncs of the log go through here, one at a time, and after one that failed all others fail.
/// Threads: any; a pool's, since it waits.
class LogSync {
 public:
  LogSync(io::FileSystem& files, std::string folder) : files_(files), folder_(std::move(folder)) {}
  /// Errors: those of the file system; after a failed sync kLogStorage, for good.
  Status Run(int64_t below_offset);
  /// Another sync of the log, by `sync`. Errors: its own; kLogStorage as above.
  Status RunOther(const std::function<Status()>& sync);
  /// Whether a sync has failed: bytes of the log may be lost.
  bool failed() const { return failed_.load(); }

 private:
  Status CheckUsable() const;
  Status Note(Status synced);

  io::FileSystem& files_;
  const std::string folder_;
  std::mutex mutex_;  // Held during each sync.
  std::atomic<bool> failed_{false};
  std::atomic<int64_t> synced_offset_{0};  // Segments that end at or below it are durable.
};

}  // namespace sluice::tablet
