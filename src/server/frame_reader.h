#pragma once
#include <string>
#include <string_view>

#include "io/net.h"

namespace sluice::server {

/// Reads a connection through a small buffer, so that many small frames cost one call and large
/// bodies no copy.
class FrameReader {
 public:
  static constexpr size_t kBufferBytes = 16 << 10;

  explicit FrameReader(io::Connection& connection)
      : connection_(connection), buffer_(kBufferBytes, '\0') {}

  /// Have `size` bytes (at most kBufferBytes) at the front of peek(). Errors: kNetwork when the
  /// stream ends before.
  io::Task<Status> Fill(size_t size);
  std::string_view peek() const { return std::string_view(buffer_).substr(start_, end_ - start_); }
  void Skip(size_t size) { start_ += size; }
  /// Move the next `size` bytes to `out`.
  io::Task<Status> Take(char* out, size_t size);

 private:
  io::Connection& connection_;
  std::string buffer_;
  size_t start_ = 0;  // Unread bytes are [start_, end_).
  size_t end_ = 0;
};

}  // namespace sluice::server
