#pragma once
// The tables of this module's tests, and their rows.
#include <arrow/api.h>

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/testing.h"
#include "tablet/table_source.h"
#include "types/row.h"
#include "wire/log_batch.h"

namespace sluice::tablet::internal {

inline constexpr int64_t kLogTable = 3;
inline constexpr int64_t kKeyTable = 4;

/// Tables as the catalog would show them.
class TestTables : public TableSource {
 public:
  TestTables() {
    Add(kLogTable, {"db", "log"}, false);
    Add(kKeyTable, {"db", "keys"}, true);
  }
  Result<std::shared_ptr<const types::TableInfo>> ById(int64_t table_id) const override {
    const std::lock_guard lock(mutex_);
    const auto found = tables_.find(table_id);
    if (found == tables_.end()) return Error(ErrorCode::kTableNotExist, "table_id=", table_id);
    return found->second;
  }
  Result<std::shared_ptr<const types::Schema>> SchemaOf(int64_t table_id,
                                                        int32_t schema_id) const override {
    const std::lock_guard lock(mutex_);
    const auto found = schemas_.find({table_id, schema_id});
    if (found == schemas_.end()) return Error(ErrorCode::kSchemaNotExist, "schema_id=", schema_id);
    return found->second;
  }
  bool InLake(int64_t table_id) const override {
    const std::lock_guard lock(mutex_);
    return in_lake_.contains(table_id);
  }
  void SetInLake(int64_t table_id) {
    const std::lock_guard lock(mutex_);
    in_lake_.insert(table_id);
  }
  RemoteLogRecord RemoteLogOf(const types::BucketId& id) const override {
    const std::lock_guard lock(mutex_);
    const auto found = remote_logs_.find(id);
    RemoteLogRecord record = found == remote_logs_.end() ? RemoteLogRecord() : found->second;
    record.root = remote_root_;
    return record;
  }
  /// As the coordinator records it; the root is that of SetRemoteRoot.
  void SetRemoteLog(const types::BucketId& id, RemoteLogRecord record) {
    const std::lock_guard lock(mutex_);
    remote_logs_[id] = std::move(record);
  }
  void SetRemoteRoot(const std::string& root) {
    const std::lock_guard lock(mutex_);
    remote_root_ = root;
  }
  void Add(types::TableInfo table) {
    const std::lock_guard lock(mutex_);
    schemas_[{table.table_id, table.schema_id}] =
        std::make_shared<types::Schema>(table.descriptor.schema);
    tables_[table.table_id] = std::make_shared<types::TableInfo>(std::move(table));
  }
  void SetProperty(int64_t table_id, const std::string& key, const std::string& value) {
    const std::lock_guard lock(mutex_);
    auto table = std::make_shared<types::TableInfo>(*tables_.at(table_id));
    table->descriptor.properties[key] = value;
    tables_[table_id] = table;
  }
  /// Where KV snapshots go; nowhere unless it is set.
  void SetRemoteDataDir(int64_t table_id, const std::string& folder) {
    const std::lock_guard lock(mutex_);
    auto table = std::make_shared<types::TableInfo>(*tables_.at(table_id));
    table->remote_data_dir = folder;
    tables_[table_id] = table;
  }
  std::string RemoteRootOf(const types::BucketId& id) const override {
    const std::lock_guard lock(mutex_);
    const auto found = tables_.find(id.table_id);
    return found == tables_.end() ? "" : found->second->remote_data_dir;
  }
  std::optional<RecordedSnapshot> LatestKvSnapshot(const types::BucketId& id) const override {
    const std::lock_guard lock(mutex_);
    const auto found = snapshots_.find(id);
    return found == snapshots_.end() ? std::nullopt : std::make_optional(found->second);
  }
  void SetKvSnapshot(const types::BucketId& id, RecordedSnapshot snapshot) {
    const std::lock_guard lock(mutex_);
    snapshots_[id] = std::move(snapshot);
  }
  int32_t CoordinatorEpoch() const override { return 1; }
  void SetBucketKeys(int64_t table_id, std::vector<std::string> bucket_keys) {
    const std::lock_guard lock(mutex_);
    auto table = std::make_shared<types::TableInfo>(*tables_.at(table_id));
    table->descriptor.bucket_keys = std::move(bucket_keys);
    tables_[table_id] = table;
  }
  /// ALTER TABLE … ADD COLUMN: a nullable STRING.
  void AddColumn(int64_t table_id, const std::string& name) {
    const std::lock_guard lock(mutex_);
    auto table = std::make_shared<types::TableInfo>(*tables_.at(table_id));
    types::Schema& schema = table->descriptor.schema;
    schema.columns.push_back({name,
                              types::DataType::Of(types::TypeKind::kString),
                              "",
                              ++schema.highest_field_id,
                              "",
                              {}});
    ++table->schema_id;
    schemas_[{table_id, table->schema_id}] = std::make_shared<types::Schema>(schema);
    tables_[table_id] = table;
  }

