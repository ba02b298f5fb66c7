#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/memory_budget.h"
#include "client/admin.h"
#include "client/cluster.h"
#include "io/loop.h"
#include "lake/lake_catalog.h"
#include "sql/lake_state.h"
#include "sql/table_source.h"
#include "sql/unpinned_tables.h"
#include "sql/view_store.h"

namespace sluice::sql {

struct FlussCatalogOptions {
  client::ClusterPtr cluster;
  std::vector<io::Loop*> loops;  ///< Where client work runs; dealt out. At least one.
  lake::LakeCatalog* lake =
      nullptr;  ///< Null: the cluster has no lake, or it cannot be reached from here.
  /// Why `lake` is null though the cluster has one. Tables that are in it are then not read at all.
  Status lake_status;
  ViewStore* views = nullptr;
  LakeStateSource lake_state;  ///< Null where tables are not tiered.
  // Shared by the catalogs of all sessions.
  /// For rows outside of the engine that a statement keeps.
  std::shared_ptr<MemoryBudget> memory = std::make_shared<MemoryBudget>(int64_t{512} << 20);
  /// For rows on their way to the engine: a scan takes less at a time, the fewer bytes are left.
  std::shared_ptr<MemoryBudget> passing = std::make_shared<MemoryBudget>(int64_t{256} << 20);
  /// How often a read had to be planned anew.
  std::shared_ptr<std::atomic<int64_t>> planned_anew = std::make_shared<std::atomic<int64_t>>(0);
  std::shared_ptr<UnpinnedTables> unpinned = std::make_shared<UnpinnedTables>();
};

/// The cluster's tables for the engine: rows of lake and log together, the lake alone, and the
/// writers of the client.
///
/// Lifetime: what the options point to outlives the catalog and everything it gave out.
/// Threads: any but a loop's own; calls wait for the cluster.
class FlussTableCatalog : public TableCatalog {
 public:
  explicit FlussTableCatalog(FlussCatalogOptions options);
  ~FlussTableCatalog() override;

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
  void CountPlannedAnew() override { ++*options_.planned_anew; }

 private:
  io::Loop& NextLoop();
  Result<std::shared_ptr<lake::LakeTable>> OpenLake(const types::TablePath& path);
  Status CheckNewest(const types::TablePath& path, lake::LakeTable& table);
  Result<std::vector<SourceColumn>> LakeColumns(const TableRef& ref, const lake::LakeTable& table);

  FlussCatalogOptions options_;
  client::Admin admin_;
  std::atomic<size_t> next_loop_{0};
};

}  // namespace sluice::sql
