#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "base/metrics.h"
#include "gateway/overview.h"
#include "io/loop.h"

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
  /// All must outlive the object; `tiering` may be null. `loop` is where the replicas are asked.
  ProcessStatus(const meta::Catalog& catalog, tablet::TabletService& tablet,
                const tiering::TieringService* tiering, io::Loop& loop)
      : catalog_(catalog), tablet_(tablet), tiering_(tiering), loop_(loop) {}

  Result<std::vector<gateway::TableStatus>> Tables() override;
  /// Samples per table: log end, lake offset, lag; labels `database` and `table`.
  void Collect(std::vector<MetricSample>* samples);

 private:
  const meta::Catalog& catalog_;
  tablet::TabletService& tablet_;
  const tiering::TieringService* tiering_;
  io::Loop& loop_;
};

}  // namespace sluice::app
