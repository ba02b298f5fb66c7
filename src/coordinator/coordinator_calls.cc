#include <algorithm>
#include <limits>
#include <map>

#include "coordinator/catalog_reads.h"
#include "coordinator/coordinator_internal.h"
#include "coordinator/message_parts_internal.h"
#include "coordinator/remote_log_internal.h"
#include "types/agg_function.h"
#include "wire/frame.h"
#include "wire/proto/acl.pb.h"
#include "wire/proto/cluster.pb.h"
#include "wire/proto/database.pb.h"
#include "wire/proto/lake.pb.h"
#include "wire/proto/partition.pb.h"
#include "wire/proto/snapshot.pb.h"
#include "wire/proto/table.pb.h"

// Adapters between the messages of the protocol and the parts that do the work: one function per
// call.
namespace sluice::coordinator {

namespace {

using Reply = Result<io::Payload>;
using wire::ApiKey;

std::vector<Ddl::ConfigChange> ConfigsOf(
    const google::protobuf::RepeatedPtrField<wire::PbAlterConfig>& configs) {
  std::vector<Ddl::ConfigChange> changes;
  for (const wire::PbAlterConfig& config : configs) {
    Ddl::ConfigChange change{.key = config.config_key(), .op = config.op_type()};
    if (config.has_config_value()) change.value = config.config_value();
    changes.push_back(std::move(change));
  }
  return changes;
}

template <typename Message>
Reply ReplyWith(const Result<Message>& message) {
  if (!message.ok()) return message.status();
  return wire::SerializeReply(*message);
}

// Calls whose reply has no fields.
Reply Done(const Status& status) {
  if (!status.ok()) return status;
  return io::Payload();
}

io::Task<Reply> CreateDatabase(CoordinatorCore& core, std::string body) {
  CO_ASSIGN_OR_RETURN(const auto request, wire::ParseMessage<wire::CreateDatabaseRequest>(body));
  std::optional<std::string> json;
  if (request.has_database_json()) json = request.database_json();
  Status status =
      co_await core.ddl.CreateDatabase(request.database_name(), json, request.ignore_if_exists());
  co_return Done(status);
}

io::Task<Reply> AlterDatabase(CoordinatorCore& core, std::string body) {
  CO_ASSIGN_OR_RETURN(const auto request, wire::ParseMessage<wire::AlterDatabaseRequest>(body));
  std::optional<std::string> comment;
  if (request.has_comment()) comment = request.comment();
  std::vector<Ddl::ConfigChange> changes = ConfigsOf(request.config_changes());
  Status status = co_await core.ddl.AlterDatabase(request.database_name(), std::move(changes),
                                                  comment, request.ignore_if_not_exists());
  co_return Done(status);
}

io::Task<Reply> DropDatabase(CoordinatorCore& core, std::string body) {
  CO_ASSIGN_OR_RETURN(const auto request, wire::ParseMessage<wire::DropDatabaseRequest>(body));
  Status status = co_await core.ddl.DropDatabase(request.database_name(),
                                                 request.ignore_if_not_exists(), request.cascade());
  co_return Done(status);
}

io::Task<Reply> CreateTable(CoordinatorCore& core, std::string body) {
  CO_ASSIGN_OR_RETURN(const auto request, wire::ParseMessage<wire::CreateTableRequest>(body));
  types::TablePath path = PathOf(request.table_path());
  Status status =
      co_await core.ddl.CreateTable(path, request.table_json(), request.ignore_if_exists());
  if (status.ok()) co_await PartitionKeeper::Keep(core.keeper, path);
  co_return Done(status);
}

io::Task<Reply> DropTable(CoordinatorCore& core, std::string body) {
  CO_ASSIGN_OR_RETURN(const auto request, wire::ParseMessage<wire::DropTableRequest>(body));
  types::TablePath path = PathOf(request.table_path());
  Status status = co_await core.ddl.DropTable(std::move(path), request.ignore_if_not_exists());
  co_return Done(status);
}

Result<types::Column> ColumnOf(const wire::PbAddColumn& added) {
  const auto type = types::DataType::FromJson(added.data_type_json());
  if (!type.ok()) {
    return Error(ErrorCode::kInvalidTable, "data type is broken column=", added.column_name(), ": ",
                 type.status().message());
  }
  types::Column column{.name = added.column_name(), .type = *type, .comment = added.comment()};
  column.agg_function = types::AggName(added.agg_function_type());
  for (const wire::PbKeyValue& pair : added.agg_function_params())
    column.agg_parameters[pair.key()] = pair.value();
  return column;
}

io::Task<Reply> AlterTable(CoordinatorCore& core, std::string body) {
  constexpr int32_t kLast = 0;  // column_position_type
  CO_ASSIGN_OR_RETURN(const auto request, wire::ParseMessage<wire::AlterTableRequest>(body));
  Ddl::TableChange change{.configs = ConfigsOf(request.config_changes()),
                          .other_schema_change = request.drop_columns_size() +
                                                     request.rename_columns_size() +
                                                     request.modify_columns_size() >
                                                 0,
                          .bucket_count = request.has_modify_bucket_count()};
  for (const wire::PbAddColumn& added : request.add_columns()) {
    CO_ASSIGN_OR_RETURN(types::Column column, ColumnOf(added));
    change.add_columns.push_back(std::move(column));
    if (added.column_position_type() != kLast) change.misplaced_column = true;
  }
  types::TablePath path = PathOf(request.table_path());
  Status status =
      co_await core.ddl.AlterTable(path, std::move(change), request.ignore_if_not_exists());
  if (status.ok()) co_await PartitionKeeper::Keep(core.keeper, path);
  co_return Done(status);
}

io::Task<Reply> CreatePartition(CoordinatorCore& core, std::string body) {
  CO_ASSIGN_OR_RETURN(const auto request, wire::ParseMessage<wire::CreatePartitionRequest>(body));
  types::TablePath path = PathOf(request.table_path());
  PartitionSpec spec = SpecOf(request.partition_spec());
  // The flag is named ignore_if_not_exists and means: ignore if it exists.
  Status status = co_await core.ddl.CreatePartition(std::move(path), std::move(spec),
                                                    request.ignore_if_not_exists());
  co_return Done(status);
}

io::Task<Reply> DropPartition(CoordinatorCore& core, std::string body) {
  CO_ASSIGN_OR_RETURN(const auto request, wire::ParseMessage<wire::DropPartitionRequest>(body));
  types::TablePath path = PathOf(request.table_path());
  PartitionSpec spec = SpecOf(request.partition_spec());
  Status status = co_await core.ddl.DropPartition(std::move(path), std::move(spec),
                                                  request.ignore_if_not_exists());
  co_return Done(status);
}

io::Task<Reply> LakeTieringHeartbeat(CoordinatorCore& core, std::string body) {
  CO_ASSIGN_OR_RETURN(const auto request,
                      wire::ParseMessage<wire::LakeTieringHeartbeatRequest>(body));
  co_return ReplyWith(Result<wire::LakeTieringHeartbeatResponse>(core.desk->Heartbeat(request)));
}

io::Task<Reply> PrepareLakeTableSnapshot(CoordinatorCore& core, std::string body) {
  CO_ASSIGN_OR_RETURN(auto request,
                      wire::ParseMessage<wire::PrepareLakeTableSnapshotRequest>(body));
  auto response = co_await core.lake_snapshots.Prepare(std::move(request));
  co_return ReplyWith(response);
}

io::Task<Reply> CommitLakeTableSnapshot(CoordinatorCore& core, std::string body) {
  CO_ASSIGN_OR_RETURN(auto request, wire::ParseMessage<wire::CommitLakeTableSnapshotRequest>(body));
  auto response = co_await core.lake_snapshots.Commit(std::move(request));
  co_return ReplyWith(response);
}

io::Task<Reply> AlterClusterConfigs(CoordinatorCore& core, std::string body) {
  CO_ASSIGN_OR_RETURN(const auto request,
                      wire::ParseMessage<wire::AlterClusterConfigsRequest>(body));
  ClusterConfigs fixed({}, nullptr);
  ClusterConfigs* const configs = core.options.configs == nullptr ? &fixed : core.options.configs;
  co_return Done(configs->Alter(*core.options.catalog, request));
}

io::Task<Reply> RegisterProducerOffsets(CoordinatorCore& core, std::string body) {
  CO_ASSIGN_OR_RETURN(const auto request,
                      wire::ParseMessage<wire::RegisterProducerOffsetsRequest>(body));
  co_return ReplyWith(core.producers.Register(request));
}

io::Task<Reply> GetProducerOffsets(CoordinatorCore& core, std::string body) {
  CO_ASSIGN_OR_RETURN(const auto request,
                      wire::ParseMessage<wire::GetProducerOffsetsRequest>(body));
  co_return ReplyWith(core.producers.Get(request));
}

io::Task<Reply> DeleteProducerOffsets(CoordinatorCore& core, std::string body) {
  CO_ASSIGN_OR_RETURN(const auto request,
                      wire::ParseMessage<wire::DeleteProducerOffsetsRequest>(body));
  co_return Done(core.producers.Delete(request));
}

io::Task<Reply> CommitKvSnapshot(CoordinatorCore& core, std::string body) {
  CO_ASSIGN_OR_RETURN(auto request, wire::ParseMessage<wire::CommitKvSnapshotRequest>(body));
  Status status = co_await KvSnapshots::Commit(core.kv_snapshots, std::move(request));
  co_return Done(status);
}

io::Task<Reply> AcquireKvSnapshotLease(CoordinatorCore& core, std::string body) {
  CO_ASSIGN_OR_RETURN(auto request, wire::ParseMessage<wire::AcquireKvSnapshotLeaseRequest>(body));
  auto response = co_await KvSnapshots::Acquire(core.kv_snapshots, std::move(request));
  co_return ReplyWith(response);
}

io::Task<Reply> ReleaseKvSnapshotLease(CoordinatorCore& core, std::string body) {
  CO_ASSIGN_OR_RETURN(auto request, wire::ParseMessage<wire::ReleaseKvSnapshotLeaseRequest>(body));
  Status status = co_await KvSnapshots::Release(core.kv_snapshots, std::move(request));
  co_return Done(status);
}

io::Task<Reply> DropKvSnapshotLease(CoordinatorCore& core, std::string body) {
  CO_ASSIGN_OR_RETURN(const auto request,
                      wire::ParseMessage<wire::DropKvSnapshotLeaseRequest>(body));
  std::string lease_id = request.lease_id();
  Status status = co_await KvSnapshots::Drop(core.kv_snapshots, std::move(lease_id));
  co_return Done(status);
}

io::Task<Reply> ListKvSnapshots(CoordinatorCore& core, std::string body) {
  CO_ASSIGN_OR_RETURN(const auto request, wire::ParseMessage<wire::ListKvSnapshotsRequest>(body));
  co_return ReplyWith(core.kv_snapshots->List(request));
}

io::Task<Reply> ListRemoteLogManifests(CoordinatorCore& core, std::string body) {
  CO_ASSIGN_OR_RETURN(const auto request,
                      wire::ParseMessage<wire::ListRemoteLogManifestsRequest>(body));
  co_return ReplyWith(ListRemoteLogs(*core.options.catalog->state(), request));
}

io::Task<Reply> CommitRemoteLogManifest(CoordinatorCore& core, std::string body) {
  CO_ASSIGN_OR_RETURN(const auto request,
                      wire::ParseMessage<wire::CommitRemoteLogManifestRequest>(body));
  co_return ReplyWith(CommitRemoteLog(*core.options.catalog, request));
}

io::Task<Reply> Acls(CoordinatorCore&, std::string) {
  co_return Error(ErrorCode::kSecurityDisabled,
                  "no authorizer is configured, see authorizer.enabled");
}

io::Task<Reply> ServerTag(CoordinatorCore& core, std::string body) {
  // Both requests have the same fields.
  CO_ASSIGN_OR_RETURN(const auto request, wire::ParseMessage<wire::AddServerTagRequest>(body));
  const std::vector<int32_t> known = core.link.server_ids();
  for (const int32_t id : request.server_ids()) {
    if (std::ranges::find(known, id) == known.end()) {
      co_return Error(ErrorCode::kServerNotExist, "no such tablet server server_id=", id);
    }
  }
  co_return Error(ErrorCode::kUnsupportedVersion, "server tags are not supported by this server");
}

io::Task<Reply> Rebalance(CoordinatorCore&, std::string) {
  co_return Error(ErrorCode::kRebalanceFailure, "rebalance is not supported by this server");
}

io::Task<Reply> ListRebalanceProgress(CoordinatorCore&, std::string body) {
  CO_ASSIGN_OR_RETURN(const auto request,
                      wire::ParseMessage<wire::ListRebalanceProgressRequest>(body));
  if (!request.has_rebalance_id()) co_return io::Payload();
  co_return Error(ErrorCode::kNoRebalanceInProgress,
                  "no such rebalance id=", request.rebalance_id());
}

io::Task<Reply> CancelRebalance(CoordinatorCore&, std::string) {
  co_return Error(ErrorCode::kNoRebalanceInProgress, "no rebalance is in progress");
}

io::Task<Reply> Unsupported(CoordinatorCore&, std::string) {
  co_return Error(ErrorCode::kUnsupportedVersion, "the call is not supported by this server");
}

// What both servers offer, any of them answers from the catalog: server's MetadataService does.
const std::map<ApiKey, CallHandler>& Handlers() {
  static const std::map<ApiKey, CallHandler> handlers = {
      {ApiKey::kCreateDatabase, CreateDatabase},
      {ApiKey::kAlterDatabase, AlterDatabase},
      {ApiKey::kDropDatabase, DropDatabase},
      {ApiKey::kCreateTable, CreateTable},
      {ApiKey::kDropTable, DropTable},
      {ApiKey::kAlterTable, AlterTable},
      {ApiKey::kCreatePartition, CreatePartition},
      {ApiKey::kDropPartition, DropPartition},
      {ApiKey::kLakeTieringHeartbeat, LakeTieringHeartbeat},
      {ApiKey::kPrepareLakeTableSnapshot, PrepareLakeTableSnapshot},
      {ApiKey::kCommitLakeTableSnapshot, CommitLakeTableSnapshot},
      {ApiKey::kAlterClusterConfigs, AlterClusterConfigs},
      {ApiKey::kRegisterProducerOffsets, RegisterProducerOffsets},
      {ApiKey::kGetProducerOffsets, GetProducerOffsets},
      {ApiKey::kDeleteProducerOffsets, DeleteProducerOffsets},
      {ApiKey::kAcquireKvSnapshotLease, AcquireKvSnapshotLease},
      {ApiKey::kReleaseKvSnapshotLease, ReleaseKvSnapshotLease},
      {ApiKey::kDropKvSnapshotLease, DropKvSnapshotLease},
      {ApiKey::kCommitKvSnapshot, CommitKvSnapshot},
      {ApiKey::kListKvSnapshots, ListKvSnapshots},
      {ApiKey::kListRemoteLogManifests, ListRemoteLogManifests},
      {ApiKey::kCreateAcls, Acls},
      {ApiKey::kDropAcls, Acls},
      {ApiKey::kAddServerTag, ServerTag},
      {ApiKey::kRemoveServerTag, ServerTag},
      {ApiKey::kRebalance, Rebalance},
      {ApiKey::kListRebalanceProgress, ListRebalanceProgress},
      {ApiKey::kCancelRebalance, CancelRebalance},
      {ApiKey::kCommitRemoteLogManifest, CommitRemoteLogManifest},
      // What only a cluster of several servers would send.
      {ApiKey::kAdjustIsr, Unsupported},
      {ApiKey::kControlledShutdown, Unsupported},
  };
  return handlers;
}

}  // namespace

CallHandler FindHandler(int16_t api_key) {
  const auto found = Handlers().find(static_cast<ApiKey>(api_key));
  return found == Handlers().end() ? nullptr : found->second;
}

size_t BodyBytesMax(int16_t api_key) {
  constexpr size_t kDefinitionBytesMax = 8 << 20;  // A table of tens of thousands of columns.
  constexpr size_t kConfigsBytesMax = 1 << 20;
  constexpr size_t kLeaseBytesMax = 8 << 20;
  switch (static_cast<ApiKey>(api_key)) {
    case ApiKey::kCreateDatabase:
    case ApiKey::kAlterDatabase:
    case ApiKey::kDropDatabase:
    case ApiKey::kCreateTable:
    case ApiKey::kDropTable:
    case ApiKey::kAlterTable:
    case ApiKey::kCreatePartition:
    case ApiKey::kDropPartition:
      return kDefinitionBytesMax;
    case ApiKey::kAlterClusterConfigs:
      return kConfigsBytesMax;
    case ApiKey::kRegisterProducerOffsets:
    case ApiKey::kGetProducerOffsets:
    case ApiKey::kDeleteProducerOffsets:
      return ProducerOffsets::kBytesMax;
    case ApiKey::kAcquireKvSnapshotLease:
    case ApiKey::kReleaseKvSnapshotLease:
    case ApiKey::kDropKvSnapshotLease:
      return kLeaseBytesMax;
    default:
      return std::numeric_limits<size_t>::max();
  }
}

bool AddsMetadata(int16_t api_key) {
  switch (static_cast<ApiKey>(api_key)) {
    case ApiKey::kCreateDatabase:
    case ApiKey::kAlterDatabase:
    case ApiKey::kCreateTable:
    case ApiKey::kAlterTable:
    case ApiKey::kCreatePartition:
    case ApiKey::kRegisterProducerOffsets:
      return true;
    default:
      return false;
  }
}

}  // namespace sluice::coordinator
