#include <arrow/api.h>

#include <algorithm>
#include <set>

#include "sql/session_internal.h"
#include "sql/vectors.h"

namespace sluice::sql {

namespace {

constexpr int64_t kSinkBatchRows = 16384;  // Rows that go to a table in one piece.

}  // namespace

// --- streams ---

Result<std::shared_ptr<arrow::RecordBatch>> FixedStream::Next() {
  if (rows_ == nullptr || rows_->num_rows() == 0) return nullptr;
  return std::exchange(rows_, nullptr);
}

Result<ResultStreamPtr> FixedStream::OfText(
    const std::vector<std::string>& names,
    const std::vector<std::vector<std::optional<std::string>>>& rows) {
  std::vector<ResultColumn> columns;
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (size_t i = 0; i < names.size(); ++i) {
    columns.push_back({names[i], types::DataType::Of(types::TypeKind::kString), "STRING"});
    arrow::StringBuilder builder;
    for (const auto& row : rows)
      RETURN_NOT_OK(row[i] ? builder.Append(*row[i]) : builder.AppendNull());
    ASSIGN_OR_RAISE(auto array, builder.Finish());
    arrays.push_back(std::move(array));
  }
  auto batch = arrow::RecordBatch::Make(SchemaOfResult(columns), static_cast<int64_t>(rows.size()),
                                        std::move(arrays));
  return std::make_unique<FixedStream>(std::move(columns), std::move(batch));
}

// --- running ---

Result<Engine::State*> Session::State::Connected() {
  ASSIGN_OR_RAISE(Engine::State * started, engine.Start());
  if (connection.get() == nullptr) {
    ASSIGN_OR_RAISE(connection, started->Connect());
    running.store(connection.get());
  }
  return started;
}

Result<int64_t> Session::State::EvaluateTime(const std::string& sql) {
  ASSIGN_OR_RAISE(Engine::State * started, Connected());
  BoundQuery query{.sql = "SELECT epoch_ms(" + sql + ") AS t",
                   .columns = {{"t", SqlType::Of(SqlKind::kBigInt), "t"}}};
  ASSIGN_OR_RAISE(const auto stream,
                  QueryStream::Start(*started, connection.get(), tables, query, {}));
  ASSIGN_OR_RAISE(const auto batch, stream->Next());
  if (batch == nullptr || batch->column(0)->IsNull(0)) return Status::Invalid("time is NULL");
  return static_cast<const arrow::Int64Array&>(*batch->column(0)).Value(0);
}

Result<std::unique_ptr<QueryStream>> Session::State::Start(Binder& binder,
                                                           const BoundQuery& query) {
  ASSIGN_OR_RAISE(Engine::State * started, Connected());
  RETURN_NOT_OK(started->Need(binder.decimal_functions()));
  return QueryStream::Start(*started, connection.get(), tables, query, binder.scans(),
                            binder.places());
}

Result<ResultStreamPtr> Session::State::RunQuery(const ast::Query& query) {
  const BindContext context = Context();
  Binder binder(context);
  ASSIGN_OR_RAISE(BoundQuery bound, binder.BindQuery(query));
  ASSIGN_OR_RAISE(bound, binder.InSessionZone(std::move(bound)));
  ASSIGN_OR_RAISE(std::unique_ptr<QueryStream> stream, Start(binder, bound));
  return stream;
}

// --- writing ---

namespace {

// Does the server fill in the column?
bool IsAutomatic(const types::Schema& schema, const std::string& column) {
  return std::ranges::find(schema.auto_increment, column) != schema.auto_increment.end();
}

Status CheckNotNull(const arrow::RecordBatch& batch, const std::vector<types::Column>& columns) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!columns[i].type->nullable() && batch.column(static_cast<int>(i))->null_count() > 0) {
      return Error(ErrorCode::kInvalidTable,
                   "NULL for a column that is NOT NULL, column=", columns[i].name);
    }
  }
  return Status::OK();
}

}  // namespace

