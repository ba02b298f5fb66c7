#include "coordinator/tablet_messages.h"

#include "wire/frame.h"
#include "wire/proto/lake.pb.h"
#include "wire/proto/log.pb.h"
#include "wire/proto/metadata.pb.h"
#include "wire/proto/replication.pb.h"

namespace sluice::coordinator {

namespace {

constexpr int32_t kOffsetTypeLatest = 1;
constexpr int32_t kClient = -1;  // follower_server_id of whoever is no follower.

template <typename Message>
io::Call MakeCall(wire::ApiKey key, const Message& message) {
  return {.api_key = static_cast<int16_t>(key), .api_version = 0, .body = wire::Serialize(message)};
}

void SetBucketId(const types::BucketId& id, wire::PbTableBucket* out) {
  out->set_table_id(id.table_id);
  if (id.partition_id.has_value()) out->set_partition_id(*id.partition_id);
  out->set_bucket_id(id.bucket);
}

void AddPartition(int64_t table_id, const meta::PartitionState& partition,
                  wire::UpdateMetadataRequest* out) {
  wire::PbPartitionMetadata* metadata = out->add_partition_metadata();
  metadata->set_table_id(table_id);
  metadata->set_partition_name(partition.info.Name());
  metadata->set_partition_id(partition.info.partition_id);
  AddBuckets(partition.buckets, metadata->mutable_bucket_metadata());
}

void AddTable(const meta::TableState& table, wire::UpdateMetadataRequest* out) {
  wire::PbTableMetadata* metadata = out->add_table_metadata();
  metadata->mutable_table_path()->set_database_name(table.info.path.database);
  metadata->mutable_table_path()->set_table_name(table.info.path.table);
  metadata->set_table_id(table.info.table_id);
  metadata->set_schema_id(table.info.schema_id);
  metadata->set_table_json(table.info.descriptor.ToJson());
  metadata->set_created_time(table.info.created_ms);
  metadata->set_modified_time(table.info.modified_ms);
  if (!table.info.remote_data_dir.empty())
    metadata->set_remote_data_dir(table.info.remote_data_dir);
  AddBuckets(table.buckets, metadata->mutable_bucket_metadata());
}

}  // namespace

std::vector<PlacedBucket> BucketsOf(const meta::TableState& table,
                                    const meta::PartitionState* partition) {
  std::vector<PlacedBucket> buckets;
  const auto add = [&](const types::BucketId& id, const meta::PartitionState* of,
                       const meta::BucketState& state) {
    buckets.push_back({table.info.path, of == nullptr ? "" : of->info.Name(), id, state});
  };
  if (partition == nullptr) {
    table.ForEachBucket(add);
  } else {
    table.ForEachBucketOf(*partition, add);
  }
  return buckets;
}

io::Call UpdateMetadataCall(int32_t coordinator_epoch, const CoordinatorAddress& coordinator,
                            const std::vector<TabletServer>& servers,
                            const std::vector<meta::TablePtr>& tables,
                            const meta::PartitionState* partition) {
  wire::UpdateMetadataRequest request;
  wire::PbServerNode* node = request.mutable_coordinator_server();
  node->set_node_id(0);
  node->set_host(coordinator.host);
  node->set_port(coordinator.port);
  node->set_listeners(coordinator.listeners);
  for (const TabletServer& server : servers) {
    wire::PbServerNode* tablet = request.add_tablet_servers();
    tablet->set_node_id(server.id);
    tablet->set_host(server.host);
    tablet->set_port(server.port);
    tablet->set_listeners(server.listeners);
  }
  for (const meta::TablePtr& table : tables) {
    // A new partition changes nothing of what a server knows of its table.
    if (partition != nullptr) {
      AddPartition(table->info.table_id, *partition, &request);
      continue;
    }
    AddTable(*table, &request);
    for (const auto& [name, each] : table->partitions)
      AddPartition(table->info.table_id, *each, &request);
  }
  request.set_coordinator_epoch(coordinator_epoch);
  return MakeCall(wire::ApiKey::kUpdateMetadata, request);
}

io::Call NotifyLeaderCall(int32_t coordinator_epoch, std::span<const PlacedBucket> buckets) {
  wire::NotifyLeaderAndIsrRequest request;
  request.set_coordinator_epoch(coordinator_epoch);
  for (const PlacedBucket& bucket : buckets) {
    wire::PbNotifyLeaderAndIsrReqForBucket* entry = request.add_notify_buckets_leader_req();
    entry->mutable_physical_table_path()->set_database_name(bucket.path.database);
    entry->mutable_physical_table_path()->set_table_name(bucket.path.table);
    if (!bucket.partition_name.empty())
      entry->mutable_physical_table_path()->set_partition_name(bucket.partition_name);
    SetBucketId(bucket.id, entry->mutable_table_bucket());
    entry->set_leader(bucket.state.leader);
    entry->set_leader_epoch(bucket.state.leader_epoch);
    for (const int32_t replica : bucket.state.replicas) entry->add_replicas(replica);
    for (const int32_t replica : bucket.state.isr) entry->add_isr(replica);
    entry->set_bucket_epoch(bucket.state.bucket_epoch);
  }
  return MakeCall(wire::ApiKey::kNotifyLeaderAndIsr, request);
}

io::Call StopReplicaCall(int32_t coordinator_epoch, std::span<const StoppedBucket> buckets) {
  wire::StopReplicaRequest request;
  request.set_coordinator_epoch(coordinator_epoch);
  for (const StoppedBucket& bucket : buckets) {
    wire::PbStopReplicaReqForBucket* entry = request.add_stop_replicas_req();
    SetBucketId(bucket.id, entry->mutable_table_bucket());
    entry->set_leader_epoch(bucket.leader_epoch);
    entry->set_delete_(true);
    entry->set_deleteremote(true);
  }
  return MakeCall(wire::ApiKey::kStopReplica, request);
}

io::Call NotifyLakeOffsetCall(int32_t coordinator_epoch, int64_t table_id,
                              const meta::LakeSnapshot& snapshot,
                              const std::map<meta::PartitionBucket, int64_t>& max_timestamps) {
  wire::NotifyLakeTableOffsetRequest request;
  request.set_coordinator_epoch(coordinator_epoch);
  for (const auto& [bucket, offset] : *snapshot.tiered) {
    wire::PbNotifyLakeTableOffsetReqForBucket* entry = request.add_notify_buckets_req();
    entry->set_table_id(table_id);
    if (bucket.partition_id.has_value()) entry->set_partition_id(*bucket.partition_id);
    entry->set_bucket_id(bucket.bucket);
    entry->set_snapshot_id(snapshot.snapshot_id);
    entry->set_log_end_offset(offset);
    const auto timestamp = max_timestamps.find(bucket);
    if (timestamp != max_timestamps.end()) entry->set_max_timestamp(timestamp->second);
  }
  return MakeCall(wire::ApiKey::kNotifyLakeTableOffset, request);
}

io::Call LatestOffsetsCall(int64_t table_id, std::optional<int64_t> partition_id,
                           size_t bucket_count) {
  wire::ListOffsetsRequest request;
  request.set_follower_server_id(kClient);
  request.set_offset_type(kOffsetTypeLatest);
  request.set_table_id(table_id);
  if (partition_id.has_value()) request.set_partition_id(*partition_id);
  for (size_t i = 0; i < bucket_count; ++i) request.add_bucket_id(static_cast<int32_t>(i));
  return MakeCall(wire::ApiKey::kListOffsets, request);
}

Status CheckNotifyLeaderReply(std::string_view body) {
  ASSIGN_OR_RAISE(const auto reply, wire::ParseMessage<wire::NotifyLeaderAndIsrResponse>(body));
  for (const auto& entry : reply.notify_buckets_leader_resp()) RETURN_NOT_OK(wire::ErrorOf(entry));
  return Status::OK();
}

Status CheckStopReplicaReply(std::string_view body) {
  ASSIGN_OR_RAISE(const auto reply, wire::ParseMessage<wire::StopReplicaResponse>(body));
  for (const auto& entry : reply.stop_replicas_resp()) RETURN_NOT_OK(wire::ErrorOf(entry));
  return Status::OK();
}

Result<std::map<int32_t, int64_t>> ReadLatestOffsets(std::string_view body) {
  ASSIGN_OR_RAISE(const auto reply, wire::ParseMessage<wire::ListOffsetsResponse>(body));
  std::map<int32_t, int64_t> offsets;
  for (const auto& entry : reply.buckets_resp()) {
    RETURN_NOT_OK(wire::ErrorOf(entry));
    offsets[entry.bucket_id()] = entry.offset();
  }
  return offsets;
}

}  // namespace sluice::coordinator
