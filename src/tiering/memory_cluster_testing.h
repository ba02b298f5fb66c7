#pragma once
// A cluster in memory behind ClusterLink, and a lake of real files, for the tests of this module.
#include <arrow/array.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/record_batch.h>

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/log.h"
#include "base/testing.h"
#include "io/file.h"
#include "lake/lake_catalog.h"
#include "tiering/cluster_link.h"

namespace sluice::tiering {

/// A row of the test tables: id INT, name STRING. Primary-key tables have id as their key.
struct LogRow {
  wire::ChangeType change = wire::ChangeType::kAppendOnly;
  int32_t id = 0;
  std::optional<std::string> name;
  bool operator==(const LogRow&) const = default;
};

inline std::shared_ptr<arrow::RecordBatch> RowsToArrow(const types::Schema& schema,
                                                       const std::vector<LogRow>& rows) {
  arrow::Int32Builder ids;
  arrow::StringBuilder names;
  for (const LogRow& row : rows) {
    CHECK(ids.Append(row.id).ok());
    CHECK((row.name ? names.Append(*row.name) : names.AppendNull()).ok());
  }
  return arrow::RecordBatch::Make(
      schema.ToArrow(), static_cast<int64_t>(rows.size()),
      arrow::ArrayVector{ids.Finish().ValueOrDie(), names.Finish().ValueOrDie()});
}

inline types::TableInfo LakeTestTable(int64_t table_id, const std::string& name, bool primary_key,
                                      int32_t buckets) {
  types::TableInfo table;
  table.path = {"db", name};
  table.table_id = table_id;
  types::Schema& schema = table.descriptor.schema;
  schema.columns = {
      {"id", types::DataType::Of(types::TypeKind::kInteger, !primary_key), "", 0, "", {}},
      {"name", types::DataType::Of(types::TypeKind::kString), "", 1, "", {}}};
  schema.highest_field_id = 1;
  if (primary_key) {
    schema.primary_key = {"id"};
    table.descriptor.bucket_keys = {"id"};
  }
  table.descriptor.bucket_count = buckets;
  table.descriptor.properties = {{"table.datalake.enabled", "true"},
                                 {"table.datalake.format", "paimon"}};
  return table;
}

class MemoryCluster : public ClusterLink {
 public:
  struct Batch {
    int64_t base_offset;
    int64_t timestamp_ms;
    std::vector<LogRow> rows;  // None: an empty batch, which takes one offset.
    bool damaged = false;      // It cannot be decoded.
    int64_t next_offset() const {
      return base_offset + std::max<int64_t>(1, static_cast<int64_t>(rows.size()));
    }
  };
  using Log = std::vector<Batch>;

  void AddTable(types::TableInfo table) {
    const std::lock_guard lock(mutex_);
    tables_[table.path] = std::move(table);
  }
  void DropTable(const types::TablePath& path) {
    const std::lock_guard lock(mutex_);
    tables_.erase(path);
  }
  void Append(const types::TablePath& path, int32_t bucket, std::vector<LogRow> rows,
              int64_t timestamp_ms = 1000, std::optional<int64_t> partition_id = std::nullopt) {
    const std::lock_guard lock(mutex_);
    Log& log = logs_[{tables_.at(path).table_id, partition_id, bucket}];
    log.push_back(
        {log.empty() ? 0 : log.back().next_offset(), timestamp_ms, std::move(rows), false});
  }
  /// Make the last batch of the log one that no reader can decode, or heal it.
  void DamageLast(const types::TablePath& path, int32_t bucket, bool damaged = true) {
    const std::lock_guard lock(mutex_);
    logs_[{tables_.at(path).table_id, std::nullopt, bucket}].back().damaged = damaged;
  }
  /// The partitions of the only partitioned table.
  void SetPartitions(std::vector<types::PartitionInfo> partitions) {
    const std::lock_guard lock(mutex_);
    partitions_ = std::move(partitions);
  }
  /// Let a service take the table.
  void Queue(const types::TablePath& path) {
    const std::lock_guard lock(mutex_);
    pending_.push_back(path);
  }
  client::TieringRound Handout(const types::TablePath& path) {
    const std::lock_guard lock(mutex_);
    return {tables_.at(path).table_id, path, ++epoch_};
  }
  /// Tables that no service has taken yet, and how often one asked.
  size_t queued() {
    const std::lock_guard lock(mutex_);
    return pending_.size();
  }
  int64_t beats() {
    const std::lock_guard lock(mutex_);
    return beats_;
  }
  /// Calls with this name fail until it is taken away: "OpenLog", "Prepare", "Commit", "Beat".
  void Fail(const std::string& call, bool fail = true) {
    const std::lock_guard lock(mutex_);
    fail ? (void)failing_.insert(call) : (void)failing_.erase(call);
  }
  Log LogOf(const types::TablePath& path, int32_t bucket) {
    const std::lock_guard lock(mutex_);
    return logs_[{tables_.at(path).table_id, std::nullopt, bucket}];
  }
  std::vector<int64_t> finished, failed,
      forced;  // Table ids as reported. Read them when no service runs.
  int64_t log_start = 0;
  std::function<void()> before_open_log;  ///< Runs in the middle of a round.