Result<int64_t> Session::State::Write(Binder& binder, const BoundQuery& query,
                                      const types::TablePath& path,
                                      const std::vector<types::Column>& columns,
                                      const SinkOptions& options) {
  ASSIGN_OR_RAISE(const std::unique_ptr<QueryStream> stream, Start(binder, query));
  ASSIGN_OR_RAISE(const std::unique_ptr<TableSink> sink, tables.OpenSink(path, options));
  int64_t rows = 0;
  while (true) {
    ASSIGN_OR_RAISE(const auto batch, stream->NextOf(kSinkBatchRows));
    if (batch == nullptr) break;
    RETURN_NOT_OK(CheckNotNull(*batch, columns));
    RETURN_NOT_OK(sink->Write(batch));
    rows += batch->num_rows();
  }
  RETURN_NOT_OK(sink->Finish());
  return rows;
}

Result<int64_t> Session::State::InsertInto(const types::TableInfo& table,
                                           const std::vector<types::Column>& columns,
                                           const ast::Query& query, Position at) {
  const BindContext context = Context();
  Binder binder(context);
  ASSIGN_OR_RAISE(const BoundQuery bound, binder.BindForSink(query, columns, at));
  SinkOptions options;
  for (const types::Column& column : columns) options.columns.push_back(column.name);
  return Write(binder, bound, table.path, columns, options);
}

Result<ResultStreamPtr> Session::State::RunInsert(const ast::Insert& insert) {
  if (insert.overwrite)
    return ErrorAt(ErrorCode::kUnsupportedVersion, insert.name.at,
                   "INSERT OVERWRITE is not supported yet");
  ASSIGN_OR_RAISE(const types::TableInfo table, TableOf(insert.name));
  const types::Schema& schema = table.descriptor.schema;
  std::vector<types::Column> columns;
  for (size_t i = 0; i < insert.columns.size(); ++i) {
    const int position = schema.IndexOf(insert.columns[i]);
    if (position < 0)
      return InvalidAt(insert.column_positions[i], "column not found, name=", insert.columns[i],
                       " table=", table.path);
    if (std::ranges::find(columns, insert.columns[i], &types::Column::name) != columns.end()) {
      return InvalidAt(insert.column_positions[i],
                       "column is named twice, name=", insert.columns[i]);
    }
    columns.push_back(schema.columns[static_cast<size_t>(position)]);
  }
  if (insert.columns.empty()) columns = schema.columns;
  for (const types::Column& column : schema.columns) {
    const bool given =
        std::ranges::find(columns, column.name, &types::Column::name) != columns.end();
    if (!given && !IsAutomatic(schema, column.name) && !column.type->nullable()) {
      return InvalidAt(insert.name.at, "INSERT lacks a column that is NOT NULL, name=", column.name,
                       " table=", table.path);
    }
  }
  ASSIGN_OR_RAISE(const int64_t rows, InsertInto(table, columns, *insert.query, insert.query->at));
  return std::make_unique<FixedStream>(rows);
}

namespace {

Result<std::vector<types::Column>> KeyColumns(const types::TableInfo& table, Position at) {
  if (!table.descriptor.has_primary_key()) {
    return ErrorAt(ErrorCode::kNonPrimaryKeyTable, at,
                   "DELETE and UPDATE need a table with a primary key, table=", table.path);
  }
  // What goes out would be merged as any row is.
  if (const std::string engine = table.descriptor.Property("table.merge-engine"); !engine.empty()) {
    return ErrorAt(ErrorCode::kInvalidTable, at,
                   "DELETE and UPDATE do not go with a merge engine, table=", table.path,
                   " table.merge-engine=", engine);
  }
  std::vector<types::Column> columns;
  for (const std::string& name : table.descriptor.schema.primary_key) {
    columns.push_back(table.descriptor.schema
                          .columns[static_cast<size_t>(table.descriptor.schema.IndexOf(name))]);
  }
  return columns;
}

}  // namespace

