#pragma once
#include <memory>

#include "sim/workload.h"

namespace sluice::sim {

/// What is wrong with a planted workload.
enum class PlantedFault {
  kLoss,   ///< Some acknowledged records are not synced, which a power loss shows.
  kCheck,  ///< The same, found by a CHECK that ends the process.
};

/// A file of numbered records that acknowledges too early. It is there to fail: so tests see that a
/// failure is found, is told with its seed, and comes again when it is replayed.
std::unique_ptr<Workload> MakePlantedWorkload(PlantedFault fault);

}  // namespace sluice::sim
