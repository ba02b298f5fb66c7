#include "base/check.h"
#include "meta/catalog.h"
#include "meta/nodes_internal.h"

namespace sluice::meta {

namespace {

/// Reads the nodes of a store into a CatalogState.
class Loader {
 public:
  Loader(MetaStore& store, CatalogState* out) : store_(store), out_(out) {}

  Status Load() {
    ASSIGN_OR_RAISE(const int64_t epoch, Counter(nodes::kCoordinatorEpoch));
    out_->coordinator_epoch = static_cast<int32_t>(epoch);
    ASSIGN_OR_RAISE(const auto databases, store_.Children(nodes::kDatabases));
    for (const std::string& name : databases) RETURN_NOT_OK(LoadDatabase(name));
    ASSIGN_OR_RAISE(const auto intents, store_.Children(nodes::kIntents));
    for (const std::string& name : intents) {
      ASSIGN_OR_RAISE(const std::string text, Value(std::string(nodes::kIntents) + "/" + name));
      ASSIGN_OR_RAISE(DdlIntent intent, nodes::ReadIntent(text));
      out_->intents.push_back(std::move(intent));
    }
    std::ranges::sort(out_->intents, {}, &DdlIntent::id);
    return Status::OK();
  }

 private:
  Result<std::string> Value(const std::string& path) {
    ASSIGN_OR_RAISE(auto node, store_.Get(path));
    if (!node.has_value()) return Corrupt("metadata node is missing path=", path);
    return std::move(node->value);
  }

  Result<int64_t> Counter(const std::string& path) {
    ASSIGN_OR_RAISE(const auto node, store_.Get(path));
    return node.has_value() ? nodes::ReadCounter(node->value) : Result<int64_t>(0);
  }

  Status LoadDatabase(const std::string& name) {
    auto database = std::make_shared<DatabaseState>();
    database->name = name;
    ASSIGN_OR_RAISE(const std::string text, Value(nodes::Database(name)));
    RETURN_NOT_OK(nodes::ReadDatabase(text, database.get()));
    ASSIGN_OR_RAISE(const auto tables, store_.Children(nodes::Tables(name)));
    for (const std::string& table_name : tables) {
      ASSIGN_OR_RAISE(TablePtr table, LoadTable({name, table_name}));
      out_->tables_by_id.Set(table->info.table_id, table);
      for (const auto& [partition_name, partition] : table->partitions) {
        out_->table_of_partition.Set(partition->info.partition_id, table->info.table_id);
      }
      database->tables.Set(table_name, std::move(table));
    }
    ASSIGN_OR_RAISE(const auto views, store_.Children(nodes::Views(name)));
    for (const std::string& view_name : views) {
      ViewInfo view{.path = {name, view_name}};
      ASSIGN_OR_RAISE(const std::string view_text, Value(nodes::View(view.path)));
      RETURN_NOT_OK(nodes::ReadView(view_text, &view));
      database->views.Set(view_name, std::move(view));
    }
    out_->databases.Set(name, std::move(database));
    return Status::OK();
  }

  Result<TablePtr> LoadTable(const types::TablePath& path) {
    auto table = std::make_shared<TableState>();
    table->info.path = path;
    ASSIGN_OR_RAISE(const std::string text, Value(nodes::Table(path)));
    RETURN_NOT_OK(nodes::ReadTable(text, &table->info));
    RETURN_NOT_OK(LoadSchemas(table.get()));
    if (!table->partitioned()) {
      const std::string assignment = nodes::TableAssignment(table->info.table_id);
      ASSIGN_OR_RAISE(table->buckets, LoadBuckets(assignment));
      RETURN_NOT_OK(LoadKvSnapshots(*table, nullptr, assignment));
    }
    ASSIGN_OR_RAISE(const auto partitions, store_.Children(nodes::Partitions(path)));
    for (const std::string& name : partitions) {
      auto partition = std::make_shared<PartitionState>();
      ASSIGN_OR_RAISE(const std::string partition_text, Value(nodes::Partition(path, name)));
      RETURN_NOT_OK(nodes::ReadPartition(partition_text, partition.get()));
      const std::string assignment = nodes::PartitionAssignment(partition->info.partition_id);
      ASSIGN_OR_RAISE(partition->buckets, LoadBuckets(assignment));
      RETURN_NOT_OK(LoadKvSnapshots(*table, partition.get(), assignment));
      table->SetPartition(partition);
    }
    RETURN_NOT_OK(LoadLakeSnapshots(table.get()));
    return table;
  }

