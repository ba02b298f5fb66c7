#include "sql/memory_catalog_testing.h"

#include <arrow/api.h>

#include <algorithm>

#include "sql/lake_state.h"
#include "sql/memory_view_testing_internal.h"

namespace sluice::sql {

namespace {

struct MemorySnapshot {
  int64_t id;
  int64_t time_ms;
  std::vector<MemoryRow> rows;
};

std::vector<SourceColumn> SnapshotColumns() {
  const auto bigint = types::DataType::Of(types::TypeKind::kBigInt, false);
  return {{"snapshot_id", bigint},
          {"commit_time", types::DataType::Timestamp(3, false)},
          {"total_record_count", types::DataType::Of(types::TypeKind::kBigInt)}};
}

}  // namespace

struct MemoryCatalog::Table {
  types::TableInfo info;
  std::vector<MemoryRow> rows;
  std::map<std::string, size_t> keys;  // Primary key as text → row.
  std::vector<MemorySnapshot> snapshots;
  std::vector<types::PartitionInfo> partitions;

  std::string KeyOf(const MemoryRow& row) const {
    std::string key;
    for (const std::string& name : info.descriptor.schema.primary_key) {
      key += row[static_cast<size_t>(info.descriptor.schema.IndexOf(name))]->ToString() + '\x01';
    }
    return key;
  }
  void Put(MemoryRow row, const std::vector<bool>& given) {
    if (!info.descriptor.has_primary_key()) {
      rows.push_back(std::move(row));
      return;
    }
    const auto [at, fresh] = keys.emplace(KeyOf(row), rows.size());
    if (fresh) {
      rows.push_back(std::move(row));
      return;
    }
    for (size_t i = 0; i < row.size(); ++i) {
      if (given[i]) rows[at->second][i] = row[i];
    }
  }
  void Remove(const MemoryRow& row) {
    const auto found = keys.find(KeyOf(row));
    if (found == keys.end()) return;
    const size_t position = found->second;
    keys.erase(found);
    rows.erase(rows.begin() + static_cast<ptrdiff_t>(position));
    for (auto& [key, at] : keys) at -= at > position ? 1 : 0;
  }
};

class MemoryCatalog::Sink : public TableSink {
 public:
  Sink(MemoryCatalog& catalog, std::shared_ptr<Table> table, SinkOptions options)
      : catalog_(catalog), table_(std::move(table)), options_(std::move(options)) {}

  Status Write(std::shared_ptr<arrow::RecordBatch> batch) override {
    const std::lock_guard lock(catalog_.mutex_);
    const auto& columns = table_->info.descriptor.schema.columns;
    for (int64_t i = 0; i < batch->num_rows(); ++i) {
      MemoryRow row;
      std::vector<bool> given;
      for (const types::Column& column : columns) {
        const auto at = std::ranges::find(options_.columns, column.name);
        given.push_back(at != options_.columns.end());
        if (!given.back()) {
          row.push_back(arrow::MakeNullScalar(column.type->ToArrow()));
          continue;
        }
        ASSIGN_OR_RAISE(
            auto value,
            batch->column(static_cast<int>(at - options_.columns.begin()))->GetScalar(i));
        row.push_back(std::move(value));
      }
      if (options_.deletes) {
        table_->Remove(row);
      } else {
        table_->Put(std::move(row), given);
      }
    }
    return Status::OK();
  }

  Status Finish() override {
    const std::lock_guard lock(catalog_.mutex_);
    table_->snapshots.push_back({static_cast<int64_t>(table_->snapshots.size()) + 1,
                                 catalog_.clock_.NowMs(), table_->rows});
    return Status::OK();
  }

 private:
  MemoryCatalog& catalog_;
  std::shared_ptr<Table> table_;
  SinkOptions options_;
};

MemoryCatalog::MemoryCatalog(io::Clock& clock) : clock_(clock) { databases_["fluss"] = {}; }
MemoryCatalog::~MemoryCatalog() = default;

// --- databases ---

Result<std::vector<std::string>> MemoryCatalog::ListDatabases() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, descriptor] : databases_) names.push_back(name);
  return names;
}

Result<bool> MemoryCatalog::DatabaseExists(const std::string& database) {
  const std::lock_guard lock(mutex_);
  return databases_.contains(database);
}

Status MemoryCatalog::CreateDatabase(const std::string& database,
                                     const types::DatabaseDescriptor& descriptor,
                                     bool if_not_exists) {
  const std::lock_guard lock(mutex_);
  if (databases_.emplace(database, descriptor).second || if_not_exists) return Status::OK();
  return Error(ErrorCode::kDatabaseAlreadyExist, "database exists already, name=", database);
}

