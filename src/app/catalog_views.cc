#include "app/catalog_views.h"

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "coordinator/coordinator.h"
#include "io/task.h"
#include "meta/catalog.h"

namespace sluice::app {
namespace {

std::string ToDefinition(const sql::ViewInfo& view) {
  const nlohmann::json definition = {{"query", view.query},
                                     {"original_query", view.original_query},
                                     {"columns", view.columns},
                                     {"comment", view.comment}};
  return JsonText(definition);
}

Status Damaged(const meta::ViewInfo& stored, const char* member) {
  return Corrupt("the definition of a view is damaged view=", stored.path, " member=", member);
}

Result<sql::ViewInfo> FromDefinition(const meta::ViewInfo& stored) {
  const auto definition =
      nlohmann::json::parse(stored.definition, nullptr, /*allow_exceptions=*/false);
  if (!definition.is_object())
    return Corrupt("the definition of a view is not JSON view=", stored.path);
  sql::ViewInfo view;
  view.path = stored.path;
  using Member = std::pair<const char*, std::string*>;
  for (const auto& [name, text] :
       {Member{"query", &view.query}, Member{"original_query", &view.original_query},
        Member{"comment", &view.comment}}) {
    const auto member = definition.find(name);
    if (member == definition.end()) continue;
    if (!member->is_string()) return Damaged(stored, name);
    *text = member->get<std::string>();
  }
  const auto columns = definition.find("columns");
  if (columns == definition.end()) return view;
  if (!columns->is_array()) return Damaged(stored, "columns");
  for (const auto& column : *columns) {
    if (!column.is_string()) return Damaged(stored, "columns");
    view.columns.push_back(column.get<std::string>());
  }
  return view;
}

}  // namespace

Result<std::vector<std::string>> CatalogViews::List(const std::string& database) {
  const meta::CatalogStatePtr state = catalog_.state();
  ASSIGN_OR_RAISE(const auto entry, state->Database(database));
  std::vector<std::string> names;
  for (const auto& [name, _] : entry->views) names.push_back(name);
  return names;
}

Result<std::optional<sql::ViewInfo>> CatalogViews::Find(const types::TablePath& path) {
  const meta::CatalogStatePtr state = catalog_.state();
  const meta::ViewInfo* stored = state->FindView(path);
  if (stored == nullptr) return std::nullopt;
  ASSIGN_OR_RAISE(auto view, FromDefinition(*stored));
  return view;
}

Status CatalogViews::Create(const sql::ViewInfo& view) {
  meta::ViewInfo stored;
  stored.path = view.path;
  stored.definition = ToDefinition(view);
  return io::SyncWait(loop_, coordinator_.CreateView(loop_, std::move(stored), /*replace=*/false));
}

Status CatalogViews::Drop(const types::TablePath& path) {
  return io::SyncWait(loop_, coordinator_.DropView(loop_, path));
}

}  // namespace sluice::app
