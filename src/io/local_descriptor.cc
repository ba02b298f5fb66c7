#include <fcntl.h>

#include <cstring>
#include <memory>

#include "io/file.h"
#include "io/local_descriptor_internal.h"

namespace sluice::io::internal {

Status ErrnoStatus(std::string_view what, const std::string& path, int error) {
  if (error == ENOENT) return NotFound(path);
  return Status::IOError("cannot ", what, " path=", path, " reason=", std::strerror(error))
      .WithDetail(std::make_shared<CodeDetail>(ErrorCode::kStorage));
}

Result<Descriptor> OpenDescriptor(const std::string& path, int flags) {
  const int number = Retried([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0644); });
  if (number < 0) return ErrnoStatus("open", path, errno);
  return Descriptor(number);
}

}  // namespace sluice::io::internal
