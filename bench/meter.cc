#include "bench/meter.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>  // System: the counters of the server, in /proc
#include <sstream>

#include "io/clock.h"

namespace sluice::bench {

double CpuSeconds(int pid) {
  if (pid == 0) return 0;
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");  // System: /proc
  std::string text((std::istreambuf_iterator<char>(in)), {});
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double Seconds() { return static_cast<double>(io::SystemClock().Monotonic().count()) * 1e-9; }

void Meter::Report(const std::string& workload, int64_t rows, const std::string& more) const {
  const double took = wall();
  const double used = cpu();
  std::printf(
      "{\"workload\":\"%s\",\"rows\":%lld,\"wall_s\":%.3f,\"rows_per_s\":%.0f,\"server_cpu_s\":%."
      "2f,"
      "\"rows_per_server_cpu_s\":%.0f%s}\n",
      workload.c_str(), static_cast<long long>(rows), took, static_cast<double>(rows) / took, used,
      used > 0 ? static_cast<double>(rows) / used : 0, more.c_str());
  std::fflush(stdout);
}

}  // namespace sluice::bench