 private:
  void Add(int64_t table_id, types::TablePath path, bool keyed) {
    auto table = std::make_shared<types::TableInfo>();
    table->path = std::move(path);
    table->table_id = table_id;
    types::Schema& schema = table->descriptor.schema;
    schema.columns = {{"id", types::DataType::Of(types::TypeKind::kInteger, false), "", 0, "", {}},
                      {"name", types::DataType::Of(types::TypeKind::kString), "", 1, "", {}},
                      {"amount", types::DataType::Of(types::TypeKind::kBigInt), "", 2, "", {}}};
    schema.highest_field_id = 2;
    table->descriptor.bucket_count = 4;
    if (keyed) {
      schema.primary_key = {"id"};
      table->descriptor.bucket_keys = {"id"};
    }
    schemas_[{table_id, 1}] = std::make_shared<types::Schema>(schema);
    tables_[table_id] = table;
  }
  mutable std::mutex mutex_;
  std::string remote_root_;
  std::map<types::BucketId, RemoteLogRecord> remote_logs_;
  std::map<int64_t, std::shared_ptr<const types::TableInfo>> tables_;
  std::map<std::pair<int64_t, int32_t>, std::shared_ptr<const types::Schema>> schemas_;
  std::set<int64_t> in_lake_;
  std::map<types::BucketId, RecordedSnapshot> snapshots_;
};

struct TestRow {
  int32_t id = 0;
  std::optional<std::string> name;
  int64_t amount = 0;
  bool operator==(const TestRow&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const TestRow& row) {
  return out << '{' << row.id << ',' << row.name.value_or("null") << ',' << row.amount << '}';
}

inline std::shared_ptr<arrow::RecordBatch> ToArrow(const types::Schema& schema,
                                                   const std::vector<TestRow>& rows) {
  arrow::Int32Builder ids;
  arrow::StringBuilder names;
  arrow::Int64Builder amounts;
  for (const TestRow& row : rows) {
    CHECK(ids.Append(row.id).ok() &&
          (row.name ? names.Append(*row.name) : names.AppendNull()).ok() &&
          amounts.Append(row.amount).ok());
  }
  return arrow::RecordBatch::Make(
      schema.ToArrow(), static_cast<int64_t>(rows.size()),
      {ids.Finish().ValueOrDie(), names.Finish().ValueOrDie(), amounts.Finish().ValueOrDie()});
}

inline std::vector<TestRow> FromArrow(const arrow::RecordBatch& batch) {
  const auto& ids = static_cast<const arrow::Int32Array&>(*batch.column(0));
  const auto& names = static_cast<const arrow::StringArray&>(*batch.column(1));
  const auto& amounts = static_cast<const arrow::Int64Array&>(*batch.column(2));
  std::vector<TestRow> rows;
  for (int64_t i = 0; i < batch.num_rows(); ++i) {
    rows.push_back({ids.Value(i),
                    names.IsNull(i) ? std::nullopt : std::optional(names.GetString(i)),
                    amounts.Value(i)});
  }
  return rows;
}

/// A change log record as readers see it.
struct TestChange {
  wire::ChangeType type;
  TestRow row;
  bool operator==(const TestChange&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const TestChange& change) {
  return out << static_cast<int>(change.type) << change.row;
}

}  // namespace sluice::tablet::internal
