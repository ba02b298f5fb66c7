#pragma once
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "sql/table_source.h"

namespace sluice::sql {

/// Where views are kept: the server's metadata, or memory against servers that know no views.
///
/// Threads: any. Errors: kTableAlreadyExist, kTableNotExist.
class ViewStore {
 public:
  virtual ~ViewStore() = default;
  virtual Result<std::vector<std::string>> List(const std::string& database) = 0;
  virtual Result<std::optional<ViewInfo>> Find(const types::TablePath& path) = 0;
  virtual Status Create(const ViewInfo& view) = 0;
  virtual Status Drop(const types::TablePath& path) = 0;
};

/// Views of one process, gone with it.
class MemoryViewStore : public ViewStore {
 public:
  Result<std::vector<std::string>> List(const std::string& database) override;
  Result<std::optional<ViewInfo>> Find(const types::TablePath& path) override;
  Status Create(const ViewInfo& view) override;
  Status Drop(const types::TablePath& path) override;

 private:
  std::mutex mutex_;  // Guards what follows.
  std::map<types::TablePath, ViewInfo> views_;
};

}  // namespace sluice::sql
