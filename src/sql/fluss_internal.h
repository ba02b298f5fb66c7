#pragma once
#include <arrow/type_fwd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/memory_budget.h"
#include "client/admin.h"
#include "client/log_scanner.h"
#include "lake/lake_table.h"
#include "sql/scan_share_internal.h"
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
  LakePin(std::shared_ptr<lake::LakeTable> table, std::optional<int64_t> held)
      : table_(std::move(table)), held_(held) {}
  std::shared_ptr<lake::LakeTable> table_;
  std::optional<int64_t> held_;  // Nullopt: not pinned.
};

/// The error of a lake read: a missing file means that the snapshot expired, whoever removed it.
Status LakeError(const lake::LakeTable& table, const Status& error);

class KeptKeys;

/// A table and everything that a statement learned of it before its first row.
struct UnionRead {
  client::ClusterPtr cluster;
  io::Loop* loop = nullptr;
  std::shared_ptr<Interruption> interruption;
  types::TableInfo table;
  UnionPlan plan;
  std::map<std::string, types::PartitionInfo> partitions;  // By name.
  std::shared_ptr<lake::LakeTable> lake;                   // Null when no lake snapshot is read.
  std::optional<lake::LakePlan> lake_plan;
  std::shared_ptr<LakePin> pin;
  std::shared_ptr<MemoryBudget> memory;   // Of rows that are kept.
  std::shared_ptr<MemoryBudget> passing;  // Of rows on their way to the engine.
  std::shared_ptr<KeptKeys> kept;  // Null: every scan finds the point of the key stores by itself.

  types::BucketId IdOf(const UnionBucket& bucket) const;
};

/// Learns what a union read needs of a table, in the order that makes it exact.
struct UnionPlanner {
  static constexpr int kPlansMax = 5;

  client::ClusterPtr cluster;
  io::Loop& loop;
  std::shared_ptr<Interruption> interruption;
  UnpinnedTables& unpinned;
  std::shared_ptr<MemoryBudget> memory;
  std::shared_ptr<MemoryBudget> passing;
  std::shared_ptr<std::atomic<int64_t>> planned_anew;  ///< Counts.
  int scans = 1;                                       ///< Of the read, by one statement.
  std::function<Result<std::shared_ptr<lake::LakeTable>>(const types::TablePath&)> open_lake;

  /// A snapshot that is gone before its files are known is given up for a newer one, within a
  /// bound.
  Result<std::shared_ptr<const UnionRead>> Plan(const types::TablePath& path) const;

 private:
  Result<std::shared_ptr<const UnionRead>> PlanOnce(const types::TablePath& path) const;
  Result<std::optional<client::LakeSnapshot>> Readable(const types::TablePath& path) const;
  Status TakeLake(const types::TablePath& path, int64_t snapshot_id, UnionRead* read) const;
  Status FixStarts(UnionRead* read) const;
  // Of all partitions, or of those with one of these names.
  Result<std::map<UnionBucket, int64_t>> Offsets(
      const UnionRead& read, client::OffsetType type,
      const std::set<std::string>* wanted = nullptr) const;
};

/// The plan without the files that hold no row which meets all predicates.
Result<lake::LakePlan> PruneLake(lake::LakeTable& table, const lake::LakePlan& whole,
                                 const std::vector<Predicate>& predicates);
/// The read without files, and buckets of the log, that hold no row which meets all predicates. The
/// log of a bucket of keys is read whole or not at all: a row that does not meet them may hide one
/// of the lake that does.
Result<std::shared_ptr<const UnionRead>> PruneUnion(std::shared_ptr<const UnionRead> whole,
                                                    const std::vector<Predicate>& predicates);
/// The conditions as a log's servers know them; nullopt when there are none. Only rows that are
/// final may be left out by it: those of append tables.
Result<std::optional<wire::RowFilter>> FilterOf(const types::Schema& schema,
                                                const std::vector<Predicate>& predicates);
/// A line for EXPLAIN.
std::string DescribeFiles(const lake::LakePlan& plan);

/// `t`: lake and log as one.
std::shared_ptr<TableView> MakeUnionView(std::shared_ptr<const UnionRead> read);
/// `t$lake`; no plan = a lake table without a snapshot, so without rows.
std::shared_ptr<TableView> MakeLakeView(std::vector<SourceColumn> columns,
                                        std::shared_ptr<lake::LakeTable> table,
                                        std::optional<lake::LakePlan> plan,
                                        std::unique_ptr<LakePin> pin,
                                        std::shared_ptr<MemoryBudget> passing);
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
  /// `part` reads_log(): a scan of an empty range would wait for a row. Batches without a row that
  /// meets `filter` may be left out.
  static Result<std::unique_ptr<LogTail>> Open(const UnionRead& read, const UnionPart& part,
                                               std::vector<std::string> columns,
                                               std::optional<wire::RowFilter> filter = {});
  ~LogTail();
  /// Null rows at the end. Errors: those of the log, with table, bucket and offsets:
  /// kLogOffsetOutOfRange when it was cut; the interruption's.
  Result<Rows> Next();
  const types::TablePath& path() const { return path_; }
  const types::BucketId& bucket() const { return bucket_; }

 private:
  explicit LogTail(std::shared_ptr<MemoryBudget> passing) : share_(std::move(passing)) {}
  Status Explained(const Status& error) const;
  Status CheckNotCut(int64_t position) const;
  io::Loop* loop_ = nullptr;
  std::shared_ptr<Interruption> interruption_;
  client::ClusterPtr cluster_;
  types::TablePath path_;
  std::shared_ptr<client::LogScanner> scanner_;  // Lives and dies on the loop.
  types::BucketId bucket_;
  int64_t from_ = 0;
  int64_t to_ = 0;
  ScanShare share_;
  std::vector<client::ScanBatch> waiting_;
  size_t next_ = 0;
  int64_t position_ = -1;  // Of the scanner, when it was last looked at.
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
