#include <algorithm>
#include <set>

#include "sql/like.h"
#include "sql/session_internal.h"

namespace sluice::sql {

namespace {

using Row = std::vector<std::optional<std::string>>;

bool IsShown(const ast::Show& show, const std::string& name) {
  return !show.has_like || MatchesLike(name, show.like) != show.not_like;
}

Result<ResultStreamPtr> NameRows(const ast::Show& show, const std::string& title,
                                 std::vector<std::string> names) {
  std::ranges::sort(names);
  std::vector<Row> rows;
  for (std::string& name : names) {
    if (IsShown(show, name)) rows.push_back({std::move(name)});
  }
  return FixedStream::OfText({title}, rows);
}

std::string NameList(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + QuoteName(name);
  return text;
}

std::string CreateTableText(const std::string& catalog, const types::TableInfo& table) {
  const types::TableDescriptor& descriptor = table.descriptor;
  std::string text = "CREATE TABLE " + QuoteName(catalog) + "." + QuoteName(table.path.database) +
                     "." + QuoteName(table.path.table) + " (\n";
  for (size_t i = 0; i < descriptor.schema.columns.size(); ++i) {
    const types::Column& column = descriptor.schema.columns[i];
    text += (i > 0 ? ",\n  " : "  ") + QuoteName(column.name) + " " + column.type->ToString();
    if (!column.comment.empty()) text += " COMMENT " + QuoteString(column.comment);
  }
  if (descriptor.has_primary_key()) {
    text += ",\n  PRIMARY KEY (" + NameList(descriptor.schema.primary_key) + ") NOT ENFORCED";
  }
  text += "\n)";
  if (!descriptor.comment.empty()) text += "\nCOMMENT " + QuoteString(descriptor.comment);
  if (descriptor.partitioned())
    text += "\nPARTITIONED BY (" + NameList(descriptor.partition_keys) + ")";
  std::map<std::string, std::string> options = descriptor.properties;
  // The text makes such a table: what the cluster says of its lake is no table's option.
  std::erase_if(options,
                [&](const auto& option) { return IsOptionOfCluster(descriptor, option.first); });
  options.insert(descriptor.custom_properties.begin(), descriptor.custom_properties.end());
  if (descriptor.bucket_count) options["bucket.num"] = std::to_string(*descriptor.bucket_count);
  std::string keys;
  for (const std::string& key : descriptor.bucket_keys) keys += (keys.empty() ? "" : ",") + key;
  if (!keys.empty()) options["bucket.key"] = keys;
  std::string counted;
  for (const std::string& name : descriptor.schema.auto_increment)
    counted += (counted.empty() ? "" : ",") + name;
  if (!counted.empty()) options["auto-increment.fields"] = counted;
  for (const types::Column& column : descriptor.schema.columns) {
    if (column.agg_function.empty()) continue;
    const std::string of_column = "fields." + column.name + ".";
    options[of_column + "agg"] = column.agg_function;
    for (const auto& [name, value] : column.agg_parameters)
      options[of_column + column.agg_function + "." + name] = value;
  }
  std::string list;
  for (const auto& [key, value] : options) {
    list += (list.empty() ? "  " : ",\n  ") + QuoteString(key) + " = " + QuoteString(value);
  }
  return list.empty() ? text : text + "\nWITH (\n" + list + "\n)";
}

}  // namespace

std::string QuoteName(std::string_view name) {
  std::string quoted = "`";
  for (const char c : name) {
    quoted.push_back(c);
    if (c == '`') quoted.push_back(c);
  }
  return quoted + "`";
}

namespace {

// Does the partition have the values that PARTITION (…) names, in any order?
// Errors: a column that the table is not partitioned by, or one that is named twice.
Result<bool> IsWanted(const ast::PartitionSpec& spec, const types::TableInfo& table,
                      const types::PartitionInfo& partition) {
  const std::vector<std::string>& keys = table.descriptor.partition_keys;
  bool wanted = true;
  std::set<std::string> named;
  for (const auto& [name, value] : spec.values) {
    const auto key = std::ranges::find(keys, name);
    if (key == keys.end())
      return ErrorAt(ErrorCode::kPartitionSpecInvalid, spec.at,
                     "table is not partitioned by this column, column=", Shown(name),
                     " table=", table.path);
    if (!named.insert(name).second)
      return ErrorAt(ErrorCode::kPartitionSpecInvalid, spec.at,
                     "partition names a column twice, column=", name);
    wanted = wanted && partition.values[static_cast<size_t>(key - keys.begin())] == value;
  }
  return wanted;
}

}  // namespace

Result<ResultStreamPtr> Session::State::ShowPartitions(const ast::Show& show) {
  ASSIGN_OR_RAISE(const types::TableInfo table, TableOf(*show.name));
  if (show.partition) {  // Also when there is no partition that it could be asked of.
    RETURN_NOT_OK(
        IsWanted(*show.partition, table,
                 {.values = std::vector<std::string>(table.descriptor.partition_keys.size())}));
  }
  ASSIGN_OR_RAISE(const auto partitions, tables.ListPartitions(table.path));
  std::vector<Row> rows;
  for (const types::PartitionInfo& partition : partitions) {
    if (show.partition) {
      ASSIGN_OR_RAISE(const bool wanted, IsWanted(*show.partition, table, partition));
      if (!wanted) continue;
    }
    std::string text;
    for (size_t i = 0; i < partition.values.size(); ++i)
      text += (i > 0 ? "/" : "") + table.descriptor.partition_keys[i] + "=" + partition.values[i];
    rows.push_back({text});
  }
  return FixedStream::OfText({"partition name"}, rows);
}

// TABLES shows the views too, as Flink does.
Result<ResultStreamPtr> Session::State::ShowTables(const ast::Show& show) {
  const bool all = show.what == ast::Show::What::kTables;
  std::string from = database;
  if (show.name) {
    ASSIGN_OR_RAISE(from, DatabaseOf(*show.name));
  }
  std::vector<std::string> names;
  if (all) {
    ASSIGN_OR_RAISE(names, tables.ListTables(from));
  }
  ASSIGN_OR_RAISE(const std::vector<std::string> views, tables.ListViews(from));
  names.insert(names.end(), views.begin(), views.end());
  for (const auto& [path, view] : temporary_views) {
    if (path.database == from) names.push_back(path.table);
  }
  return NameRows(show, all ? "table name" : "view name", std::move(names));
}

Result<ResultStreamPtr> Session::State::ShowCreateView(const ast::ObjectName& name) {
  ASSIGN_OR_RAISE(const types::TablePath path, PathOf(name));
  ASSIGN_OR_RAISE(const auto view, ViewOf(path));
  if (!view) return ErrorAt(ErrorCode::kTableNotExist, name.at, "view does not exist, name=", path);
  return FixedStream::OfText(
      {"result"}, {{"CREATE VIEW " + QuoteName(catalog) + "." + QuoteName(path.database) + "." +
                    QuoteName(path.table) + " AS\n" + view->query}});
}

Result<ResultStreamPtr> Session::State::RunShow(const ast::Show& show) {
  using What = ast::Show::What;
  switch (show.what) {
    case What::kCatalogs: {
      std::vector<std::string> names;
      for (const auto& [name, options] : catalogs) names.push_back(name);
      return NameRows(show, "catalog name", std::move(names));
    }
    case What::kDatabases: {
      if (show.name && show.name->parts.size() > 1)
        return InvalidAt(show.name->at, "a catalog has one name");
      if (show.name && !catalogs.contains(show.name->parts[0]))
        return ErrorAt(ErrorCode::kDatabaseNotExist, show.name->at,
                       "catalog does not exist, name=", show.name->parts[0]);
      ASSIGN_OR_RAISE(std::vector<std::string> names, tables.ListDatabases());
      return NameRows(show, "database name", std::move(names));
    }
    case What::kTables:
    case What::kViews:
      return ShowTables(show);
    case What::kCurrentCatalog:
      return FixedStream::OfText({"current catalog name"}, {{catalog}});
    case What::kCurrentDatabase:
      return FixedStream::OfText({"current database name"}, {{database}});
    case What::kCreateTable: {
      ASSIGN_OR_RAISE(const types::TableInfo table, TableOf(*show.name));
      return FixedStream::OfText({"result"}, {{CreateTableText(catalog, table)}});
    }
    case What::kCreateView:
      return ShowCreateView(*show.name);
    case What::kPartitions:
      return ShowPartitions(show);
    case What::kColumns:
      break;
  }
  return RunDescribe(*show.name, show);
}

Result<std::vector<SourceColumn>> Session::State::ColumnsOf(const ast::ObjectName& name,
                                                            std::vector<std::string>* key) {
  const BindContext context = Context();
  ASSIGN_OR_RAISE(const ResolvedName resolved, Binder(context).Resolve(name.parts, name.at));
  ASSIGN_OR_RAISE(const auto view, ViewOf(resolved.ref.path));
  if (!view || resolved.ref.part != TablePart::kUnion) {
    Result<std::vector<SourceColumn>> columns = tables.Columns(resolved.ref);
    if (!columns.ok())
      return ErrorAt(CodeOf(columns.status()), name.at, columns.status().message());
    if (resolved.ref.part == TablePart::kUnion) {
      ASSIGN_OR_RAISE(const types::TableInfo table, tables.GetTable(resolved.ref.path));
      *key = table.descriptor.schema.primary_key;
    }
    return columns;
  }
  ast::Query all;
  all.at = name.at;
  all.body = std::make_unique<ast::Body>();
  ast::Select select{.at = name.at};
  ast::SelectItem star;
  star.expr = std::make_unique<ast::Expr>();
  star.expr->kind = ast::ExprKind::kStar;
  select.items.push_back(std::move(star));
  select.from = std::make_unique<ast::Relation>();
  select.from->at = name.at;
  select.from->names = name.parts;
  all.body->node = std::move(select);
  Binder binder(context);
  ASSIGN_OR_RAISE(const BoundQuery bound, binder.BindQuery(all));
  std::vector<SourceColumn> columns;
  for (const OutputColumn& column : bound.columns)
    columns.push_back({column.name, column.type.ToColumn()});
  return columns;
}

// The six columns that Flink shows, of the columns of the table that `show` wants.
Result<ResultStreamPtr> Session::State::RunDescribe(const ast::ObjectName& name,
                                                    const ast::Show& show) {
  std::vector<std::string> key;
  ASSIGN_OR_RAISE(const std::vector<SourceColumn> columns, ColumnsOf(name, &key));
  std::string key_text;
  for (const std::string& column : key) key_text += (key_text.empty() ? "PRI(" : ", ") + column;
  std::vector<Row> rows;
  for (const SourceColumn& column : columns) {
    if (!IsShown(show, column.name)) continue;
    const bool in_key = std::ranges::find(key, column.name) != key.end();
    rows.push_back({column.name, column.type->WithNullable(true)->ToString(),
                    column.type->nullable() ? "TRUE" : "FALSE",
                    in_key ? std::optional(key_text + ")") : std::nullopt, std::nullopt,
                    std::nullopt});
  }
  return FixedStream::OfText({"name", "type", "null", "key", "extras", "watermark"}, rows);
}

}  // namespace sluice::sql
