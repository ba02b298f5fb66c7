#pragma once
#include <map>
#include <string>

#include "io/clock.h"
#include "meta/catalog.h"
#include "wire/proto/cluster.pb.h"

namespace sluice::coordinator {

/// Offsets that a sink wrote down under its id, to recover from (REGISTER / GET /
/// DELETE_PRODUCER_OFFSETS).
///
/// Held among the catalog's small values with a time to live, ten years at most. Errors:
/// kInvalidProducerId for an empty id; kInvalidConfig for a time to live that is not positive;
/// kUnknownServer for producers or bytes beyond bounds. Threads: confined to the coordinator's
/// loop.
class ProducerOffsets {
 public:
  static constexpr size_t kProducersMax = 10'000;
  static constexpr size_t kBytesMax = 2 << 20;        ///< Of what one producer registers.
  static constexpr size_t kBytesInAllMax = 64 << 20;  ///< Of all of them, for they stay in memory.

  ProducerOffsets(meta::Catalog& catalog, io::Clock& clock, int64_t ttl_ms)
      : catalog_(catalog), clock_(clock), ttl_ms_(ttl_ms) {}

  /// Look through what is stored, once. What cannot be read counts as expired.
  Status Load();

  /// What was registered first stays (result 1) until it is deleted or its time is over.
  Result<wire::RegisterProducerOffsetsResponse> Register(
      const wire::RegisterProducerOffsetsRequest& request);
  /// Empty when nothing is registered.
  Result<wire::GetProducerOffsetsResponse> Get(const wire::GetProducerOffsetsRequest& request);
  Status Delete(const wire::DeleteProducerOffsetsRequest& request);
  /// Remove some of what has expired in one write; true when more may be left.
  Result<bool> Sweep();

 private:
  struct Known {
    int64_t expires_ms = 0;
    size_t size_bytes = 0;  // Of the stored value.
  };
  Status CheckRoom(const std::string& key, size_t size_bytes);
  bool IsLive(const std::string& key) const;
  void Remember(const std::string& key, Known known);
  void Forget(const std::string& key);

  meta::Catalog& catalog_;
  io::Clock& clock_;
  int64_t ttl_ms_;
  std::map<std::string, Known> known_;  // By the key of the stored value.
  size_t bytes_ = 0;                    // Of all of them.
};

}  // namespace sluice::coordinator
