#include "io/open_files.h"

#include <sys/stat.h>

#include "io/file.h"

namespace sluice::io {

uint64_t OpenFiles() {
  struct stat folder{};  // Its size is their number, since Linux 6.2.
  if (::stat("/proc/self/fd", &folder) == 0 && folder.st_size > 0)
    return static_cast<uint64_t>(folder.st_size);
  const auto names = LocalFileSystem().List("/proc/self/fd");
  return names.ok() ? names->size() : 0;
}

}  // namespace sluice::io
