#pragma once
#include <arrow/type_fwd.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "io/clock.h"
#include "sql/table_source.h"

namespace sluice::sql {

/// Databases, tables and views in memory: the twin of the cluster's catalog for tests of the
/// engine.
///
/// Every write is a snapshot of the lake at once, so `t`, `t$lake` and time travel can be asked
/// for. Threads: any.
class MemoryCatalog : public TableCatalog {
 public:
  explicit MemoryCatalog(io::Clock& clock);
  ~MemoryCatalog() override;

  Result<std::vector<std::string>> ListDatabases() override;
  Result<bool> DatabaseExists(const std::string& database) override;
  Status CreateDatabase(const std::string& database, const types::DatabaseDescriptor& descriptor,
                        bool if_not_exists) override;
  Status DropDatabase(const std::string& database, bool if_exists, bool cascade) override;
  Result<std::vector<std::string>> ListTables(const std::string& database) override;
  Result<types::TableInfo> GetTable(const types::TablePath& path) override;
  Status CreateTable(const types::TablePath& path, const types::TableDescriptor& descriptor,
                     bool if_not_exists) override;
  Status DropTable(const types::TablePath& path, bool if_exists) override;
  Status AlterTable(const types::TablePath& path, const TableChanges& changes,
                    bool if_exists) override;
  Result<std::vector<types::PartitionInfo>> ListPartitions(const types::TablePath& path) override;
  Status CreatePartition(const types::TablePath& path,
                         const std::map<std::string, std::string>& spec,
                         bool if_not_exists) override;
  Status DropPartition(const types::TablePath& path, const std::map<std::string, std::string>& spec,
                       bool if_exists) override;
  Result<std::vector<std::string>> ListViews(const std::string& database) override;
  Result<std::optional<ViewInfo>> FindView(const types::TablePath& path) override;
  Status CreateView(const ViewInfo& view, bool if_not_exists) override;
  Status DropView(const types::TablePath& path, bool if_exists) override;
  Result<std::vector<SourceColumn>> Columns(const TableRef& ref) override;
  Result<std::shared_ptr<TableView>> View(const TableRef& ref,
                                          const std::vector<SourceColumn>& bound,
                                          int scans) override;
  Result<std::unique_ptr<TableSink>> OpenSink(const types::TablePath& path,
                                              const SinkOptions& options) override;

  struct Table;
  class Sink;

 private:
  Result<std::shared_ptr<Table>> Find(const types::TablePath& path);

  io::Clock& clock_;
  std::mutex mutex_;  // Covers the maps and the tables' rows.
  std::map<std::string, types::DatabaseDescriptor> databases_;
  std::map<types::TablePath, std::shared_ptr<Table>> tables_;
  std::map<types::TablePath, ViewInfo> views_;
  int64_t next_table_id_ = 1;
};

}  // namespace sluice::sql
