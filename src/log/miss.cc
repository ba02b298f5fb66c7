#include "log/miss.h"

#include <algorithm>

namespace sluice::log {

Result<std::string> ReadOrMiss(const std::shared_ptr<const io::File>& file, uint64_t position_bytes,
                               size_t size_bytes, Miss* miss) {
  if (miss == nullptr) return file->ReadString(position_bytes, size_bytes);
  const uint64_t left = file->size_bytes() - std::min(file->size_bytes(), position_bytes);
  std::string bytes(std::min<uint64_t>(size_bytes, left), '\0');
  ASSIGN_OR_RAISE(const bool there, file->TryReadAt(position_bytes, bytes.size(), bytes.data()));
  if (there) return bytes;
  *miss = {file, position_bytes, bytes.size(), /*rebuild=*/nullptr};
  return Status::Cancelled("bytes are not in memory file=", file->path());
}

}  // namespace sluice::log
