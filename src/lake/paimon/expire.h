#pragma once
#include "io/clock.h"
#include "lake/paimon/manifest_store.h"
#include "lake/paimon/snapshot_store.h"

namespace sluice::lake::paimon {

/// Drops old snapshots (Java's ExpireSnapshotsImpl). Data goes first, snapshot files last: what a
/// crash interrupts, the next call finishes.
class Expiration {
 public:
  Expiration(io::FileSystem& files, io::Clock& clock, const TablePaths& paths,
             SnapshotStore& snapshots, ManifestStore& manifests, WriterSession& session,
             const LakeSchema& schema)
      : files_(files),
        clock_(clock),
        paths_(paths),
        snapshots_(snapshots),
        manifests_(manifests),
        session_(session),
        schema_(schema) {}
  /// Number of snapshots dropped.
  Result<int64_t> Run(const ExpireOptions& options);

 private:
  Result<bool> OldestIsYoung(const ExpireOptions& options) const;
  int64_t RetainedMs(const ExpireOptions& options) const;
  Result<int64_t> EndOf(const std::vector<int64_t>& ids, const ExpireOptions& options) const;
  Status DropDataDeletedBy(const LakeSnapshot& snapshot);
  Status DropChangelog(const LakeSnapshot& snapshot);
  Status DropManifests(const std::vector<LakeSnapshot>& expired, const LakeSnapshot& kept);
  Status Drop(const ManifestEntry& entry);
  Status RemoveIfThere(const std::string& path);

  io::FileSystem& files_;
  io::Clock& clock_;
  const TablePaths& paths_;
  SnapshotStore& snapshots_;
  ManifestStore& manifests_;
  WriterSession& session_;
  const LakeSchema& schema_;
};

}  // namespace sluice::lake::paimon
