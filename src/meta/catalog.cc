#include "meta/catalog.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "meta/nodes_internal.h"

namespace sluice::meta {

using Ops = std::vector<MetaStore::Op>;

Result<std::unique_ptr<Catalog>> Catalog::Open(MetaStore& store, io::Clock& clock) {
  std::unique_ptr<Catalog> catalog(new Catalog(store, clock));
  RETURN_NOT_OK(catalog->Load());
  const std::string fallback(kDefaultDatabase);
  if (catalog->state()->FindDatabase(fallback) == nullptr)
    RETURN_NOT_OK(catalog->CreateDatabase(fallback, {}));
  return catalog;
}

Catalog::~Catalog() = default;

CatalogStatePtr Catalog::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

CatalogState Catalog::Next() const {
  CatalogState next = *state();
  ++next.revision;
  return next;
}

Status Catalog::Commit(Ops ops, CatalogState next) {
  RETURN_NOT_OK(store_.Apply(std::move(ops)));
  auto published = std::make_shared<const CatalogState>(std::move(next));
  const std::lock_guard lock(mutex_);
  state_ = std::move(published);
  return Status::OK();
}

Result<int64_t> Catalog::TakeFromCounter(const std::string& path, int64_t count, Ops* ops) {
  CHECK(count > 0);
  ASSIGN_OR_RAISE(const auto node, store_.Get(path));
  int64_t last = 0;
  if (node.has_value()) {
    ASSIGN_OR_RAISE(last, nodes::ReadCounter(node->value));
  }
  if (last > std::numeric_limits<int64_t>::max() - count) {
    return Error(ErrorCode::kUnknownServer, "numbers are used up, node=", path, " last=", last,
                 " count=", count);
  }
  ops->push_back(MetaStore::Put(path, std::to_string(last + count)));
  return last + 1;
}

Result<int32_t> Catalog::RaiseCoordinatorEpoch() {
  Ops ops;
  ASSIGN_OR_RAISE(const int64_t epoch, TakeFromCounter(nodes::kCoordinatorEpoch, 1, &ops));
  CatalogState next = Next();
  next.coordinator_epoch = static_cast<int32_t>(epoch);
  RETURN_NOT_OK(Commit(std::move(ops), std::move(next)));
  return static_cast<int32_t>(epoch);
}

Result<int64_t> Catalog::NextWriterIds(int64_t count) {
  Ops ops;
  ASSIGN_OR_RAISE(const int64_t first, TakeFromCounter(nodes::kWriterCounter, count, &ops));
  RETURN_NOT_OK(store_.Apply(std::move(ops)));
  return first;
}

Result<int64_t> Catalog::NextColumnIds(int64_t table_id, int64_t count) {
  ASSIGN_OR_RAISE(const TablePtr table, state()->Table(table_id));
  const types::Schema& schema = table->info.descriptor.schema;
  if (schema.auto_increment.empty()) {
    return Error(ErrorCode::kInvalidTable,
                 "table has no auto-increment column table=", table->info.path);
  }
  const int column = schema.IndexOf(schema.auto_increment.front());
  CHECK(column >= 0);
  Ops ops;
  ASSIGN_OR_RAISE(const int64_t first,
                  TakeFromCounter(nodes::ColumnCounter(table->info.path, schema.columns[column].id),
                                  count, &ops));
  RETURN_NOT_OK(store_.Apply(std::move(ops)));
  return first;
}

Status Catalog::CreateDatabase(const std::string& name,
                               const types::DatabaseDescriptor& descriptor) {
  CatalogState next = Next();
  if (next.databases.contains(name)) {
    return Error(ErrorCode::kDatabaseAlreadyExist, "database exists already database=", name);
  }
  auto database = std::make_shared<DatabaseState>();
  database->name = name;
  database->descriptor = descriptor;
  database->created_ms = database->modified_ms = clock_.NowMs();
  Ops ops = {MetaStore::Create(nodes::Database(name), nodes::WriteDatabase(*database))};
  next.databases.Set(name, std::move(database));
  return Commit(std::move(ops), std::move(next));
}

Status Catalog::AlterDatabase(const std::string& name,
                              const types::DatabaseDescriptor& descriptor) {
  CatalogState next = Next();
  ASSIGN_OR_RAISE(const DatabasePtr old, next.Database(name));
  auto database = std::make_shared<DatabaseState>(*old);
  database->descriptor = descriptor;
  database->modified_ms = clock_.NowMs();
  Ops ops = {MetaStore::Set(nodes::Database(name), nodes::WriteDatabase(*database))};
  next.databases.Set(name, std::move(database));
  return Commit(std::move(ops), std::move(next));
}

namespace {

// Their nodes are below the assignment.
void ForgetKvSnapshots(const TableState& table, const PartitionState* partition,
                       CatalogState* next) {
  if (!table.info.descriptor.has_primary_key()) return;
  const auto forget = [&](const types::BucketId& id, const PartitionState*, const BucketState&) {
    next->kv_snapshots.Erase(id);
  };
  if (partition == nullptr) {
    table.ForEachBucket(forget);
  } else {
    table.ForEachBucketOf(*partition, forget);
  }
}

// Steps that remove a table's nodes, and its entries in `next`'s indexes.
void ForgetTable(const TableState& table, CatalogState* next, Ops* ops) {
  ops->push_back(MetaStore::DeleteTree(nodes::Table(table.info.path)));
  ops->push_back(MetaStore::DeleteTree(nodes::TableAssignment(table.info.table_id)));
  ops->push_back(MetaStore::DeleteTree(nodes::LakeOffsets(table.info.table_id)));
  for (const auto& [name, partition] : table.partitions) {
    ops->push_back(MetaStore::DeleteTree(nodes::PartitionAssignment(partition->info.partition_id)));
    next->table_of_partition.Erase(partition->info.partition_id);
  }
  ForgetKvSnapshots(table, nullptr, next);
  next->tables_by_id.Erase(table.info.table_id);
}

// Put a table's new state where `next` finds it.
void PlaceTable(const TablePtr& table, CatalogState* next) {
  const types::TablePath& path = table->info.path;
  auto database = std::make_shared<DatabaseState>(**next->databases.Find(path.database));
  database->tables.Set(path.table, table);
  next->databases.Set(path.database, std::move(database));
  next->tables_by_id.Set(table->info.table_id, table);
}

void WriteBuckets(const std::string& assignment, const std::vector<BucketState>& buckets,
                  std::optional<int64_t> table_id, Ops* ops) {
  ops->push_back(MetaStore::Create(assignment, nodes::WriteAssignment(buckets, table_id)));
  for (size_t i = 0; i < buckets.size(); ++i) {
    ops->push_back(MetaStore::Create(nodes::Leader(assignment, i), nodes::WriteLeader(buckets[i])));
  }
}

void ForgetIntent(std::optional<int64_t> intent, CatalogState* next, Ops* ops) {
  if (!intent.has_value()) return;
  ops->push_back(MetaStore::Delete(nodes::Intent(*intent)));
  std::erase_if(next->intents, [&](const DdlIntent& one) { return one.id == *intent; });
}

int64_t RecordIntent(std::optional<DdlIntent> intent, CatalogState* next, Ops* ops) {
  if (!intent.has_value()) return 0;
  intent->id = next->intents.empty() ? 1 : next->intents.back().id + 1;
  ops->push_back(MetaStore::Create(nodes::Intent(intent->id), nodes::WriteIntent(*intent)));
  next->intents.push_back(*std::move(intent));
  return next->intents.back().id;
}

}  // namespace

Result<int64_t> Catalog::DropDatabase(const std::string& name, bool cascade,
                                      std::optional<DdlIntent> follow_up) {
  CatalogState next = Next();
  ASSIGN_OR_RAISE(const DatabasePtr database, next.Database(name));
  if (!cascade && !(database->tables.empty() && database->views.empty())) {
    return Error(ErrorCode::kDatabaseNotEmpty, "database is not empty database=", name,
                 " tables=", database->tables.size(), " views=", database->views.size());
  }
  Ops ops;
  for (const auto& [table_name, table] : database->tables) ForgetTable(*table, &next, &ops);
  ops.push_back(MetaStore::DeleteTree(nodes::Views(name)));
  ops.push_back(MetaStore::DeleteTree(nodes::Database(name)));
  next.databases.Erase(name);
  const int64_t left = RecordIntent(std::move(follow_up), &next, &ops);
  RETURN_NOT_OK(Commit(std::move(ops), std::move(next)));
  return left;
}

Result<TablePtr> Catalog::CreateTable(NewTable table) {
  CatalogState next = Next();
  const types::TablePath path = table.path;
  RETURN_NOT_OK(next.Database(path.database));
  if (next.FindTable(path) != nullptr || next.FindView(path) != nullptr) {
    return Error(ErrorCode::kTableAlreadyExist, "table exists already table=", path);
  }
  CHECK(table.descriptor.partitioned() == table.buckets.empty());
  Ops ops;
  auto state = std::make_shared<TableState>();
  ASSIGN_OR_RAISE(state->info.table_id, TakeFromCounter(nodes::kTableCounter, 1, &ops));
  state->info.path = path;
  state->info.schema_id = 1;
  state->info.descriptor = std::move(table.descriptor);
  state->info.created_ms = state->info.modified_ms = clock_.NowMs();
  state->info.remote_data_dir = std::move(table.remote_data_dir);
  state->schemas[1] = std::make_shared<const types::Schema>(state->info.descriptor.schema);
  state->buckets = std::move(table.buckets);

  ops.push_back(MetaStore::Create(nodes::Table(path), nodes::WriteTable(state->info)));
  ops.push_back(MetaStore::Create(nodes::Schema(path, 1), state->schemas[1]->ToJson()));
  WriteBuckets(nodes::TableAssignment(state->info.table_id), state->buckets, std::nullopt, &ops);
  ForgetIntent(table.intent, &next, &ops);
  PlaceTable(state, &next);
  RETURN_NOT_OK(Commit(std::move(ops), std::move(next)));
  return state;
}

Status Catalog::AlterTable(const types::TablePath& path, const types::TableDescriptor& descriptor,
                           std::optional<int64_t> intent) {
  CatalogState next = Next();
  ASSIGN_OR_RAISE(const TablePtr old, next.Table(path));
  auto table = std::make_shared<TableState>(*old);
  Ops ops;
  const std::string schema_json = descriptor.schema.ToJson();
  if (schema_json != old->info.descriptor.schema.ToJson()) {
    const int32_t id = ++table->info.schema_id;
    table->schemas[id] = std::make_shared<const types::Schema>(descriptor.schema);
    ops.push_back(MetaStore::Create(nodes::Schema(path, id), schema_json));
  }
  table->info.descriptor = descriptor;
  table->info.modified_ms = clock_.NowMs();
  ops.push_back(MetaStore::Set(nodes::Table(path), nodes::WriteTable(table->info)));
  ForgetIntent(intent, &next, &ops);
  PlaceTable(table, &next);
  return Commit(std::move(ops), std::move(next));
}

Result<int64_t> Catalog::DropTable(const types::TablePath& path,
                                   std::optional<DdlIntent> follow_up) {
  CatalogState next = Next();
  ASSIGN_OR_RAISE(const TablePtr table, next.Table(path));
  Ops ops;
  ForgetTable(*table, &next, &ops);
  auto database = std::make_shared<DatabaseState>(**next.databases.Find(path.database));
  database->tables.Erase(path.table);
  next.databases.Set(path.database, std::move(database));
  const int64_t left = RecordIntent(std::move(follow_up), &next, &ops);
  RETURN_NOT_OK(Commit(std::move(ops), std::move(next)));
  return left;
}

Result<PartitionPtr> Catalog::CreatePartition(const types::TablePath& path,
                                              std::vector<std::string> values,
                                              std::vector<BucketState> buckets,
                                              std::string remote_data_dir) {
  CatalogState next = Next();
  ASSIGN_OR_RAISE(const TablePtr old, next.Table(path));
  CHECK(old->partitioned() && !buckets.empty());
  auto partition = std::make_shared<PartitionState>();
  partition->info.values = std::move(values);
  partition->remote_data_dir = std::move(remote_data_dir);
  partition->buckets = std::move(buckets);
  const std::string name = partition->info.Name();
  if (old->partitions.contains(name)) {
    return Error(ErrorCode::kPartitionAlreadyExists, "partition exists already table=", path,
                 " partition=", name);
  }
  Ops ops;
  ASSIGN_OR_RAISE(partition->info.partition_id, TakeFromCounter(nodes::kPartitionCounter, 1, &ops));
  const int64_t partition_id = partition->info.partition_id;
  const int64_t table_id = old->info.table_id;
  ops.push_back(
      MetaStore::Create(nodes::Partition(path, name), nodes::WritePartition(table_id, *partition)));
  WriteBuckets(nodes::PartitionAssignment(partition_id), partition->buckets, table_id, &ops);
  auto table = std::make_shared<TableState>(*old);
  table->SetPartition(partition);
  next.table_of_partition.Set(partition_id, table_id);
  PlaceTable(table, &next);
  RETURN_NOT_OK(Commit(std::move(ops), std::move(next)));
  return partition;
}

Result<int64_t> Catalog::DropPartition(const types::TablePath& path, const std::string& name,
                                       std::optional<DdlIntent> follow_up) {
  CatalogState next = Next();
  ASSIGN_OR_RAISE(const TablePtr old, next.Table(path));
  const PartitionState* partition = old->FindPartition(name);
  if (partition == nullptr) {
    return Error(ErrorCode::kPartitionNotExists, "no such partition table=", path,
                 " partition=", name);
  }
  Ops ops = {MetaStore::DeleteTree(nodes::Partition(path, name)),
             MetaStore::DeleteTree(nodes::PartitionAssignment(partition->info.partition_id))};
  next.table_of_partition.Erase(partition->info.partition_id);
  ForgetKvSnapshots(*old, partition, &next);
  auto table = std::make_shared<TableState>(*old);
  table->RemovePartition(*partition);
  PlaceTable(table, &next);
  const int64_t left = RecordIntent(std::move(follow_up), &next, &ops);
  RETURN_NOT_OK(Commit(std::move(ops), std::move(next)));
  return left;
}

Result<std::vector<LakeSnapshot>> Catalog::RecordLakeSnapshot(
    int64_t table_id, LakeSnapshot snapshot, std::optional<int64_t> earliest_to_keep) {
  CHECK(snapshot.tiered != nullptr);
  CatalogState next = Next();
  ASSIGN_OR_RAISE(const TablePtr old, next.Table(table_id));
  auto table = std::make_shared<TableState>(*old);
  std::vector<LakeSnapshot>& list = table->lake_snapshots;
  const int64_t added = snapshot.snapshot_id;
  Ops ops = {MetaStore::Put(nodes::LakeOffsets(table_id, added),
                            nodes::WriteLakeOffsets(table_id, snapshot))};

  std::erase_if(list, [&](const LakeSnapshot& one) { return one.snapshot_id == added; });
  list.push_back(std::move(snapshot));
  std::ranges::sort(list, {}, &LakeSnapshot::snapshot_id);

  const bool known =
      earliest_to_keep.has_value() && table->FindLakeSnapshot(*earliest_to_keep) != nullptr;
  const auto is_kept = [&](const LakeSnapshot& one) {
    if (!earliest_to_keep.has_value()) return one.snapshot_id == added;
    return !known || one.snapshot_id >= *earliest_to_keep;
  };
  std::vector<LakeSnapshot> forgotten;
  std::ranges::copy_if(list, std::back_inserter(forgotten), std::not_fn(is_kept));
  std::erase_if(list, std::not_fn(is_kept));
  for (const LakeSnapshot& one : forgotten) {
    ops.push_back(MetaStore::Delete(nodes::LakeOffsets(table_id, one.snapshot_id)));
  }
  ops.push_back(MetaStore::Put(nodes::LakeTable(table_id), nodes::WriteLakeTable(list)));
  PlaceTable(table, &next);
  RETURN_NOT_OK(Commit(std::move(ops), std::move(next)));
  return forgotten;
}

Status Catalog::RecordRemoteLog(int64_t table_id, const PartitionBucket& bucket,
                                RemoteLogState remote) {
  CatalogState next = Next();
  ASSIGN_OR_RAISE(const TablePtr old, next.Table(table_id));
  if (old->FindBucket(bucket) == nullptr) {
    return Error(ErrorCode::kUnknownTableOrBucket, "no such bucket table=", old->info.path,
                 " bucket=", bucket.bucket);
  }
  const auto index = static_cast<size_t>(bucket.bucket);
  const std::string assignment = bucket.partition_id
                                     ? nodes::PartitionAssignment(*bucket.partition_id)
                                     : nodes::TableAssignment(table_id);
  Ops ops = {MetaStore::Put(nodes::RemoteLog(assignment, index), nodes::WriteRemoteLog(remote))};
  auto table = std::make_shared<TableState>(*old);
  auto recorded = std::make_shared<const RemoteLogState>(std::move(remote));
  if (bucket.partition_id) {
    auto partition = std::make_shared<PartitionState>(*old->FindPartition(*bucket.partition_id));
    partition->buckets[index].remote_log = std::move(recorded);
    table->SetPartition(partition);
  } else {
    table->buckets[index].remote_log = std::move(recorded);
  }
  PlaceTable(table, &next);
  return Commit(std::move(ops), std::move(next));
}

Result<int64_t> Catalog::AddIntent(DdlIntent intent) {
  CatalogState next = Next();
  Ops ops;
  const int64_t id = RecordIntent(std::move(intent), &next, &ops);
  RETURN_NOT_OK(Commit(std::move(ops), std::move(next)));
  return id;
}

Status Catalog::RemoveIntent(int64_t id) {
  CatalogState next = Next();
  Ops ops;
  ForgetIntent(id, &next, &ops);
  return Commit(std::move(ops), std::move(next));
}

Status Catalog::CreateView(ViewInfo view, bool replace) {
  CatalogState next = Next();
  ASSIGN_OR_RAISE(const DatabasePtr old, next.Database(view.path.database));
  if (const std::string problem = types::NameProblem(view.path.table, /*creating=*/true);
      !problem.empty()) {
    return Error(ErrorCode::kInvalidTable, "invalid view name, ", problem, " view=", view.path);
  }
  if (old->tables.contains(view.path.table) || (!replace && old->views.contains(view.path.table))) {
    return Error(ErrorCode::kTableAlreadyExist, "table or view exists already view=", view.path);
  }
  view.created_ms = clock_.NowMs();
  Ops ops = {MetaStore::Put(nodes::View(view.path), nodes::WriteView(view))};
  auto database = std::make_shared<DatabaseState>(*old);
  database->views.Set(view.path.table, view);
  next.databases.Set(view.path.database, std::move(database));
  return Commit(std::move(ops), std::move(next));
}

Status Catalog::DropView(const types::TablePath& path) {
  CatalogState next = Next();
  if (next.FindView(path) == nullptr)
    return Error(ErrorCode::kTableNotExist, "no such view=", path);
  auto database = std::make_shared<DatabaseState>(**next.databases.Find(path.database));
  database->views.Erase(path.table);
  next.databases.Set(path.database, std::move(database));
  Ops ops = {MetaStore::Delete(nodes::View(path))};
  return Commit(std::move(ops), std::move(next));
}

Status Catalog::PutValue(const std::string& area, const std::string& key, std::string value) {
  return ChangeValues(area, {{key, std::move(value)}});
}

Status Catalog::DeleteValue(const std::string& area, const std::string& key) {
  return ChangeValues(area, {{key, std::nullopt}});
}

Status Catalog::ChangeValues(const std::string& area, ValueChanges changes) {
  Ops ops;
  for (auto& [key, value] : changes) {
    ops.push_back(value.has_value() ? MetaStore::Put(nodes::Value(area, key), *std::move(value))
                                    : MetaStore::DeleteTree(nodes::Value(area, key)));
  }
  return ops.empty() ? Status::OK() : store_.Apply(std::move(ops));
}

Result<std::optional<std::string>> Catalog::GetValue(const std::string& area,
                                                     const std::string& key) const {
  ASSIGN_OR_RAISE(auto node, store_.Get(nodes::Value(area, key)));
  if (!node.has_value()) return std::optional<std::string>();
  return std::optional<std::string>(std::move(node->value));
}

Result<std::vector<std::string>> Catalog::ListValues(const std::string& area) const {
  return store_.Children(std::string(nodes::kValues) + "/" + area);
}

}  // namespace sluice::meta
