#pragma once
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sql/ast.h"
#include "sql/bound.h"
#include "sql/engine_error.h"
#include "sql/scalar_functions.h"
#include "sql/table_source.h"

namespace sluice::sql {

/// What a statement finds around it.
struct BindContext {
  TableCatalog* tables = nullptr;
  std::string catalog;
  std::string database;
  std::set<std::string> catalogs;  ///< Names under which the cluster is known.
  std::map<types::TablePath, ViewInfo> temporary_views;
  std::string time_zone = "UTC";
  int64_t now_ms = 0;                  ///< CURRENT_TIMESTAMP of the whole statement.
  std::function<int64_t()> next_scan;  ///< A number for the next scan.
  /// Milliseconds since 1970 of constant SQL that gives a TIMESTAMP in UTC; for AS OF.
  std::function<Result<int64_t>(const std::string&)> evaluate_time;
};

struct OutputColumn {
  std::string name;
  SqlType type;
  std::string internal;  ///< Name in the generated SQL.
};

/// A table as the generated SQL reads it: FROM sluice_scan(id).
struct ScanUse {
  int64_t id = 0;
  TableRef ref;
  std::vector<SourceColumn> source;    ///< Columns of the table.
  std::vector<std::string> internals;  ///< Their names in the generated SQL.
  std::vector<SqlType> types;
  std::vector<Predicate> predicates;
  std::set<int> used;  ///< Columns that the statement names.
};

/// A query for the engine.
struct BoundQuery {
  std::string sql;
  std::vector<OutputColumn> columns;
};

/// Where a table was named in the statement's own text, and its full name; for the expanded text of
/// views.
struct TableMention {
  size_t begin = 0;
  size_t end = 0;
  std::string full_name;
};

/// A table name with its catalog and database filled in and the `$lake` part taken off.
struct ResolvedName {
  std::string catalog;
  TableRef ref;
};

/// Gives names meaning and expressions types, by Flink's rules, and writes the SQL of the query
/// engine.
///
/// One binder per statement.
class Binder {
 public:
  explicit Binder(const BindContext& context);
  ~Binder();

  Result<BoundQuery> BindQuery(const ast::Query& query);
  /// The same rows with TIMESTAMP_LTZ as the session's local time, for those who show them.
  Result<BoundQuery> InSessionZone(BoundQuery query);
  /// The query converted to column types as INSERT does: one per target, in order.
  /// Errors: another number of columns, a column that needs a CAST.
  Result<BoundQuery> BindForSink(const ast::Query& query, const std::vector<types::Column>& targets,
                                 Position at);
  /// SELECT of expressions over one table, for UPDATE and DELETE: `values` by column name, the
  /// other columns as stored.
  Result<BoundQuery> BindOverTable(const ast::ObjectName& table,
                                   const std::vector<types::Column>& targets,
                                   const std::vector<std::pair<ast::Name, ast::ExprPtr>>& values,
                                   const ast::Expr* where);

  Result<ResolvedName> Resolve(const std::vector<ast::Name>& parts, Position at) const;

  std::vector<ScanUse>& scans();
  const std::set<DecimalFunction>& decimal_functions() const;
  const std::vector<TableMention>& mentions() const;
  /// What the marks in the SQL of its queries stand for.
  const std::vector<Place>& places() const;

  class Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::sql
