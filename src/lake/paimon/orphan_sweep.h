#pragma once
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "io/clock.h"
#include "lake/paimon/manifest_store.h"

namespace sluice::lake::paimon {

/// Removes files of ours that nothing in the table names (who writes them: WriterSession).
///
/// A file goes when its name is ours, no snapshot, tag, branch or changelog names it, its writer
/// does not live, and either the writer's record says that it died or the file is older than a
/// bound. Files of other engines are never touched.
///
/// Order: records are locked first, so that no new snapshot of a dead writer can come; then all
/// that is named is read; then folders are listed. Anything that cannot be read ends the sweep with
/// nothing removed.
class OrphanSweep {
 public:
  OrphanSweep(io::FileSystem& files, io::Clock& clock, const TablePaths& paths,
              const ManifestStore& manifests)
      : files_(files), clock_(clock), paths_(paths), manifests_(manifests) {}
  /// Number of files removed, records of dead writers not counted.
  Result<int64_t> Run(const OrphanOptions& options);

 private:
  struct DeadWriter {
    std::string session;
    std::unique_ptr<io::FileSystem::Lock> lock;  // Held, so that two sweeps share no writer.
  };
  Status LookAtRecords();
  Status NoteFolder(const std::string& folder, std::string_view prefix);
  Status NoteAll();
  Status NoteSnapshot(const std::string& path);
  Status NoteList(const std::string& list);
  Status Collect(const std::string& folder, const OrphanOptions& options);
  bool IsOrphan(const io::FileSystem::Entry& entry, const OrphanOptions& options) const;

  io::FileSystem& files_;
  io::Clock& clock_;
  const TablePaths& paths_;
  const ManifestStore& manifests_;
  std::vector<DeadWriter> dead_;
  std::unordered_set<std::string> dead_sessions_, living_sessions_;
  std::unordered_set<std::string> named_;  // Names of files, without folders: they are unique.
  std::vector<std::string> orphans_;       // Whole paths.
};

}  // namespace sluice::lake::paimon
