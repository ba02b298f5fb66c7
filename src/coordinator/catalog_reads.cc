#include "coordinator/catalog_reads.h"

#include <algorithm>

#include "base/text.h"
#include "coordinator/message_parts_internal.h"
#include "wire/proto/cluster.pb.h"
#include "wire/proto/common.pb.h"
#include "wire/proto/lake.pb.h"
#include "wire/proto/partition.pb.h"

namespace sluice::coordinator {

namespace {

void FillOffsets(const meta::TableState& table, const meta::BucketOffsets& offsets,
                 wire::GetLakeSnapshotResponse* response) {
  for (const auto& [bucket, offset] : offsets) {
    wire::PbLakeSnapshotForBucket* entry = response->add_bucket_snapshots();
    entry->set_bucket_id(bucket.bucket);
    entry->set_log_offset(offset);
    if (!bucket.partition_id.has_value()) continue;
    entry->set_partition_id(*bucket.partition_id);
    const meta::PartitionState* partition = table.FindPartition(*bucket.partition_id);
    if (partition != nullptr) entry->set_partition_name(partition->info.Name());
  }
}

}  // namespace

bool IsSecret(std::string_view key) {
  static constexpr std::string_view kParts[] = {"password",   "secret", "token",
                                                "credential", "key",    "jaas"};
  const std::string lower = LowerCase(key);
  return std::ranges::any_of(
      kParts, [&](std::string_view part) { return lower.find(part) != std::string::npos; });
}

types::TablePath PathOf(const wire::PbTablePath& path) {
  return {path.database_name(), path.table_name()};
}

Result<wire::GetLakeSnapshotResponse> ReadLakeSnapshot(
    const meta::CatalogState& state, const wire::GetLakeSnapshotRequest& request) {
  if (request.has_snapshot_id() && request.readable()) {
    return Error(ErrorCode::kUnknownServer,
                 "a lake snapshot is asked for by id or as readable, not both snapshot_id=",
                 request.snapshot_id());
  }
  ASSIGN_OR_RAISE(const meta::TablePtr table, state.Table(PathOf(request.table_path())));
  const meta::LakeSnapshot* snapshot = request.has_snapshot_id()
                                           ? table->FindLakeSnapshot(request.snapshot_id())
                                       : request.readable() ? table->ReadableLakeSnapshot()
                                                            : table->LatestLakeSnapshot();
  if (snapshot == nullptr) {
    return Error(ErrorCode::kLakeSnapshotNotExist, "no such lake snapshot table=", table->info.path,
                 " snapshot_id=",
                 request.has_snapshot_id() ? std::to_string(request.snapshot_id()) : "newest");
  }
  wire::GetLakeSnapshotResponse response;
  response.set_table_id(table->info.table_id);
  response.set_snapshotid(snapshot->snapshot_id);
  FillOffsets(*table, request.readable() ? *snapshot->readable : *snapshot->tiered, &response);
  return response;
}

Result<wire::ListPartitionInfosResponse> ListPartitions(
    const meta::CatalogState& state, const wire::ListPartitionInfosRequest& request) {
  ASSIGN_OR_RAISE(const meta::TablePtr table, state.Table(PathOf(request.table_path())));
  const PartitionSpec spec = SpecOf(request.partial_partition_spec());
  ASSIGN_OR_RAISE(const auto wanted, PartialPartitionSpec(table->info, spec));
  const auto& keys = table->info.descriptor.partition_keys;
  wire::ListPartitionInfosResponse response;
  for (const auto& [name, partition] : table->partitions) {
    wire::PbPartitionInfo info;
    bool agrees = true;
    for (size_t i = 0; i < keys.size(); ++i) {
      const std::string& value = partition->info.values[i];
      const auto found = wanted.find(keys[i]);
      agrees = agrees && (found == wanted.end() || found->second == value);
      wire::PbKeyValue* pair = info.mutable_partition_spec()->add_partition_key_values();
      pair->set_key(keys[i]);
      pair->set_value(value);
    }
    if (!agrees) continue;
    info.set_partition_id(partition->info.partition_id);
    if (!partition->remote_data_dir.empty()) info.set_remote_data_dir(partition->remote_data_dir);
    info.set_bucket_count(static_cast<int32_t>(partition->buckets.size()));
    *response.add_partitions_info() = std::move(info);
  }
  return response;
}

wire::GetClusterHealthResponse ClusterHealth(const meta::CatalogState& state) {
  constexpr int32_t kGreen = 0;
  constexpr int32_t kYellow = 1;
  constexpr int32_t kRed = 2;
  int32_t replicas = 0;
  int32_t in_sync = 0;
  int32_t leaders = 0;
  int32_t active = 0;
  for (const auto& [table_id, table] : state.tables_by_id) {
    table->ForEachBucket(
        [&](const types::BucketId&, const meta::PartitionState*, const meta::BucketState& bucket) {
          replicas += static_cast<int32_t>(bucket.replicas.size());
          in_sync += static_cast<int32_t>(bucket.isr.size());
          ++leaders;
          if (bucket.leader >= 0) ++active;
        });
  }
  wire::GetClusterHealthResponse response;
  response.set_num_replicas(replicas);
  response.set_in_sync_replicas(in_sync);
  response.set_num_leader_replicas(leaders);
  response.set_active_leader_replicas(active);
  response.set_status(active < leaders ? kRed : in_sync < replicas ? kYellow : kGreen);
  return response;
}

}  // namespace sluice::coordinator
