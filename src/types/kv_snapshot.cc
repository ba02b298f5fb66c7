#include "types/kv_snapshot.h"

#include <charconv>

#include "types/data_type_internal.h"

namespace sluice::types {
namespace {

constexpr char kSnapshotPrefix[] = "snap-";
constexpr std::string_view kFileScheme = "file:";

Status BrokenSnapshot(const char* key) {
  return Corrupt("metadata of a kv snapshot is broken member=", key);
}

// Of a whole number that is not negative.
Result<int64_t> SnapshotNumber(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return BrokenSnapshot(key);
  const auto value = found->get<int64_t>();
  return value < 0 ? Result<int64_t>(BrokenSnapshot(key)) : value;
}

Result<std::string> SnapshotText(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return BrokenSnapshot(key);
  return *found->get_ptr<const std::string*>();
}

Result<const Json*> SnapshotObject(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_object()) return BrokenSnapshot(key);
  return &*found;
}

Json SnapshotFilesToJson(const std::vector<KvSnapshotFile>& files) {
  Json list = Json::array();
  for (const KvSnapshotFile& file : files) {
    Json handle = {{"path", file.remote_path}, {"size", file.size_bytes}};
    list.push_back(Json{{"kv_file_handle", std::move(handle)}, {"local_path", file.local_name}});
  }
  return list;
}

Result<std::vector<KvSnapshotFile>> ReadSnapshotFiles(const Json& object, const char* key) {
  const auto list = object.find(key);
  if (list == object.end() || !list->is_array()) return BrokenSnapshot(key);
  std::vector<KvSnapshotFile> files;
  for (const Json& entry : *list) {
    if (!entry.is_object()) return BrokenSnapshot(key);
    KvSnapshotFile file;
    ASSIGN_OR_RAISE(const Json* handle, SnapshotObject(entry, "kv_file_handle"));
    ASSIGN_OR_RAISE(file.remote_path, SnapshotText(*handle, "path"));
    ASSIGN_OR_RAISE(const int64_t size, SnapshotNumber(*handle, "size"));
    file.size_bytes = static_cast<uint64_t>(size);
    ASSIGN_OR_RAISE(file.local_name, SnapshotText(entry, "local_path"));
    files.push_back(std::move(file));
  }
  return files;
}

// A number in front of `rest`, without signs and blanks.
std::optional<int64_t> LeadingNumber(std::string_view text, std::string_view* rest) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0 || text.starts_with('-')) return std::nullopt;
  *rest = text.substr(static_cast<size_t>(end - text.data()));
  return value;
}

}  // namespace

std::string KvSnapshot::ToJson() const {
  Json json = {{"version", 1}, {"table_id", bucket.table_id}};
  if (bucket.partition_id) json["partition_id"] = *bucket.partition_id;
  json["bucket_id"] = bucket.bucket;
  json["snapshot_id"] = snapshot_id;
  json["snapshot_location"] = location;
  json["kv_snapshot_handle"] = Json{{"shared_file_handles", SnapshotFilesToJson(shared_files)},
                                    {"private_file_handles", SnapshotFilesToJson(private_files)},
                                    {"snapshot_incremental_size", incremental_bytes}};
  json["log_offset"] = log_offset;
  if (row_count) json["row_count"] = *row_count;
  if (!store_id.empty()) json["sluice_store_id"] = store_id;
  return Dump(json);
}

Result<KvSnapshot> KvSnapshot::FromJson(std::string_view text) {
  ASSIGN_OR_RAISE(const Json json, ParseObject(text, ErrorCode::kCorruptRecord, "kv snapshot"));
  KvSnapshot snapshot;
  ASSIGN_OR_RAISE(snapshot.bucket.table_id, SnapshotNumber(json, "table_id"));
  if (json.contains("partition_id")) {
    ASSIGN_OR_RAISE(snapshot.bucket.partition_id, SnapshotNumber(json, "partition_id"));
  }
  ASSIGN_OR_RAISE(const int64_t bucket, SnapshotNumber(json, "bucket_id"));
  snapshot.bucket.bucket = static_cast<int32_t>(bucket);
  ASSIGN_OR_RAISE(snapshot.snapshot_id, SnapshotNumber(json, "snapshot_id"));
  ASSIGN_OR_RAISE(snapshot.location, SnapshotText(json, "snapshot_location"));
  ASSIGN_OR_RAISE(const Json* handle, SnapshotObject(json, "kv_snapshot_handle"));
  ASSIGN_OR_RAISE(snapshot.shared_files, ReadSnapshotFiles(*handle, "shared_file_handles"));
  ASSIGN_OR_RAISE(snapshot.private_files, ReadSnapshotFiles(*handle, "private_file_handles"));
  ASSIGN_OR_RAISE(const int64_t bytes, SnapshotNumber(*handle, "snapshot_incremental_size"));
  snapshot.incremental_bytes = static_cast<uint64_t>(bytes);
  ASSIGN_OR_RAISE(snapshot.log_offset, SnapshotNumber(json, "log_offset"));
  if (json.contains("row_count")) {
    ASSIGN_OR_RAISE(snapshot.row_count, SnapshotNumber(json, "row_count"));
  }
  if (json.contains("sluice_store_id")) {
    ASSIGN_OR_RAISE(snapshot.store_id, SnapshotText(json, "sluice_store_id"));
  }
  return snapshot;
}

std::string KvRemoteFolder(const std::string& root, const TablePath& path, int64_t table_id) {
  const std::string top = root.substr(0, root.find_last_not_of('/') + 1);
  return top + "/kv/" + path.database + "/" + path.table + "-" + std::to_string(table_id);
}

std::string KvRemoteFolder(const std::string& root, const TablePath& path, int64_t table_id,
                           const PartitionInfo& partition) {
  return KvRemoteFolder(root, path, table_id) + "/" + partition.Name() + "-p" +
         std::to_string(partition.partition_id);
}

std::string KvBucketFolder(const std::string& parent, int32_t bucket) {
  return parent + "/" + std::to_string(bucket);
}

std::string KvSnapshotFolder(const std::string& bucket_folder, int64_t snapshot_id) {
  return bucket_folder + "/" + kSnapshotPrefix + std::to_string(snapshot_id);
}

std::optional<int64_t> KvSnapshotIdOf(std::string_view folder_name) {
  constexpr std::string_view kPrefix = kSnapshotPrefix;
  if (!folder_name.starts_with(kPrefix)) return std::nullopt;
  std::string_view rest;
  const auto id = LeadingNumber(folder_name.substr(kPrefix.size()), &rest);
  return rest.empty() ? id : std::nullopt;
}

std::string KvSharedName(int64_t snapshot_id, std::string_view local_name) {
  return std::to_string(snapshot_id) + "-" + std::string(local_name);
}

std::optional<int64_t> KvSharedNameId(std::string_view shared_name) {
  std::string_view rest;
  const auto id = LeadingNumber(shared_name, &rest);
  return rest.starts_with('-') ? id : std::nullopt;
}

std::string RemoteUri(const std::string& path) {
  const size_t colon = path.find(':');
  const bool has_scheme = colon != std::string::npos && path.find('/') == colon + 1;
  return has_scheme ? path : std::string(kFileScheme) + path;
}

std::string RemotePath(const std::string& uri) {
  if (!uri.starts_with(kFileScheme)) return uri;
  std::string_view rest = std::string_view(uri).substr(kFileScheme.size());
  if (rest.starts_with("//")) rest.remove_prefix(2);
  return std::string(rest);
}

}  // namespace sluice::types
