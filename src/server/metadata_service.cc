#include "server/metadata_service.h"

#include "coordinator/catalog_reads.h"
#include "server/metadata_replies_internal.h"
#include "types/kv_snapshot.h"
#include "wire/api.h"
#include "wire/frame.h"
#include "wire/proto/cluster.pb.h"
#include "wire/proto/database.pb.h"
#include "wire/proto/lake.pb.h"
#include "wire/proto/partition.pb.h"
#include "wire/proto/snapshot.pb.h"
#include "wire/proto/table.pb.h"

namespace sluice::server {
namespace {

using meta::CatalogState;
using wire::ApiKey;

Result<wire::ListDatabasesResponse> ListDatabases(const CatalogState& state,
                                                  const wire::ListDatabasesRequest& request) {
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

Result<wire::GetDatabaseInfoResponse> DatabaseInfo(const CatalogState& state,
                                                   const wire::GetDatabaseInfoRequest& request) {
  ASSIGN_OR_RAISE(const meta::DatabasePtr database, state.Database(request.database_name()));
  wire::GetDatabaseInfoResponse response;
  response.set_database_json(database->descriptor.ToJson());
  response.set_created_time(database->created_ms);
  response.set_modified_time(database->modified_ms);
  return response;
}

Result<wire::DatabaseExistsResponse> DatabaseExists(const CatalogState& state,
                                                    const wire::DatabaseExistsRequest& request) {
  wire::DatabaseExistsResponse response;
  response.set_exists(state.FindDatabase(request.database_name()) != nullptr);
  return response;
}

Result<wire::ListTablesResponse> ListTables(const CatalogState& state,
                                            const wire::ListTablesRequest& request) {
  ASSIGN_OR_RAISE(const meta::DatabasePtr database, state.Database(request.database_name()));
  wire::ListTablesResponse response;
  for (const auto& [name, table] : database->tables) response.add_table_name(name);
  return response;
}

Result<wire::TableExistsResponse> TableExists(const CatalogState& state,
                                              const wire::TableExistsRequest& request) {
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
  if (!table->info.remote_data_dir.empty())
    response.set_remote_data_dir(table->info.remote_data_dir);
  return response;
}

Result<wire::GetTableSchemaResponse> TableSchema(const CatalogState& state,
                                                 const wire::GetTableSchemaRequest& request) {
  ASSIGN_OR_RAISE(const meta::TablePtr table, state.Table(PathOf(request.table_path())));
  const int32_t schema_id = request.has_schema_id() ? request.schema_id() : table->info.schema_id;
  ASSIGN_OR_RAISE(const auto schema, state.SchemaOf(table->info.table_id, schema_id));
  wire::GetTableSchemaResponse response;
  response.set_schema_id(schema_id);
  response.set_schema_json(schema->ToJson());
  return response;
}

// A bucket without a snapshot is listed too: readers take its log from the start.
Result<wire::GetLatestKvSnapshotsResponse> LatestKvSnapshots(
    const CatalogState& state, const wire::GetLatestKvSnapshotsRequest& request) {
  ASSIGN_OR_RAISE(const meta::TablePtr table, state.Table(PathOf(request.table_path())));
  if (!table->info.descriptor.has_primary_key()) {
    return Error(ErrorCode::kNonPrimaryKeyTable,
                 "table has no primary key table=", table->info.path);
  }
  if (request.has_partition_name() && !table->partitioned()) {
    return Error(ErrorCode::kTableNotPartitioned,
                 "table is not partitioned table=", table->info.path);
  }
  if (!request.has_partition_name() && table->partitioned()) {
    return Error(ErrorCode::kPartitionNotExists,
                 "partition name is missing table=", table->info.path);
  }
  wire::GetLatestKvSnapshotsResponse response;
  response.set_table_id(table->info.table_id);
  if (table->partitioned()) {
    const meta::PartitionState* partition = table->FindPartition(request.partition_name());
    if (partition == nullptr) {
      return Status::Invalid("partition does not exist table=", table->info.path,
                             " partition=", request.partition_name());
    }
    response.set_partition_id(partition->info.partition_id);
  }
  types::BucketId id{.table_id = table->info.table_id};
  if (response.has_partition_id()) id.partition_id = response.partition_id();
  for (; id.bucket < table->bucket_count(); ++id.bucket) {
    wire::PbKvSnapshot* snapshot = response.add_latest_snapshots();
    snapshot->set_bucket_id(id.bucket);
    const meta::KvSnapshotEntry* latest = state.LatestKvSnapshot(id);
    if (latest == nullptr) continue;
    snapshot->set_snapshot_id(latest->snapshot_id);
    snapshot->set_log_offset(latest->log_offset);
  }
  return response;
}

wire::GetKvSnapshotMetadataResponse FilesOf(const types::KvSnapshot& snapshot) {
  wire::GetKvSnapshotMetadataResponse response;
  response.set_log_offset(snapshot.log_offset);
  for (const auto* list : {&snapshot.private_files, &snapshot.shared_files}) {
    for (const types::KvSnapshotFile& file : *list) {
      wire::PbRemotePathAndLocalFile* entry = response.add_snapshot_files();
      entry->set_remote_path(file.remote_path);
      entry->set_local_file_name(file.local_name);
    }
  }
  return response;
}

// The only remote file system so far is the machine's own.
Result<wire::GetFileSystemSecurityTokenResponse> SecurityToken() {
  wire::GetFileSystemSecurityTokenResponse response;
  response.set_schema("file");
  response.set_token("");
  return response;
}

// Parses a request, lets `answer` make the response, serializes it.
template <typename Request, typename Answer>
Result<io::Payload> Reply(const io::Call& call, Answer answer) {
  ASSIGN_OR_RAISE(const Request request, wire::ParseMessage<Request>(call.body));
  ASSIGN_OR_RAISE(const auto response, answer(request));
  return wire::SerializeReply(response);
}

}  // namespace

MetadataService::MetadataService(Options options) : options_(std::move(options)) {
  for (const auto& [key, value] : options_.lake_properties) {
    if (!coordinator::IsSecret(key))
      table_additions_["table.datalake." + options_.settings.lake_format + "." + key] = value;
  }
}

MetadataService::~MetadataService() = default;

io::Task<Result<io::Payload>> MetadataService::KvSnapshotMetadata(io::Loop& loop,
                                                                  io::Call call) const {
  CO_ASSIGN_OR_RETURN(const auto request,
                      wire::ParseMessage<wire::GetKvSnapshotMetadataRequest>(call.body));
  types::BucketId id{.table_id = request.table_id(), .bucket = request.bucket_id()};
  if (request.has_partition_id()) id.partition_id = request.partition_id();
  const meta::CatalogStatePtr state = options_.catalog->state();
  const meta::KvSnapshotEntry* entry = state->FindKvSnapshot(id, request.snapshot_id());
  if (entry == nullptr) {
    co_return Error(ErrorCode::kKvSnapshotNotExist, "no such kv snapshot ", id,
                    " snapshot_id=", request.snapshot_id());
  }
  auto read = [files = options_.files,
               path = types::RemotePath(entry->metadata_path)]() -> Result<types::KvSnapshot> {
    ASSIGN_OR_RAISE(const std::string text, files->ReadFile(path));
    return types::KvSnapshot::FromJson(text);
  };
  const auto snapshot = co_await options_.pool->Run(loop, std::move(read));
  if (!snapshot.ok()) {
    co_return Error(ErrorCode::kKvSnapshotNotExist, "kv snapshot cannot be read ", id,
                    " snapshot_id=", request.snapshot_id(),
                    " cause=", snapshot.status().ToString());
  }
  co_return wire::SerializeReply(FilesOf(*snapshot));
}

io::Task<Result<io::Payload>> MetadataService::Handle(
    io::Loop& loop, std::shared_ptr<const io::Principal> principal, io::Call call) {
  const meta::CatalogStatePtr snapshot = options_.catalog->state();
  const CatalogState& state = *snapshot;
  // Binds the snapshot in front of the request.
  const auto with_state = [&state](auto* answer) {
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
      co_return Reply<wire::ListPartitionInfosRequest>(call,
                                                       with_state(coordinator::ListPartitions));
    case ApiKey::kGetLakeSnapshot:
      co_return Reply<wire::GetLakeSnapshotRequest>(call,
                                                    with_state(coordinator::ReadLakeSnapshot));
    case ApiKey::kGetMetadata:
      co_return Reply<wire::MetadataRequest>(call, [&](const auto& request) {
        return MetadataReply(state, *options_.membership->Get(), principal->listener,
                             table_additions_, request);
      });
    case ApiKey::kGetLatestKvSnapshots:
      co_return Reply<wire::GetLatestKvSnapshotsRequest>(call, with_state(LatestKvSnapshots));
    case ApiKey::kGetKvSnapshotMetadata:
      co_return co_await KvSnapshotMetadata(loop, std::move(call));
    case ApiKey::kGetFileSystemSecurityToken:
      co_return Reply<wire::GetFileSystemSecurityTokenRequest>(
          call, [](const auto&) { return SecurityToken(); });
    case ApiKey::kDescribeClusterConfigs:
      co_return Reply<wire::DescribeClusterConfigsRequest>(
          call, [&](const auto&) { return Result(options_.configs->Describe()); });
    case ApiKey::kGetClusterHealth:
      co_return Reply<wire::GetClusterHealthRequest>(
          call, [&](const auto&) { return Result(coordinator::ClusterHealth(state)); });
    case ApiKey::kListAcls:
      co_return Error(ErrorCode::kSecurityDisabled, "no authorizer is configured");
    default:
      co_return Error(ErrorCode::kUnsupportedVersion,
                      "call is not a read of metadata api_key=", call.api_key);
  }
}

}  // namespace sluice::server
