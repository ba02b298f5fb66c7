#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "types/ids.h"
#include "types/schema.h"

namespace sluice::types {

/// One file of a KV snapshot.
struct KvSnapshotFile {
  std::string remote_path;  ///< Where clients fetch it: a whole URI.
  uint64_t size_bytes = 0;
  std::string local_name;  ///< What RocksDB calls it.
  bool operator==(const KvSnapshotFile&) const = default;
};

/// The keys of one bucket at one log offset, as RocksDB files that clients fetch and open.
///
/// Format: JSON `_METADATA`, version 1; `sluice_store_id` is ours and passed over by others.
/// Source: CompletedSnapshotJsonSerde of the Java server.
struct KvSnapshot {
  BucketId bucket;
  int64_t snapshot_id = 0;
  std::string location;                       ///< URI of its folder.
  std::vector<KvSnapshotFile> shared_files;   ///< May belong to several snapshots of the bucket.
  std::vector<KvSnapshotFile> private_files;  ///< Below `location`.
  uint64_t incremental_bytes = 0;             ///< Of the files that were new with it.
  int64_t log_offset = 0;                     ///< Holds exactly the log below.
  std::optional<int64_t> row_count;           ///< nullopt = not counted.
  std::string store_id;  ///< Of the store whose file names these are; empty = not known.

  std::string ToJson() const;
  /// Errors: kCorruptRecord.
  static Result<KvSnapshot> FromJson(std::string_view json);
};

// Where KV snapshots lie (Java's FlussPaths), as paths below the table's remote folder:
// {root}/kv/{db}/{table}-{id}[/{partition}-p{id}]/{bucket}/snap-{id}/ and …/{bucket}/shared/.
inline constexpr char kKvSnapshotMetadataFile[] = "_METADATA";
inline constexpr char kKvSharedFolder[] = "shared";

/// Of all buckets of a table, or of one of its partitions. `root`: its remote data folder.
std::string KvRemoteFolder(const std::string& root, const TablePath& path, int64_t table_id);
std::string KvRemoteFolder(const std::string& root, const TablePath& path, int64_t table_id,
                           const PartitionInfo& partition);
std::string KvBucketFolder(const std::string& parent, int32_t bucket);
std::string KvSnapshotFolder(const std::string& bucket_folder, int64_t snapshot_id);
/// Of the name of a snapshot's folder; nullopt for other names.
std::optional<int64_t> KvSnapshotIdOf(std::string_view folder_name);
/// Name in the shared folder for a file that snapshot `snapshot_id` brings, and back.
std::string KvSharedName(int64_t snapshot_id, std::string_view local_name);
std::optional<int64_t> KvSharedNameId(std::string_view shared_name);

/// A path with a scheme that clients know; one that has a scheme stays.
std::string RemoteUri(const std::string& path);
/// A path as our file system takes it: without "file:" and the slashes of an empty host.
std::string RemotePath(const std::string& uri);

}  // namespace sluice::types
