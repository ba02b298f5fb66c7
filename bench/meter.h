#pragma once
#include <cstdint>
#include <string>

namespace sluice::bench {

/// User and system time of a process, in seconds; 0 without a process.
double CpuSeconds(int pid);
double Seconds();

/// Measures wall time and a server's CPU time from its making on.
class Meter {
 public:
  explicit Meter(int server_pid)
      : pid_(server_pid), started_(Seconds()), cpu_(CpuSeconds(server_pid)) {}
  double wall() const { return Seconds() - started_; }
  double cpu() const { return CpuSeconds(pid_) - cpu_; }
  /// Print what was measured as one JSON object; `more` are further members, with a comma in front.
  void Report(const std::string& workload, int64_t rows, const std::string& more = "") const;

 private:
  int pid_;
  double started_;
  double cpu_;
};

}  // namespace sluice::bench
