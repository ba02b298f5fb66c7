#include "client/append_writer.h"

#include <arrow/record_batch.h>
#include <arrow/util/byte_size.h>

#include "client/rows_internal.h"
#include "client/write_buffers_internal.h"
#include "types/table_options.h"
#include "wire/batch_statistics.h"
#include "wire/log_rows.h"

namespace sluice::client {
namespace {

wire::LogBatchOptions BatchOptionsOf(const types::TableInfo& table) {
  wire::LogBatchOptions options;
  options.schema_id = static_cast<int16_t>(table.schema_id);
  const std::string codec =
      types::UpperCase(table.descriptor.Property("table.log.arrow.compression.type"));
  if (codec == "NONE") options.compression = wire::ArrowCompression::kNone;
  if (codec == "LZ4_FRAME") options.compression = wire::ArrowCompression::kLz4Frame;
  options.zstd_level = static_cast<int32_t>(
      types::IntegerOption(table.descriptor, "table.log.arrow.compression.zstd.level", 3));
  std::vector<int> with_statistics = types::StatisticsColumns(table.descriptor);
  if (!with_statistics.empty()) {
    options.statistics = std::make_shared<const wire::StatisticsWriter>(table.descriptor.schema,
                                                                        std::move(with_statistics));
  }
  return options;
}

using Rows = std::shared_ptr<arrow::RecordBatch>;

int64_t SizeOf(const arrow::RecordBatch& rows) {
  return arrow::util::ReferencedBufferSize(rows).ValueOr(0) + rows.num_rows();
}

}  // namespace

struct AppendWriter::State : WriteBuffers<std::vector<Rows>> {
  State(io::Loop& loop, ClusterPtr c, TableMetaPtr t, WriterOptions options, RowRouter r)
      : WriteBuffers(options, std::make_shared<BatchSender>(loop, c, t, options, /*kv=*/false,
                                                            std::vector<int32_t>())),
        cluster(std::move(c)),
        table(std::move(t)),
        router(std::move(r)),
        batch_options(BatchOptionsOf(table->info)),
        format(types::LogFormatOf(table->info.descriptor)),
        schema(table->info.descriptor.schema.ToArrow()) {}

  ClusterPtr cluster;
  TableMetaPtr table;
  RowRouter router;
  wire::LogBatchOptions batch_options;
  types::LogFormat format;
  std::shared_ptr<arrow::Schema> schema;
  int32_t sticky_bucket = 0;  // Of rows without a bucket key, until a batch is full.

  Status Put(types::BucketId bucket, const Rows& rows) {
    RowsOf(bucket).push_back(rows);
    ASSIGN_OR_RAISE(const bool full, Added(bucket, rows->num_rows(), SizeOf(*rows)));
    if (full && !router.hashes()) sticky_bucket = (sticky_bucket + 1) % router.bucket_count();
    return Status::OK();
  }

 protected:
  Status Cut(types::BucketId bucket, Buffer taken) override {
    ASSIGN_OR_RAISE(const Rows rows, Concatenate(std::move(taken.rows), schema));
    const int64_t batch_bytes = options().batch_bytes, batch_rows = options().batch_rows;
    const int64_t pieces = std::max<int64_t>(1, (taken.bytes + batch_bytes - 1) / batch_bytes);
    int64_t piece_rows = (taken.row_count + pieces - 1) / pieces;
    if (batch_rows > 0) piece_rows = std::min(piece_rows, batch_rows);
    for (int64_t from = 0; from < taken.row_count; from += piece_rows) {
      const Rows piece = rows->Slice(from, piece_rows);
      const auto build = [&](int64_t writer_id, int32_t sequence) {
        wire::LogBatchOptions with_writer = batch_options;
        with_writer.writer_id = writer_id;
        with_writer.batch_sequence = sequence;
        return wire::EncodeLogRows(with_writer, format, table->info.descriptor.schema, *piece, {});
      };
      RETURN_NOT_OK(sender()->Add(bucket, piece->num_rows(), build));
    }
    return Status::OK();
  }
};

AppendWriter::AppendWriter(std::shared_ptr<State> state) : state_(std::move(state)) {}
AppendWriter::~AppendWriter() = default;

io::Task<Result<std::unique_ptr<AppendWriter>>> AppendWriter::Open(io::Loop& loop,
                                                                   ClusterPtr cluster,
                                                                   types::TablePath path,
                                                                   WriterOptions options) {
  CO_ASSIGN_OR_RETURN(const TableMetaPtr table,
                      co_await cluster->Table(loop, path, /*refresh=*/true));
  const types::TableDescriptor& descriptor = table->info.descriptor;
  if (descriptor.has_primary_key())
    co_return Error(ErrorCode::kInvalidTable,
                    "table has a primary key, rows are upserted table=", path);
  CO_ASSIGN_OR_RETURN(RowRouter router, RowRouter::Make(table->info));
  auto state = std::make_shared<State>(loop, cluster, table, std::move(options), std::move(router));
  CO_RETURN_NOT_OK(co_await BatchSender::Start(state->sender()));
  co_return std::unique_ptr<AppendWriter>(new AppendWriter(std::move(state)));
}

io::Task<Status> AppendWriter::Append(std::shared_ptr<arrow::RecordBatch> rows) {
  return AppendTo(state_, std::move(rows));
}

io::Task<Status> AppendWriter::AppendTo(std::shared_ptr<State> state,
                                        std::shared_ptr<arrow::RecordBatch> rows) {
  const std::vector<types::Column>& columns = state->table->info.descriptor.schema.columns;
  CO_RETURN_NOT_OK(CheckRows(*rows, columns));
  // The table's own field names, so that batches can be joined whatever the caller calls them.
  rows = arrow::RecordBatch::Make(state->schema, rows->num_rows(), rows->columns());
  CO_ASSIGN_OR_RETURN(const std::vector<RoutedRows> routed,
                      state->router.Route(*rows, AllPositions(columns.size())));
  for (const RoutedRows& group : routed) {
    CO_RETURN_NOT_OK(co_await BatchSender::WaitForRoom(state->sender()));
    types::BucketId bucket{state->table->info.table_id, std::nullopt, group.bucket};
    if (!group.partition.empty()) {
      CO_ASSIGN_OR_RETURN(
          const PartitionMetaPtr partition,
          co_await FindPartition(state->sender()->loop(), state->cluster, state->table,
                                 group.partition, state->options().create_partitions));
      bucket.partition_id = partition->partition_id;
    }
    if (bucket.bucket < 0) bucket.bucket = state->sticky_bucket;
    Rows part = rows;
    if (!group.whole) {
      CO_ASSIGN_OR_RETURN(part, TakeRows(rows, group.rows));
    }
    CO_RETURN_NOT_OK(state->Put(bucket, part));
  }
  co_return Status::OK();
}

io::Task<Status> AppendWriter::Flush() { return State::Flush(state_); }

WriteCounts AppendWriter::counts() const { return state_->sender()->counts(); }
const TableMeta& AppendWriter::table() const { return *state_->table; }

}  // namespace sluice::client
