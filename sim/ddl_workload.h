#pragma once
#include <memory>

#include "sim/workload.h"

namespace sluice::sim {

/// Databases, tables and partitions that come, change and go, through a coordinator over a metadata
/// store, a Paimon warehouse and a tablet server.
///
/// Invariant: an answered change is there after a stop, an unanswered one is there whole or not at
/// all; catalog, lake and tablet server agree; a lake table without a table in the catalog only
/// remains of a dropped one.
std::unique_ptr<Workload> MakeDdlWorkload(Machine& machine);

}  // namespace sluice::sim