Status MemoryCatalog::DropDatabase(const std::string& database, bool if_exists, bool cascade) {
  const std::lock_guard lock(mutex_);
  if (!databases_.contains(database)) {
    return if_exists
               ? Status::OK()
               : Error(ErrorCode::kDatabaseNotExist, "database does not exist, name=", database);
  }
  const auto inside = [&](const auto& entry) { return entry.first.database == database; };
  if (!cascade && (std::ranges::any_of(tables_, inside) || std::ranges::any_of(views_, inside))) {
    return Error(ErrorCode::kDatabaseNotEmpty, "database is not empty, name=", database);
  }
  std::erase_if(tables_, inside);
  std::erase_if(views_, inside);
  databases_.erase(database);
  return Status::OK();
}

// --- tables ---

Result<std::shared_ptr<MemoryCatalog::Table>> MemoryCatalog::Find(const types::TablePath& path) {
  const auto found = tables_.find(path);
  if (found == tables_.end())
    return Error(ErrorCode::kTableNotExist, "table does not exist, name=", path);
  return found->second;
}

Result<std::vector<std::string>> MemoryCatalog::ListTables(const std::string& database) {
  const std::lock_guard lock(mutex_);
  if (!databases_.contains(database))
    return Error(ErrorCode::kDatabaseNotExist, "database does not exist, name=", database);
  std::vector<std::string> names;
  for (const auto& [path, table] : tables_) {
    if (path.database == database) names.push_back(path.table);
  }
  return names;
}

Result<types::TableInfo> MemoryCatalog::GetTable(const types::TablePath& path) {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RAISE(const auto table, Find(path));
  return table->info;
}

Status MemoryCatalog::CreateTable(const types::TablePath& path,
                                  const types::TableDescriptor& descriptor, bool if_not_exists) {
  const std::lock_guard lock(mutex_);
  if (!databases_.contains(path.database))
    return Error(ErrorCode::kDatabaseNotExist, "database does not exist, name=", path.database);
  if (tables_.contains(path)) {
    return if_not_exists
               ? Status::OK()
               : Error(ErrorCode::kTableAlreadyExist, "table exists already, name=", path);
  }
  auto table = std::make_shared<Table>();
  table->info.path = path;
  table->info.table_id = next_table_id_++;
  table->info.descriptor = descriptor;
  if (!table->info.descriptor.bucket_count) table->info.descriptor.bucket_count = 1;
  tables_.emplace(path, std::move(table));
  return Status::OK();
}

Status MemoryCatalog::DropTable(const types::TablePath& path, bool if_exists) {
  const std::lock_guard lock(mutex_);
  if (tables_.erase(path) > 0 || if_exists) return Status::OK();
  return Error(ErrorCode::kTableNotExist, "table does not exist, name=", path);
}

Status MemoryCatalog::AlterTable(const types::TablePath& path, const TableChanges& changes,
                                 bool if_exists) {
  const std::lock_guard lock(mutex_);
  const auto table = Find(path);
  if (!table.ok()) return if_exists ? Status::OK() : table.status();
  types::TableDescriptor& descriptor = (*table)->info.descriptor;
  for (const auto& [key, value] : changes.set) {
    (key.starts_with("table.") ? descriptor.properties : descriptor.custom_properties)[key] = value;
  }
  for (const std::string& key : changes.reset) {
    descriptor.properties.erase(key);
    descriptor.custom_properties.erase(key);
  }
  for (const types::Column& column : changes.add_columns) {
    if (descriptor.schema.IndexOf(column.name) >= 0)
      return Error(ErrorCode::kInvalidAlterTable, "column exists already, name=", column.name);
    descriptor.schema.columns.push_back(column);
    for (MemoryRow& row : (*table)->rows)
      row.push_back(arrow::MakeNullScalar(column.type->ToArrow()));
  }
  if (!changes.drop_columns.empty() || !changes.rename_columns.empty()) {
    return Error(ErrorCode::kInvalidAlterTable,
                 "columns cannot be dropped or renamed, table=", path);
  }
  return Status::OK();
}

// --- partitions and views ---

Result<std::vector<types::PartitionInfo>> MemoryCatalog::ListPartitions(
    const types::TablePath& path) {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RAISE(const auto table, Find(path));
  if (!table->info.descriptor.partitioned())
    return Error(ErrorCode::kTableNotPartitioned, "table is not partitioned, name=", path);
  return table->partitions;
}

namespace {

Result<types::PartitionInfo> PartitionOf(const types::TableDescriptor& table,
                                         const std::map<std::string, std::string>& spec) {
  if (!table.partitioned())
    return Error(ErrorCode::kTableNotPartitioned, "table is not partitioned");
  types::PartitionInfo partition;
  for (const std::string& key : table.partition_keys) {
    const auto value = spec.find(key);
    if (value == spec.end())
      return Error(ErrorCode::kPartitionSpecInvalid, "partition lacks a column, name=", key);
    partition.values.push_back(value->second);
  }
  if (spec.size() != partition.values.size())
    return Error(ErrorCode::kPartitionSpecInvalid,
                 "partition names another column than the table's");
  return partition;
}

}  // namespace

