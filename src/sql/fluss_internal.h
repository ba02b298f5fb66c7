#pragma once
#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <vector>

#include "client/log_scanner.h"
#include "lake/lake_table.h"
#include "sql/table_source.h"
#include "sql/union_read.h"
#include "sql/unpinned_tables.h"

namespace sluice::sql {

/// Keeps a lake snapshot from being expired while a statement reads it.
class LakePin {
 public:
  /// A lake that cannot be written (full, read-only) is read without a pin: one WARN line per
  /// table. Errors: those of the lake when the snapshot is not there.
  static Result<std::unique_ptr<LakePin>> Take(std::shared_ptr<lake::LakeTable> table,
                                               const types::TablePath& path, int64_t snapshot_id,
                                               UnpinnedTables& unpinned);
  ~LakePin();

 private:
  LakePin(std::shared_ptr<lake::LakeTable> table, std::string consumer)
      : table_(std::move(table)), consumer_(std::move(consumer)) {}
  std::shared_ptr<lake::LakeTable> table_;
  std::string consumer_;  // Empty: not pinned.
};

/// A table and everything that a statement learned of it before its first row.
struct UnionRead {
  client::ClusterPtr cluster;
  io::Loop* loop = nullptr;
  std::shared_ptr<Interruption> interruption;
  types::TableInfo table;
  UnionPlan plan;
  std::map<std::string, int64_t> partition_ids;  // By name.
  std::shared_ptr<lake::LakeTable> lake;         // Null when no lake snapshot is read.
  std::optional<lake::LakePlan> lake_plan;
  std::unique_ptr<LakePin> pin;

  types::BucketId IdOf(const UnionBucket& bucket) const;
};

/// `t`: lake and log as one.
std::shared_ptr<TableView> MakeUnionView(std::shared_ptr<const UnionRead> read);
/// `t$lake`; no plan = a lake table without a snapshot, so without rows.
std::shared_ptr<TableView> MakeLakeView(std::vector<SourceColumn> columns,
                                        std::shared_ptr<lake::LakeTable> table,
                                        std::optional<lake::LakePlan> plan,
                                        std::unique_ptr<LakePin> pin);
/// Rows that are there already.
std::shared_ptr<TableView> MakeBatchView(std::vector<SourceColumn> columns,
                                         std::shared_ptr<arrow::RecordBatch> rows);

/// Rows of one bucket's log in [from, to), batch by batch, with their change types.
class LogTail {
 public:
  struct Rows {
    std::shared_ptr<arrow::RecordBatch> rows;
    std::vector<wire::ChangeType> changes;  ///< Empty = append only.
  };
  static Result<std::unique_ptr<LogTail>> Open(const UnionRead& read, const UnionBucket& bucket,
                                               int64_t from, int64_t to,
                                               std::vector<std::string> columns);
  ~LogTail();
  /// Null rows at the end. Errors: those of the log; the interruption's.
  Result<Rows> Next();

 private:
  LogTail() = default;
  io::Loop* loop_ = nullptr;
  std::shared_ptr<Interruption> interruption_;
  std::shared_ptr<client::LogScanner> scanner_;  // Lives and dies on the loop.
  types::BucketId bucket_;
  int64_t from_ = 0;
  int64_t to_ = 0;
  std::vector<client::ScanBatch> waiting_;
  size_t next_ = 0;
};

/// The names of `columns` of a table view.
std::vector<std::string> NamesOf(const std::vector<SourceColumn>& columns,
                                 const std::vector<int>& positions);
/// `batch` with the named columns only, in that order.
Result<std::shared_ptr<arrow::RecordBatch>> Choose(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                   const std::vector<std::string>& names);

/// The writers of the client behind the engine's sink.
Result<std::unique_ptr<TableSink>> MakeFlussSink(client::ClusterPtr cluster, io::Loop& loop,
                                                 std::shared_ptr<Interruption> interruption,
                                                 const types::TableInfo& table,
                                                 const SinkOptions& options);

}  // namespace sluice::sql
