#include <algorithm>
#include <charconv>

#include "sql/parser.h"
#include "sql/session_internal.h"
#include "types/agg_function.h"

namespace sluice::sql {

namespace {

ResultStreamPtr Done() { return std::make_unique<FixedStream>(); }

std::vector<std::string> SplitNames(const std::string& list) {
  std::vector<std::string> names;
  size_t begin = 0;
  while (begin <= list.size()) {
    const size_t end = std::min(list.find(',', begin), list.size());
    std::string name = list.substr(begin, end - begin);
    name.erase(0, std::min(name.find_first_not_of(' '), name.size()));
    name.erase(name.find_last_not_of(' ') + 1);
    if (!name.empty()) names.push_back(std::move(name));
    begin = end + 1;
  }
  return names;
}

// A column's type as tables can hold it: VARCHAR(n) would have to be checked at every write, so it
// is refused.
Result<types::DataTypePtr> StoredType(const SqlType& type, Position at, const std::string& column) {
  const bool limited = (type.kind == SqlKind::kVarchar || type.kind == SqlKind::kVarbinary) &&
                       type.length != SqlType::kMaxLength;
  if (limited) {
    return ErrorAt(ErrorCode::kUnsupportedVersion, at, "column type is not supported, use ",
                   type.kind == SqlKind::kVarchar ? "STRING" : "BYTES", ", type=", type.ToString(),
                   " column=", column);
  }
  for (const SqlType& child : type.children) RETURN_NOT_OK(StoredType(child, at, column).status());
  return type.ToColumn();
}

Status AddOption(const std::string& key, const std::string& value, Position at,
                 types::TableDescriptor* table) {
  if (key == "bucket.num") {
    int32_t count = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), count);
    if (error != std::errc() || end != value.data() + value.size() || count < 1) {
      return ErrorAt(ErrorCode::kInvalidConfig, at,
                     "bucket.num needs a number above zero, value=", Shown(value));
    }
    table->bucket_count = count;
  } else if (key == "bucket.key") {
    table->bucket_keys = SplitNames(value);
  } else if (key == "auto-increment.fields") {
    table->schema.auto_increment = SplitNames(value);
  } else if (key == "connector") {
    if (value != "fluss")
      return ErrorAt(ErrorCode::kInvalidConfig, at,
                     "connector is not supported, value=", Shown(value));
  } else if (key.starts_with("table.")) {
    table->properties[key] = value;
  } else {
    table->custom_properties[key] = value;
  }
  return Status::OK();
}

// 'fields.COLUMN.agg' = 'FUNCTION' and 'fields.COLUMN.FUNCTION.PARAMETER', as Fluss's connector for
// Flink reads them. What a function takes is for the server to say.
template <typename Options>
Status SetAggFunctions(const Options& options, Position at, types::TableDescriptor* table) {
  constexpr std::string_view kPrefix = "fields.";
  constexpr std::string_view kSuffix = ".agg";
  for (const auto& [key, value] : options) {
    const bool names_function = key.starts_with(kPrefix) && key.ends_with(kSuffix) &&
                                key.size() > kPrefix.size() + kSuffix.size();
    if (!names_function) continue;
    const std::string name =
        key.substr(kPrefix.size(), key.size() - kPrefix.size() - kSuffix.size());
    const int index = table->schema.IndexOf(name);
    if (index < 0)
      return ErrorAt(ErrorCode::kInvalidConfig, at, "option names no column, option=", key);
    types::Column& column = table->schema.columns[static_cast<size_t>(index)];
    column.agg_function = types::AggName(value);
    column.agg_parameters.clear();
    const std::string of_column = std::string(kPrefix) + name + ".";
    for (const auto& [other, setting] : options) {
      if (!other.starts_with(of_column)) continue;
      const size_t dot = other.find('.', of_column.size());
      if (dot == std::string::npos) continue;
      const auto function = other.substr(of_column.size(), dot - of_column.size());
      if (types::AggName(function) == column.agg_function)
        column.agg_parameters[other.substr(dot + 1)] = setting;
    }
  }
  return Status::OK();
}

Status CheckNames(const std::vector<std::string>& names, const types::Schema& schema, Position at,
                  std::string_view what) {
  for (const std::string& name : names) {
    if (schema.IndexOf(name) < 0)
      return ErrorAt(ErrorCode::kInvalidTable, at, what,
                     " names a column that does not exist, name=", name);
  }
  return Status::OK();
}

