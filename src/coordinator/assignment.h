#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "io/random.h"
#include "meta/catalog_state.h"

namespace sluice::coordinator {

/// Spread buckets and their replicas over servers as Java's TableAssignmentUtils does without
/// racks. The first replica leads, all are in sync, epochs start at 0. Errors:
/// kInvalidReplicationFactor when there are fewer servers than replicas.
Result<std::vector<meta::BucketState>> AssignBuckets(int32_t bucket_count,
                                                     int32_t replication_factor,
                                                     std::span<const int32_t> servers,
                                                     int32_t coordinator_epoch, io::Random& random);

}  // namespace sluice::coordinator
