#include <arrow/api.h>

#include <algorithm>

#include "base/log.h"
#include "sql/session_internal.h"
#include "sql/vectors.h"

namespace sluice::sql {

std::shared_ptr<arrow::Schema> SchemaOfResult(const std::vector<ResultColumn>& columns) {
  arrow::FieldVector fields;
  for (const ResultColumn& column : columns) {
    fields.push_back(arrow::field(column.name, column.type->ToArrow(), column.type->nullable()));
  }
  return arrow::schema(std::move(fields));
}

Result<std::unique_ptr<QueryStream>> QueryStream::Start(
    Engine::State& engine, duckdb::Connection connection, TableCatalog& tables,
    const BoundQuery& query, std::vector<ScanUse> scans, std::vector<Place> places) {
  std::unique_ptr<QueryStream> stream(
      new QueryStream(engine, connection, tables, query, std::move(scans), std::move(places)));
  RETURN_NOT_OK(stream->FixViews());
  const Status running = stream->Run();
  if (!running.ok()) RETURN_NOT_OK(stream->StartOver(running));
  return stream;
}

QueryStream::QueryStream(Engine::State& engine, duckdb::Connection connection, TableCatalog& tables,
                         const BoundQuery& query, std::vector<ScanUse> scans,
                         std::vector<Place> places)
    : engine_(engine),
      connection_(connection),
      tables_(tables),
      interruption_(*tables.interruption()),
      sql_(query.sql),
      scans_(std::move(scans)),
      places_(std::move(places)),
      result_(engine.api) {
  for (const OutputColumn& column : query.columns) {
    types_.push_back(column.type);
    columns_.push_back({column.name, column.type.ToColumn(), column.type.ToString()});
  }
  schema_ = SchemaOfResult(columns_);
}

QueryStream::~QueryStream() { GiveUp(); }

void QueryStream::GiveUp() {
  if (!ended_ && interruption_.status().ok()) {
    // Its scans may wait for rows that nobody wants any more.
    interruption_.Raise(Status::Cancelled("the query was given up"));
    result_ = duckdb::QueryResult(engine_.api);
    interruption_.Clear();
  }
  chunk_ = duckdb::Owned<duckdb::DataChunk>();
  chunk_next_ = chunk_rows_ = 0;
  for (const ScanUse& scan : scans_) engine_.scans.Remove(scan.id);
}

namespace {

// The engine's SQL may say a scan more than once: a subquery that is an argument used twice.
int TimesSaid(const std::string& sql, int64_t scan) {
  const std::string call = "sluice_scan(" + std::to_string(scan) + ")";
  int times = 0;
  for (size_t at = 0; (at = sql.find(call, at)) != std::string::npos; at += call.size()) ++times;
  return times;
}

}  // namespace

// Lakes before the tables that they belong to: a table then has every row of its `t$lake`.
Result<std::map<TableRef, std::shared_ptr<TableView>>> QueryStream::TakeViews() const {
  std::map<TableRef, int> times;
  std::map<TableRef, const std::vector<SourceColumn>*> bound;
  for (const ScanUse& scan : scans_) {
    times[scan.ref] += TimesSaid(sql_, scan.id);
    bound[scan.ref] = &scan.source;
  }
  std::map<TableRef, std::shared_ptr<TableView>> views;
  for (const bool lake : {true, false}) {
    for (const auto& [ref, scans] : times) {
      if ((ref.part != TablePart::kUnion) != lake) continue;
      ASSIGN_OR_RAISE(views[ref], tables_.View(ref, *bound[ref], scans));
    }
  }
  return views;
}

// Views first, all of them, then the first row: a statement reads each table at one point.
Status QueryStream::FixViews() {
  ASSIGN_OR_RAISE(const auto views, TakeViews());
  std::vector<std::shared_ptr<ScanBinding>> bindings;
  for (const ScanUse& scan : scans_) {
    const std::shared_ptr<TableView>& view = views.at(scan.ref);
    auto binding = std::make_shared<ScanBinding>();
    binding->view = view;
    binding->interruption = tables_.interruption();
    for (const SourceColumn& column : scan.source) {
      const auto& now = view->columns();
      const auto found = std::ranges::find(now, column.name, &SourceColumn::name);
      if (found == now.end() ||
          !SqlType::FromColumn(*found->type).SameShape(SqlType::FromColumn(*column.type))) {
        return Error(ErrorCode::kInvalidTable,
                     "table changed while the statement was read, table=", scan.ref.ToString(),
                     " column=", column.name);
      }
      binding->positions.push_back(static_cast<int>(found - now.begin()));
    }
    binding->names = scan.internals;
    binding->types = scan.types;
    binding->predicates = scan.predicates;
    bindings.push_back(std::move(binding));
  }
  for (size_t i = 0; i < scans_.size(); ++i)
    engine_.scans.Add(scans_[i].id, std::move(bindings[i]));
  return Status::OK();
}

Status QueryStream::Run() {
  ++starts_;
  ASSIGN_OR_RAISE(result_, duckdb::Stream(engine_.api, connection_, sql_, places_));
  ended_ = false;
  return Status::OK();
}

// OK: the query runs again, from its first row.
Status QueryStream::StartOver(Status why) {
  while (IsOvertaken(why)) {
    RETURN_NOT_OK(interruption_.status());
    if (given_out_)
      return why.WithMessage(why.message(), ", and rows have been given out: run the query again");
    if (starts_ == kStartsMax)
      return why.WithMessage(why.message(), ", also when planned anew, plans=", starts_);
    tables_.CountPlannedAnew();
    LogInfo("query is planned anew, what it reads is gone reason={}", why.message());
    GiveUp();
    ended_ = true;
    RETURN_NOT_OK(FixViews());
    why = Run();
  }
  return why;
}

Result<std::shared_ptr<arrow::RecordBatch>> QueryStream::NextOf(int64_t rows_min) {
  while (true) {
    auto batch = Gather(rows_min);
    if (batch.ok()) {
      given_out_ = true;
      return batch;
    }
    RETURN_NOT_OK(StartOver(batch.status()));
  }
}

// Move to a chunk with rows left; false at the end.
Result<bool> QueryStream::Advance() {
  while (chunk_next_ == chunk_rows_ && !ended_) {
    RETURN_NOT_OK(interruption_.status());
    auto fetched = result_.Fetch({sql_, &places_});
    // The engine knows only that it was stopped, not why.
    if (!fetched.ok()) RETURN_NOT_OK(interruption_.status());
    ASSIGN_OR_RAISE(chunk_, std::move(fetched));
    ended_ = chunk_.get() == nullptr;
    chunk_next_ = 0;
    chunk_rows_ = ended_ ? 0 : static_cast<int64_t>(engine_.api.data_chunk_get_size(chunk_.get()));
  }
  return chunk_next_ < chunk_rows_;
}

// All rows that are left of the chunk, or as many as a batch has room for: the engine holds a text
// once that stands in every row.
Result<int64_t> QueryStream::ReadRows(
    const std::vector<std::unique_ptr<arrow::ArrayBuilder>>& builders) {
  const duckdb::Api& api = engine_.api;
  int64_t count = chunk_rows_ - chunk_next_;
  for (size_t i = 0; i < builders.size(); ++i) {
    count = duckdb::RowsWithin(api, types_[i], api.data_chunk_get_vector(chunk_.get(), i),
                               chunk_next_, count, kColumnBytesMax);
  }
  for (size_t i = 0; i < builders.size(); ++i) {
    RETURN_NOT_OK(duckdb::ReadVector(api, types_[i], api.data_chunk_get_vector(chunk_.get(), i),
                                     chunk_next_, count, builders[i].get()));
  }
  chunk_next_ += count;
  return count;
}

namespace {

// Of the values so far, where they are texts or bytes.
bool HasMuchText(const arrow::ArrayBuilder& builder) {
  const arrow::Type::type id = builder.type()->id();
  return (id == arrow::Type::STRING || id == arrow::Type::BINARY) &&
         static_cast<const arrow::BinaryBuilder&>(builder).value_data_length() >=
             QueryStream::kTextBytesMax;
}

}  // namespace

Result<std::shared_ptr<arrow::RecordBatch>> QueryStream::Gather(int64_t rows_min) {
  std::vector<std::unique_ptr<arrow::ArrayBuilder>> builders;
  for (const auto& field : schema_->fields()) {
    ASSIGN_OR_RAISE(auto builder, arrow::MakeBuilder(field->type()));
    builders.push_back(std::move(builder));
  }
  int64_t rows = 0;
  bool full = false;
  while (rows < rows_min && !full) {
    ASSIGN_OR_RAISE(const bool more, Advance());
    if (!more) break;
    ASSIGN_OR_RAISE(const int64_t count, ReadRows(builders));
    full = chunk_next_ < chunk_rows_ ||  // What is left would be too much for one batch.
           std::ranges::any_of(builders, [](const auto& one) { return HasMuchText(*one); });
    rows += count;
  }
  if (rows == 0) return nullptr;
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (auto& builder : builders) {
    ASSIGN_OR_RAISE(auto array, builder->Finish());
    arrays.push_back(std::move(array));
  }
  return arrow::RecordBatch::Make(schema_, rows, std::move(arrays));
}

}  // namespace sluice::sql
