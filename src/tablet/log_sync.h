#pragma once
#include <atomic>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "io/file.h"

namespace sluice::tablet {

/// Makes a bucket's log durable from a pool thread, without its shard: before keys move to the
/// store, the records that they come from must survive a power loss, else the store would be ahead
/// of its log.
///
/// It syncs the segment files themselves, so it needs nothing of the Log object, which is confined
/// to the shard. Threads: any, one at a time.
class LogSync {
 public:
  LogSync(io::FileSystem& files, std::string folder) : files_(files), folder_(std::move(folder)) {}
  /// Errors: kLogStorage.
  Status Run(int64_t below_offset);

 private:
  io::FileSystem& files_;
  const std::string folder_;
  std::atomic<int64_t> synced_offset_{0};  // Segments that end at or below it are durable.
};

}  // namespace sluice::tablet
