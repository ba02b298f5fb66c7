#pragma once
#include <string>

#include "io/clock.h"
#include "meta/catalog.h"
#include "wire/proto/cluster.pb.h"

namespace sluice::coordinator {

/// Offsets that a sink wrote down under its id, to recover from (REGISTER / GET /
/// DELETE_PRODUCER_OFFSETS).
///
/// Held among the catalog's small values with a time to live, ten years at most. Errors:
/// kInvalidProducerId for an empty id; kInvalidConfig for a time to live that is not positive.
class ProducerOffsets {
 public:
  ProducerOffsets(meta::Catalog& catalog, io::Clock& clock, int64_t ttl_ms)
      : catalog_(catalog), clock_(clock), ttl_ms_(ttl_ms) {}

  /// What was registered first stays (result 1) until it is deleted or its time is over.
  Result<wire::RegisterProducerOffsetsResponse> Register(
      const wire::RegisterProducerOffsetsRequest& request);
  /// Empty when nothing is registered.
  Result<wire::GetProducerOffsetsResponse> Get(const wire::GetProducerOffsetsRequest& request);
  Status Delete(const wire::DeleteProducerOffsetsRequest& request);
  /// Remove some of what has expired; true when more may be left.
  Result<bool> Sweep();

 private:
  meta::Catalog& catalog_;
  io::Clock& clock_;
  int64_t ttl_ms_;
};

}  // namespace sluice::coordinator
