#pragma once
#include <memory>

#include "sim/workload.h"

namespace sluice::sim {

/// One bucket's log under appends of idempotent writers, rolls, flushes, truncation and retention.
///
/// Invariant: after a kill every acknowledged append is read back in order, and behind it at most
/// what had been sent and not answered; after a power loss everything before the last successful
/// flush is, and of the rest a first part. Every writer goes on where the log says it was.
std::unique_ptr<Workload> MakeLogWorkload(Machine& machine);

}  // namespace sluice::sim
