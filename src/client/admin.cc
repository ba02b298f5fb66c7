#include "client/admin.h"

#include "client/calls_internal.h"
#include "wire/proto/cluster.pb.h"
#include "wire/proto/database.pb.h"
#include "wire/proto/kv.pb.h"
#include "wire/proto/lake.pb.h"
#include "wire/proto/log.pb.h"
#include "wire/proto/metadata.pb.h"
#include "wire/proto/partition.pb.h"
#include "wire/proto/table.pb.h"

namespace sluice::client {
namespace {

using wire::ApiKey;

template <typename Reply, typename Request>
io::Task<Status> Change(ClusterPtr cluster, io::Loop& loop, ApiKey key, Request request) {
  const Result<Reply> reply =
      co_await AskOnce<Reply, Request>(cluster, loop, Where::kCoordinator, key, std::move(request));
  co_return reply.status();
}

/// As Change; afterwards the metadata of the table is learned anew.
template <typename Reply, typename Request>
io::Task<Status> ChangeTable(ClusterPtr cluster, io::Loop& loop, types::TablePath path, ApiKey key,
                             Request request) {
  const Result<Reply> reply =
      co_await AskOnce<Reply, Request>(cluster, loop, Where::kCoordinator, key, std::move(request));
  cluster->ForgetLeaders(path);
  co_return reply.status();
}

ServerInfo ServerInfoOf(const wire::PbServerNode& server) {
  return {{server.node_id(), server.host(), static_cast<uint16_t>(server.port())},
          server.listeners()};
}

io::Task<Result<ClusterInfo>> DescribeClusterIn(ClusterPtr cluster, io::Loop& loop) {
  CO_ASSIGN_OR_RETURN(
      const auto reply,
      (co_await Ask<wire::MetadataResponse, wire::MetadataRequest>(
          cluster, loop, Where::kAnyTablet, ApiKey::kGetMetadata, wire::MetadataRequest())));
  ClusterInfo info;
  if (reply.has_coordinator_server()) info.coordinator = ServerInfoOf(reply.coordinator_server());
  for (const auto& server : reply.tablet_servers())
    info.tablet_servers.push_back(ServerInfoOf(server));
  co_return info;
}

io::Task<Result<std::map<std::string, std::string>>> DescribeConfigsIn(ClusterPtr cluster,
                                                                       io::Loop& loop) {
  CO_ASSIGN_OR_RETURN(
      const auto reply,
      (co_await AskOnce<wire::DescribeClusterConfigsResponse, wire::DescribeClusterConfigsRequest>(
          cluster, loop, Where::kCoordinator, ApiKey::kDescribeClusterConfigs,
          wire::DescribeClusterConfigsRequest())));
  std::map<std::string, std::string> configs;
  for (const auto& config : reply.configs()) configs[config.config_key()] = config.config_value();
  co_return configs;
}

io::Task<Result<std::vector<std::string>>> ListDatabasesIn(ClusterPtr cluster, io::Loop& loop) {
  CO_ASSIGN_OR_RETURN(
      const auto reply,
      (co_await Ask<wire::ListDatabasesResponse, wire::ListDatabasesRequest>(
          cluster, loop, Where::kAnyTablet, ApiKey::kListDatabases, wire::ListDatabasesRequest())));
  co_return std::vector<std::string>(reply.database_name().begin(), reply.database_name().end());
}

io::Task<Result<bool>> DatabaseExistsIn(ClusterPtr cluster, io::Loop& loop, std::string name) {
  wire::DatabaseExistsRequest request;
  request.set_database_name(name);
  CO_ASSIGN_OR_RETURN(
      const auto reply,
      (co_await Ask<wire::DatabaseExistsResponse, wire::DatabaseExistsRequest>(
          cluster, loop, Where::kAnyTablet, ApiKey::kDatabaseExists, std::move(request))));
  co_return reply.exists();
}

io::Task<Result<DatabaseInfo>> GetDatabaseIn(ClusterPtr cluster, io::Loop& loop, std::string name) {
  wire::GetDatabaseInfoRequest request;
  request.set_database_name(name);
  CO_ASSIGN_OR_RETURN(
      const auto reply,
      (co_await Ask<wire::GetDatabaseInfoResponse, wire::GetDatabaseInfoRequest>(
          cluster, loop, Where::kAnyTablet, ApiKey::kGetDatabaseInfo, std::move(request))));
  CO_ASSIGN_OR_RETURN(auto descriptor, types::DatabaseDescriptor::FromJson(reply.database_json()));
  co_return DatabaseInfo{std::move(descriptor), reply.created_time(), reply.modified_time()};
}

io::Task<Result<types::TableInfo>> GetTableIn(ClusterPtr cluster, io::Loop& loop,
                                              types::TablePath path) {
  wire::GetTableInfoRequest request;
  SetPath(request.mutable_table_path(), path);
  CO_ASSIGN_OR_RETURN(
      const auto reply,
      (co_await Ask<wire::GetTableInfoResponse, wire::GetTableInfoRequest>(
          cluster, loop, Where::kAnyTablet, ApiKey::kGetTableInfo, std::move(request))));
  types::TableInfo info;
  info.path = path;
  info.table_id = reply.table_id();
  info.schema_id = reply.schema_id();
  info.created_ms = reply.created_time();
  info.modified_ms = reply.modified_time();
  info.remote_data_dir = reply.remote_data_dir();
  CO_ASSIGN_OR_RETURN(info.descriptor, types::TableDescriptor::FromJson(reply.table_json()));
  co_return info;
}

io::Task<Result<std::vector<std::string>>> ListTablesIn(ClusterPtr cluster, io::Loop& loop,
                                                        std::string database) {
  wire::ListTablesRequest request;
  request.set_database_name(database);
  CO_ASSIGN_OR_RETURN(
      const auto reply,
      (co_await Ask<wire::ListTablesResponse, wire::ListTablesRequest>(
          cluster, loop, Where::kAnyTablet, ApiKey::kListTables, std::move(request))));
  co_return std::vector<std::string>(reply.table_name().begin(), reply.table_name().end());
}

io::Task<Result<bool>> TableExistsIn(ClusterPtr cluster, io::Loop& loop, types::TablePath path) {
  wire::TableExistsRequest request;
  SetPath(request.mutable_table_path(), path);
  CO_ASSIGN_OR_RETURN(
      const auto reply,
      (co_await Ask<wire::TableExistsResponse, wire::TableExistsRequest>(
          cluster, loop, Where::kAnyTablet, ApiKey::kTableExists, std::move(request))));
  co_return reply.exists();
}

void SetSpec(wire::PbPartitionSpec* out, const PartitionSpec& spec) {
  for (const auto& [key, value] : spec) {
    auto* pair = out->add_partition_key_values();
    pair->set_key(key);
    pair->set_value(value);
  }
}

io::Task<Result<std::vector<types::PartitionInfo>>> ListPartitionsIn(ClusterPtr cluster,
                                                                     io::Loop& loop,
                                                                     types::TablePath path,
                                                                     PartitionSpec partial) {
  wire::ListPartitionInfosRequest request;
  SetPath(request.mutable_table_path(), path);
  if (!partial.empty()) SetSpec(request.mutable_partial_partition_spec(), partial);
  CO_ASSIGN_OR_RETURN(
      const auto reply,
      (co_await Ask<wire::ListPartitionInfosResponse, wire::ListPartitionInfosRequest>(
          cluster, loop, Where::kAnyTablet, ApiKey::kListPartitionInfos, std::move(request))));
  std::vector<types::PartitionInfo> partitions;
  for (const auto& info : reply.partitions_info()) {
    types::PartitionInfo partition;
    partition.partition_id = info.partition_id();
    for (const auto& pair : info.partition_spec().partition_key_values())
      partition.values.push_back(pair.value());
    partitions.push_back(std::move(partition));
  }
  co_return partitions;
}

/// One ListOffsets over the buckets that one server leads.
io::Task<Status> ListOffsetsAt(ClusterPtr cluster, io::Loop& loop, int32_t leader,
                               wire::ListOffsetsRequest request,
                               std::map<int32_t, int64_t>* offsets) {
  CO_ASSIGN_OR_RETURN(
      const std::string body,
      co_await cluster->CallTablet(loop, leader, ApiKey::kListOffsets, wire::Serialize(request)));
  CO_ASSIGN_OR_RETURN(const auto reply, wire::ParseMessage<wire::ListOffsetsResponse>(body));
  for (const auto& bucket : reply.buckets_resp()) {
    CO_RETURN_NOT_OK(wire::ErrorOf(bucket));
    (*offsets)[bucket.bucket_id()] = bucket.offset();
  }
  co_return Status::OK();
}

struct OffsetsQuestion {
  types::TablePath path;
  int64_t table_id;
  std::optional<int64_t> partition_id;
  std::vector<int32_t> buckets;
  OffsetType type;
  int64_t timestamp_ms;
  OffsetView view;
};

io::Task<Status> ListOffsetsOnce(ClusterPtr cluster, io::Loop& loop, OffsetsQuestion question,
                                 std::map<int32_t, int64_t>* offsets) {
  std::map<int32_t, wire::ListOffsetsRequest> requests;
  for (const int32_t bucket : question.buckets) {
    if (offsets->contains(bucket)) continue;
    const types::BucketId id{question.table_id, question.partition_id, bucket};
    CO_ASSIGN_OR_RETURN(const int32_t leader, co_await cluster->Leader(loop, question.path, id));
    wire::ListOffsetsRequest& request = requests[leader];
    // The leader answers itself, as a follower, with its log's own offsets.
    request.set_follower_server_id(question.view == OffsetView::kReader ? -1 : leader);
    request.set_offset_type(static_cast<int32_t>(question.type));
    request.set_table_id(question.table_id);
    if (question.partition_id) request.set_partition_id(*question.partition_id);
    if (question.type == OffsetType::kTimestamp) request.set_starttimestamp(question.timestamp_ms);
    request.add_bucket_id(bucket);
  }
  for (auto& [leader, request] : requests) {
    CO_RETURN_NOT_OK(co_await ListOffsetsAt(cluster, loop, leader, request, offsets));
  }
  co_return Status::OK();
}

io::Task<Result<std::map<int32_t, int64_t>>> ListOffsetsIn(ClusterPtr cluster, io::Loop& loop,
                                                           OffsetsQuestion question) {
  std::map<int32_t, int64_t> offsets;
  for (int retry = 0;; ++retry) {
    const Status status = co_await ListOffsetsOnce(cluster, loop, question, &offsets);
    if (status.ok()) co_return offsets;
    if (!IsRetriable(status) || retry + 1 >= cluster->options().attempts) co_return status;
    if (NeedsNewMetadata(status)) cluster->ForgetLeaders(question.path);
    co_await io::Sleep(loop, cluster->BackoffOf(retry));
  }
}

io::Task<Result<int64_t>> RowCountIn(ClusterPtr cluster, io::Loop& loop, types::TablePath path,
                                     types::BucketId bucket) {
  wire::GetTableStatsRequest request;
  request.set_table_id(bucket.table_id);
  auto* entry = request.add_buckets_req();
  if (bucket.partition_id) entry->set_partition_id(*bucket.partition_id);
  entry->set_bucket_id(bucket.bucket);
  CO_ASSIGN_OR_RETURN(const std::string body,
                      co_await cluster->CallLeader(loop, path, bucket, ApiKey::kGetTableStats,
                                                   wire::Serialize(request)));
  CO_ASSIGN_OR_RETURN(const auto reply, wire::ParseMessage<wire::GetTableStatsResponse>(body));
  if (reply.buckets_resp_size() != 1)
    co_return Error(ErrorCode::kCorruptMessage, "table statistics lack the bucket ", bucket);
  CO_RETURN_NOT_OK(wire::ErrorOf(reply.buckets_resp(0)));
  co_return reply.buckets_resp(0).row_count();
}

io::Task<Result<LakeSnapshot>> GetLakeSnapshotIn(ClusterPtr cluster, io::Loop& loop,
                                                 types::TablePath path,
                                                 std::optional<int64_t> snapshot_id,
                                                 bool readable) {
  wire::GetLakeSnapshotRequest request;
  SetPath(request.mutable_table_path(), path);
  if (snapshot_id) request.set_snapshot_id(*snapshot_id);
  if (readable) request.set_readable(true);
  CO_ASSIGN_OR_RETURN(
      const auto reply,
      (co_await Ask<wire::GetLakeSnapshotResponse, wire::GetLakeSnapshotRequest>(
          cluster, loop, Where::kAnyTablet, ApiKey::kGetLakeSnapshot, std::move(request))));
  LakeSnapshot snapshot{reply.table_id(), reply.snapshotid(), {}};
  for (const auto& bucket : reply.bucket_snapshots()) {
    LakeBucketOffset offset;
    if (bucket.has_partition_id()) offset.partition_id = bucket.partition_id();
    offset.bucket = bucket.bucket_id();
    if (bucket.has_log_offset()) offset.log_end_offset = bucket.log_offset();
    offset.partition_name = bucket.partition_name();
    snapshot.buckets.push_back(std::move(offset));
  }
  co_return snapshot;
}

}  // namespace

io::Task<Result<ClusterInfo>> Admin::DescribeCluster(io::Loop& loop) {
  return DescribeClusterIn(cluster_, loop);
}

io::Task<Result<std::map<std::string, std::string>>> Admin::DescribeConfigs(io::Loop& loop) {
  return DescribeConfigsIn(cluster_, loop);
}

io::Task<Status> Admin::CreateDatabase(io::Loop& loop, std::string name,
                                       types::DatabaseDescriptor descriptor,
                                       bool ignore_if_exists) {
  wire::CreateDatabaseRequest request;
  request.set_database_name(name);
  request.set_ignore_if_exists(ignore_if_exists);
  request.set_database_json(descriptor.ToJson());
  return Change<wire::CreateDatabaseResponse>(cluster_, loop, ApiKey::kCreateDatabase,
                                              std::move(request));
}

io::Task<Status> Admin::DropDatabase(io::Loop& loop, std::string name, bool ignore_if_not_exists,
                                     bool cascade) {
  wire::DropDatabaseRequest request;
  request.set_database_name(name);
  request.set_ignore_if_not_exists(ignore_if_not_exists);
  request.set_cascade(cascade);
  return Change<wire::DropDatabaseResponse>(cluster_, loop, ApiKey::kDropDatabase,
                                            std::move(request));
}

io::Task<Result<std::vector<std::string>>> Admin::ListDatabases(io::Loop& loop) {
  return ListDatabasesIn(cluster_, loop);
}

io::Task<Result<bool>> Admin::DatabaseExists(io::Loop& loop, std::string name) {
  return DatabaseExistsIn(cluster_, loop, std::move(name));
}

io::Task<Result<DatabaseInfo>> Admin::GetDatabase(io::Loop& loop, std::string name) {
  return GetDatabaseIn(cluster_, loop, std::move(name));
}

io::Task<Status> Admin::CreateTable(io::Loop& loop, types::TablePath path,
                                    types::TableDescriptor descriptor, bool ignore_if_exists) {
  wire::CreateTableRequest request;
  SetPath(request.mutable_table_path(), path);
  request.set_table_json(descriptor.ToJson());
  request.set_ignore_if_exists(ignore_if_exists);
  return ChangeTable<wire::CreateTableResponse>(cluster_, loop, std::move(path),
                                                ApiKey::kCreateTable, std::move(request));
}

io::Task<Status> Admin::DropTable(io::Loop& loop, types::TablePath path,
                                  bool ignore_if_not_exists) {
  wire::DropTableRequest request;
  SetPath(request.mutable_table_path(), path);
  request.set_ignore_if_not_exists(ignore_if_not_exists);
  return ChangeTable<wire::DropTableResponse>(cluster_, loop, std::move(path), ApiKey::kDropTable,
                                              std::move(request));
}

io::Task<Status> Admin::AlterTable(io::Loop& loop, types::TablePath path, TableChange change,
                                   bool ignore_if_not_exists) {
  constexpr int32_t kSet = 0;
  constexpr int32_t kDelete = 1;
  constexpr int32_t kLast = 0;
  wire::AlterTableRequest request;
  SetPath(request.mutable_table_path(), path);
  request.set_ignore_if_not_exists(ignore_if_not_exists);
  for (const auto& [key, value] : change.set) {
    auto* config = request.add_config_changes();
    config->set_config_key(key);
    config->set_config_value(value);
    config->set_op_type(kSet);
  }
  for (const std::string& key : change.reset) {
    auto* config = request.add_config_changes();
    config->set_config_key(key);
    config->set_op_type(kDelete);
  }
  for (const types::Column& column : change.add_columns) {
    auto* added = request.add_add_columns();
    added->set_column_name(column.name);
    added->set_data_type_json(column.type->ToJson());
    if (!column.comment.empty()) added->set_comment(column.comment);
    added->set_column_position_type(kLast);
  }
  return ChangeTable<wire::AlterTableResponse>(cluster_, loop, std::move(path), ApiKey::kAlterTable,
                                               std::move(request));
}

io::Task<Result<types::TableInfo>> Admin::GetTable(io::Loop& loop, types::TablePath path) {
  return GetTableIn(cluster_, loop, std::move(path));
}

io::Task<Result<std::vector<std::string>>> Admin::ListTables(io::Loop& loop, std::string database) {
  return ListTablesIn(cluster_, loop, std::move(database));
}

io::Task<Result<bool>> Admin::TableExists(io::Loop& loop, types::TablePath path) {
  return TableExistsIn(cluster_, loop, std::move(path));
}

io::Task<Status> Admin::CreatePartition(io::Loop& loop, types::TablePath path, PartitionSpec spec,
                                        bool ignore_if_exists) {
  wire::CreatePartitionRequest request;
  SetPath(request.mutable_table_path(), path);
  SetSpec(request.mutable_partition_spec(), spec);
  request.set_ignore_if_not_exists(
      ignore_if_exists);  // The protocol's name says the opposite of what it does.
  return Change<wire::CreatePartitionResponse>(cluster_, loop, ApiKey::kCreatePartition,
                                               std::move(request));
}

io::Task<Status> Admin::DropPartition(io::Loop& loop, types::TablePath path, PartitionSpec spec,
                                      bool ignore_if_not_exists) {
  wire::DropPartitionRequest request;
  SetPath(request.mutable_table_path(), path);
  SetSpec(request.mutable_partition_spec(), spec);
  request.set_ignore_if_not_exists(ignore_if_not_exists);
  return ChangeTable<wire::DropPartitionResponse>(cluster_, loop, std::move(path),
                                                  ApiKey::kDropPartition, std::move(request));
}

io::Task<Result<std::vector<types::PartitionInfo>>> Admin::ListPartitions(io::Loop& loop,
                                                                          types::TablePath path,
                                                                          PartitionSpec partial) {
  return ListPartitionsIn(cluster_, loop, std::move(path), std::move(partial));
}

io::Task<Result<std::map<int32_t, int64_t>>> Admin::ListOffsets(
    io::Loop& loop, types::TablePath path, int64_t table_id, std::optional<int64_t> partition_id,
    std::vector<int32_t> buckets, OffsetType type, int64_t timestamp_ms, OffsetView view) {
  OffsetsQuestion question{std::move(path), table_id, partition_id, std::move(buckets), type,
                           timestamp_ms,    view};
  return ListOffsetsIn(cluster_, loop, std::move(question));
}

io::Task<Result<int64_t>> Admin::RowCount(io::Loop& loop, types::TablePath path,
                                          types::BucketId bucket) {
  return RowCountIn(cluster_, loop, std::move(path), bucket);
}

io::Task<Result<LakeSnapshot>> Admin::GetLakeSnapshot(io::Loop& loop, types::TablePath path,
                                                      std::optional<int64_t> snapshot_id,
                                                      bool readable) {
  return GetLakeSnapshotIn(cluster_, loop, std::move(path), snapshot_id, readable);
}

}  // namespace sluice::client
