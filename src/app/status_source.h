#pragma once
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/metrics.h"
#include "gateway/overview.h"
#include "io/loop.h"

namespace sluice::coordinator {
class Coordinator;
}
namespace sluice::meta {
class Catalog;
}
namespace sluice::tablet {
class TabletService;
}
namespace sluice::tiering {
class TieringService;
}

namespace sluice::app {

/// Figures of all tables of this process for the console and /metrics: the catalog, the replicas
/// and the tiering service put together.
///
/// Threads: any but a loop's, since it waits for the shards.
class ProcessStatus : public gateway::StatusSource {
 public:
  /// All must outlive the object; `tiering` may be null. `loop` is where replicas and coordinator
  /// are asked.
  ProcessStatus(const meta::Catalog& catalog, coordinator::Coordinator& coordinator,
                tablet::TabletService& tablet, const tiering::TieringService* tiering,
                io::Loop& loop)
      : catalog_(catalog),
        coordinator_(coordinator),
        tablet_(tablet),
        tiering_(tiering),
        loop_(loop) {}

  Result<std::vector<gateway::TableStatus>> Tables() override;
  /// Samples per table: log end, lake offset, lag; labels `database` and `table`.
  void Collect(std::vector<MetricSample>* samples);

 private:
  // When the failed ones among the tables are tried again.
  void AddNextTries(std::map<int64_t, gateway::TableStatus*> failed);

  const meta::Catalog& catalog_;
  coordinator::Coordinator& coordinator_;
  tablet::TabletService& tablet_;
  const tiering::TieringService* tiering_;
  io::Loop& loop_;
};

}  // namespace sluice::app
