#pragma once
#include <arrow/type_fwd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "lake/predicate.h"
#include "sql/interruption.h"
#include "types/schema.h"

namespace sluice::sql {

/// Which face of a table a statement reads.
enum class TablePart : uint8_t {
  kUnion,          ///< `t`: the lake and what is not yet there.
  kLake,           ///< `t$lake`: the lake alone.
  kLakeSnapshots,  ///< `t$lake$snapshots`: the lake table's snapshots.
  kLakeTiering,    ///< `t$lake$tiering`: how far the lake is, bucket by bucket.
};

/// A table as a FROM clause names it.
struct TableRef {
  types::TablePath path;
  TablePart part = TablePart::kUnion;
  std::optional<int64_t>
      as_of_ms;  ///< FOR SYSTEM_TIME AS OF: the newest lake snapshot at or before it.
  std::optional<int64_t> as_of_snapshot;  ///< FOR SYSTEM_VERSION AS OF: that lake snapshot.
  auto operator<=>(const TableRef&) const = default;
  /// "fluss.orders$lake", as messages show it.
  std::string ToString() const;
};

/// A condition that a scan may use to skip data.
using Predicate = lake::Predicate;

/// Whether a scan's error says that the point its view stands for is gone: the log was cut, the
/// lake snapshot expired, a partition was dropped. A new view may have all rows.
bool IsOvertaken(const Status& status);

/// A column of a readable table. `hidden`: reached by name only, not part of `*`.
struct SourceColumn {
  std::string name;
  types::DataTypePtr type;
  bool hidden = false;
};

/// Rows, batch by batch.
///
/// Threads: one at a time. Lifetime: keeps what it reads alive by itself.
class BatchReader {
 public:
  virtual ~BatchReader() = default;
  /// The next batch, null at the end. Shape: the columns asked for, in that order, each of
  /// `DataType::ToArrow()`.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Next() = 0;
};

/// Rows that are there already.
class BatchListReader : public BatchReader {
 public:
  explicit BatchListReader(std::vector<std::shared_ptr<arrow::RecordBatch>> batches)
      : batches_(std::move(batches)) {}
  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    return next_ < batches_.size() ? batches_[next_++] : nullptr;
  }

 private:
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches_;
  size_t next_ = 0;
};

/// A scan cut into parts that threads can read side by side.
class ScanSource {
 public:
  virtual ~ScanSource() = default;
  /// Number of parts, each opened once at most.
  virtual int parts() const = 0;
  /// Threads: any, several parts at once.
  virtual Result<std::unique_ptr<BatchReader>> OpenPart(int part) = 0;
};

/// One table fixed at one point: two scans of it see the same rows.
///
/// A statement makes one per table that it names, before it reads any row.
class TableView {
 public:
  virtual ~TableView() = default;
  virtual const std::vector<SourceColumn>& columns() const = 0;
  /// `columns` are positions in columns(), each once; none = only the number of rows matters.
  /// Threads: any. May wait for servers and files.
  virtual Result<std::unique_ptr<ScanSource>> Open(std::vector<int> columns,
                                                   std::vector<Predicate> predicates) = 0;
  /// Lines for EXPLAIN: snapshot, offsets, files, how keys are merged. `columns` = positions of
  /// what the query reads.
  virtual std::vector<std::string> Explain(const std::vector<int>& columns,
                                           const std::vector<Predicate>& predicates) const = 0;
  /// Rows, when it is known without reading; the optimizer's hint.
  virtual std::optional<int64_t> RowCountHint() const { return std::nullopt; }
};

/// Where INSERT, UPDATE and DELETE put rows.
class TableSink {
 public:
  virtual ~TableSink() = default;
  /// Columns as asked for at OpenSink. Returns when the batch is taken; the acknowledgement may be
  /// pending.
  virtual Status Write(std::shared_ptr<arrow::RecordBatch> batch) = 0;
  /// Wait until all is acknowledged. Without it, what was written may be lost or not.
  virtual Status Finish() = 0;
};

struct SinkOptions {
  std::vector<std::string>
      columns;  ///< Columns of the batches; fewer than the table's = partial update or NULLs.
  bool deletes = false;  ///< Batches hold primary keys to delete.
};