  Result<client::HeartbeatReply> Beat(client::Heartbeat heartbeat) override {
    const std::lock_guard lock(mutex_);
    RETURN_NOT_OK(Check("Beat"));
    ++beats_;
    for (const auto& report : heartbeat.finished) finished.push_back(report.table_id);
    for (const auto& report : heartbeat.failed) failed.push_back(report.table_id);
    for (const int64_t id : heartbeat.force_finished_tables) {
      forced.push_back(id);
      for (const auto& [path, table] : tables_) {
        if (table.table_id == id) pending_.push_back(path);
      }
    }
    client::HeartbeatReply reply{.coordinator_epoch = 1, .round = {}, .refused = {}};
    if (heartbeat.request_table && !pending_.empty()) {
      const types::TablePath path = pending_.front();
      pending_.erase(pending_.begin());
      reply.round = client::TieringRound{tables_.at(path).table_id, path, ++epoch_};
    }
    return reply;
  }
  Result<std::vector<types::TableInfo>> LakeTables() override {
    const std::lock_guard lock(mutex_);
    std::vector<types::TableInfo> tables;
    for (const auto& [path, table] : tables_) tables.push_back(table);
    return tables;
  }
  Result<types::TableInfo> GetTable(const types::TablePath& path) override {
    const std::lock_guard lock(mutex_);
    RETURN_NOT_OK(Check("GetTable"));
    const auto at = tables_.find(path);
    if (at == tables_.end()) return Error(ErrorCode::kTableNotExist, "no table ", path.ToString());
    return at->second;
  }
  Result<std::vector<types::PartitionInfo>> ListPartitions(const types::TablePath&) override {
    const std::lock_guard lock(mutex_);
    return partitions_;
  }
  Result<std::map<int32_t, int64_t>> ListOffsets(const types::TablePath&, int64_t table_id,
                                                 std::optional<int64_t> partition_id,
                                                 std::vector<int32_t> buckets,
                                                 client::OffsetType type) override {
    const std::lock_guard lock(mutex_);
    std::map<int32_t, int64_t> offsets;
    for (const int32_t bucket : buckets) {
      const Log& log = logs_[{table_id, partition_id, bucket}];
      const int64_t end = log.empty() ? 0 : log.back().next_offset();
      offsets[bucket] = type == client::OffsetType::kEarliest ? log_start : end;
    }
    return offsets;
  }
  Result<std::optional<client::LakeSnapshot>> RecordedSnapshot(
      const types::TablePath& path) override {
    const std::lock_guard lock(mutex_);
    const auto at = recorded_.find(path);
    return at == recorded_.end() ? std::nullopt : std::make_optional(at->second);
  }
  Result<std::string> Prepare(const types::TablePath& path, int64_t table_id,
                              std::vector<client::LakeBucketOffset> offsets) override {
    const std::lock_guard lock(mutex_);
    RETURN_NOT_OK(Check("Prepare"));
    std::map<std::pair<std::optional<int64_t>, int32_t>, client::LakeBucketOffset>
        merged;  // What an earlier round recorded of other buckets stays.
    if (const auto at = recorded_.find(path); at != recorded_.end()) {
      for (const auto& bucket : at->second.buckets)
        merged[{bucket.partition_id, bucket.bucket}] = bucket;
    }
    for (const auto& bucket : offsets) merged[{bucket.partition_id, bucket.bucket}] = bucket;
    const std::string file =
        "offsets/" + std::to_string(table_id) + "/" + std::to_string(offset_files_.size());
    for (const auto& [bucket, offset] : merged) offset_files_[file].push_back(offset);
    return file;
  }
  Status Commit(client::LakeCommit commit) override {
    const std::lock_guard lock(mutex_);
    RETURN_NOT_OK(Check("Commit"));
    const auto file = offset_files_.find(commit.tiered_offsets_path);
    if (file == offset_files_.end())
      return Status::Invalid("no offsets file ", commit.tiered_offsets_path);
    recorded_[commit.path] = {commit.table_id, commit.snapshot_id, file->second};
    return Status::OK();
  }
  Result<std::unique_ptr<BucketLog>> OpenLog(const types::TablePath& path, types::BucketId bucket,
                                             int64_t offset) override {
    if (before_open_log) before_open_log();
    const std::lock_guard lock(mutex_);
    RETURN_NOT_OK(Check("OpenLog"));
    return std::make_unique<Reader>(path, tables_.at(path).descriptor.schema, bucket, logs_[bucket],
                                    offset);
  }
  Result<int64_t> CommitTimeAt(const types::TablePath& path, types::BucketId bucket,
                               int64_t offset) override {
    const std::lock_guard lock(mutex_);
    for (const Batch& batch : logs_[bucket]) {
      if (batch.next_offset() > offset && batch.damaged) return Damaged(path, bucket, batch);
      if (batch.next_offset() > offset && !batch.rows.empty()) return batch.timestamp_ms;
    }
    return -1;
  }