  Status LoadSchemas(TableState* table) {
    const types::TablePath& path = table->info.path;
    ASSIGN_OR_RAISE(const auto ids, store_.Children(nodes::Schemas(path)));
    for (const std::string& id_text : ids) {
      ASSIGN_OR_RAISE(const int64_t id, nodes::ReadCounter(id_text));
      ASSIGN_OR_RAISE(const std::string text, Value(nodes::Schema(path, static_cast<int32_t>(id))));
      ASSIGN_OR_RAISE(types::Schema schema, types::Schema::FromJson(text));
      table->schemas[static_cast<int32_t>(id)] =
          std::make_shared<const types::Schema>(std::move(schema));
    }
    if (table->schemas.empty()) return Corrupt("table has no schema table=", path);
    table->info.schema_id = table->schemas.rbegin()->first;
    table->info.descriptor.schema = *table->schemas.rbegin()->second;
    return Status::OK();
  }

  Result<std::vector<BucketState>> LoadBuckets(const std::string& assignment) {
    ASSIGN_OR_RAISE(const std::string text, Value(assignment));
    ASSIGN_OR_RAISE(const auto replicas, nodes::ReadAssignment(text));
    std::vector<BucketState> buckets(replicas.size());
    for (const auto& [bucket, servers] : replicas) {
      if (bucket < 0 || static_cast<size_t>(bucket) >= buckets.size()) {
        return Corrupt("assignment has gaps path=", assignment);
      }
      buckets[bucket].replicas = servers;
      ASSIGN_OR_RAISE(const std::string leader, Value(nodes::Leader(assignment, bucket)));
      RETURN_NOT_OK(nodes::ReadLeader(leader, &buckets[bucket]));
      ASSIGN_OR_RAISE(const auto remote, store_.Get(nodes::RemoteLog(assignment, bucket)));
      if (!remote.has_value()) continue;
      ASSIGN_OR_RAISE(RemoteLogState state, nodes::ReadRemoteLog(remote->value));
      buckets[bucket].remote_log = std::make_shared<const RemoteLogState>(std::move(state));
    }
    return buckets;
  }

  Status LoadKvSnapshots(const TableState& table, const PartitionState* partition,
                         const std::string& assignment) {
    if (!table.info.descriptor.has_primary_key()) return Status::OK();
    const size_t buckets = partition == nullptr ? table.buckets.size() : partition->buckets.size();
    types::BucketId id{.table_id = table.info.table_id};
    if (partition != nullptr) id.partition_id = partition->info.partition_id;
    for (; static_cast<size_t>(id.bucket) < buckets; ++id.bucket) {
      ASSIGN_OR_RAISE(const auto names, store_.Children(nodes::KvSnapshots(assignment, id.bucket)));
      if (names.empty()) continue;
      auto list = std::make_shared<KvSnapshotList>();
      for (const std::string& name : names) {
        const std::string path = nodes::KvSnapshots(assignment, id.bucket) + "/" + name;
        ASSIGN_OR_RAISE(const std::string text, Value(path));
        ASSIGN_OR_RAISE(KvSnapshotEntry snapshot, nodes::ReadKvSnapshot(text));
        list->push_back(std::move(snapshot));
      }
      std::ranges::sort(*list, {}, &KvSnapshotEntry::snapshot_id);
      out_->kv_snapshots.Set(id, std::move(list));
    }
    return Status::OK();
  }

  Status LoadLakeSnapshots(TableState* table) {
    const int64_t table_id = table->info.table_id;
    ASSIGN_OR_RAISE(const auto node, store_.Get(nodes::LakeTable(table_id)));
    if (!node.has_value()) return Status::OK();
    ASSIGN_OR_RAISE(table->lake_snapshots, nodes::ReadLakeTable(node->value));
    for (LakeSnapshot& snapshot : table->lake_snapshots) {
      ASSIGN_OR_RAISE(const std::string text,
                      Value(nodes::LakeOffsets(table_id, snapshot.snapshot_id)));
      RETURN_NOT_OK(nodes::ReadLakeOffsets(text, &snapshot));
    }
    return Status::OK();
  }

  MetaStore& store_;
  CatalogState* out_;
};

}  // namespace

Result<CatalogStatePtr> Catalog::Read(MetaStore& store) {
  auto state = std::make_shared<CatalogState>();
  RETURN_NOT_OK(Loader(store, state.get()).Load());
  state->revision = 1;
  return state;
}

Status Catalog::Load() {
  ASSIGN_OR_RAISE(CatalogStatePtr state, Read(store_));
  const std::lock_guard lock(mutex_);
  state_ = std::move(state);
  return Status::OK();
}

}  // namespace sluice::meta
