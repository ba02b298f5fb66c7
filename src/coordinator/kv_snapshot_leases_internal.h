#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "io/clock.h"
#include "meta/catalog.h"

namespace sluice::coordinator {

/// Who reads which KV snapshots, and until when: those are kept beyond their time.
///
/// A lease holds at most one snapshot of a bucket. Leases stand among the catalog's small values
/// and survive a restart (docs/formats/metadata.md). Threads: confined to the coordinator's loop.
class KvSnapshotLeases {
 public:
  static constexpr size_t kLeasesMax = 10'000;
  static constexpr size_t kSnapshotsMax = 100'000;         ///< Of one lease, and of one call.
  static constexpr size_t kSnapshotsInAllMax = 1'000'000;  ///< Of all leases.
  /// What one step of ending leases writes, since everything else waits for it.
  static constexpr size_t kLeasesAtOnce = 500;
  static constexpr size_t kSnapshotsAtOnce = 20'000;

  KvSnapshotLeases(meta::Catalog& catalog, io::Clock& clock) : catalog_(catalog), clock_(clock) {}

  using Snapshots = std::map<types::BucketId, int64_t>;
  using Buckets = std::set<types::BucketId>;

  /// Read what is stored. What cannot be read is dropped with a warning.
  Status Load();
  /// Take `snapshots` (each in place of the one of its bucket) and let the lease live `duration_ms`
  /// from now, ten years at most. Returns the buckets of snapshots that it held before. Errors:
  /// kUnknownServer for an id, a number of snapshots or a number of leases beyond bounds.
  Result<Buckets> Acquire(const std::string& lease_id, int64_t duration_ms, Snapshots snapshots);
  /// Buckets that the lease held. The lease ends with its last one; an unknown one is fine.
  Result<Buckets> Release(const std::string& lease_id, const Buckets& buckets);
  Result<Buckets> Drop(const std::string& lease_id);
  struct Ended {
    Buckets released;   ///< Buckets that they held.
    bool more = false;  ///< There are others to end.
  };
  /// End some leases whose time is over, and let some go of buckets that `now` does not know any
  /// more, in one write.
  Result<Ended> EndSome(const meta::CatalogState& now);

  bool Holds(const types::BucketId& bucket, int64_t snapshot_id) const;
  size_t size() const { return leases_.size(); }

 private:
  struct Lease {
    int64_t expires_ms = 0;
    Snapshots snapshots;
  };
  Status Store(const std::string& lease_id, Lease lease);
  Status StoreAll(std::map<std::string, Lease> changed);
  Buckets HeldOfDropped(const meta::CatalogState& now) const;
  void Put(const std::string& lease_id, Lease lease);
  Result<Buckets> End(const std::string& lease_id);
  void Count(const Snapshots& snapshots, int by);

  meta::Catalog& catalog_;
  io::Clock& clock_;
  std::map<std::string, Lease> leases_;
  std::map<std::pair<types::BucketId, int64_t>, int> held_;  // By how many leases.
  size_t snapshots_ = 0;                                     // Of all leases.
};

}  // namespace sluice::coordinator
