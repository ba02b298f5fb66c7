#include "server/metadata_replies_internal.h"

#include <set>

namespace sluice::server {
namespace {

constexpr std::string_view kHistoricalPartition = "__historical__";

void FillServer(const Endpoint& endpoint, int32_t id, wire::PbServerNode* node) {
  node->set_node_id(id);
  node->set_host(endpoint.host);
  node->set_port(endpoint.port);
}

// Each server at the listener that the caller came by; a server without it is left out.
void FillServers(const ClusterAddresses& addresses, std::string_view listener, wire::MetadataResponse* response) {
  for (const ServerAddress& coordinator : addresses.coordinator) {
    const Endpoint* endpoint = coordinator.EndpointFor(listener);
    if (endpoint != nullptr) FillServer(*endpoint, 0, response->mutable_coordinator_server());
  }
  for (const ServerAddress& tablet : addresses.tablet_servers) {
    const Endpoint* endpoint = tablet.EndpointFor(listener);
    if (endpoint != nullptr) FillServer(*endpoint, tablet.id, response->add_tablet_servers());
  }
}

void FillBuckets(const std::vector<meta::BucketState>& buckets,
                 google::protobuf::RepeatedPtrField<wire::PbBucketMetadata>* out) {
  for (size_t i = 0; i < buckets.size(); ++i) {
    const meta::BucketState& bucket = buckets[i];
    auto* entry = out->Add();
    entry->set_bucket_id(static_cast<int32_t>(i));
    if (bucket.leader >= 0) entry->set_leader_id(bucket.leader);
    for (const int32_t replica : bucket.replicas) entry->add_replica_id(replica);
    entry->set_leader_epoch(bucket.leader_epoch);
  }
}

void FillTable(const meta::TableState& table, const std::map<std::string, std::string>& additions,
               wire::PbTableMetadata* out) {
  out->mutable_table_path()->set_database_name(table.info.path.database);
  out->mutable_table_path()->set_table_name(table.info.path.table);
  out->set_table_id(table.info.table_id);
  out->set_schema_id(table.info.schema_id);
  out->set_table_json(TableJson(table, additions));
  out->set_created_time(table.info.created_ms);
  out->set_modified_time(table.info.modified_ms);
  if (!table.info.remote_data_dir.empty()) out->set_remote_data_dir(table.info.remote_data_dir);
  FillBuckets(table.buckets, out->mutable_bucket_metadata());
}

void FillPartition(const meta::TableState& table, const meta::PartitionState& partition,
                   wire::PbPartitionMetadata* out) {
  out->set_table_id(table.info.table_id);
  out->set_partition_name(partition.info.Name());
  out->set_partition_id(partition.info.partition_id);
  out->set_bucket_count(static_cast<int32_t>(partition.buckets.size()));
  FillBuckets(partition.buckets, out->mutable_bucket_metadata());
}

Status NoPartition(const types::TablePath& path, std::string_view name) {
  return Error(ErrorCode::kPartitionNotExists, "partition does not exist table=", path, " partition=", name);
}

using PartialSpec = std::map<std::string, std::string>;

Result<PartialSpec> ParseSpec(const meta::TableState& table, const wire::PbPartitionSpec& spec) {
  PartialSpec values;
  const auto& keys = table.info.descriptor.partition_keys;
  for (const auto& pair : spec.partition_key_values()) {
    if (std::ranges::find(keys, pair.key()) == keys.end()) {
      return Error(ErrorCode::kPartitionSpecInvalid, "column is not a partition key table=", table.info.path,
                   " column=", pair.key());
    }
    values[pair.key()] = pair.value();
  }
  return values;
}

bool Matches(const PartialSpec& spec, const std::vector<std::string>& keys, const std::vector<std::string>& values) {
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto wanted = spec.find(keys[i]);
    if (wanted != spec.end() && wanted->second != values[i]) return false;
  }
  return true;
}

}  // namespace

types::TablePath PathOf(const wire::PbTablePath& path) { return {path.database_name(), path.table_name()}; }

std::string TableJson(const meta::TableState& table, const std::map<std::string, std::string>& additions) {
  if (additions.empty() || !table.lake_enabled()) return table.info.descriptor.ToJson();
  types::TableDescriptor descriptor = table.info.descriptor;
  for (const auto& [key, value] : additions) descriptor.properties.try_emplace(key, value);
  return descriptor.ToJson();
}

