#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "app/bucket_samples.h"
#include "base/metrics.h"
#include "gateway/overview.h"
#include "io/loop.h"
#include "sql/lake_state.h"
#include "tiering/table_state.h"

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
                io::Loop& loop, MetricLimits limits = {})
      : catalog_(catalog),
        coordinator_(coordinator),
        tablet_(tablet),
        tiering_(tiering),
        loop_(loop),
        limits_(limits) {}

  Result<std::vector<gateway::TableStatus>> Tables() override;
  /// Of one table, as SQL shows it. Errors: kTableNotExist; kInvalidTable when it is not tiered.
  Result<sql::LakeState> LakeStateOf(const types::TablePath& path);
  /// Samples per table (log end, lake offset, lag; labels `database` and `table`) and per bucket,
  /// no more than the limits allow.
  void Collect(std::vector<MetricSample>* samples);

 private:
  struct Table;
  std::vector<Table> Gather();
  // When the failed ones among the tables are tried again.
  void AddNextTries(std::vector<Table>* tables);

  const meta::Catalog& catalog_;
  coordinator::Coordinator& coordinator_;
  tablet::TabletService& tablet_;
  const tiering::TieringService* tiering_;
  io::Loop& loop_;
  const MetricLimits limits_;
};

}  // namespace sluice::app