// What CREATE TABLE … LIKE begins with.
Result<types::TableDescriptor> TakenOver(const types::TableDescriptor& source,
                                         const ast::CreateTable& create) {
  using Mode = ast::LikeOptions::Mode;
  const ast::LikeOptions& like = create.like_options;
  types::TableDescriptor table = source;
  for (types::Column& column : table.schema.columns) column.id = -1;
  table.schema.highest_field_id = -1;
  // What the server filled in for the source is not what its creator asked for.
  std::erase_if(table.properties, [&](const auto& entry) {
    return entry.first == "table.kv.format-version" || entry.first == "table.replication.factor" ||
           entry.first == "table.kv.standby-replica.enabled" ||
           IsOptionOfCluster(source, entry.first);
  });
  if (like.constraints == Mode::kExcluding) table.schema.primary_key.clear();
  if (like.partitions == Mode::kExcluding) table.partition_keys.clear();
  const bool no_options = like.options == Mode::kExcluding;
  if (no_options || like.distribution == Mode::kExcluding) {
    table.bucket_keys.clear();
    table.bucket_count.reset();
  }
  if (no_options) {
    table.properties.clear();
    table.custom_properties.clear();
    table.schema.auto_increment.clear();
    for (types::Column& column : table.schema.columns) {
      column.agg_function.clear();
      column.agg_parameters.clear();
    }
  }
  for (const auto& [key, value] : create.options) {
    const bool both = table.properties.contains(key) || table.custom_properties.contains(key);
    if (both && like.options == Mode::kIncluding)
      return InvalidAt(create.name.at,
                       "option is there already, say OVERWRITING OPTIONS, option=", key);
  }
  return table;
}

}  // namespace

bool IsOptionOfCluster(const types::TableDescriptor& table, std::string_view key) {
  const auto format = table.properties.find("table.datalake.format");
  return format != table.properties.end() &&
         key.starts_with("table.datalake." + format->second + ".");
}

Result<types::TablePath> Session::State::PathOf(const ast::ObjectName& name) {
  const BindContext context = Context();
  ASSIGN_OR_RAISE(ResolvedName resolved, Binder(context).Resolve(name.parts, name.at));
  if (resolved.ref.part != TablePart::kUnion)
    return InvalidAt(name.at,
                     "statement needs a table, not a part of one, name=", resolved.ref.ToString());
  return resolved.ref.path;
}

Result<std::string> Session::State::DatabaseOf(const ast::ObjectName& name) {
  if (name.parts.size() > 2) return InvalidAt(name.at, "a database has at most two names");
  if (name.parts.size() == 2 && !catalogs.contains(name.parts[0])) {
    return ErrorAt(ErrorCode::kDatabaseNotExist, name.at,
                   "catalog does not exist, name=", name.parts[0]);
  }
  return name.parts.back();
}

Result<types::TableInfo> Session::State::TableOf(const ast::ObjectName& name) {
  ASSIGN_OR_RAISE(const types::TablePath path, PathOf(name));
  ASSIGN_OR_RAISE(const auto view, ViewOf(path));
  if (view) return InvalidAt(name.at, "statement needs a table, this is a view, name=", path);
  Result<types::TableInfo> table = tables.GetTable(path);
  if (!table.ok()) return ErrorAt(CodeOf(table.status()), name.at, table.status().message());
  return table;
}

Result<std::optional<ViewInfo>> Session::State::ViewOf(const types::TablePath& path) {
  const auto temporary = temporary_views.find(path);
  if (temporary != temporary_views.end()) return temporary->second;
  return tables.FindView(path);
}

// --- CREATE ---

