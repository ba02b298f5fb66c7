#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "io/disk_guard.h"
#include "io/loop.h"
#include "io/pool.h"

namespace sluice::app {

/// Looks once a second at the disks of a server's folders, on a pool.
///
/// Threads: any.
class DiskWatch {
 public:
  struct Limits {
    double write_limit_ratio = 0.85;
    double recover_ratio = 0.80;
  };
  DiskWatch(io::FileSystem& files, Limits limits) : files_(files), limits_(limits) {}

  /// Watch one more folder, from now on; before Start. `lock`: held in it, may be null.
  const io::DiskGuard& Add(const std::string& folder, const io::FileSystem::Lock* lock = nullptr);
  /// Judge all folders by other limits, from the next look on. Threads: one at a time, and not
  /// beside Add.
  void SetLimits(Limits limits);
  /// Look again each second until the loop ends. The pool outlives the loop.
  void Start(io::Loop& loop, io::Pool& pool);

  /// OK when every folder takes writes, else what the first one says.
  Status CheckAll() const;
  void Collect(std::vector<MetricSample>* samples) const;

 private:
  io::FileSystem& files_;
  Limits limits_;  // Of folders that are added.
  // Shared with the look under way.
  std::vector<std::shared_ptr<io::DiskGuard>> guards_;
};

}  // namespace sluice::app
