#pragma once
#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace sluice::kv {

/// Bytes that live and go together: pieces of large chunks, so that none costs an allocation of
/// its own.
class Arena {
 public:
  /// Room for `size` bytes, for the caller to fill.
  char* Take(size_t size) {
    if (size > left_) Grow(size);
    char* const taken = next_;
    next_ += size;
    left_ -= size;
    size_bytes_ += size;
    return taken;
  }
  std::string_view Copy(std::string_view bytes) {
    char* const at = Take(bytes.size());
    std::copy(bytes.begin(), bytes.end(), at);
    return {at, bytes.size()};
  }
  size_t size_bytes() const { return size_bytes_; }

 private:
  static constexpr size_t kFirstChunkBytes = 2 << 10;
  static constexpr size_t kChunkBytesMax = 256 << 10;

  void Grow(size_t size) {
    left_ = std::max(size, chunk_bytes_);
    chunk_bytes_ = std::min(chunk_bytes_ * 2, kChunkBytesMax);
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(left_));
    next_ = chunks_.back().get();
  }

  std::vector<std::unique_ptr<char[]>> chunks_;
  size_t chunk_bytes_ = kFirstChunkBytes;  // Of the next one.
  char* next_ = nullptr;
  size_t left_ = 0;
  size_t size_bytes_ = 0;
};

}  // namespace sluice::kv
