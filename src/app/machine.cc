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
