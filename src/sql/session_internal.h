#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sql/ast.h"
#include "sql/binder.h"
#include "sql/engine_internal.h"
#include "sql/session.h"

namespace sluice::sql {

using ResultStreamPtr = std::unique_ptr<ResultStream>;

/// Rows that are there already, all of them text columns or of the given types.
class FixedStream : public ResultStream {
 public:
  /// Without rows: the news that a statement is done.
  explicit FixedStream(int64_t rows_written = -1) { rows_written_ = rows_written; }
  FixedStream(std::vector<ResultColumn> columns, std::shared_ptr<arrow::RecordBatch> rows)
      : rows_(std::move(rows)) {
    columns_ = std::move(columns);
  }
  Result<std::shared_ptr<arrow::RecordBatch>> Next() override;

  /// Text columns by name; a nullopt cell is NULL.
  static Result<ResultStreamPtr> OfText(
      const std::vector<std::string>& names,
      const std::vector<std::vector<std::optional<std::string>>>& rows);

 private:
  std::shared_ptr<arrow::RecordBatch> rows_;
};

/// The Arrow form of a result's columns.
std::shared_ptr<arrow::Schema> SchemaOfResult(const std::vector<ResultColumn>& columns);

/// A running query's rows as Arrow batches. Ends its scans when it goes.
///
/// Where a scan finds that its view's point is gone (IsOvertaken) and no batch has been given out
/// yet, all views are taken anew and the query starts over: its rows are then those of the new
/// point, each once. What was given out is never taken back.
class QueryStream : public ResultStream {
 public:
  /// Starts of one query, the first included.
  static constexpr int kStartsMax = 5;
  /// Text of a batch's column, beyond its first row.
  static constexpr int64_t kColumnBytesMax = 32 << 20;
  /// A batch whose column has so much text gets no more rows, however many are asked for.
  static constexpr int64_t kTextBytesMax = 4 << 20;

  /// Fix the views of all tables, then start the query. `tables` outlives the stream.
  static Result<std::unique_ptr<QueryStream>> Start(Engine::State& engine,
                                                    duckdb::Connection connection,
                                                    TableCatalog& tables, const BoundQuery& query,
                                                    std::vector<ScanUse> scans,
                                                    std::vector<Place> places = {});
  ~QueryStream() override;
  Result<std::shared_ptr<arrow::RecordBatch>> Next() override { return NextOf(1); }
  /// As Next, but gathers at least `rows_min` rows unless they are wide or the end comes first.
  Result<std::shared_ptr<arrow::RecordBatch>> NextOf(int64_t rows_min);

 private:
  QueryStream(Engine::State& engine, duckdb::Connection connection, TableCatalog& tables,
              const BoundQuery& query, std::vector<ScanUse> scans, std::vector<Place> places);
  Result<std::map<TableRef, std::shared_ptr<TableView>>> TakeViews() const;
  Status FixViews();
  Status Run();
  Status StartOver(Status why);
  void GiveUp();
  Result<std::shared_ptr<arrow::RecordBatch>> Gather(int64_t rows_min);
  Result<bool> Advance();
  Result<int64_t> ReadRows(const std::vector<std::unique_ptr<arrow::ArrayBuilder>>& builders);

  Engine::State& engine_;
  duckdb::Connection connection_;
  TableCatalog& tables_;
  Interruption& interruption_;
  std::string sql_;
  std::vector<ScanUse> scans_;
  std::vector<Place> places_;  // Of the marks in sql_.
  duckdb::QueryResult result_;
  duckdb::Owned<duckdb::DataChunk> chunk_;  // Of the result.
  int64_t chunk_next_ = 0;                  // Its first row that has not left.
  int64_t chunk_rows_ = 0;
  std::vector<SqlType> types_;
  std::shared_ptr<arrow::Schema> schema_;
  int starts_ = 0;
  bool given_out_ = false;  // A batch has left.
  bool ended_ = true;       // Nothing runs: not yet, or no more.
};

struct Session::State {
  State(Engine& engine, std::shared_ptr<TableCatalog> owned_tables, io::Clock& clock,
        SessionOptions options);

