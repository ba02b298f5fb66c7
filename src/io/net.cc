#include "io/net.h"

namespace sluice::io {

Task<Status> Connection::ReadExactly(char* out, size_t size) {
  size_t got = 0;
  while (got < size) {
    const Result<size_t> part = co_await Read(out + got, size - got);
    if (!part.ok()) co_return part.status();
    if (*part == 0) {
      co_return Error(ErrorCode::kNetwork, "stream ended early got=", got, " wanted=", size);
    }
    got += *part;
  }
  co_return Status::OK();
}

}  // namespace sluice::io
