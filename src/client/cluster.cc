#include "client/cluster.h"

#include <map>
#include <mutex>

#include "client/calls_internal.h"
#include "wire/frame.h"
#include "wire/proto/metadata.pb.h"
#include "wire/proto/table.pb.h"

namespace sluice::client {

bool IsRetriable(const Status& status) {
  switch (CodeOf(status)) {
    case ErrorCode::kNetwork:
    case ErrorCode::kCorruptMessage:
    case ErrorCode::kSchemaNotExist:
    case ErrorCode::kLogStorage:
    case ErrorCode::kKvStorage:
    case ErrorCode::kNotLeaderOrFollower:
    case ErrorCode::kCorruptRecord:
    case ErrorCode::kUnknownTableOrBucket:
    case ErrorCode::kRequestTimeOut:
    case ErrorCode::kStorage:
    case ErrorCode::kNotEnoughReplicasAfterAppend:
    case ErrorCode::kNotEnoughReplicas:
    case ErrorCode::kLeaderNotAvailable:
    case ErrorCode::kDiskWriteLocked:
    case ErrorCode::kStorageBackpressure:
    case ErrorCode::kHistoricalPartitionThrottled:
      return true;
    default:
      return false;
  }
}

bool IsRetriableRead(const Status& status) {
  return IsRetriable(status) && CodeOf(status) != ErrorCode::kCorruptRecord;
}

bool NeedsNewMetadata(const Status& status) {
  switch (CodeOf(status)) {
    case ErrorCode::kNetwork:
    case ErrorCode::kNotLeaderOrFollower:
    case ErrorCode::kUnknownTableOrBucket:
    case ErrorCode::kLeaderNotAvailable:
      return true;
    default:
      return false;
  }
}

struct Cluster::Cache {
  using PartitionKey = std::pair<types::TablePath, std::string>;
  std::mutex mutex;  // Guards the rest.
  std::optional<ServerNode> coordinator;
  std::map<int32_t, ServerNode> tablets;
  size_t next_tablet = 0;
  std::map<types::TablePath, TableMetaPtr> tables;
  std::map<PartitionKey, PartitionMetaPtr> partitions;
  std::map<std::pair<types::TablePath, int32_t>, std::shared_ptr<const types::Schema>> schemas;

  void ForgetTable(const types::TablePath& path) {
    tables.erase(path);
    std::erase_if(partitions, [&](const auto& entry) { return entry.first.first == path; });
  }

  void Take(const wire::MetadataResponse& reply, std::vector<TableMetaPtr> learned) {
    if (reply.has_coordinator_server()) coordinator = NodeOf(reply.coordinator_server());
    tablets.clear();
    for (const auto& node : reply.tablet_servers()) tablets[node.node_id()] = NodeOf(node);
    for (TableMetaPtr& table : learned) {
      const types::TablePath path = table->info.path;
      const auto known = tables.find(path);
      if (known != tables.end() && known->second->info.table_id != table->info.table_id) {
        ForgetTable(path);  // Dropped and made again.
        std::erase_if(schemas, [&](const auto& entry) { return entry.first.first == path; });
      }
      tables[path] = std::move(table);
    }
    for (const auto& partition : reply.partition_metadata()) TakePartition(partition);
  }

  void TakePartition(const wire::PbPartitionMetadata& partition) {
    const auto of_table = [&](const auto& entry) {
      return entry.second->info.table_id == partition.table_id();
    };
    const auto table = std::ranges::find_if(tables, of_table);
    if (table == tables.end()) return;
    auto meta = std::make_shared<PartitionMeta>();
    meta->table_id = partition.table_id();
    meta->partition_id = partition.partition_id();
    meta->name = partition.partition_name();
    meta->leaders = LeadersOf(partition.bucket_metadata());
    partitions[{table->first, meta->name}] = std::move(meta);
  }

  static ServerNode NodeOf(const wire::PbServerNode& node) {
    return {node.node_id(), node.host(), static_cast<uint16_t>(node.port())};
  }

