#include "meta/catalog_state.h"

#include <algorithm>

namespace sluice::meta {

const PartitionState* TableState::FindPartition(std::string_view name) const {
  const PartitionPtr* found = partitions.Find(name);
  return found == nullptr ? nullptr : found->get();
}

const PartitionState* TableState::FindPartition(int64_t partition_id) const {
  const PartitionPtr* found = partitions_by_id.Find(partition_id);
  return found == nullptr ? nullptr : found->get();
}

void TableState::SetPartition(const PartitionPtr& partition) {
  partitions.Set(partition->info.Name(), partition);
  partitions_by_id.Set(partition->info.partition_id, partition);
}

void TableState::RemovePartition(const PartitionState& partition) {
  const int64_t id = partition.info.partition_id;  // The partition itself may go with the first.
  partitions.Erase(partition.info.Name());
  partitions_by_id.Erase(id);
}

const BucketState* TableState::FindBucket(const PartitionBucket& bucket) const {
  const std::vector<BucketState>* all = &buckets;
  if (bucket.partition_id.has_value()) {
    const PartitionState* partition = FindPartition(*bucket.partition_id);
    if (partition == nullptr) return nullptr;
    all = &partition->buckets;
  }
  const bool known = bucket.bucket >= 0 && static_cast<size_t>(bucket.bucket) < all->size();
  return known ? &(*all)[bucket.bucket] : nullptr;
}

void TableState::ForEachBucket(const BucketVisitor& visit) const {
  for (size_t i = 0; i < buckets.size(); ++i) {
    visit({info.table_id, std::nullopt, static_cast<int32_t>(i)}, nullptr, buckets[i]);
  }
  for (const auto& [name, partition] : partitions) ForEachBucketOf(*partition, visit);
}

void TableState::ForEachBucketOf(const PartitionState& partition,
                                 const BucketVisitor& visit) const {
  for (size_t i = 0; i < partition.buckets.size(); ++i) {
    visit({info.table_id, partition.info.partition_id, static_cast<int32_t>(i)}, &partition,
          partition.buckets[i]);
  }
}

const LakeSnapshot* TableState::LatestLakeSnapshot() const {
  return lake_snapshots.empty() ? nullptr : &lake_snapshots.back();
}

const LakeSnapshot* TableState::ReadableLakeSnapshot() const {
  const auto found =
      std::find_if(lake_snapshots.rbegin(), lake_snapshots.rend(),
                   [](const LakeSnapshot& snapshot) { return snapshot.readable != nullptr; });
  return found == lake_snapshots.rend() ? nullptr : &*found;
}

const LakeSnapshot* TableState::FindLakeSnapshot(int64_t snapshot_id) const {
  const auto found = std::ranges::find(lake_snapshots, snapshot_id, &LakeSnapshot::snapshot_id);
  return found == lake_snapshots.end() ? nullptr : &*found;
}

const DatabaseState* CatalogState::FindDatabase(std::string_view name) const {
  const DatabasePtr* found = databases.Find(name);
  return found == nullptr ? nullptr : found->get();
}

TablePtr CatalogState::FindTable(const types::TablePath& path) const {
  const DatabaseState* database = FindDatabase(path.database);
  if (database == nullptr) return nullptr;
  const TablePtr* found = database->tables.Find(path.table);
  return found == nullptr ? nullptr : *found;
}

TablePtr CatalogState::FindTable(int64_t table_id) const {
  const TablePtr* found = tables_by_id.Find(table_id);
  return found == nullptr ? nullptr : *found;
}

TablePtr CatalogState::FindTableOfPartition(int64_t partition_id) const {
  const int64_t* found = table_of_partition.Find(partition_id);
  return found == nullptr ? nullptr : FindTable(*found);
}

const ViewInfo* CatalogState::FindView(const types::TablePath& path) const {
  const DatabaseState* database = FindDatabase(path.database);
  return database == nullptr ? nullptr : database->views.Find(path.table);
}

const KvSnapshotEntry* CatalogState::FindKvSnapshot(const types::BucketId& bucket,
                                                    int64_t snapshot_id) const {
  const auto* list = kv_snapshots.Find(bucket);
  if (list == nullptr) return nullptr;
  const auto found = std::ranges::find(**list, snapshot_id, &KvSnapshotEntry::snapshot_id);
  return found == (*list)->end() ? nullptr : &*found;
}

const KvSnapshotEntry* CatalogState::LatestKvSnapshot(const types::BucketId& bucket) const {
  const auto* list = kv_snapshots.Find(bucket);
  return list == nullptr ? nullptr : &(*list)->back();
}

Result<DatabasePtr> CatalogState::Database(const std::string& name) const {
  const DatabasePtr* found = databases.Find(name);
  if (found == nullptr) return Error(ErrorCode::kDatabaseNotExist, "no such database=", name);
  return *found;
}

Result<TablePtr> CatalogState::Table(const types::TablePath& path) const {
  TablePtr table = FindTable(path);
  if (table == nullptr) return Error(ErrorCode::kTableNotExist, "no such table=", path);
  return table;
}

Result<TablePtr> CatalogState::Table(int64_t table_id) const {
  TablePtr table = FindTable(table_id);
  if (table == nullptr) return Error(ErrorCode::kTableNotExist, "no such table_id=", table_id);
  return table;
}

Result<std::shared_ptr<const types::Schema>> CatalogState::SchemaOf(int64_t table_id,
                                                                    int32_t schema_id) const {
  ASSIGN_OR_RAISE(const TablePtr table, Table(table_id));
  const auto found = table->schemas.find(schema_id);
  if (found == table->schemas.end()) {
    return Error(ErrorCode::kSchemaNotExist, "no such schema table=", table->info.path,
                 " schema_id=", schema_id);
  }
  return found->second;
}

Result<const BucketState*> CatalogState::Bucket(const types::BucketId& id) const {
  const TablePtr table = FindTable(id.table_id);
  const BucketState* bucket =
      table == nullptr ? nullptr : table->FindBucket({id.partition_id, id.bucket});
  if (bucket == nullptr) return Error(ErrorCode::kUnknownTableOrBucket, "no such bucket ", id);
  return bucket;
}

}  // namespace sluice::meta
