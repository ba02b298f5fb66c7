#include <set>

#include "coordinator/message_parts_internal.h"
#include "coordinator/remote_log_internal.h"
#include "io/file.h"

namespace sluice::coordinator {
namespace {

Status CheckFences(const meta::CatalogState& state,
                   const wire::CommitRemoteLogManifestRequest& request) {
  if (request.coordinator_epoch() != state.coordinator_epoch) {
    return Error(ErrorCode::kInvalidCoordinator,
                 "coordinator epoch is not this one's coordinator_epoch=",
                 request.coordinator_epoch(), " known=", state.coordinator_epoch);
  }
  ASSIGN_OR_RAISE(const meta::TablePtr table, state.Table(request.table_id()));
  const meta::BucketState* bucket = table->FindBucket(PartitionBucketOf(request));
  if (bucket == nullptr) {
    return Error(ErrorCode::kUnknownTableOrBucket, "no such bucket table=", table->info.path,
                 " bucket=", request.bucket_id());
  }
  if (request.bucket_leader_epoch() != bucket->leader_epoch) {
    return Error(ErrorCode::kFencedLeaderEpoch,
                 "leader epoch is not the bucket's leader_epoch=", request.bucket_leader_epoch(),
                 " known=", bucket->leader_epoch, " table=", table->info.path,
                 " bucket=", request.bucket_id());
  }
  return Status::OK();
}

}  // namespace

Result<wire::CommitRemoteLogManifestResponse> CommitRemoteLog(
    meta::Catalog& catalog, const wire::CommitRemoteLogManifestRequest& request) {
  RETURN_NOT_OK(CheckFences(*catalog.state(), request));
  meta::RemoteLogState remote{.manifest_path = request.remote_log_manifest_path(),
                              .start_offset = request.remote_log_start_offset(),
                              .end_offset = request.remote_log_end_offset(),
                              .copied_end_offset = request.has_highest_copied_end_offset()
                                                       ? request.highest_copied_end_offset()
                                                       : request.remote_log_end_offset()};
  RETURN_NOT_OK(
      catalog.RecordRemoteLog(request.table_id(), PartitionBucketOf(request), std::move(remote)));
  wire::CommitRemoteLogManifestResponse response;
  response.set_commitsuccess(true);
  return response;
}

Result<wire::ListRemoteLogManifestsResponse> ListRemoteLogs(
    const meta::CatalogState& state, const wire::ListRemoteLogManifestsRequest& request) {
  ASSIGN_OR_RAISE(const meta::TablePtr table, state.Table(request.table_id()));
  wire::ListRemoteLogManifestsResponse response;
  const auto add = [&](const types::BucketId& id, const meta::PartitionState*,
                       const meta::BucketState& bucket) {
    if (bucket.remote_log == nullptr) return;
    auto* entry = response.add_manifests();
    entry->mutable_table_bucket()->set_table_id(id.table_id);
    if (id.partition_id) entry->mutable_table_bucket()->set_partition_id(*id.partition_id);
    entry->mutable_table_bucket()->set_bucket_id(id.bucket);
    entry->set_remote_log_manifest_path(bucket.remote_log->manifest_path);
    entry->set_remote_log_end_offset(bucket.remote_log->end_offset);
  };
  if (!request.has_partition_id()) {
    table->ForEachBucket(add);
    return response;
  }
  const meta::PartitionState* partition = table->FindPartition(request.partition_id());
  if (partition == nullptr) {
    return Error(ErrorCode::kPartitionNotExists, "no such partition table=", table->info.path,
                 " partition_id=", request.partition_id());
  }
  table->ForEachBucketOf(*partition, add);
  return response;
}

std::set<std::string> RemoteRoots(const meta::TableState& table) {
  // The setting may have changed between the makings of two partitions.
  std::set<std::string> roots = {table.info.remote_data_dir};
  for (const auto& [name, one] : table.partitions) roots.insert(one->remote_data_dir);
  roots.erase("");
  return roots;
}

std::vector<std::string> RemoteLogFolders(const meta::TableState& table,
                                          const meta::PartitionState* partition) {
  const types::TableInfo& info = table.info;
  const std::string below =
      "log/" + info.path.database + "/" + info.path.table + "-" + std::to_string(info.table_id);
  if (partition != nullptr) {
    if (partition->remote_data_dir.empty()) return {};
    const std::string name =
        partition->info.Name() + "-p" + std::to_string(partition->info.partition_id);
    return {io::JoinPath(io::JoinPath(partition->remote_data_dir, below), name)};
  }
  std::vector<std::string> folders;
  for (const std::string& root : RemoteRoots(table)) folders.push_back(io::JoinPath(root, below));
  return folders;
}

}  // namespace sluice::coordinator
