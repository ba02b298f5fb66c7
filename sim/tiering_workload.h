#pragma once
#include <memory>

#include "sim/workload.h"

namespace sluice::sim {

/// Tiering rounds of one table into a Paimon table, with compaction and expiry; the log and the
/// coordinator's record outlive every stop.
///
/// Invariant: the lake is a prefix of every bucket's log (folded by key for a primary-key table) at
/// the offsets that its newest tiering snapshot names; what a round returned as committed is never
/// lost, not by a power loss either.
std::unique_ptr<Workload> MakeTieringWorkload(Machine& machine);

}  // namespace sluice::sim