Result<wire::MetadataResponse> MetadataReply(const meta::CatalogState& state, const ClusterAddresses& addresses,
                                             std::string_view listener,
                                             const std::map<std::string, std::string>& additions,
                                             const wire::MetadataRequest& request) {
  wire::MetadataResponse response;
  FillServers(addresses, listener, &response);
  std::set<int64_t> asked_tables;
  for (const auto& asked : request.table_path()) {
    ASSIGN_OR_RAISE(const meta::TablePtr table, state.Table(PathOf(asked)));
    asked_tables.insert(table->info.table_id);
    FillTable(*table, additions, response.add_table_metadata());
  }
  for (const auto& asked : request.partitions_path()) {
    const types::TablePath path{asked.database_name(), asked.table_name()};
    const meta::TablePtr table = state.FindTable(path);
    const auto* partition = table == nullptr ? nullptr : table->FindPartition(asked.partition_name());
    if (partition == nullptr) return NoPartition(path, asked.partition_name());
    FillPartition(*table, *partition, response.add_partition_metadata());
  }
  for (const int64_t id : request.partitions_id()) {
    const meta::TablePtr table = state.FindTableOfPartition(id);
    const auto* partition = table == nullptr ? nullptr : table->FindPartition(id);
    if (partition == nullptr || !asked_tables.contains(table->info.table_id)) {
      return Error(ErrorCode::kPartitionNotExists, "partition does not exist partition_id=", id);
    }
    FillPartition(*table, *partition, response.add_partition_metadata());
  }
  return response;
}

Result<wire::ListPartitionInfosResponse> PartitionInfosReply(const meta::CatalogState& state,
                                                             const wire::ListPartitionInfosRequest& request) {
  ASSIGN_OR_RAISE(const meta::TablePtr table, state.Table(PathOf(request.table_path())));
  if (!table->partitioned()) {
    return Error(ErrorCode::kTableNotPartitioned, "table is not partitioned table=", table->info.path);
  }
  ASSIGN_OR_RAISE(const PartialSpec spec, ParseSpec(*table, request.partial_partition_spec()));
  const std::vector<std::string>& keys = table->info.descriptor.partition_keys;
  wire::ListPartitionInfosResponse response;
  for (const auto& [name, partition] : table->partitions) {
    if (name == kHistoricalPartition || !Matches(spec, keys, partition->info.values)) continue;
    auto* entry = response.add_partitions_info();
    entry->set_partition_id(partition->info.partition_id);
    for (size_t i = 0; i < keys.size(); ++i) {
      auto* pair = entry->mutable_partition_spec()->add_partition_key_values();
      pair->set_key(keys[i]);
      pair->set_value(partition->info.values[i]);
    }
    entry->mutable_partition_spec();
    if (!partition->remote_data_dir.empty()) entry->set_remote_data_dir(partition->remote_data_dir);
    entry->set_bucket_count(static_cast<int32_t>(partition->buckets.size()));
  }
  return response;
}

Result<wire::GetLakeSnapshotResponse> LakeSnapshotReply(const meta::CatalogState& state,
                                                        const wire::GetLakeSnapshotRequest& request) {
  ASSIGN_OR_RAISE(const meta::TablePtr table, state.Table(PathOf(request.table_path())));
  const bool readable = request.readable();
  if (readable && request.has_snapshot_id()) {
    return Status::Invalid("a lake snapshot is asked for by its id or as the readable one, not both");
  }
  const meta::LakeSnapshot* snapshot = readable                  ? table->ReadableLakeSnapshot()
                                       : request.has_snapshot_id() ? table->FindLakeSnapshot(request.snapshot_id())
                                                                   : table->LatestLakeSnapshot();
  if (snapshot == nullptr) {
    return Error(ErrorCode::kLakeSnapshotNotExist, "table has no such lake snapshot table=", table->info.path);
  }
  wire::GetLakeSnapshotResponse response;
  response.set_table_id(table->info.table_id);
  response.set_snapshotid(snapshot->snapshot_id);
  for (const auto& [bucket, offset] : readable ? *snapshot->readable : *snapshot->tiered) {
    auto* entry = response.add_bucket_snapshots();
    entry->set_bucket_id(bucket.bucket);
    entry->set_log_offset(offset);
    if (!bucket.partition_id.has_value()) continue;
    entry->set_partition_id(*bucket.partition_id);
    const meta::PartitionState* partition = table->FindPartition(*bucket.partition_id);
    if (partition != nullptr) entry->set_partition_name(partition->info.Name());
  }
  return response;
}

}  // namespace sluice::server
