#include "coordinator/assignment.h"

#include "base/check.h"

namespace sluice::coordinator {

Result<std::vector<meta::BucketState>> AssignBuckets(int32_t bucket_count,
                                                     int32_t replication_factor,
                                                     std::span<const int32_t> servers,
                                                     int32_t coordinator_epoch,
                                                     io::Random& random) {
  CHECK(bucket_count > 0 && replication_factor > 0);
  const auto n = static_cast<int32_t>(servers.size());
  if (replication_factor > n) {
    return Error(ErrorCode::kInvalidReplicationFactor,
                 "more replicas than tablet servers replication_factor=", replication_factor,
                 " servers=", n);
  }
  const auto start = static_cast<int32_t>(random.Below(n));
  auto shift = static_cast<int32_t>(random.Below(n));
  std::vector<meta::BucketState> buckets;
  for (int32_t bucket = 0; bucket < bucket_count; ++bucket) {
    if (bucket > 0 && bucket % n == 0) ++shift;
    const int32_t first = (bucket + start) % n;
    meta::BucketState state{.replicas = {servers[first]}, .coordinator_epoch = coordinator_epoch};
    for (int32_t j = 0; j + 1 < replication_factor; ++j) {
      state.replicas.push_back(servers[(first + 1 + (shift + j) % (n - 1)) % n]);
    }
    state.leader = state.replicas.front();
    state.isr = state.replicas;
    buckets.push_back(std::move(state));
  }
  return buckets;
}

}  // namespace sluice::coordinator
