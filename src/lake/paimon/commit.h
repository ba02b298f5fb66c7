#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/clock.h"
#include "lake/paimon/manifest_store.h"
#include "lake/paimon/snapshot_store.h"

namespace sluice::lake::paimon {

/// What one commit changes.
struct CommitChange {
  std::string kind = "APPEND";  ///< or COMPACT, which keeps the properties of what it lies on.
  std::vector<ManifestEntry> delta;
  std::vector<ManifestEntry> changelog;
  CommitOptions options;
  /// What the new files were written with.
  std::shared_ptr<const LakeSchema> schema;
};

/// Makes changes visible as snapshots (Java's FileStoreCommitImpl).
///
/// Order of one commit, each step durable before the next: data files (the writers), manifests,
/// manifest lists, their folder, snapshot file under a temporary name, its rename, the snapshot
/// folder, the LATEST hint. A crash before the rename leaves files that nobody names; after it, a
/// whole snapshot.
class Committer {
 public:
  Committer(io::FileSystem& files, io::Clock& clock, const TablePaths& paths,
            SnapshotStore& snapshots, ManifestStore& manifests, SchemaStore& schemas,
            WriterSession& session)
      : files_(files),
        clock_(clock),
        paths_(paths),
        snapshots_(snapshots),
        manifests_(manifests),
        schemas_(schemas),
        session_(session) {}

  /// Id of the new snapshot; nullopt when a file to delete is gone or new files overlap with others
  /// of their level, which only changes with DELETE entries can meet. Errors: kSchemaNotExist when
  /// the change's schema is no longer there as the files have it.
  Result<std::optional<int64_t>> Commit(const CommitChange& change);

 private:
  Result<std::optional<int64_t>> CommitAttempts(const CommitChange& change, bool* all_gone);
  // Files written for the attempts of one commit.
  struct Written {
    std::vector<ManifestMeta> delta, changelog;
    ManifestStore::WrittenList delta_list, changelog_list;
  };
  Result<Written> WriteChange(const CommitChange& change);
  Result<std::vector<ManifestMeta>> BaseManifests(const std::optional<LakeSnapshot>& latest,
                                                  std::vector<std::string>* attempt_files);
  Result<LakeSnapshot> MakeSnapshot(const CommitChange& change,
                                    const std::optional<LakeSnapshot>& latest,
                                    const Written& written, const ManifestStore::WrittenList& base);
  Status CheckFence(const CommitOptions& options);
  Result<bool> Conflicts(const CommitChange& change, const std::optional<LakeSnapshot>& latest);

  io::FileSystem& files_;
  io::Clock& clock_;
  const TablePaths& paths_;
  SnapshotStore& snapshots_;
  ManifestStore& manifests_;
  SchemaStore& schemas_;
  WriterSession& session_;
};

/// Join the last manifests of a list, all of them small, when there are many: entries that cancel
/// out are dropped. Returns nullopt when nothing is to be done, else the position from which
/// manifests are replaced by `entries`.
struct ManifestMerge {
  size_t from;
  std::vector<ManifestEntry> entries;
};
Result<std::optional<ManifestMerge>> MergeManifests(const ManifestStore& store,
                                                    const std::vector<ManifestMeta>& manifests);

/// True when files of one bucket and level >= 1 in `live` overlap in their keys with one of
/// `added`.
Result<bool> OverlapsInLevel(const LakeSchema& schema, const LiveFiles& live,
                             const std::vector<ManifestEntry>& added);

}  // namespace sluice::lake::paimon