/// A view: text that stands for a table. The text is a query with fully qualified names.
struct ViewInfo {
  types::TablePath path;
  std::string query;           ///< With every table name qualified, as it is expanded.
  std::string original_query;  ///< As it was written.
  std::vector<std::string>
      columns;  ///< Names given in CREATE VIEW v (a, b); empty = those of the query.
  std::string comment;
};

/// What ALTER TABLE changes.
struct TableChanges {
  std::map<std::string, std::string> set;
  std::vector<std::string> reset;
  std::vector<types::Column> add_columns;  ///< Nullable, at the end.
  std::vector<std::string> drop_columns;
  std::vector<std::pair<std::string, std::string>> rename_columns;  ///< From, to.
  bool empty() const {
    return set.empty() && reset.empty() && add_columns.empty() && drop_columns.empty() &&
           rename_columns.empty();
  }
};

/// Databases, tables and views, and the ways to read and write them: one session's only door to
/// data.
///
/// Threads: any; calls may wait for servers, so never call from a loop. An interruption ends the
/// waits of all calls and of all that the calls gave out.
/// Errors: the protocol's codes (kDatabaseNotExist, kTableNotExist, kTableAlreadyExist, …).
class TableCatalog {
 public:
  virtual ~TableCatalog() = default;

  const std::shared_ptr<Interruption>& interruption() const { return interruption_; }

  virtual Result<std::vector<std::string>> ListDatabases() = 0;
  virtual Result<bool> DatabaseExists(const std::string& database) = 0;
  virtual Status CreateDatabase(const std::string& database,
                                const types::DatabaseDescriptor& descriptor,
                                bool if_not_exists) = 0;
  virtual Status DropDatabase(const std::string& database, bool if_exists, bool cascade) = 0;

  /// Tables, without views, by name.
  virtual Result<std::vector<std::string>> ListTables(const std::string& database) = 0;
  virtual Result<types::TableInfo> GetTable(const types::TablePath& path) = 0;
  virtual Status CreateTable(const types::TablePath& path, const types::TableDescriptor& descriptor,
                             bool if_not_exists) = 0;
  virtual Status DropTable(const types::TablePath& path, bool if_exists) = 0;
  virtual Status AlterTable(const types::TablePath& path, const TableChanges& changes,
                            bool if_exists) = 0;

  /// Partitions in name order; the spec of the two calls below maps partition columns to text
  /// values.
  virtual Result<std::vector<types::PartitionInfo>> ListPartitions(
      const types::TablePath& path) = 0;
  virtual Status CreatePartition(const types::TablePath& path,
                                 const std::map<std::string, std::string>& spec,
                                 bool if_not_exists) = 0;
  virtual Status DropPartition(const types::TablePath& path,
                               const std::map<std::string, std::string>& spec, bool if_exists) = 0;

  virtual Result<std::vector<std::string>> ListViews(const std::string& database) = 0;
  /// Nullopt when there is no view of that name.
  virtual Result<std::optional<ViewInfo>> FindView(const types::TablePath& path) = 0;
  virtual Status CreateView(const ViewInfo& view, bool if_not_exists) = 0;
  virtual Status DropView(const types::TablePath& path, bool if_exists) = 0;

  /// Columns of a table part, without fixing a point to read.
  virtual Result<std::vector<SourceColumn>> Columns(const TableRef& ref) = 0;
  /// Fix what a statement reads. A point that is gone before its plan is whole is planned anew.
  /// `bound`: the columns as Columns gave them when the statement was bound; a view has them with
  /// the same types, or not at all. `scans`: how often the statement reads it; what only several
  /// scans need may be left out for one.
  virtual Result<std::shared_ptr<TableView>> View(const TableRef& ref,
                                                  const std::vector<SourceColumn>& bound,
                                                  int scans) = 0;
  virtual Result<std::unique_ptr<TableSink>> OpenSink(const types::TablePath& path,
                                                      const SinkOptions& options) = 0;
  /// Count a read that is planned anew, because what it was to read is gone.
  virtual void CountPlannedAnew() {}

 private:
  const std::shared_ptr<Interruption> interruption_ = std::make_shared<Interruption>();
};

}  // namespace sluice::sql