Status MemoryCatalog::CreatePartition(const types::TablePath& path,
                                      const std::map<std::string, std::string>& spec,
                                      bool if_not_exists) {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RAISE(const auto table, Find(path));
  ASSIGN_OR_RAISE(types::PartitionInfo partition, PartitionOf(table->info.descriptor, spec));
  for (const types::PartitionInfo& other : table->partitions) {
    if (other.values == partition.values) {
      return if_not_exists ? Status::OK()
                           : Error(ErrorCode::kPartitionAlreadyExists,
                                   "partition exists already, name=", partition.Name());
    }
  }
  table->partitions.push_back(std::move(partition));
  return Status::OK();
}

Status MemoryCatalog::DropPartition(const types::TablePath& path,
                                    const std::map<std::string, std::string>& spec,
                                    bool if_exists) {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RAISE(const auto table, Find(path));
  ASSIGN_OR_RAISE(const types::PartitionInfo partition, PartitionOf(table->info.descriptor, spec));
  const auto removed = std::erase_if(
      table->partitions, [&](const auto& other) { return other.values == partition.values; });
  return removed > 0 || if_exists ? Status::OK()
                                  : Error(ErrorCode::kPartitionNotExists,
                                          "partition does not exist, name=", partition.Name());
}

Result<std::vector<std::string>> MemoryCatalog::ListViews(const std::string& database) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [path, view] : views_) {
    if (path.database == database) names.push_back(path.table);
  }
  return names;
}

Result<std::optional<ViewInfo>> MemoryCatalog::FindView(const types::TablePath& path) {
  const std::lock_guard lock(mutex_);
  const auto found = views_.find(path);
  return found == views_.end() ? std::nullopt : std::optional(found->second);
}

Status MemoryCatalog::CreateView(const ViewInfo& view, bool if_not_exists) {
  const std::lock_guard lock(mutex_);
  if (views_.emplace(view.path, view).second || if_not_exists) return Status::OK();
  return Error(ErrorCode::kTableAlreadyExist, "view exists already, name=", view.path);
}

Status MemoryCatalog::DropView(const types::TablePath& path, bool if_exists) {
  const std::lock_guard lock(mutex_);
  if (views_.erase(path) > 0 || if_exists) return Status::OK();
  return Error(ErrorCode::kTableNotExist, "view does not exist, name=", path);
}

// --- reading and writing ---

Result<std::vector<SourceColumn>> MemoryCatalog::Columns(const TableRef& ref) {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RAISE(const auto table, Find(ref.path));
  if (ref.part == TablePart::kLakeSnapshots) return SnapshotColumns();
  if (ref.part == TablePart::kLakeTiering) return LakeStateColumns();
  std::vector<SourceColumn> columns;
  for (const types::Column& column : table->info.descriptor.schema.columns)
    columns.push_back({column.name, column.type});
  return columns;
}

Result<std::shared_ptr<TableView>> MemoryCatalog::View(const TableRef& ref,
                                                       const std::vector<SourceColumn>&, int) {
  ASSIGN_OR_RAISE(std::vector<SourceColumn> columns, Columns(ref));
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RAISE(const auto table, Find(ref.path));
  if (ref.part == TablePart::kLakeSnapshots) {
    std::vector<MemoryRow> rows;
    for (const MemorySnapshot& snapshot : table->snapshots) {
      rows.push_back(
          {std::make_shared<arrow::Int64Scalar>(snapshot.id),
           std::make_shared<arrow::TimestampScalar>(snapshot.time_ms,
                                                    arrow::timestamp(arrow::TimeUnit::MILLI)),
           std::make_shared<arrow::Int64Scalar>(static_cast<int64_t>(snapshot.rows.size()))});
    }
    return MakeMemoryView(std::move(columns), std::move(rows));
  }
  if (ref.part == TablePart::kLakeTiering) return MakeMemoryView(std::move(columns), {});
  if (!ref.as_of_ms && !ref.as_of_snapshot) return MakeMemoryView(std::move(columns), table->rows);
  const MemorySnapshot* chosen = nullptr;
  for (const MemorySnapshot& snapshot : table->snapshots) {
    const bool fits =
        ref.as_of_ms ? snapshot.time_ms <= *ref.as_of_ms : snapshot.id == *ref.as_of_snapshot;
    if (fits) chosen = &snapshot;
  }
  if (chosen == nullptr) {
    return Error(ErrorCode::kLakeSnapshotNotExist,
                 "table has no snapshot so old, table=", ref.ToString(),
                 ref.as_of_ms ? " time_ms=" : " snapshot=",
                 ref.as_of_ms.value_or(ref.as_of_snapshot.value_or(0)));
  }
  return MakeMemoryView(std::move(columns), chosen->rows);
}

Result<std::unique_ptr<TableSink>> MemoryCatalog::OpenSink(const types::TablePath& path,
                                                           const SinkOptions& options) {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RAISE(auto table, Find(path));
  return std::make_unique<Sink>(*this, std::move(table), options);
}

}  // namespace sluice::sql
