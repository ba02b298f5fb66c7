#include "app/machine.h"

#include <unistd.h>

#include <algorithm>
#include <climits>

#include "io/file.h"

namespace sluice::app {

uint64_t MachineMemoryBytes() {
  return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

int MachineCores() {
  return static_cast<int>(std::max<int64_t>(1, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

std::string ProgramFolder() {
  char path[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof(path));
  return size <= 0 ? std::string()
                   : io::FolderOf(std::string_view(path, static_cast<size_t>(size)));
}

}  // namespace sluice::app
