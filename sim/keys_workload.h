#pragma once
#include <memory>

#include "sim/workload.h"

namespace sluice::sim {

/// One bucket of a primary-key table as a tablet server keeps it: its log, its keys above a store,
/// the saver that moves keys and saves the log behind puts, lookups and retention.
///
/// Invariant: after a kill the keys are what every acknowledged put made of them, with at most the
/// one put that was sent and not answered; after a power loss they are what a first part of the
/// puts made of them, which reaches at least to what was saved. The store is never ahead of the
/// log, the log never starts behind the store, and a clean close leaves nothing to replay.
std::unique_ptr<Workload> MakeKeysWorkload(Machine& machine);

}  // namespace sluice::sim
