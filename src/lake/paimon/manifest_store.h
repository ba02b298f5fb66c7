#pragma once
#include <memory>
#include <string>
#include <vector>

#include "io/file.h"
#include "io/random.h"
#include "lake/paimon/manifest.h"
#include "lake/paimon/paths.h"
#include "lake/paimon/schema_store.h"
#include "lake/paimon/writer_session.h"

namespace sluice::lake::paimon {

/// Files of a snapshot, in the order of their manifests.
using LiveFiles = std::vector<ManifestEntry>;

/// The manifests and manifest lists of one table.
///
/// Threads: any.
class ManifestStore {
 public:
  ManifestStore(io::FileSystem& files, io::Random& random, const TablePaths& paths,
                SchemaStore& schemas, WriterSession& session)
      : files_(files), random_(random), paths_(paths), schemas_(schemas), session_(session) {}

  Result<std::vector<ManifestEntry>> Read(const std::string& manifest) const;
  Result<std::vector<ManifestMeta>> ReadList(const std::string& list) const;
  /// Entries of all manifests in a list, in order.
  Result<std::vector<ManifestEntry>> ReadEntries(const std::string& list) const;

  /// Write entries as one synced manifest; the folder is synced with SyncFolder.
  Result<ManifestMeta> Write(const std::vector<ManifestEntry>& entries);
  struct WrittenList {
    std::string name;
    int64_t size_bytes;
  };
  Result<WrittenList> WriteList(const std::vector<ManifestMeta>& manifests);
  Status MakeFolder() { return MakeFoldersOf(files_, paths_, paths_.ManifestFolder()); }
  Status SyncFolder() { return SyncFolders(files_, paths_.location(), paths_.ManifestFolder()); }
  /// False when it stays.
  bool Remove(const std::string& name);

  /// All files that the snapshot's state holds: base list, then delta list.
  Result<LiveFiles> ReadLive(const LakeSnapshot& snapshot) const;

 private:
  std::string NewName(std::string_view prefix) { return std::string(prefix) + session_.NewName(); }
  std::string SyncMarker();
  Result<SimpleStats> PartitionStats(const std::vector<ManifestEntry>& entries);

  io::FileSystem& files_;
  io::Random& random_;
  const TablePaths& paths_;
  SchemaStore& schemas_;
  WriterSession& session_;
};

/// Apply entries in order: ADD puts a file, DELETE takes one away. DELETEs of files that are not
/// there are returned.
[[nodiscard]] std::vector<ManifestEntry> ApplyEntries(LiveFiles* live,
                                                      const std::vector<ManifestEntry>& entries);

/// The types of columns by name.
std::vector<types::DataTypePtr> TypesOf(const LakeSchema& schema,
                                        const std::vector<std::string>& names);

}  // namespace sluice::lake::paimon