 private:
  // As the log scanner says it.
  static Status Damaged(const types::TablePath& path, const types::BucketId& bucket,
                        const Batch& batch) {
    return Corrupt("log batch rows are malformed table=", path, " ", bucket,
                   " offset=", batch.base_offset);
  }

  class Reader : public BucketLog {
   public:
    Reader(types::TablePath path, types::Schema schema, types::BucketId bucket, Log log,
           int64_t offset)
        : path_(std::move(path)),
          schema_(std::move(schema)),
          arrow_schema_(schema_.ToArrow()),
          bucket_(bucket),
          log_(std::move(log)),
          position_(offset) {}
    Result<std::vector<client::ScanBatch>> Next() override {
      std::vector<client::ScanBatch> batches;
      for (const Batch& batch : log_) {
        if (batch.next_offset() <= position_) continue;
        if (batch.damaged) {
          if (!batches.empty()) break;
          return Damaged(path_, bucket_, batch);
        }
        position_ = batch.next_offset();
        if (batch.rows.empty()) break;
        client::ScanBatch out;
        out.bucket = bucket_;
        out.base_offset = batch.base_offset;
        out.commit_timestamp_ms = batch.timestamp_ms;
        if (schema_.has_primary_key()) {
          for (const LogRow& row : batch.rows) out.changes.push_back(row.change);
        }
        out.rows = RowsToArrow(schema_, batch.rows);
        batches.push_back(std::move(out));
        if (batches.size() == 3) break;
      }
      return batches;
    }
    int64_t position() const override { return position_; }
    const std::shared_ptr<arrow::Schema>& schema() const override { return arrow_schema_; }

   private:
    const types::TablePath path_;
    const types::Schema schema_;
    const std::shared_ptr<arrow::Schema> arrow_schema_;
    const types::BucketId bucket_;
    const Log log_;
    int64_t position_;
  };

  Status Check(const std::string& call) {
    return failing_.contains(call) ? Error(ErrorCode::kStorage, "made to fail call=", call)
                                   : Status::OK();
  }