  // session.cc
  Result<ResultStreamPtr> Run(const ast::Statement& statement, std::string_view text);
  Result<ResultStreamPtr> RunSet(const ast::Set& set);
  Result<ResultStreamPtr> RunUse(const ast::Use& use);
  Result<ResultStreamPtr> RunCreateCatalog(const ast::CreateCatalog& create);
  Status CheckTimeZone(const std::string& zone, Position at);
  BindContext Context();

  // statement_query.cc
  Result<ResultStreamPtr> RunQuery(const ast::Query& query);
  Result<ResultStreamPtr> RunInsert(const ast::Insert& insert);
  Result<ResultStreamPtr> RunDelete(const ast::Delete& statement);
  Result<ResultStreamPtr> RunUpdate(const ast::Update& update);
  Result<ResultStreamPtr> RunExplain(const ast::Explain& explain);
  /// Fix the views of all tables, then start the query.
  Result<std::unique_ptr<QueryStream>> Start(Binder& binder, const BoundQuery& query);
  Result<int64_t> Write(Binder& binder, const BoundQuery& query, const types::TablePath& path,
                        const std::vector<types::Column>& columns, const SinkOptions& options);
  Result<int64_t> InsertInto(const types::TableInfo& table,
                             const std::vector<types::Column>& columns, const ast::Query& query,
                             Position at);
  Result<Engine::State*> Connected();
  Result<int64_t> EvaluateTime(const std::string& sql);

  // statement_ddl.cc
  Result<ResultStreamPtr> RunCreateTable(const ast::CreateTable& create);
  Result<types::TableDescriptor> Describe(const ast::CreateTable& create);
  Result<ResultStreamPtr> RunCreateDatabase(const ast::CreateDatabase& create);
  Result<ResultStreamPtr> RunCreateView(const ast::CreateView& create, std::string_view text);
  Result<ResultStreamPtr> RunDrop(const ast::Drop& drop);
  Result<ResultStreamPtr> RunAlter(const ast::AlterTable& alter);
  /// A table or view name of DDL. Errors: a `$lake` part.
  Result<types::TablePath> PathOf(const ast::ObjectName& name);
  Result<std::string> DatabaseOf(const ast::ObjectName& name);
  Result<types::TableInfo> TableOf(const ast::ObjectName& name);
  Result<std::optional<ViewInfo>> ViewOf(const types::TablePath& path);

  // statement_show.cc
  Result<ResultStreamPtr> RunShow(const ast::Show& show);
  Result<ResultStreamPtr> ShowTables(const ast::Show& show);
  Result<ResultStreamPtr> ShowCreateView(const ast::ObjectName& name);
  Result<ResultStreamPtr> ShowPartitions(const ast::Show& show);
  Result<ResultStreamPtr> RunDescribe(const ast::ObjectName& name, const ast::Show& show);
  Result<std::vector<SourceColumn>> ColumnsOf(const ast::ObjectName& name,
                                              std::vector<std::string>* key);

  Engine& engine;
  const std::shared_ptr<TableCatalog> catalog_owner;
  TableCatalog& tables;
  Interruption& interruption;
  io::Clock& clock;
  std::string catalog;
  std::string database;
  std::string default_catalog;
  std::map<std::string, ast::Options> catalogs;
  std::map<std::string, std::string> settings;
  std::map<types::TablePath, ViewInfo> temporary_views;
  duckdb::Owned<duckdb::Connection> connection;
  std::atomic<duckdb::Connection> running{nullptr};  ///< The connection, for Interrupt.
};

/// "`name`" with backticks doubled.
std::string QuoteName(std::string_view name);
/// True for a property that servers add to what they say of a lake table, and refuse in a new one:
/// `table.datalake.paimon.warehouse` and the like.
bool IsOptionOfCluster(const types::TableDescriptor& table, std::string_view key);

}  // namespace sluice::sql