Result<types::TableDescriptor> Session::State::Describe(const ast::CreateTable& create) {
  types::TableDescriptor table;
  if (create.like) {
    ASSIGN_OR_RAISE(const types::TableInfo source, TableOf(*create.like));
    ASSIGN_OR_RAISE(table, TakenOver(source.descriptor, create));
  }
  table.comment = create.comment.empty() ? table.comment : create.comment;
  for (const ast::ColumnDefinition& column : create.columns) {
    if (table.schema.IndexOf(column.name) >= 0)
      return InvalidAt(column.at, "column is named twice, name=", column.name);
    ASSIGN_OR_RAISE(types::DataTypePtr type, StoredType(column.type, column.at, column.name));
    const bool key = std::ranges::find(create.primary_key, column.name) != create.primary_key.end();
    if (key) type = type->WithNullable(false);
    table.schema.columns.push_back(
        {.name = column.name, .type = std::move(type), .comment = column.comment});
  }
  if (!create.primary_key.empty()) {
    if (table.has_primary_key())
      return InvalidAt(create.primary_key_at, "table has a second primary key");
    table.schema.primary_key = create.primary_key;
    RETURN_NOT_OK(
        CheckNames(create.primary_key, table.schema, create.primary_key_at, "primary key"));
  }
  if (!create.partitioned_by.empty()) table.partition_keys = create.partitioned_by;
  if (!create.distributed_by.empty()) table.bucket_keys = create.distributed_by;
  if (create.buckets) table.bucket_count = create.buckets;
  for (const auto& [key, value] : create.options)
    RETURN_NOT_OK(AddOption(key, value, create.name.at, &table));
  RETURN_NOT_OK(SetAggFunctions(create.options, create.name.at, &table));
  RETURN_NOT_OK(CheckNames(table.partition_keys, table.schema, create.name.at, "PARTITIONED BY"));
  RETURN_NOT_OK(CheckNames(table.bucket_keys, table.schema, create.name.at, "bucket.key"));
  RETURN_NOT_OK(CheckNames(table.schema.auto_increment, table.schema, create.name.at,
                           "auto-increment.fields"));
  return table;
}

Result<ResultStreamPtr> Session::State::RunCreateTable(const ast::CreateTable& create) {
  ASSIGN_OR_RAISE(const types::TablePath path, PathOf(create.name));
  if (const std::string problem = types::NameProblem(path.table, /*creating=*/true);
      !problem.empty()) {
    return ErrorAt(ErrorCode::kInvalidTable, create.name.at,
                   "table name is not allowed, name=", path.table, ": ", problem);
  }
  ASSIGN_OR_RAISE(const auto view, ViewOf(path));
  if (view)
    return ErrorAt(ErrorCode::kTableAlreadyExist, create.name.at,
                   "a view has this name, name=", path);
  if (create.as == nullptr) {
    ASSIGN_OR_RAISE(const types::TableDescriptor table, Describe(create));
    RETURN_NOT_OK(tables.CreateTable(path, table, create.if_not_exists));
    return Done();
  }
  if (!create.columns.empty() || create.like)
    return InvalidAt(create.name.at, "CREATE TABLE AS takes its columns from the query");
  const BindContext context = Context();
  Binder binder(context);
  ASSIGN_OR_RAISE(const BoundQuery bound, binder.BindQuery(*create.as));
  ASSIGN_OR_RAISE(types::TableDescriptor table, Describe(create));
  for (const OutputColumn& column : bound.columns) {
    SqlType type = column.type;
    if (type.kind == SqlKind::kNull)
      return InvalidAt(create.as->at,
                       "column has no type, write CAST(NULL AS type), name=", column.name);
    if (type.is_text()) type = SqlType::String(type.nullable);
    table.schema.columns.push_back({.name = column.name, .type = type.ToColumn()});
  }
  RETURN_NOT_OK(tables.CreateTable(path, table, create.if_not_exists));
  ASSIGN_OR_RAISE(const types::TableInfo made, tables.GetTable(path));
  ASSIGN_OR_RAISE(const int64_t rows,
                  InsertInto(made, made.descriptor.schema.columns, *create.as, create.as->at));
  return std::make_unique<FixedStream>(rows);
}

Result<ResultStreamPtr> Session::State::RunCreateDatabase(const ast::CreateDatabase& create) {
  ASSIGN_OR_RAISE(const std::string name, DatabaseOf(create.name));
  types::DatabaseDescriptor descriptor{.comment = create.comment};
  for (const auto& [key, value] : create.options) descriptor.custom_properties[key] = value;
  RETURN_NOT_OK(tables.CreateDatabase(name, descriptor, create.if_not_exists));
  return Done();
}

