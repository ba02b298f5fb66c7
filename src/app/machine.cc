#include "app/machine.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <malloc.h>
#include <net/if.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <memory>

#include "io/file.h"

namespace sluice::app {
namespace {

// A log and its two indexes; files of closed segments and of keys come and go.
constexpr uint64_t kFilesOfBucket = 4;
// Of the open files that a process may have this part, 1/8, is left to connections and to work.
constexpr uint64_t kRoomShare = 8;

}  // namespace

uint64_t MachineMemoryBytes() {
  return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

int MachineCores() {
  return static_cast<int>(std::max<int64_t>(1, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

std::string MachineAddress() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return "127.0.0.1";
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    if ((each->ifa_flags & IFF_UP) == 0 || (each->ifa_flags & IFF_LOOPBACK) != 0) continue;
    char text[INET_ADDRSTRLEN];
    const auto* address = reinterpret_cast<const sockaddr_in*>(each->ifa_addr);
    if (::inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text)) != nullptr) return text;
  }
  return "127.0.0.1";
}

uint64_t RaiseOpenFilesMax() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;  // What any process has.
  if (limit.rlim_cur < limit.rlim_max) {
    rlimit raised = limit;
    raised.rlim_cur = raised.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return limit.rlim_cur;
}

Status CheckRoomForBuckets(int64_t buckets, uint64_t open_files, uint64_t open_files_max) {
  const uint64_t wanted = open_files + static_cast<uint64_t>(buckets) * kFilesOfBucket;
  if (wanted <= open_files_max - open_files_max / kRoomShare) return Status::OK();
  return Error(ErrorCode::kBucketMaxNum,
               "the server may not open files for so many more buckets, see ulimit -n buckets=",
               buckets, " open_files=", open_files, " open_files_max=", open_files_max);
}

std::chrono::nanoseconds ProcessCpuTime() {
  rusage used{};
  if (::getrusage(RUSAGE_SELF, &used) != 0) return std::chrono::nanoseconds(0);
  return std::chrono::seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         std::chrono::microseconds(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

uint64_t FreeHeapBytes() { return ::mallinfo2().fordblks; }
void ReturnFreeHeap() { ::malloc_trim(0); }

std::string CurrentFolder() {
  char path[PATH_MAX];
  return ::getcwd(path, sizeof(path)) == nullptr ? std::string() : std::string(path);
}

std::string ProgramFolder() {
  char path[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof(path));
  return size <= 0 ? std::string()
                   : io::FolderOf(std::string_view(path, static_cast<size_t>(size)));
}

}  // namespace sluice::app
