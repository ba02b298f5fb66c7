#include <set>

#include "coordinator/tablet_messages.h"
#include "server/metadata_replies_internal.h"

namespace sluice::server {
namespace {

void FillServer(const Endpoint& endpoint, int32_t id, wire::PbServerNode* node) {
  node->set_node_id(id);
  node->set_host(endpoint.host);
  node->set_port(endpoint.port);
}

// Each server at the listener that the caller came by; a server without it is left out.
void FillServers(const ClusterAddresses& addresses, std::string_view listener,
                 wire::MetadataResponse* response) {
  for (const ServerAddress& coordinator : addresses.coordinator) {
    const Endpoint* endpoint = coordinator.EndpointFor(listener);
    if (endpoint != nullptr) FillServer(*endpoint, 0, response->mutable_coordinator_server());
  }
  for (const ServerAddress& tablet : addresses.tablet_servers) {
    const Endpoint* endpoint = tablet.EndpointFor(listener);
    if (endpoint != nullptr) FillServer(*endpoint, tablet.id, response->add_tablet_servers());
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
  coordinator::AddBuckets(table.buckets, out->mutable_bucket_metadata());
}

void FillPartition(const meta::TableState& table, const meta::PartitionState& partition,
                   wire::PbPartitionMetadata* out) {
  out->set_table_id(table.info.table_id);
  out->set_partition_name(partition.info.Name());
  out->set_partition_id(partition.info.partition_id);
  out->set_bucket_count(static_cast<int32_t>(partition.buckets.size()));
  coordinator::AddBuckets(partition.buckets, out->mutable_bucket_metadata());
}

// Counts down what an answer may still hold.
class ReplyBound {
 public:
  explicit ReplyBound(uint64_t bytes_max) : bytes_max_(bytes_max), left_(bytes_max) {}
  template <typename Entry>
  Status Take(const Entry& entry) {
    const uint64_t size_bytes = entry.ByteSizeLong();
    if (size_bytes > left_) {
      return Error(ErrorCode::kRecordTooLarge,
                   "metadata of so many tables is too much for one answer bytes_max=", bytes_max_);
    }
    left_ -= size_bytes;
    return Status::OK();
  }

 private:
  const uint64_t bytes_max_;
  uint64_t left_;
};

Status NoPartition(const types::TablePath& path, std::string_view name) {
  return Error(ErrorCode::kPartitionNotExists, "partition does not exist table=", path,
               " partition=", name);
}

}  // namespace

std::string TableJson(const meta::TableState& table,
                      const std::map<std::string, std::string>& additions) {
  if (additions.empty() || !table.lake_enabled()) return table.info.descriptor.ToJson();
  types::TableDescriptor descriptor = table.info.descriptor;
  for (const auto& [key, value] : additions) descriptor.properties.try_emplace(key, value);
  return descriptor.ToJson();
}

Result<wire::MetadataResponse> MetadataReply(const meta::CatalogState& state,
                                             const ClusterAddresses& addresses,
                                             std::string_view listener,
                                             const std::map<std::string, std::string>& additions,
                                             const wire::MetadataRequest& request,
                                             uint64_t bytes_max) {
  wire::MetadataResponse response;
  FillServers(addresses, listener, &response);
  ReplyBound bound(bytes_max);
  std::set<int64_t> asked_tables;
  std::set<int64_t> asked_partitions;  // Whoever asks twice is answered once.
  for (const auto& asked : request.table_path()) {
    ASSIGN_OR_RAISE(const meta::TablePtr table, state.Table(PathOf(asked)));
    if (!asked_tables.insert(table->info.table_id).second) continue;
    FillTable(*table, additions, response.add_table_metadata());
    RETURN_NOT_OK(bound.Take(*response.table_metadata().rbegin()));
  }
  const auto add = [&](const meta::TableState& table,
                       const meta::PartitionState& partition) -> Status {
    if (!asked_partitions.insert(partition.info.partition_id).second) return Status::OK();
    FillPartition(table, partition, response.add_partition_metadata());
    return bound.Take(*response.partition_metadata().rbegin());
  };
  for (const auto& asked : request.partitions_path()) {
    const types::TablePath path{asked.database_name(), asked.table_name()};
    const meta::TablePtr table = state.FindTable(path);
    const auto* partition =
        table == nullptr ? nullptr : table->FindPartition(asked.partition_name());
    if (partition == nullptr) return NoPartition(path, asked.partition_name());
    RETURN_NOT_OK(add(*table, *partition));
  }
  for (const int64_t id : request.partitions_id()) {
    const meta::TablePtr table = state.FindTableOfPartition(id);
    const auto* partition = table == nullptr ? nullptr : table->FindPartition(id);
    if (partition == nullptr || !asked_tables.contains(table->info.table_id)) {
      return Error(ErrorCode::kPartitionNotExists, "partition does not exist partition_id=", id);
    }
    RETURN_NOT_OK(add(*table, *partition));
  }
  return response;
}

}  // namespace sluice::server
