#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>

#include "base/check.h"

namespace sluice::shard {

/// Which shard owns a bucket: by hash, except for those that were moved. Every shard holds a full
/// copy; news carries a revision, so that late news loses.
///
/// Threads: confined to the holder of the copy.
template <typename Bucket>
class Placement {
 public:
  explicit Placement(size_t shards) : shards_(shards) { CHECK(shards > 0); }

  size_t OwnerOf(const Bucket& bucket) const {
    const auto moved = moved_.find(bucket);
    return moved != moved_.end() ? moved->second : std::hash<Bucket>()(bucket) % shards_;
  }
  /// Take over all moves as of `revision`; false when this copy knows that revision or a later one.
  bool Update(int64_t revision, std::unordered_map<Bucket, size_t> moved) {
    if (revision <= revision_) return false;
    for (const auto& [bucket, shard] : moved) CHECK(shard < shards_);
    revision_ = revision;
    moved_ = std::move(moved);
    return true;
  }
  int64_t revision() const { return revision_; }
  size_t shards() const { return shards_; }

 private:
  size_t shards_;
  int64_t revision_ = 0;
  std::unordered_map<Bucket, size_t> moved_;
};

}  // namespace sluice::shard
