#pragma once
#include <vector>

#include "base/metrics.h"

namespace sluice::io {
class LoopThreads;
}
namespace sluice::server {
class ByteBudget;
class FrameListener;
class RequestStats;
}  // namespace sluice::server
namespace sluice::tablet {
class TabletService;
}
namespace sluice::tiering {
class TieringService;
}
namespace sluice::sql {
struct FlussCatalogOptions;
}

namespace sluice::app {

class DiskWatch;
struct MemoryPlan;

/// The parts of the process that /metrics shows beside tables. Null = it is not there.
struct SampledParts {
  const DiskWatch& disks;
  const MemoryPlan& memory;
  const server::ByteBudget& request_budget;
  const server::RequestStats& request_stats;
  io::LoopThreads& shard_threads;
  std::vector<const server::FrameListener*> listeners;
  const tablet::TabletService* tablet = nullptr;
  const tiering::TieringService* tiering = nullptr;
  const sql::FlussCatalogOptions& queries;
};

/// Add their figures. Threads: any.
void CollectSamples(const SampledParts& parts, std::vector<MetricSample>* samples);

}  // namespace sluice::app
