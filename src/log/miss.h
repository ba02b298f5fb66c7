#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "io/file.h"

namespace sluice::log {

/// Bytes of a file that a read needed and that were not in memory.
///
/// A call that takes a `Miss*` reads from memory alone when it is not null: where the device would
/// have to be waited for it changes nothing, names the bytes here and gives Cancelled. Bring them
/// in with Warm, on a pool, and call again.
struct Miss {
  std::shared_ptr<const io::File> file;
  uint64_t position_bytes = 0;
  size_t size_bytes = 0;

  /// Blocks; any thread.
  Status Warm() const { return file->ReadString(position_bytes, size_bytes).status(); }
};

/// Up to `size_bytes` of a file, fewer only at its end. Errors: Cancelled, see Miss.
Result<std::string> ReadOrMiss(const std::shared_ptr<const io::File>& file, uint64_t position_bytes,
                               size_t size_bytes, Miss* miss);

}  // namespace sluice::log
