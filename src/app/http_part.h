#pragma once
#include <memory>

#include "app/config.h"
#include "app/memory_plan.h"
#include "io/clock.h"
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

/// What the server offers over HTTP: health, metrics, the overview of tables, the console's files.
class HttpPart {
 public:
  struct Options {
    const Config& config;
    const MemoryPlan& memory;
    const meta::Catalog& catalog;
    tablet::TabletService& tablet;
    const tiering::TieringService* tiering;  ///< Null when no table may be tiered.
    io::Loop& loop;                          ///< Where the replicas are asked.
    io::Clock& clock;
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
