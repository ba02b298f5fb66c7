#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "io/file.h"

namespace sluice::log {

/// What a read needed and did not find in memory: bytes of a file, or indexes that are damaged.
///
/// A call that takes a `Miss*` reads from memory alone when it is not null: where the device would
/// have to be waited for it changes nothing, says here for what and gives Cancelled. Bring it in
/// with Warm, on a pool, and call again.
struct Miss {
  std::shared_ptr<const io::File> file;
  uint64_t position_bytes = 0;
  size_t size_bytes = 0;
  std::function<Status()> rebuild;  ///< In place of the bytes: makes the indexes anew.

  bool missed() const { return file != nullptr || rebuild != nullptr; }
  /// Blocks; any thread.
  Status Warm() const {
    return rebuild != nullptr ? rebuild() : file->ReadString(position_bytes, size_bytes).status();
  }
};

/// Up to `size_bytes` of a file, fewer only at its end. Errors: Cancelled, see Miss.
Result<std::string> ReadOrMiss(const std::shared_ptr<const io::File>& file, uint64_t position_bytes,
                               size_t size_bytes, Miss* miss);

}  // namespace sluice::log