  template <typename Buckets>
  static std::vector<int32_t> LeadersOf(const Buckets& buckets) {
    std::vector<int32_t> leaders;
    for (const auto& bucket : buckets) {
      if (bucket.bucket_id() < 0 || bucket.bucket_id() > 1 << 20) continue;
      if (leaders.size() <= static_cast<size_t>(bucket.bucket_id()))
        leaders.resize(bucket.bucket_id() + 1, -1);
      if (bucket.has_leader_id()) leaders[bucket.bucket_id()] = bucket.leader_id();
    }
    return leaders;
  }
};

namespace {

Result<TableMetaPtr> TableOf(const wire::PbTableMetadata& table) {
  auto meta = std::make_shared<TableMeta>();
  meta->info.path = {table.table_path().database_name(), table.table_path().table_name()};
  meta->info.table_id = table.table_id();
  meta->info.schema_id = table.schema_id();
  meta->info.created_ms = table.created_time();
  meta->info.modified_ms = table.modified_time();
  meta->info.remote_data_dir = table.remote_data_dir();
  ASSIGN_OR_RAISE(meta->info.descriptor, types::TableDescriptor::FromJson(table.table_json()));
  return meta;
}

}  // namespace

std::shared_ptr<Cluster> Cluster::Make(std::shared_ptr<Servers> servers, Options options) {
  return std::shared_ptr<Cluster>(new Cluster(std::move(servers), options));
}

Cluster::Cluster(std::shared_ptr<Servers> servers, Options options)
    : servers_(std::move(servers)), options_(options), cache_(std::make_shared<Cache>()) {}

std::chrono::milliseconds Cluster::BackoffOf(int retry) const {
  return std::min(options_.backoff * (1 << std::min(retry, 16)), options_.backoff_max);
}

void Cluster::ForgetLeaders(const types::TablePath& path) {
  const std::lock_guard lock(cache_->mutex);
  cache_->ForgetTable(path);
}

io::Task<Result<ServerPtr>> Cluster::TabletOf(ClusterPtr self, io::Loop& loop,
                                              std::optional<int32_t> server_id) {
  std::optional<ServerNode> node;
  {
    const std::lock_guard lock(self->cache_->mutex);
    const auto& tablets = self->cache_->tablets;
    if (server_id && tablets.contains(*server_id)) node = tablets.at(*server_id);
    if (!server_id && !tablets.empty()) {
      node = std::next(tablets.begin(),
                       static_cast<std::ptrdiff_t>(self->cache_->next_tablet++ % tablets.size()))
                 ->second;
    }
  }
  if (!node)
    co_return Error(ErrorCode::kLeaderNotAvailable,
                    "no such tablet server is known server=", server_id.value_or(-1));
  co_return co_await self->servers_->At(loop, *node, wire::ServerType::kTabletServer);
}

/// One GET_METADATA, from a server that we know or else a bootstrap server, until one answers.
io::Task<Status> Cluster::Refresh(ClusterPtr self, io::Loop& loop, std::string request) {
  Status last;
  for (int attempt = 0; attempt < self->options_.attempts; ++attempt) {
    if (attempt > 1) co_await io::Sleep(loop, self->BackoffOf(attempt - 2));
    Result<ServerPtr> server = ServerPtr();
    if (attempt == 0) server = co_await TabletOf(self, loop, std::nullopt);
    if (attempt > 0 || !server.ok()) server = co_await self->servers_->Bootstrap(loop, attempt);
    last = server.status();
    if (!last.ok()) continue;
    Result<std::string> body = co_await (*server)->Send(loop, wire::ApiKey::kGetMetadata, request);
    last = body.status();
    if (!last.ok()) {
      if (!IsRetriable(last)) co_return last;
      continue;
    }
    last = TakeMetadata(*self, *body);
    if (last.ok() || !IsRetriable(last)) co_return last;
  }
  co_return last;
}

Status Cluster::TakeMetadata(Cluster& self, std::string_view body) {
  ASSIGN_OR_RAISE(const auto reply, wire::ParseMessage<wire::MetadataResponse>(body));
  if (reply.tablet_servers().empty())
    return Error(ErrorCode::kLeaderNotAvailable, "no tablet server is registered yet");
  std::vector<TableMetaPtr> tables;
  for (const auto& table : reply.table_metadata()) {
    ASSIGN_OR_RAISE(TableMetaPtr meta, TableOf(table));
    auto with_leaders = std::make_shared<TableMeta>(*meta);
    with_leaders->leaders = Cache::LeadersOf(table.bucket_metadata());
    tables.push_back(std::move(with_leaders));
  }
  const std::lock_guard lock(self.cache_->mutex);
  self.cache_->Take(reply, std::move(tables));
  return Status::OK();
}

io::Task<Result<TableMetaPtr>> Cluster::Table(io::Loop& loop, types::TablePath path, bool refresh) {
  return TableIn(shared_from_this(), loop, std::move(path), refresh);
}

io::Task<Result<TableMetaPtr>> Cluster::TableIn(ClusterPtr self, io::Loop& loop,
                                                types::TablePath path, bool refresh) {
  const auto cached = [&]() -> TableMetaPtr {
    const std::lock_guard lock(self->cache_->mutex);
    const auto found = self->cache_->tables.find(path);
    return found == self->cache_->tables.end() ? nullptr : found->second;
  };
  if (!refresh) {
    if (TableMetaPtr table = cached()) co_return table;
  }
  wire::MetadataRequest request;
  SetPath(request.add_table_path(), path);
  CO_RETURN_NOT_OK(co_await Refresh(self, loop, wire::Serialize(request)));
  TableMetaPtr table = cached();
  if (table == nullptr) co_return Error(ErrorCode::kTableNotExist, "unknown table table=", path);
  co_return table;
}

io::Task<Result<PartitionMetaPtr>> Cluster::Partition(io::Loop& loop, types::TablePath path,
                                                      std::string name, bool refresh) {
  return PartitionIn(shared_from_this(), loop, std::move(path), std::move(name), -1, refresh);
}

io::Task<Result<PartitionMetaPtr>> Cluster::PartitionIn(ClusterPtr self, io::Loop& loop,
                                                        types::TablePath path, std::string name,
                                                        int64_t partition_id, bool refresh) {
  const auto cached = [&]() -> PartitionMetaPtr {
    const std::lock_guard lock(self->cache_->mutex);
    for (const auto& [key, partition] : self->cache_->partitions) {
      if (key.first != path) continue;
      if (partition_id >= 0 ? partition->partition_id == partition_id : partition->name == name)
        return partition;
    }
    return nullptr;
  };
  if (!refresh) {
    if (PartitionMetaPtr partition = cached()) co_return partition;
  }
  wire::MetadataRequest request;
  SetPath(request.add_table_path(), path);
  if (partition_id >= 0) {
    request.add_partitions_id(partition_id);
  } else {
    auto* physical = request.add_partitions_path();
    physical->set_database_name(path.database);
    physical->set_table_name(path.table);
    physical->set_partition_name(name);
  }
  CO_RETURN_NOT_OK(co_await Refresh(self, loop, wire::Serialize(request)));
  PartitionMetaPtr partition = cached();
  if (partition == nullptr) {
    co_return Error(ErrorCode::kPartitionNotExists, "unknown partition table=", path,
                    " partition=", name, " partition_id=", partition_id);
  }
  co_return partition;
}

io::Task<Result<std::shared_ptr<const types::Schema>>> Cluster::Schema(io::Loop& loop,
                                                                       types::TablePath path,
                                                                       int32_t schema_id) {
  return SchemaIn(shared_from_this(), loop, std::move(path), schema_id);
}

io::Task<Result<std::shared_ptr<const types::Schema>>> Cluster::SchemaIn(ClusterPtr self,
                                                                         io::Loop& loop,
                                                                         types::TablePath path,
                                                                         int32_t schema_id) {
  const std::pair key(path, schema_id);
  {
    const std::lock_guard lock(self->cache_->mutex);
    if (const auto found = self->cache_->schemas.find(key); found != self->cache_->schemas.end())
      co_return found->second;
  }
  wire::GetTableSchemaRequest request;
  SetPath(request.mutable_table_path(), path);
  request.set_schema_id(schema_id);
  CO_ASSIGN_OR_RETURN(
      const auto reply,
      (co_await Ask<wire::GetTableSchemaResponse, wire::GetTableSchemaRequest>(
          self, loop, Where::kAnyTablet, wire::ApiKey::kGetTableSchema, std::move(request))));
  CO_ASSIGN_OR_RETURN(types::Schema schema, types::Schema::FromJson(reply.schema_json()));
  auto shared = std::make_shared<const types::Schema>(std::move(schema));
  const std::lock_guard lock(self->cache_->mutex);
  self->cache_->schemas[key] = shared;
  co_return shared;
}

io::Task<Result<int32_t>> Cluster::Leader(io::Loop& loop, types::TablePath path,
                                          types::BucketId bucket) {
  return LeaderIn(shared_from_this(), loop, std::move(path), bucket);
}

io::Task<Result<int32_t>> Cluster::LeaderIn(ClusterPtr self, io::Loop& loop, types::TablePath path,
                                            types::BucketId bucket) {
  for (int round = 0; round < 2; ++round) {
    const bool refresh = round > 0;
    std::vector<int32_t> leaders;
    int64_t table_id = -1;
    if (bucket.partition_id) {
      CO_ASSIGN_OR_RETURN(
          const PartitionMetaPtr partition,
          co_await PartitionIn(self, loop, path, "", *bucket.partition_id, refresh));
      leaders = partition->leaders;
      table_id = partition->table_id;
    } else {
      CO_ASSIGN_OR_RETURN(const TableMetaPtr table, co_await TableIn(self, loop, path, refresh));
      leaders = table->leaders;
      table_id = table->info.table_id;
    }
    if (table_id != bucket.table_id) {
      if (refresh)
        co_return Error(ErrorCode::kTableNotExist, "table was made anew table=", path,
                        " table_id=", bucket.table_id);
      continue;
    }
    const auto index = static_cast<size_t>(bucket.bucket);
    if (index < leaders.size() && leaders[index] >= 0) co_return leaders[index];
  }
  co_return Error(ErrorCode::kLeaderNotAvailable, "bucket has no leader table=", path, " ", bucket);
}

io::Task<Result<std::string>> Cluster::CallCoordinator(io::Loop& loop, wire::ApiKey key,
                                                       std::string body) {
  return CallCoordinatorIn(shared_from_this(), loop, key, std::move(body));
}

io::Task<Result<std::string>> Cluster::CallCoordinatorIn(ClusterPtr self, io::Loop& loop,
                                                         wire::ApiKey key, std::string body) {
  const auto cached = [&] {
    const std::lock_guard lock(self->cache_->mutex);
    return self->cache_->coordinator;
  };
  std::optional<ServerNode> node = cached();
  if (!node) {
    CO_RETURN_NOT_OK(co_await Refresh(self, loop, wire::Serialize(wire::MetadataRequest())));
    node = cached();
  }
  if (!node) co_return Error(ErrorCode::kLeaderNotAvailable, "no coordinator is known yet");
  Result<ServerPtr> server =
      co_await self->servers_->At(loop, *node, wire::ServerType::kCoordinator);
  if (!server.ok()) {
    const std::lock_guard lock(self->cache_->mutex);
    self->cache_->coordinator.reset();
    co_return server.status();
  }
  co_return co_await (*server)->Send(loop, key, std::move(body));
}

io::Task<Result<std::string>> Cluster::CallAnyTablet(io::Loop& loop, wire::ApiKey key,
                                                     std::string body) {
  return CallTabletIn(shared_from_this(), loop, std::nullopt, key, std::move(body));
}

io::Task<Result<std::string>> Cluster::CallTablet(io::Loop& loop, int32_t server_id,
                                                  wire::ApiKey key, std::string body) {
  return CallTabletIn(shared_from_this(), loop, server_id, key, std::move(body));
}

io::Task<Result<std::string>> Cluster::CallTabletIn(ClusterPtr self, io::Loop& loop,
                                                    std::optional<int32_t> server_id,
                                                    wire::ApiKey key, std::string body) {
  Result<ServerPtr> server = co_await TabletOf(self, loop, server_id);
  if (!server.ok() && CodeOf(server.status()) == ErrorCode::kLeaderNotAvailable) {
    CO_RETURN_NOT_OK(co_await Refresh(self, loop, wire::Serialize(wire::MetadataRequest())));
    server = co_await TabletOf(self, loop, server_id);
  }
  if (!server.ok()) co_return server.status();
  co_return co_await (*server)->Send(loop, key, std::move(body));
}

io::Task<Result<std::string>> Cluster::CallLeader(io::Loop& loop, types::TablePath path,
                                                  types::BucketId bucket, wire::ApiKey key,
                                                  std::string body) {
  return CallLeaderIn(shared_from_this(), loop, std::move(path), bucket, key, std::move(body));
}

io::Task<Result<std::string>> Cluster::CallLeaderIn(ClusterPtr self, io::Loop& loop,
                                                    types::TablePath path, types::BucketId bucket,
                                                    wire::ApiKey key, std::string body) {
  for (int retry = 0;; ++retry) {
    Result<int32_t> leader = co_await LeaderIn(self, loop, path, bucket);
    Result<std::string> reply = std::string();
    if (!leader.ok()) reply = leader.status();
    if (leader.ok()) reply = co_await CallTabletIn(self, loop, *leader, key, body);
    if (reply.ok() || !IsRetriable(reply.status()) || retry + 1 >= self->options_.attempts)
      co_return reply;
    if (NeedsNewMetadata(reply.status())) self->ForgetLeaders(path);
    co_await io::Sleep(loop, self->BackoffOf(retry));
  }
}

}  // namespace sluice::client
