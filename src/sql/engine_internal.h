#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "sql/duckdb_handles.h"
#include "sql/engine.h"
#include "sql/scalar_functions.h"
#include "sql/table_source.h"

namespace sluice::sql {

/// One FROM entry of a running statement, as the engine's scan function finds it.
struct ScanBinding {
  std::shared_ptr<TableView> view;
  std::vector<int> positions;      ///< In view->columns(), of the columns below.
  std::vector<std::string> names;  ///< Unique in the statement.
  std::vector<SqlType> types;
  std::vector<Predicate> predicates;
  std::shared_ptr<Interruption> interruption;  ///< Of the session; ends the scan.
};

/// Bindings by number: the generated SQL says sluice_scan(7).
///
/// Threads: any; the mutex covers the map alone.
class ScanRegistry {
 public:
  /// A number never given before in this process.
  static int64_t NextId() {
    static std::atomic<int64_t> last{0};
    return ++last;
  }
  void Add(int64_t id, std::shared_ptr<const ScanBinding> binding) {
    const std::lock_guard lock(mutex_);
    bindings_.emplace(id, std::move(binding));
  }
  void Remove(int64_t id) {
    const std::lock_guard lock(mutex_);
    bindings_.erase(id);
  }
  std::shared_ptr<const ScanBinding> Find(int64_t id) {
    const std::lock_guard lock(mutex_);
    const auto found = bindings_.find(id);
    return found == bindings_.end() ? nullptr : found->second;
  }

 private:
  std::mutex mutex_;  // Guards what follows.
  std::map<int64_t, std::shared_ptr<const ScanBinding>> bindings_;
};

struct Engine::State {
  std::mutex mutex;  ///< Start and the registered decimal functions.
  bool started = false;
  duckdb::Api api;
  duckdb::Owned<duckdb::Database> database;
  duckdb::Owned<duckdb::Connection> registrar;  ///< Registers functions; guarded by the mutex.
  std::set<DecimalFunction> decimal_functions;
  ScanRegistry scans;

  Status Open(const EngineOptions& options);
  /// Make sure that the decimal functions a statement calls are there.
  Status Need(const std::set<DecimalFunction>& functions);
  Result<duckdb::Owned<duckdb::Connection>> Connect();
};

/// Register sluice_scan(id): rows of a ScanBinding, with the columns that the query reads alone.
Status RegisterScan(const duckdb::Api& api, duckdb::Connection connection, ScanRegistry* scans);

}  // namespace sluice::sql
