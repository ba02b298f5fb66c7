#include "sql/view_store.h"

namespace sluice::sql {

Result<std::vector<std::string>> MemoryViewStore::List(const std::string& database) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [path, view] : views_) {
    if (path.database == database) names.push_back(path.table);
  }
  return names;
}

Result<std::optional<ViewInfo>> MemoryViewStore::Find(const types::TablePath& path) {
  const std::lock_guard lock(mutex_);
  const auto found = views_.find(path);
  return found == views_.end() ? std::nullopt : std::optional(found->second);
}

Status MemoryViewStore::Create(const ViewInfo& view) {
  const std::lock_guard lock(mutex_);
  if (views_.emplace(view.path, view).second) return Status::OK();
  return Error(ErrorCode::kTableAlreadyExist, "view exists already, name=", view.path);
}

Status MemoryViewStore::Drop(const types::TablePath& path) {
  const std::lock_guard lock(mutex_);
  if (views_.erase(path) > 0) return Status::OK();
  return Error(ErrorCode::kTableNotExist, "view does not exist, name=", path);
}

}  // namespace sluice::sql