Result<ResultStreamPtr> Session::State::RunDelete(const ast::Delete& statement) {
  ASSIGN_OR_RAISE(const types::TableInfo table, TableOf(statement.name));
  ASSIGN_OR_RAISE(const auto columns, KeyColumns(table, statement.name.at));
  const BindContext context = Context();
  Binder binder(context);
  ASSIGN_OR_RAISE(const BoundQuery bound,
                  binder.BindOverTable(statement.name, columns, {}, statement.where.get()));
  SinkOptions options{.columns = table.descriptor.schema.primary_key, .deletes = true};
  ASSIGN_OR_RAISE(const int64_t rows, Write(binder, bound, table.path, columns, options));
  return std::make_unique<FixedStream>(rows);
}

Result<ResultStreamPtr> Session::State::RunUpdate(const ast::Update& update) {
  ASSIGN_OR_RAISE(const types::TableInfo table, TableOf(update.name));
  ASSIGN_OR_RAISE(const auto key, KeyColumns(table, update.name.at));
  const types::Schema& schema = table.descriptor.schema;
  std::set<std::string> assigned;
  for (const auto& [name, value] : update.set) {
    if (!assigned.insert(name).second)
      return InvalidAt(value->at, "UPDATE sets a column twice, column=", name);
    if (schema.IndexOf(name) < 0)
      return InvalidAt(value->at, "column not found, name=", name, " table=", table.path);
    if (std::ranges::find(key, name, &types::Column::name) != key.end()) {
      return InvalidAt(value->at, "UPDATE cannot change the primary key, column=", name);
    }
    if (IsAutomatic(schema, name)) {
      return ErrorAt(ErrorCode::kInvalidTargetColumn, value->at,
                     "UPDATE cannot change a column that the server fills in, column=", name);
    }
  }
  // Rows go out without what the server fills in; it keeps the value that is there.
  std::vector<types::Column> columns = schema.columns;
  std::erase_if(
      columns, [&schema](const types::Column& column) { return IsAutomatic(schema, column.name); });
  const BindContext context = Context();
  Binder binder(context);
  ASSIGN_OR_RAISE(const BoundQuery bound,
                  binder.BindOverTable(update.name, columns, update.set, update.where.get()));
  SinkOptions options;
  for (const types::Column& column : columns) options.columns.push_back(column.name);
  ASSIGN_OR_RAISE(const int64_t rows, Write(binder, bound, table.path, columns, options));
  return std::make_unique<FixedStream>(rows);
}

// --- EXPLAIN ---

Result<ResultStreamPtr> Session::State::RunExplain(const ast::Explain& explain) {
  const BindContext context = Context();
  Binder binder(context);
  BoundQuery bound;
  std::string target;
  if (const auto* query = std::get_if<ast::QueryPtr>(&explain.statement->node)) {
    ASSIGN_OR_RAISE(bound, binder.BindQuery(**query));
  } else if (const auto* insert = std::get_if<ast::Insert>(&explain.statement->node)) {
    ASSIGN_OR_RAISE(bound, binder.BindQuery(*insert->query));
    ASSIGN_OR_RAISE(const types::TablePath path, PathOf(insert->name));
    target = "sink: " + path.ToString() + "\n";
  } else {
    return InvalidAt(explain.statement->at, "EXPLAIN takes a query or an INSERT");
  }
  std::string text = target + "columns:\n";
  for (const OutputColumn& column : bound.columns)
    text += "  " + column.name + " " + column.type.ToString() + "\n";
  for (const ScanUse& scan : binder.scans()) {
    ASSIGN_OR_RAISE(const auto view, tables.View(scan.ref, scan.source, 1));
    std::string names;
    for (const int column : scan.used)
      names += (names.empty() ? "" : ", ") + scan.source[static_cast<size_t>(column)].name;
    text += "scan " + std::to_string(scan.id) + ": " + scan.ref.ToString() +
            "\n  columns named: " + names + "\n";
    const std::vector<int> used(scan.used.begin(), scan.used.end());
    for (const std::string& line : view->Explain(used, scan.predicates)) text += "  " + line + "\n";
  }
  text += "engine:\n  " + WithoutPlaces(bound.sql) + "\n";
  return FixedStream::OfText({"result"}, {{text}});
}

}  // namespace sluice::sql