  std::mutex mutex_;
  std::map<types::TablePath, types::TableInfo> tables_;
  std::map<types::BucketId, Log> logs_;
  std::vector<types::PartitionInfo> partitions_;
  std::vector<types::TablePath> pending_;
  std::map<types::TablePath, client::LakeSnapshot> recorded_;
  std::map<std::string, std::vector<client::LakeBucketOffset>> offset_files_;
  std::set<std::string> failing_;
  int64_t epoch_ = 0;
  int64_t beats_ = 0;
};

/// A warehouse in a temporary folder.
class TestLake {
 public:
  TestLake() {
    lake::LakeCatalogOptions options;
    options.properties = {{"metastore", "filesystem"}, {"warehouse", dir_.path()}};
    options.files = &io::LocalFileSystem();
    options.clock = &io::SystemClock();
    options.random = &io::SystemRandom();
    catalog_ = lake::LakeCatalog::Open(std::move(options)).ValueOrDie();
  }
  lake::LakeCatalog& catalog() { return *catalog_; }
  const std::string& folder() const { return dir_.path(); }
  void Create(const types::TableInfo& table) {
    CHECK_OK(catalog_->CreateTable(table.path, table.descriptor, true));
  }

  /// A row as the lake shows it.
  struct Row {
    int32_t id = 0;
    std::optional<std::string> name;
    int32_t bucket = 0;
    int64_t offset = 0;
    auto operator<=>(const Row&) const = default;
  };
  /// All rows of the newest snapshot, by bucket and offset.
  std::vector<Row> Read(const types::TablePath& path) {
    std::vector<Row> rows;
    const auto table = catalog_->OpenTable(path).ValueOrDie();
    const auto snapshot = table->LatestSnapshot().ValueOrDie();
    if (!snapshot) return rows;
    for (const lake::LakeSplit& split : table->Plan(*snapshot, {}).ValueOrDie().splits) {
      const auto reader = table->Read(split, {"id", "name", "__bucket", "__offset"}).ValueOrDie();
      while (const auto batch = reader->Next().ValueOrDie()) AppendRows(*batch, &rows);
    }
    std::ranges::sort(rows, {}, [](const Row& row) { return std::pair(row.bucket, row.offset); });
    return rows;
  }

 private:
  static void AppendRows(const arrow::RecordBatch& batch, std::vector<Row>* rows) {
    const auto& ids = static_cast<const arrow::Int32Array&>(*batch.column(0));
    const auto& names = static_cast<const arrow::StringArray&>(*batch.column(1));
    const auto& buckets = static_cast<const arrow::Int32Array&>(*batch.column(2));
    const auto& offsets = static_cast<const arrow::Int64Array&>(*batch.column(3));
    for (int64_t i = 0; i < batch.num_rows(); ++i) {
      rows->push_back({ids.Value(i),
                       names.IsNull(i) ? std::nullopt : std::make_optional(names.GetString(i)),
                       buckets.Value(i), offsets.Value(i)});
    }
  }
  template <typename T>
  static void CHECK_OK(const T& result) {
    if (!result.ok()) LogError("{}", result.status().ToString());
    CHECK(result.ok());
  }

  TempDir dir_;
  std::unique_ptr<lake::LakeCatalog> catalog_;
};

inline std::ostream& operator<<(std::ostream& out, const TestLake::Row& row) {
  return out << '{' << row.id << ',' << row.name.value_or("null") << ",b" << row.bucket << ",o"
             << row.offset << '}';
}

/// What the lake must hold of a log that it has whole: each row of an append table, the newest per
/// key else.
inline std::vector<TestLake::Row> Expected(const MemoryCluster::Log& log, int32_t bucket,
                                           bool primary_key) {
  std::vector<TestLake::Row> rows;
  std::map<int32_t, TestLake::Row> by_key;
  for (const auto& batch : log) {
    int64_t offset = batch.base_offset;
    for (const LogRow& row : batch.rows) {
      const TestLake::Row shown{row.id, row.name, bucket, offset++};
      if (!primary_key) rows.push_back(shown);
      if (row.change == wire::ChangeType::kDelete) by_key.erase(row.id);
      if (row.change == wire::ChangeType::kInsert || row.change == wire::ChangeType::kUpdateAfter) {
        by_key[row.id] = shown;
      }
    }
  }
  for (const auto& [id, row] : by_key) rows.push_back(row);
  std::ranges::sort(rows, {}, &TestLake::Row::offset);
  return rows;
}

}  // namespace sluice::tiering
