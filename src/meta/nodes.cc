#include <charconv>

#include "meta/json_internal.h"
#include "meta/lake_offsets.h"
#include "meta/nodes_internal.h"

namespace sluice::meta::nodes {

std::string Database(const std::string& database) {
  return std::string(kDatabases) + "/" + database;
}
std::string Tables(const std::string& database) { return Database(database) + "/tables"; }
std::string Table(const types::TablePath& path) { return Tables(path.database) + "/" + path.table; }
std::string Schemas(const types::TablePath& path) { return Table(path) + "/schemas"; }
std::string Schema(const types::TablePath& path, int32_t id) {
  return Schemas(path) + "/" + std::to_string(id);
}
std::string Partitions(const types::TablePath& path) { return Table(path) + "/partitions"; }
std::string Partition(const types::TablePath& path, const std::string& name) {
  return Partitions(path) + "/" + name;
}
std::string ColumnCounter(const types::TablePath& path, int32_t column_id) {
  return Table(path) + "/auto_inc/col_" + std::to_string(column_id);
}
std::string TableAssignment(int64_t id) { return "/tabletservers/tables/" + std::to_string(id); }
std::string PartitionAssignment(int64_t id) {
  return "/tabletservers/partitions/" + std::to_string(id);
}
std::string Leader(const std::string& assignment, size_t bucket) {
  return assignment + "/buckets/" + std::to_string(bucket) + "/leader_isr";
}
std::string KvSnapshots(const std::string& assignment, int32_t bucket) {
  return assignment + "/buckets/" + std::to_string(bucket) + "/snapshots";
}
std::string KvSnapshot(const std::string& assignment, int32_t bucket, int64_t snapshot_id) {
  return KvSnapshots(assignment, bucket) + "/" + std::to_string(snapshot_id);
}
std::string RemoteLog(const std::string& assignment, size_t bucket) {
  return assignment + "/buckets/" + std::to_string(bucket) + "/remote_logs";
}
std::string LakeTable(int64_t table_id) { return TableAssignment(table_id) + "/laketable"; }
std::string LakeOffsets(int64_t table_id) {
  return "/sluice/lake_offsets/" + std::to_string(table_id);
}
std::string LakeOffsets(int64_t table_id, int64_t snapshot_id) {
  return LakeOffsets(table_id) + "/" + std::to_string(snapshot_id);
}
std::string Intent(int64_t id) { return std::string(kIntents) + "/" + std::to_string(id); }
std::string Views(const std::string& database) { return std::string(kViews) + "/" + database; }
std::string View(const types::TablePath& path) { return Views(path.database) + "/" + path.table; }
std::string Value(const std::string& area, const std::string& key) {
  return std::string(kValues) + "/" + area + "/" + key;
}

std::string WriteDatabase(const DatabaseState& database) {
  Json json = {{"version", 1},
               {"custom_properties", database.descriptor.custom_properties},
               {"created_time", database.created_ms},
               {"modified_time", database.modified_ms}};
  if (!database.descriptor.comment.empty()) json["comment"] = database.descriptor.comment;
  return Dump(json);
}

Status ReadDatabase(std::string_view text, DatabaseState* out) {
  ASSIGN_OR_RAISE(const auto json, JsonDocument::Parse(text, "database " + out->name));
  ASSIGN_OR_RAISE(out->descriptor.comment, json.StringOr("comment", ""));
  ASSIGN_OR_RAISE(out->descriptor.custom_properties, json.StringMap("custom_properties"));
  ASSIGN_OR_RAISE(out->created_ms, json.Int("created_time"));
  ASSIGN_OR_RAISE(out->modified_ms, json.Int("modified_time"));
  return Status::OK();
}

std::string WriteTable(const types::TableInfo& info) {
  const types::TableDescriptor& descriptor = info.descriptor;
  Json json = {{"version", 1},
               {"table_id", info.table_id},
               {"bucket_count", descriptor.bucket_count.value_or(1)},
               {"properties", descriptor.properties},
               {"custom_properties", descriptor.custom_properties},
               {"created_time", info.created_ms},
               {"modified_time", info.modified_ms}};
  if (!descriptor.comment.empty()) json["comment"] = descriptor.comment;
  if (!descriptor.partition_keys.empty()) json["partition_key"] = descriptor.partition_keys;
  if (!descriptor.bucket_keys.empty()) json["bucket_key"] = descriptor.bucket_keys;
  if (!info.remote_data_dir.empty()) json["remote_data_dir"] = info.remote_data_dir;
  return Dump(json);
}

Status ReadTable(std::string_view text, types::TableInfo* out) {
  ASSIGN_OR_RAISE(const auto json, JsonDocument::Parse(text, "table " + out->path.ToString()));
  types::TableDescriptor& descriptor = out->descriptor;
  ASSIGN_OR_RAISE(out->table_id, json.Int("table_id"));
  ASSIGN_OR_RAISE(const int64_t bucket_count, json.Int("bucket_count"));
  descriptor.bucket_count = static_cast<int32_t>(bucket_count);
  ASSIGN_OR_RAISE(descriptor.properties, json.StringMap("properties"));
  ASSIGN_OR_RAISE(descriptor.custom_properties, json.StringMap("custom_properties"));
  ASSIGN_OR_RAISE(out->created_ms, json.Int("created_time"));
  ASSIGN_OR_RAISE(out->modified_ms, json.Int("modified_time"));
  ASSIGN_OR_RAISE(descriptor.comment, json.StringOr("comment", ""));
  ASSIGN_OR_RAISE(descriptor.partition_keys, json.Strings("partition_key"));
  ASSIGN_OR_RAISE(descriptor.bucket_keys, json.Strings("bucket_key"));
  ASSIGN_OR_RAISE(out->remote_data_dir, json.StringOr("remote_data_dir", ""));
  return Status::OK();
}

std::string WritePartition(int64_t table_id, const PartitionState& partition) {
  // The Java node has no values: it splits the name, which we keep beside them.
  Json json = {{"version", 1},
               {"table_id", table_id},
               {"partition_id", partition.info.partition_id},
               {"values", partition.info.values}};
  if (!partition.remote_data_dir.empty()) json["remote_data_dir"] = partition.remote_data_dir;
  return Dump(json);
}

Status ReadPartition(std::string_view text, PartitionState* out) {
  ASSIGN_OR_RAISE(const auto json, JsonDocument::Parse(text, "partition"));
  ASSIGN_OR_RAISE(out->info.partition_id, json.Int("partition_id"));
  ASSIGN_OR_RAISE(out->info.values, json.Strings("values"));
  ASSIGN_OR_RAISE(out->remote_data_dir, json.StringOr("remote_data_dir", ""));
  return Status::OK();
}

std::string WriteAssignment(const std::vector<BucketState>& buckets,
                            std::optional<int64_t> table_id) {
  Json by_bucket = Json::object();
  for (size_t i = 0; i < buckets.size(); ++i) by_bucket[std::to_string(i)] = buckets[i].replicas;
  Json json = {{"version", 1}, {"buckets", std::move(by_bucket)}};
  if (table_id.has_value()) json["table_id"] = *table_id;
  return Dump(json);
}

Result<std::map<int32_t, std::vector<int32_t>>> ReadAssignment(std::string_view text) {
  ASSIGN_OR_RAISE(const auto json, JsonDocument::Parse(text, "assignment"));
  std::map<int32_t, std::vector<int32_t>> replicas;
  if (!json.Has("buckets") || !json.value()["buckets"].is_object()) return json.Broken("buckets");
  const JsonDocument buckets(json.value()["buckets"], "assignment");
  for (const auto& [key, servers] : buckets.value().items()) {
    ASSIGN_OR_RAISE(const int64_t bucket, ReadCounter(key));
    ASSIGN_OR_RAISE(replicas[static_cast<int32_t>(bucket)], buckets.Ints(key.c_str()));
  }
  return replicas;
}

std::string WriteLeader(const BucketState& bucket) {
  return Dump({{"version", 2},
               {"leader", bucket.leader},
               {"leader_epoch", bucket.leader_epoch},
               {"isr", bucket.isr},
               {"coordinator_epoch", bucket.coordinator_epoch},
               {"bucket_epoch", bucket.bucket_epoch},
               {"standby_replicas", Json::array()}});
}

Status ReadLeader(std::string_view text, BucketState* out) {
  ASSIGN_OR_RAISE(const auto json, JsonDocument::Parse(text, "leader_isr"));
  ASSIGN_OR_RAISE(const int64_t leader, json.Int("leader"));
  ASSIGN_OR_RAISE(const int64_t leader_epoch, json.Int("leader_epoch"));
  ASSIGN_OR_RAISE(out->isr, json.Ints("isr"));
  ASSIGN_OR_RAISE(const int64_t coordinator_epoch, json.Int("coordinator_epoch"));
  ASSIGN_OR_RAISE(const int64_t bucket_epoch, json.Int("bucket_epoch"));
  out->leader = static_cast<int32_t>(leader);
  out->leader_epoch = static_cast<int32_t>(leader_epoch);
  out->coordinator_epoch = static_cast<int32_t>(coordinator_epoch);
  out->bucket_epoch = static_cast<int32_t>(bucket_epoch);
  return Status::OK();
}

std::string WriteKvSnapshot(const KvSnapshotEntry& snapshot) {
  return Dump({{"version", 1},
               {"snapshot_id", snapshot.snapshot_id},
               {"log_offset", snapshot.log_offset},
               {"metadata_path", snapshot.metadata_path}});
}

Result<KvSnapshotEntry> ReadKvSnapshot(std::string_view text) {
  ASSIGN_OR_RAISE(const auto json, JsonDocument::Parse(text, "kv snapshot"));
  KvSnapshotEntry snapshot;
  ASSIGN_OR_RAISE(snapshot.snapshot_id, json.Int("snapshot_id"));
  ASSIGN_OR_RAISE(snapshot.log_offset, json.Int("log_offset"));
  ASSIGN_OR_RAISE(snapshot.metadata_path, json.String("metadata_path"));
  return snapshot;
}

std::string WriteRemoteLog(const RemoteLogState& remote) {
  // The Java node has the path and the end alone.
  return Dump({{"version", 1},
               {"remote_log_manifest_path", remote.manifest_path},
               {"remote_log_start_offset", remote.start_offset},
               {"remote_log_end_offset", remote.end_offset},
               {"highest_copied_end_offset", remote.copied_end_offset}});
}

Result<RemoteLogState> ReadRemoteLog(std::string_view text) {
  ASSIGN_OR_RAISE(const auto json, JsonDocument::Parse(text, "remote_logs"));
  RemoteLogState remote;
  ASSIGN_OR_RAISE(remote.manifest_path, json.StringOr("remote_log_manifest_path", ""));
  ASSIGN_OR_RAISE(remote.start_offset, json.Int("remote_log_start_offset"));
  ASSIGN_OR_RAISE(remote.end_offset, json.Int("remote_log_end_offset"));
  ASSIGN_OR_RAISE(remote.copied_end_offset, json.Int("highest_copied_end_offset"));
  return remote;
}

std::string WriteLakeTable(const std::vector<LakeSnapshot>& snapshots) {
  Json list = Json::array();
  for (const LakeSnapshot& snapshot : snapshots) {
    Json one = {{"snapshot_id", snapshot.snapshot_id},
                {"tiered_offsets", snapshot.tiered_offsets_path}};
    if (!snapshot.readable_offsets_path.empty())
      one["readable_offsets"] = snapshot.readable_offsets_path;
    list.push_back(std::move(one));
  }
  return Dump({{"version", 2}, {"lake_snapshots", std::move(list)}});
}

Result<std::vector<LakeSnapshot>> ReadLakeTable(std::string_view text) {
  ASSIGN_OR_RAISE(const auto json, JsonDocument::Parse(text, "laketable"));
  ASSIGN_OR_RAISE(const auto list, json.Objects("lake_snapshots"));
  std::vector<LakeSnapshot> snapshots;
  for (const JsonDocument& one : list) {
    LakeSnapshot snapshot;
    ASSIGN_OR_RAISE(snapshot.snapshot_id, one.Int("snapshot_id"));
    ASSIGN_OR_RAISE(snapshot.tiered_offsets_path, one.StringOr("tiered_offsets", ""));
    ASSIGN_OR_RAISE(snapshot.readable_offsets_path, one.StringOr("readable_offsets", ""));
    snapshots.push_back(std::move(snapshot));
  }
  return snapshots;
}

std::string WriteLakeOffsets(int64_t table_id, const LakeSnapshot& snapshot) {
  Json json = {{"version", 1}, {"tiered", LakeOffsetsToJson(table_id, *snapshot.tiered)}};
  if (snapshot.readable != nullptr)
    json["readable"] = LakeOffsetsToJson(table_id, *snapshot.readable);
  return Dump(json);
}

Status ReadLakeOffsets(std::string_view text, LakeSnapshot* out) {
  ASSIGN_OR_RAISE(const auto json, JsonDocument::Parse(text, "lake offsets node"));
  ASSIGN_OR_RAISE(const std::string tiered_text, json.String("tiered"));
  ASSIGN_OR_RAISE(LakeOffsetsDocument tiered, LakeOffsetsFromJson(tiered_text));
  out->tiered = std::make_shared<const BucketOffsets>(std::move(tiered.offsets));
  if (!json.Has("readable")) return Status::OK();
  ASSIGN_OR_RAISE(const std::string readable_text, json.String("readable"));
  ASSIGN_OR_RAISE(LakeOffsetsDocument readable, LakeOffsetsFromJson(readable_text));
  out->readable = std::make_shared<const BucketOffsets>(std::move(readable.offsets));
  return Status::OK();
}

std::string WriteIntent(const DdlIntent& intent) {
  return Dump({{"version", 1},
               {"id", intent.id},
               {"kind", intent.kind},
               {"database", intent.path.database},
               {"table", intent.path.table},
               {"payload", intent.payload}});
}

Result<DdlIntent> ReadIntent(std::string_view text) {
  ASSIGN_OR_RAISE(const auto json, JsonDocument::Parse(text, "intent"));
  DdlIntent intent;
  ASSIGN_OR_RAISE(intent.id, json.Int("id"));
  ASSIGN_OR_RAISE(intent.kind, json.String("kind"));
  ASSIGN_OR_RAISE(intent.path.database, json.String("database"));
  ASSIGN_OR_RAISE(intent.path.table, json.String("table"));
  ASSIGN_OR_RAISE(intent.payload, json.String("payload"));
  return intent;
}

std::string WriteView(const ViewInfo& view) {
  return Dump({{"version", 1}, {"definition", view.definition}, {"created_time", view.created_ms}});
}

Status ReadView(std::string_view text, ViewInfo* out) {
  ASSIGN_OR_RAISE(const auto json, JsonDocument::Parse(text, "view " + out->path.ToString()));
  ASSIGN_OR_RAISE(out->definition, json.String("definition"));
  ASSIGN_OR_RAISE(out->created_ms, json.Int("created_time"));
  return Status::OK();
}

Result<int64_t> ReadCounter(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    return Corrupt("metadata counter is not a number text=", text);
  }
  return value;
}

}  // namespace sluice::meta::nodes
