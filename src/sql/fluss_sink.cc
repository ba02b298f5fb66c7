#include <arrow/api.h>

#include <algorithm>

#include "client/append_writer.h"
#include "client/upsert_writer.h"
#include "sql/fluss_internal.h"

namespace sluice::sql {

namespace {

// A statement tells what hinders it; who writes a stream may rather wait for room.
constexpr std::chrono::milliseconds kStorageTimeout{3000};

// Writers are confined to their loop: they are called, and die, there.
template <typename Writer>
std::shared_ptr<Writer> OnLoop(io::Loop& loop, std::unique_ptr<Writer> writer) {
  return std::shared_ptr<Writer>(writer.release(),
                                 [&loop](Writer* owned) { loop.Post([owned] { delete owned; }); });
}

/// Columns of a batch in the order that a writer wants, missing ones filled with NULL.
struct Arrangement {
  std::vector<int> from;  // Column of the batch, or -1.
  std::shared_ptr<arrow::Schema> schema;

  Result<std::shared_ptr<arrow::RecordBatch>> Apply(const arrow::RecordBatch& batch) const {
    std::vector<std::shared_ptr<arrow::Array>> columns;
    for (size_t i = 0; i < from.size(); ++i) {
      if (from[i] >= 0) {
        columns.push_back(batch.column(from[i]));
        continue;
      }
      ASSIGN_OR_RAISE(auto nulls, arrow::MakeArrayOfNull(schema->field(static_cast<int>(i))->type(),
                                                         batch.num_rows()));
      columns.push_back(std::move(nulls));
    }
    return arrow::RecordBatch::Make(schema, batch.num_rows(), std::move(columns));
  }
};

Arrangement Arrange(const types::Schema& table, const std::vector<std::string>& wanted,
                    const std::vector<std::string>& given) {
  Arrangement arrangement;
  arrow::FieldVector fields;
  for (const std::string& name : wanted) {
    const auto at = std::ranges::find(given, name);
    arrangement.from.push_back(at == given.end() ? -1 : static_cast<int>(at - given.begin()));
    const types::Column& column = table.columns[static_cast<size_t>(table.IndexOf(name))];
    fields.push_back(arrow::field(name, column.type->ToArrow(), column.type->nullable()));
  }
  arrangement.schema = arrow::schema(std::move(fields));
  return arrangement;
}

class AppendSink : public TableSink {
 public:
  AppendSink(io::Loop& loop, std::shared_ptr<Interruption> interruption,
             std::unique_ptr<client::AppendWriter> writer, Arrangement arrangement)
      : loop_(loop),
        interruption_(std::move(interruption)),
        writer_(OnLoop(loop, std::move(writer))),
        arrangement_(std::move(arrangement)) {}
  Status Write(std::shared_ptr<arrow::RecordBatch> batch) override {
    ASSIGN_OR_RAISE(auto rows, arrangement_.Apply(*batch));
    return interruption_->Wait(loop_, writer_->Append(std::move(rows)));
  }
  Status Finish() override { return interruption_->Wait(loop_, writer_->Flush()); }

 private:
  io::Loop& loop_;
  std::shared_ptr<Interruption> interruption_;
  std::shared_ptr<client::AppendWriter> writer_;
  Arrangement arrangement_;
};

class UpsertSink : public TableSink {
 public:
  UpsertSink(io::Loop& loop, std::shared_ptr<Interruption> interruption,
             std::unique_ptr<client::UpsertWriter> writer, Arrangement arrangement, bool deletes)
      : loop_(loop),
        interruption_(std::move(interruption)),
        writer_(OnLoop(loop, std::move(writer))),
        arrangement_(std::move(arrangement)),
        deletes_(deletes) {}
  Status Write(std::shared_ptr<arrow::RecordBatch> batch) override {
    ASSIGN_OR_RAISE(auto rows, arrangement_.Apply(*batch));
    if (deletes_) return interruption_->Wait(loop_, writer_->Delete(std::move(rows)));
    return interruption_->Wait(loop_, writer_->Upsert(std::move(rows)));
  }
  Status Finish() override { return interruption_->Wait(loop_, writer_->Flush()); }

 private:
  io::Loop& loop_;
  std::shared_ptr<Interruption> interruption_;
  std::shared_ptr<client::UpsertWriter> writer_;
  Arrangement arrangement_;
  bool deletes_;
};

}  // namespace

Result<std::unique_ptr<TableSink>> MakeFlussSink(client::ClusterPtr cluster, io::Loop& loop,
                                                 std::shared_ptr<Interruption> interruption,
                                                 const types::TableInfo& table,
                                                 const SinkOptions& options) {
  const types::Schema& schema = table.descriptor.schema;
  std::vector<std::string> all;
  for (const types::Column& column : schema.columns) all.push_back(column.name);
  client::WriterOptions writer_options;
  writer_options.storage_timeout = kStorageTimeout;
  if (!table.descriptor.has_primary_key()) {
    auto opened = interruption->Wait(
        loop, client::AppendWriter::Open(loop, cluster, table.path, writer_options));
    RETURN_NOT_OK(opened.status());
    return std::make_unique<AppendSink>(loop, interruption, std::move(*opened),
                                        Arrange(schema, all, options.columns));
  }
  std::vector<std::string> wanted = options.deletes ? schema.primary_key : all;
  if (!options.deletes && options.columns.size() < all.size()) {
    writer_options.target_columns = options.columns;
    wanted = options.columns;
  }
  auto opened = interruption->Wait(
      loop, client::UpsertWriter::Open(loop, cluster, table.path, writer_options));
  RETURN_NOT_OK(opened.status());
  return std::make_unique<UpsertSink>(loop, interruption, std::move(*opened),
                                      Arrange(schema, wanted, options.columns), options.deletes);
}

}  // namespace sluice::sql
