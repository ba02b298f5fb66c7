#include "client/append_writer.h"

#include <arrow/record_batch.h>
#include <arrow/util/byte_size.h>

#include <charconv>

#include "client/batch_sender_internal.h"
#include "client/rows_internal.h"
#include "wire/log_batch.h"

namespace sluice::client {
namespace {

wire::LogBatchOptions BatchOptionsOf(const types::TableInfo& table) {
  wire::LogBatchOptions options;
  options.schema_id = static_cast<int16_t>(table.schema_id);
  const std::string codec = table.descriptor.Property("table.log.arrow.compression.type", "ZSTD");
  if (codec == "NONE") options.compression = wire::ArrowCompression::kNone;
  if (codec == "LZ4_FRAME") options.compression = wire::ArrowCompression::kLz4Frame;
  const std::string level =
      table.descriptor.Property("table.log.arrow.compression.zstd.level", "3");
  std::from_chars(level.data(), level.data() + level.size(), options.zstd_level);
  return options;
}

using Rows = std::shared_ptr<arrow::RecordBatch>;

int64_t SizeOf(const arrow::RecordBatch& rows) {
  return arrow::util::ReferencedBufferSize(rows).ValueOr(0) + rows.num_rows();
}

}  // namespace

struct AppendWriter::State : std::enable_shared_from_this<State> {
  // Rows of a bucket that do not fill a batch yet.
  struct Buffer {
    std::vector<Rows> rows;
    int64_t row_count = 0;
    int64_t bytes = 0;
  };
  State(io::Loop& loop, ClusterPtr c, TableMetaPtr t, WriterOptions o, RowRouter r)
      : cluster(c),
        table(t),
        options(o),
        router(std::move(r)),
        batch_options(BatchOptionsOf(t->info)),
        schema(t->info.descriptor.schema.ToArrow()),
        sender(std::make_shared<BatchSender>(loop, std::move(c), std::move(t), std::move(o),
                                             /*kv=*/false, std::vector<int32_t>())) {}

  ClusterPtr cluster;
  TableMetaPtr table;
  WriterOptions options;
  RowRouter router;
  wire::LogBatchOptions batch_options;
  std::shared_ptr<arrow::Schema> schema;
  std::shared_ptr<BatchSender> sender;
  std::map<types::BucketId, Buffer> buffers;
  int32_t sticky_bucket = 0;  // Of rows without a bucket key, until a batch is full.
  bool timer_runs = false;

  Status Buffered(types::BucketId bucket, const Rows& rows) {
    Buffer& buffer = buffers[bucket];
    const int64_t bytes = SizeOf(*rows);
    buffer.rows.push_back(rows);
    buffer.row_count += rows->num_rows();
    buffer.bytes += bytes;
    sender->AddBuffered(rows->num_rows(), bytes);
    const bool enough_rows = options.batch_rows > 0 && buffer.row_count >= options.batch_rows;
    if (buffer.bytes < options.batch_bytes && !enough_rows) {
      StartTimer();
      return Status::OK();
    }
    if (!router.hashes()) sticky_bucket = (sticky_bucket + 1) % router.bucket_count();
    return Cut(bucket, &buffer);
  }

  /// Make batches of all rows of a buffer.
  Status Cut(types::BucketId bucket, Buffer* buffer) {
    const Buffer taken = std::exchange(*buffer, {});
    if (taken.row_count == 0) return Status::OK();
    sender->AddBuffered(-taken.row_count, -taken.bytes);
    ASSIGN_OR_RAISE(const Rows rows, Concatenate(taken.rows, schema));
    const int64_t pieces =
        std::max<int64_t>(1, (taken.bytes + options.batch_bytes - 1) / options.batch_bytes);
    int64_t piece_rows = (taken.row_count + pieces - 1) / pieces;
    if (options.batch_rows > 0) piece_rows = std::min(piece_rows, options.batch_rows);
    for (int64_t from = 0; from < taken.row_count; from += piece_rows) {
      const Rows piece = rows->Slice(from, piece_rows);
      const auto build = [&](int64_t writer_id, int32_t sequence) {
        wire::LogBatchOptions with_writer = batch_options;
        with_writer.writer_id = writer_id;
        with_writer.batch_sequence = sequence;
        return wire::BuildLogBatch(with_writer, *piece, {});
      };
      RETURN_NOT_OK(sender->Add(bucket, piece->num_rows(), build));
    }
    sender->Pump();
    return Status::OK();
  }

  Status CutAll() {
    for (auto& [bucket, buffer] : buffers) RETURN_NOT_OK(Cut(bucket, &buffer));
    return Status::OK();
  }

  void StartTimer() {
    if (timer_runs) return;
    timer_runs = true;
    sender->loop().After(options.linger, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      self->timer_runs = false;
      const Status cut = self->CutAll();
      if (!cut.ok()) self->sender->Fail(cut);
    });
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
  if (descriptor.Property("table.log.format", "ARROW") != "ARROW") {
    co_return Error(ErrorCode::kInvalidTable,
                    "only logs in ARROW format can be written table=", path);
  }
  CO_ASSIGN_OR_RETURN(RowRouter router, RowRouter::Make(table->info));
  auto state = std::make_shared<State>(loop, cluster, table, std::move(options), std::move(router));
  CO_RETURN_NOT_OK(co_await BatchSender::Start(state->sender));
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
    CO_RETURN_NOT_OK(co_await BatchSender::WaitForRoom(state->sender));
    types::BucketId bucket{state->table->info.table_id, std::nullopt, group.bucket};
    if (!group.partition.empty()) {
      CO_ASSIGN_OR_RETURN(
          const PartitionMetaPtr partition,
          co_await FindPartition(state->sender->loop(), state->cluster, state->table,
                                 group.partition, state->options.create_partitions));
      bucket.partition_id = partition->partition_id;
    }
    if (bucket.bucket < 0) bucket.bucket = state->sticky_bucket;
    Rows part = rows;
    if (!group.whole) {
      CO_ASSIGN_OR_RETURN(part, TakeRows(rows, group.rows));
    }
    CO_RETURN_NOT_OK(state->Buffered(bucket, part));
  }
  co_return Status::OK();
}

namespace {

template <typename State>
io::Task<Status> FlushAll(std::shared_ptr<State> state) {
  CO_RETURN_NOT_OK(state->CutAll());
  co_return co_await BatchSender::WaitForAll(state->sender);
}

}  // namespace

io::Task<Status> AppendWriter::Flush() { return FlushAll(state_); }

WriteCounts AppendWriter::counts() const { return state_->sender->counts(); }
const TableMeta& AppendWriter::table() const { return *state_->table; }

}  // namespace sluice::client
