#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "coordinator/kv_snapshot_leases_internal.h"
#include "coordinator/settings.h"
#include "io/file.h"
#include "io/loop.h"
#include "io/pool.h"
#include "io/remote_folder.h"
#include "meta/catalog.h"
#include "shard/gate.h"
#include "types/kv_snapshot.h"
#include "wire/proto/replication.pb.h"
#include "wire/proto/snapshot.pb.h"

namespace sluice::coordinator {

/// Records the KV snapshots that tablet servers made, and removes those whose time is over: all but
/// the newest `kv.snapshot.num-retained` of a bucket, and those that a lease holds.
///
/// What is recorded is whole: files and metadata were durable before. What is no longer recorded is
/// removed after that; so a stop leaves at most files that nothing names, and whatever of a
/// bucket's folder is named by no recorded snapshot goes when the next one is recorded.
/// Threads: confined to the coordinator's loop; files on the pool.
class KvSnapshots : public std::enable_shared_from_this<KvSnapshots> {
 public:
  struct Options {
    meta::Catalog* catalog = nullptr;
    io::Loop* loop = nullptr;
    io::Pool* pool = nullptr;
    io::FileSystem* files = nullptr;
    io::Clock* clock = nullptr;
    const ClusterSettings* settings = nullptr;
    io::RemoteFolder remote_folder;
  };
  explicit KvSnapshots(Options options);

  /// Read the leases; begin to look for those that are over.
  Status Start();
  io::Task<void> Stop();

  /// COMMIT_KV_SNAPSHOT. Errors: kInvalidCoordinator, kFencedLeaderEpoch, kUnknownTableOrBucket,
  /// kInvalidUpdateVersion; kStorage when it does not lie where it should.
  static io::Task<Status> Commit(std::shared_ptr<KvSnapshots> self,
                                 wire::CommitKvSnapshotRequest request);
  /// Leases. Snapshots that are not recorded come back as unavailable.
  static io::Task<Result<wire::AcquireKvSnapshotLeaseResponse>> Acquire(
      std::shared_ptr<KvSnapshots> self, wire::AcquireKvSnapshotLeaseRequest request);
  static io::Task<Status> Release(std::shared_ptr<KvSnapshots> self,
                                  wire::ReleaseKvSnapshotLeaseRequest request);
  static io::Task<Status> Drop(std::shared_ptr<KvSnapshots> self, std::string lease_id);
  /// Errors: kTableNotExist, kPartitionNotExists.
  Result<wire::ListKvSnapshotsResponse> List(const wire::ListKvSnapshotsRequest& request) const;

 private:
  meta::CatalogStatePtr state() const { return options_.catalog->state(); }
  Status CheckCommit(const wire::CommitKvSnapshotRequest& request,
                     const types::KvSnapshot& snapshot) const;
  /// Of a bucket's snapshots, with `added` behind them: the ids whose time is over.
  std::set<int64_t> Over(const types::BucketId& bucket, std::optional<int64_t> added) const;
  static io::Task<void> RetireAll(std::shared_ptr<KvSnapshots> self,
                                  KvSnapshotLeases::Buckets buckets);
  static io::Task<void> RemoveUnnamed(std::shared_ptr<KvSnapshots> self, types::BucketId bucket);
  void Arm();
  static io::Task<void> Sweep(std::shared_ptr<KvSnapshots> self);

  const Options options_;
  KvSnapshotLeases leases_;
  std::optional<io::Loop::TimerId> timer_;
  bool stopped_ = true;
  shard::Gate sweeps_;                  // Held by each, so that Stop can wait for it.
  std::set<types::BucketId> removing_;  // Of these the pool removes files.
};

/// Folders of the snapshots of a table with all its partitions, or of `partition` alone, as paths.
std::vector<std::string> KvSnapshotFolders(const meta::TableState& table,
                                           const meta::PartitionState* partition);
/// Folder of a bucket's snapshots, as a path. Errors: kUnknownTableOrBucket; kStorage when the
/// table has no remote folder.
Result<std::string> KvFolderOf(const meta::CatalogState& state, const types::BucketId& bucket);

}  // namespace sluice::coordinator
