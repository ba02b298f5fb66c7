#include "server/metadata_service.h"

#include "server/metadata_replies_internal.h"
#include "wire/api.h"
#include "wire/frame.h"
#include "wire/proto/cluster.pb.h"
#include "wire/proto/database.pb.h"
#include "wire/proto/snapshot.pb.h"
#include "wire/proto/table.pb.h"

namespace sluice::server {
namespace {

using meta::CatalogState;
using wire::ApiKey;

// Words in a configuration key that mark its value as secret.
bool IsSecret(std::string_view key) {
  for (const std::string_view word : {"password", "secret", "key", "credential", "jaas"}) {
    if (key.find(word) != std::string_view::npos) return true;
  }
  return false;
}

Result<wire::ListDatabasesResponse> ListDatabases(const CatalogState& state, const wire::ListDatabasesRequest& request) {
  wire::ListDatabasesResponse response;
  for (const auto& [name, database] : state.databases) {
    if (!request.include_summary()) {
      response.add_database_name(name);
      continue;
    }
    auto* summary = response.add_database_summary();
    summary->set_database_name(name);
    summary->set_created_time(database->created_ms);
    summary->set_table_count(static_cast<int32_t>(database->tables.size()));
  }
  return response;
}

Result<wire::GetDatabaseInfoResponse> DatabaseInfo(const CatalogState& state, const wire::GetDatabaseInfoRequest& request) {
  ASSIGN_OR_RAISE(const meta::DatabasePtr database, state.Database(request.database_name()));
  wire::GetDatabaseInfoResponse response;
  response.set_database_json(database->descriptor.ToJson());
  response.set_created_time(database->created_ms);
  response.set_modified_time(database->modified_ms);
  return response;
}

Result<wire::DatabaseExistsResponse> DatabaseExists(const CatalogState& state, const wire::DatabaseExistsRequest& request) {
  wire::DatabaseExistsResponse response;
  response.set_exists(state.FindDatabase(request.database_name()) != nullptr);
  return response;
}

Result<wire::ListTablesResponse> ListTables(const CatalogState& state, const wire::ListTablesRequest& request) {
  ASSIGN_OR_RAISE(const meta::DatabasePtr database, state.Database(request.database_name()));
  wire::ListTablesResponse response;
  for (const auto& [name, table] : database->tables) response.add_table_name(name);
  return response;
}

Result<wire::TableExistsResponse> TableExists(const CatalogState& state, const wire::TableExistsRequest& request) {
  wire::TableExistsResponse response;
  response.set_exists(state.FindTable(PathOf(request.table_path())) != nullptr);
  return response;
}

Result<wire::GetTableInfoResponse> TableInfo(const CatalogState& state,
                                             const std::map<std::string, std::string>& additions,
                                             const wire::GetTableInfoRequest& request) {
  ASSIGN_OR_RAISE(const meta::TablePtr table, state.Table(PathOf(request.table_path())));
  wire::GetTableInfoResponse response;
  response.set_table_id(table->info.table_id);
  response.set_schema_id(table->info.schema_id);
  response.set_table_json(TableJson(*table, additions));
  response.set_created_time(table->info.created_ms);
  response.set_modified_time(table->info.modified_ms);
  if (!table->info.remote_data_dir.empty()) response.set_remote_data_dir(table->info.remote_data_dir);
  return response;
}

Result<wire::GetTableSchemaResponse> TableSchema(const CatalogState& state, const wire::GetTableSchemaRequest& request) {
  ASSIGN_OR_RAISE(const meta::TablePtr table, state.Table(PathOf(request.table_path())));
  const int32_t schema_id = request.has_schema_id() ? request.schema_id() : table->info.schema_id;
  ASSIGN_OR_RAISE(const auto schema, state.SchemaOf(table->info.table_id, schema_id));
  wire::GetTableSchemaResponse response;
  response.set_schema_id(schema_id);
  response.set_schema_json(schema->ToJson());
  return response;
}

// No snapshots of keys yet: every bucket is listed without one, and readers take the log from its start.
Result<wire::GetLatestKvSnapshotsResponse> LatestKvSnapshots(const CatalogState& state,
                                                             const wire::GetLatestKvSnapshotsRequest& request) {
  ASSIGN_OR_RAISE(const meta::TablePtr table, state.Table(PathOf(request.table_path())));
  if (!table->info.descriptor.has_primary_key()) {
    return Error(ErrorCode::kNonPrimaryKeyTable, "table has no primary key table=", table->info.path);
  }
  if (request.has_partition_name() && !table->partitioned()) {
    return Error(ErrorCode::kTableNotPartitioned, "table is not partitioned table=", table->info.path);
  }
  if (!request.has_partition_name() && table->partitioned()) {
    return Error(ErrorCode::kPartitionNotExists, "partition name is missing table=", table->info.path);
  }
  wire::GetLatestKvSnapshotsResponse response;
  response.set_table_id(table->info.table_id);
  if (table->partitioned()) {
    const meta::PartitionState* partition = table->FindPartition(request.partition_name());
    if (partition == nullptr) {
      return Status::Invalid("partition does not exist table=", table->info.path, " partition=",
                             request.partition_name());
    }
    response.set_partition_id(partition->info.partition_id);
  }
  for (int32_t bucket = 0; bucket < table->bucket_count(); ++bucket) {
    response.add_latest_snapshots()->set_bucket_id(bucket);
  }
  return response;
}

Result<wire::GetKvSnapshotMetadataResponse> KvSnapshotMetadata(const wire::GetKvSnapshotMetadataRequest& request) {
  return Error(ErrorCode::kKvSnapshotNotExist, "no such snapshot table_id=", request.table_id(),
               " bucket=", request.bucket_id(), " snapshot_id=", request.snapshot_id());
}

// The only remote file system so far is the machine's own.
Result<wire::GetFileSystemSecurityTokenResponse> SecurityToken() {
  wire::GetFileSystemSecurityTokenResponse response;
  response.set_schema("file");
  response.set_token("");
  return response;
}

Result<wire::DescribeClusterConfigsResponse> ClusterConfigs(const std::map<std::string, std::string>& configuration) {
  wire::DescribeClusterConfigsResponse response;
  for (const auto& [key, value] : configuration) {
    auto* entry = response.add_configs();
    entry->set_config_key(key);
    entry->set_config_value(IsSecret(key) ? "******" : value);
    entry->set_config_source("INITIAL_SERVER_CONFIG");
  }
  return response;
}

Result<wire::GetClusterHealthResponse> ClusterHealth(const CatalogState& state) {
  enum Health { kGreen = 0, kYellow = 1, kRed = 2 };
  int32_t replicas = 0, in_sync = 0, leaders = 0, active_leaders = 0;
  for (const auto& [id, table] : state.tables_by_id) {
    table->ForEachBucket([&](const types::BucketId&, const meta::PartitionState*, const meta::BucketState& bucket) {
      replicas += static_cast<int32_t>(bucket.replicas.size());
      in_sync += static_cast<int32_t>(bucket.isr.size());
      leaders += 1;
      active_leaders += bucket.leader >= 0 ? 1 : 0;
    });
  }
  wire::GetClusterHealthResponse response;
  response.set_num_replicas(replicas);
  response.set_in_sync_replicas(in_sync);
  response.set_num_leader_replicas(leaders);
  response.set_active_leader_replicas(active_leaders);
  response.set_status(active_leaders < leaders ? kRed : in_sync < replicas ? kYellow : kGreen);
  return response;
}

// Parses a request, lets `answer` make the response, serializes it.
template <typename Request, typename Answer>
Result<io::Payload> Reply(const io::Call& call, Answer answer) {
  ASSIGN_OR_RAISE(const Request request, wire::ParseMessage<Request>(call.body));
  ASSIGN_OR_RAISE(const auto response, answer(request));
  return io::Payload(wire::Serialize(response));
}

}  // namespace

MetadataService::MetadataService(Options options) : options_(std::move(options)) {
  for (const auto& [key, value] : options_.lake_properties) {
    if (!IsSecret(key)) table_additions_["table.datalake." + options_.lake_format + "." + key] = value;
  }
}

MetadataService::~MetadataService() = default;

io::Task<Result<io::Payload>> MetadataService::Handle(io::Loop&, std::shared_ptr<const io::Principal> principal,
                                                      io::Call call) {
  const meta::CatalogStatePtr snapshot = options_.catalog->state();
  const CatalogState& state = *snapshot;
  // Binds the snapshot in front of the request.
  const auto with_state = [&state](auto answer) {
    return [&state, answer](const auto& request) { return answer(state, request); };
  };
  switch (static_cast<ApiKey>(call.api_key)) {
    case ApiKey::kListDatabases:
      co_return Reply<wire::ListDatabasesRequest>(call, with_state(ListDatabases));
    case ApiKey::kGetDatabaseInfo:
      co_return Reply<wire::GetDatabaseInfoRequest>(call, with_state(DatabaseInfo));
    case ApiKey::kDatabaseExists:
      co_return Reply<wire::DatabaseExistsRequest>(call, with_state(DatabaseExists));
    case ApiKey::kListTables:
      co_return Reply<wire::ListTablesRequest>(call, with_state(ListTables));
    case ApiKey::kTableExists:
      co_return Reply<wire::TableExistsRequest>(call, with_state(TableExists));
    case ApiKey::kGetTableInfo:
      co_return Reply<wire::GetTableInfoRequest>(
          call, [&](const auto& request) { return TableInfo(state, table_additions_, request); });
    case ApiKey::kGetTableSchema:
      co_return Reply<wire::GetTableSchemaRequest>(call, with_state(TableSchema));
    case ApiKey::kListPartitionInfos:
      co_return Reply<wire::ListPartitionInfosRequest>(call, with_state(PartitionInfosReply));
    case ApiKey::kGetLakeSnapshot:
      co_return Reply<wire::GetLakeSnapshotRequest>(call, with_state(LakeSnapshotReply));
    case ApiKey::kGetMetadata:
      co_return Reply<wire::MetadataRequest>(call, [&](const auto& request) {
        return MetadataReply(state, *options_.membership->Get(), principal->listener, table_additions_, request);
      });
    case ApiKey::kGetLatestKvSnapshots:
      co_return Reply<wire::GetLatestKvSnapshotsRequest>(call, with_state(LatestKvSnapshots));
    case ApiKey::kGetKvSnapshotMetadata:
      co_return Reply<wire::GetKvSnapshotMetadataRequest>(call, KvSnapshotMetadata);
    case ApiKey::kGetFileSystemSecurityToken:
      co_return Reply<wire::GetFileSystemSecurityTokenRequest>(call, [](const auto&) { return SecurityToken(); });
    case ApiKey::kDescribeClusterConfigs:
      co_return Reply<wire::DescribeClusterConfigsRequest>(
          call, [&](const auto&) { return ClusterConfigs(options_.configuration); });
    case ApiKey::kGetClusterHealth:
      co_return Reply<wire::GetClusterHealthRequest>(call, [&](const auto&) { return ClusterHealth(state); });
    case ApiKey::kListAcls:
      co_return Error(ErrorCode::kSecurityDisabled, "no authorizer is configured");
    default:
      co_return Error(ErrorCode::kUnsupportedVersion, "call is not a read of metadata api_key=", call.api_key);
  }
}

}  // namespace sluice::server
