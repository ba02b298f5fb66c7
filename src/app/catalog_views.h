#pragma once
#include "io/loop.h"
#include "sql/view_store.h"

namespace sluice::meta {
class Catalog;
}
namespace sluice::coordinator {
class Coordinator;
}

namespace sluice::app {

/// The views of SQL in this server's metadata: read from the catalog's snapshot, changed by the
/// coordinator.
///
/// Format of a definition: JSON {query, original_query, columns, comment}.
/// Threads: any but a loop's, since changes wait for the coordinator.
class CatalogViews : public sql::ViewStore {
 public:
  /// All must outlive the object; `loop` is where the coordinator is asked.
  CatalogViews(const meta::Catalog& catalog, coordinator::Coordinator& coordinator, io::Loop& loop)
      : catalog_(catalog), coordinator_(coordinator), loop_(loop) {}

  Result<std::vector<std::string>> List(const std::string& database) override;
  Result<std::optional<sql::ViewInfo>> Find(const types::TablePath& path) override;
  Status Create(const sql::ViewInfo& view) override;
  Status Drop(const types::TablePath& path) override;

 private:
  const meta::Catalog& catalog_;
  coordinator::Coordinator& coordinator_;
  io::Loop& loop_;
};

}  // namespace sluice::app
