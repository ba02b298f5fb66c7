#pragma once
#include <memory>

#include "sim/workload.h"

namespace sluice::sim {

/// Many lake tables, a coordinator's queue that hands them out, and a service that tiers two at a
/// time by real rounds that take their time. No row waits longer for the lake than its table's
/// freshness.
std::unique_ptr<Workload> MakeFreshnessWorkload(Machine& machine);

}  // namespace sluice::sim
