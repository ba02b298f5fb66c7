#include "server/frame_reader.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace sluice::server {

io::Task<Status> FrameReader::Fill(size_t size) {
  CHECK(size <= kBufferBytes);
  if (end_ - start_ >= size) co_return Status::OK();
  std::memmove(buffer_.data(), buffer_.data() + start_, end_ - start_);
  end_ -= start_;
  start_ = 0;
  while (end_ < size) {
    CO_ASSIGN_OR_RETURN(const size_t got,
                        co_await connection_.Read(buffer_.data() + end_, kBufferBytes - end_));
    if (got == 0) co_return Error(ErrorCode::kNetwork, "stream ended peer=", connection_.peer());
    end_ += got;
  }
  co_return Status::OK();
}

io::Task<Status> FrameReader::Take(char* out, size_t size) {
  const size_t buffered = std::min(size, end_ - start_);
  std::copy_n(buffer_.data() + start_, buffered, out);
  start_ += buffered;
  co_return co_await connection_.ReadExactly(out + buffered, size - buffered);
}

}  // namespace sluice::server