Result<ResultStreamPtr> Session::State::RunCreateView(const ast::CreateView& create,
                                                      std::string_view text) {
  ASSIGN_OR_RAISE(const types::TablePath path, PathOf(create.name));
  const BindContext context = Context();
  Binder binder(context);
  ASSIGN_OR_RAISE(const BoundQuery bound, binder.BindQuery(*create.query));
  if (!create.columns.empty() && create.columns.size() != bound.columns.size()) {
    return InvalidAt(create.name.at, "view names another number of columns than its query, names=",
                     create.columns.size(), " columns=", bound.columns.size());
  }
  ViewInfo view{.path = path, .columns = create.columns, .comment = create.comment};
  view.original_query =
      std::string(text.substr(create.query_begin, create.query_end - create.query_begin));
  // The same text with whole names, so that it means the same from every database.
  std::vector<TableMention> mentions = binder.mentions();
  std::ranges::sort(mentions, {}, &TableMention::begin);
  size_t next = create.query_begin;
  for (const TableMention& mention : mentions) {
    if (mention.begin < next)
      continue;  // A common table that is used twice names its tables twice.
    view.query += text.substr(next, mention.begin - next);
    view.query += mention.full_name;
    next = mention.end;
  }
  view.query += text.substr(next, create.query_end - next);
  if (create.temporary) {
    if (temporary_views.contains(path) && !create.if_not_exists) {
      return ErrorAt(ErrorCode::kTableAlreadyExist, create.name.at,
                     "view exists already, name=", path);
    }
    temporary_views.emplace(path, std::move(view));
    return Done();
  }
  const auto table = tables.GetTable(path);
  if (table.ok()) {
    return ErrorAt(ErrorCode::kTableAlreadyExist, create.name.at,
                   "a table has this name, name=", path);
  }
  const ErrorCode why = CodeOf(table.status());
  if (why != ErrorCode::kTableNotExist && why != ErrorCode::kDatabaseNotExist)
    return table.status();
  RETURN_NOT_OK(tables.CreateView(view, create.if_not_exists));
  return Done();
}

// --- DROP, ALTER ---

Result<ResultStreamPtr> Session::State::RunDrop(const ast::Drop& drop) {
  using What = ast::Drop::What;
  if (drop.what == What::kCatalog) {
    const std::string& name = drop.name.parts.back();
    if (name == catalog || name == default_catalog)
      return InvalidAt(drop.name.at, "catalog is in use, name=", name);
    if (catalogs.erase(name) == 0 && !drop.if_exists) {
      return ErrorAt(ErrorCode::kDatabaseNotExist, drop.name.at,
                     "catalog does not exist, name=", name);
    }
    return Done();
  }
  if (drop.what == What::kDatabase) {
    ASSIGN_OR_RAISE(const std::string name, DatabaseOf(drop.name));
    if (name == database) return InvalidAt(drop.name.at, "database is in use, name=", name);
    RETURN_NOT_OK(tables.DropDatabase(name, drop.if_exists, drop.cascade));
    return Done();
  }
  ASSIGN_OR_RAISE(const types::TablePath path, PathOf(drop.name));
  if (drop.what == What::kView) {
    if (temporary_views.erase(path) > 0) return Done();
    RETURN_NOT_OK(tables.DropView(path, drop.if_exists));
    return Done();
  }
  ASSIGN_OR_RAISE(const auto view, ViewOf(path));
  if (view) return InvalidAt(drop.name.at, "this is a view, use DROP VIEW, name=", path);
  RETURN_NOT_OK(tables.DropTable(path, drop.if_exists));
  return Done();
}

Result<ResultStreamPtr> Session::State::RunAlter(const ast::AlterTable& alter) {
  ASSIGN_OR_RAISE(const types::TablePath path, PathOf(alter.name));
  if (alter.add_partition || alter.drop_partition) {
    const ast::PartitionSpec& partition =
        alter.add_partition ? *alter.add_partition : *alter.drop_partition;
    const std::map<std::string, std::string> spec(partition.values.begin(), partition.values.end());
    RETURN_NOT_OK(alter.add_partition
                      ? tables.CreatePartition(path, spec, alter.partition_condition)
                      : tables.DropPartition(path, spec, alter.partition_condition));
    return Done();
  }
  TableChanges changes;
  for (const auto& [key, value] : alter.set) {
    if (key == "bucket.num" || key == "bucket.key") {
      return ErrorAt(ErrorCode::kInvalidAlterTable, alter.name.at,
                     "option cannot be changed, key=", key);
    }
    changes.set[key] = value;
  }
  changes.reset = alter.reset;
  for (const ast::ColumnDefinition& column : alter.add) {
    ASSIGN_OR_RAISE(types::DataTypePtr type, StoredType(column.type, column.at, column.name));
    if (!type->nullable())
      return InvalidAt(column.at, "a new column cannot be NOT NULL, name=", column.name);
    changes.add_columns.push_back(
        {.name = column.name, .type = std::move(type), .comment = column.comment});
  }
  changes.drop_columns = alter.drop;
  for (const auto& [from, to] : alter.rename) changes.rename_columns.emplace_back(from, to);
  RETURN_NOT_OK(tables.AlterTable(path, changes, alter.if_exists));
  return Done();
}

}  // namespace sluice::sql
