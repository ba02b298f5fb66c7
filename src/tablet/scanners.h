#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/error.h"
#include "io/random.h"
#include "kv/kv_tablet.h"
#include "types/ids.h"

namespace sluice::tablet {

/// One open SCAN_KV session.
struct Scanner {
  types::BucketId bucket;
  std::unique_ptr<kv::KvScan> scan;
  int64_t rows_left = 0;      ///< Of the limit.
  int32_t last_sequence = 0;  ///< `call_seq_id` of the last call.
  bool busy = false;          ///< A call is under way; the scan is used by it alone.
  bool closing = false;       ///< It goes when that call ends.
  std::chrono::nanoseconds used_at{0};
};

/// The scan sessions over one shard's buckets.
///
/// Ids are 32 hexadecimal characters of which the first four name the shard, so that any loop finds
/// the session. Threads: confined to the shard.
class Scanners {
 public:
  struct Limits {
    size_t per_bucket = 8;
    size_t in_all = 200;
    std::chrono::nanoseconds ttl{0};
  };
  Scanners(size_t shard, Limits limits, io::Random& random)
      : shard_(shard), limits_(limits), random_(random) {}

  /// Whether another session over `bucket` may open. Errors: kTooManyScanners.
  Status CheckRoom(const types::BucketId& bucket) const;
  /// Keep a session; its id.
  std::string Add(std::shared_ptr<Scanner> scanner);
  /// Errors: kUnknownScannerId; kScannerExpired for one that was closed for being idle.
  Result<std::shared_ptr<Scanner>> Find(const std::string& id) const;
  /// End a session, if there is one: now, or when its call under way has ended and closes it again.
  void Close(const std::string& id);

  /// Forget the sessions over a bucket; false while one of them is in a call.
  bool CloseBucket(const types::BucketId& bucket);
  /// Close the sessions that nobody used for the time to live.
  void Expire(std::chrono::nanoseconds now);
  size_t size() const { return open_.size(); }

  /// The shard of a session. Errors: kUnknownScannerId for text that is no id of ours.
  static Result<size_t> ShardOf(const std::string& id, size_t shards);

 private:
  const size_t shard_;
  const Limits limits_;
  io::Random& random_;
  std::unordered_map<std::string, std::shared_ptr<Scanner>> open_;
  std::unordered_map<std::string, std::chrono::nanoseconds>
      expired_;  // Lately, so that the client learns why.
};

}  // namespace sluice::tablet
