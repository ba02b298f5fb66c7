#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"
#include "lake/lake_table.h"

namespace sluice::lake::paimon {

/// Where the parts of a table lie (Java's FileStorePathFactory).
class TablePaths {
 public:
  explicit TablePaths(std::string location) : location_(std::move(location)) {}
  const std::string& location() const { return location_; }

  std::string SchemaFolder() const { return io::JoinPath(location_, "schema"); }
  std::string SnapshotFolder() const { return io::JoinPath(location_, "snapshot"); }
  std::string ManifestFolder() const { return io::JoinPath(location_, "manifest"); }
  std::string ConsumerFolder() const { return io::JoinPath(location_, "consumer"); }
  /// Records of our writers; Paimon does not know the folder.
  std::string SessionFolder() const { return io::JoinPath(location_, ".sluice"); }
  std::string SessionRecord(std::string_view session) const {
    return io::JoinPath(SessionFolder(), session);
  }
  std::string Schema(int64_t id) const {
    return io::JoinPath(SchemaFolder(), "schema-" + std::to_string(id));
  }
  std::string Snapshot(int64_t id) const {
    return io::JoinPath(SnapshotFolder(), "snapshot-" + std::to_string(id));
  }
  std::string Latest() const { return io::JoinPath(SnapshotFolder(), "LATEST"); }
  std::string Earliest() const { return io::JoinPath(SnapshotFolder(), "EARLIEST"); }
  std::string Manifest(std::string_view name) const { return io::JoinPath(ManifestFolder(), name); }
  std::string Consumer(std::string_view id) const {
    return io::JoinPath(ConsumerFolder(), "consumer-" + std::string(id));
  }
  /// Folder of a bucket; `partition` is "" or "k=v/…/" as PartitionFolder gives it.
  std::string Bucket(std::string_view partition, int32_t bucket) const;

 private:
  std::string location_;
};

/// Folder part for a partition, "" or "k=v/k2=v2/", from its serialized row. Source:
/// PartitionPathUtils.
Result<std::string> PartitionFolder(const LakeSchema& schema, std::string_view partition_row);

/// A partition key or value as part of a folder name.
std::string EscapePathName(std::string_view text);

/// Ids behind `prefix` of the files in a folder, ascending; other names are left out. No folder =
/// none.
Result<std::vector<int64_t>> ListIds(io::FileSystem& files, const std::string& folder,
                                     std::string_view prefix);

/// Names in a folder; no folder = none.
Result<std::vector<std::string>> ListNames(io::FileSystem& files, const std::string& folder);

/// Make a folder of a table, below the table's own, which only the table's creation makes.
/// Errors: kStorage naming the table when its folder is gone.
Status MakeFoldersOf(io::FileSystem& files, const TablePaths& paths, const std::string& folder);

/// Make a folder durable together with the names of all folders from `top` down to it.
Status SyncFolders(io::FileSystem& files, const std::string& top, const std::string& folder);

}  // namespace sluice::lake::paimon
