#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "app/config.h"
#include "base/metrics.h"
#include "io/clock.h"
#include "io/loop.h"
#include "io/random.h"

namespace sluice::coordinator {
class Coordinator;
}
namespace sluice::meta {
class Catalog;
}
namespace sluice::sql {
class Engine;
class TableCatalog;
}  // namespace sluice::sql
namespace sluice::tablet {
class TabletService;
}
namespace sluice::tiering {
class TieringService;
}

namespace sluice::app {

class DiskWatch;

/// What the server offers over HTTP: health, metrics, the overview of tables, SQL, the console's
/// files.
class HttpPart {
 public:
  struct Options {
    const Config& config;
    const meta::Catalog& catalog;
    coordinator::Coordinator& coordinator;
    tablet::TabletService& tablet;
    const tiering::TieringService* tiering;  ///< Null when no table may be tiered.
    sql::Engine& engine;
    std::function<std::shared_ptr<sql::TableCatalog>()> make_tables;  ///< One for each session.
    const DiskWatch& disks;
    std::function<void(std::vector<MetricSample>*)>
        process_samples;  ///< Metrics of the process itself.
    io::Loop& loop;       ///< Where replicas and coordinator are asked.
    io::Clock& clock;
    io::Random& random;
  };
  explicit HttpPart(Options options);
  /// Stops, waiting for requests that run.
  ~HttpPart();
  /// Errors: kNetwork, naming the address, when the port is in use.
  Status Start();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace sluice::app
