#include "client/upsert_writer.h"

#include <arrow/array/array_base.h>
#include <arrow/array/util.h>
#include <arrow/record_batch.h>

#include "client/rows_internal.h"
#include "client/write_buffers_internal.h"
#include "types/table_options.h"
#include "wire/kv_batch.h"

namespace sluice::client {
namespace {

/// What a record costs beside its key and row: two lengths.
constexpr int64_t kRecordOverheadBytes = 9;

struct KeyColumns {
  types::KeyEncoder encoder;
  std::vector<int> columns;  // Positions in the schema, in primary-key order.
};

Result<KeyColumns> KeyColumnsOf(const types::TableDescriptor& descriptor) {
  ASSIGN_OR_RAISE(const types::KeyPlan plan, types::PlanKeys(descriptor));
  ASSIGN_OR_RAISE(auto columns, descriptor.schema.IndexesOf(plan.physical_primary_key));
  std::vector<types::DataTypePtr> types;
  for (const int column : columns) types.push_back(descriptor.schema.columns[column].type);
  ASSIGN_OR_RAISE(auto encoder, types::KeyEncoder::Make(plan.primary_key_format, std::move(types),
                                                        /*null_allowed=*/false));
  return KeyColumns{std::move(encoder), std::move(columns)};
}

struct KeyedRow {
  std::string key;
  std::optional<std::string> row;  // nullopt = delete.
};

}  // namespace

struct UpsertWriter::State : WriteBuffers<std::vector<KeyedRow>> {
  State(io::Loop& loop, ClusterPtr c, TableMetaPtr t, WriterOptions options, RowRouter r,
        KeyColumns k, types::RowFormat format, std::vector<int> targets)
      : WriteBuffers(options, std::make_shared<BatchSender>(
                                  loop, c, t, options, /*kv=*/true,
                                  std::vector<int32_t>(targets.begin(), targets.end()))),
        cluster(std::move(c)),
        table(std::move(t)),
        router(std::move(r)),
        keys(std::move(k)),
        targets_(std::move(targets)),
        codec(format, types::TypesOf(schema().columns)) {}

  ClusterPtr cluster;
  TableMetaPtr table;
  RowRouter router;
  KeyColumns keys;
  std::vector<int> targets_;  // Positions of a partial update, empty = all.
  types::RowCodec codec;

  const types::Schema& schema() const { return table->info.descriptor.schema; }

  /// Where each column of the table is in a batch of `columns`.
  std::vector<int> PositionsIn(const std::vector<int>& columns) const {
    std::vector<int> positions(schema().columns.size(), -1);
    for (size_t i = 0; i < columns.size(); ++i)
      positions[static_cast<size_t>(columns[i])] = static_cast<int>(i);
    return positions;
  }

  /// The columns that a batch brings.
  Result<std::vector<int>> ColumnsOf(const arrow::RecordBatch& rows, bool remove) const {
    const size_t width = schema().columns.size();
    if (!remove && !targets_.empty()) return targets_;
    if (remove && static_cast<size_t>(rows.num_columns()) != width)
      return schema().IndexesOf(schema().primary_key);
    return AllPositions(width);
  }

  /// The batch with NULL in all columns that it does not bring.
  Result<std::shared_ptr<arrow::RecordBatch>> Widen(const arrow::RecordBatch& rows,
                                                    const std::vector<int>& positions) const {
    arrow::ArrayVector columns;
    for (size_t i = 0; i < positions.size(); ++i) {
      if (positions[i] >= 0) {
        columns.push_back(rows.column(positions[i]));
      } else {
        ASSIGN_OR_RAISE(auto nulls, arrow::MakeArrayOfNull(schema().columns[i].type->ToArrow(),
                                                           rows.num_rows()));
        columns.push_back(std::move(nulls));
      }
    }
    return arrow::RecordBatch::Make(schema().ToArrow(), rows.num_rows(), std::move(columns));
  }

  Status Put(types::BucketId bucket, KeyedRow record) {
    const auto bytes =
        static_cast<int64_t>(record.key.size() + (record.row ? record.row->size() : 0)) +
        kRecordOverheadBytes;
    RowsOf(bucket).push_back(std::move(record));
    return Added(bucket, 1, bytes).status();
  }

 protected:
  Status Cut(types::BucketId bucket, Buffer taken) override {
    std::vector<wire::KvRecord> views;
    views.reserve(taken.rows.size());
    for (const KeyedRow& record : taken.rows) views.push_back({record.key, record.row});
    const auto build = [&](int64_t writer_id, int32_t sequence) -> Result<std::string> {
      return wire::BuildKvBatch(static_cast<int16_t>(table->info.schema_id), writer_id, sequence,
                                views);
    };
    return sender()->Add(bucket, taken.row_count, build);
  }
};

UpsertWriter::UpsertWriter(std::shared_ptr<State> state) : state_(std::move(state)) {}
UpsertWriter::~UpsertWriter() = default;

io::Task<Result<std::unique_ptr<UpsertWriter>>> UpsertWriter::Open(io::Loop& loop,
                                                                   ClusterPtr cluster,
                                                                   types::TablePath path,
                                                                   WriterOptions options) {
  CO_ASSIGN_OR_RETURN(const TableMetaPtr table,
                      co_await cluster->Table(loop, path, /*refresh=*/true));
  const types::TableDescriptor& descriptor = table->info.descriptor;
  if (!descriptor.has_primary_key())
    co_return Error(ErrorCode::kNonPrimaryKeyTable, "table has no primary key table=", path);
  auto targets = descriptor.schema.IndexesOf(options.target_columns);
  if (!targets.ok())
    co_return Error(ErrorCode::kInvalidTargetColumn, targets.status().message(), " table=", path);
  for (const std::string& key : descriptor.schema.primary_key) {
    const auto& names = options.target_columns;
    if (!names.empty() && std::ranges::find(names, key) == names.end()) {
      co_return Error(ErrorCode::kInvalidTargetColumn,
                      "target columns lack a primary-key column column=", key);
    }
  }
  CO_ASSIGN_OR_RETURN(RowRouter router, RowRouter::Make(table->info));
  CO_ASSIGN_OR_RETURN(KeyColumns keys, KeyColumnsOf(descriptor));
  CO_ASSIGN_OR_RETURN(const types::RowFormat format, types::KvFormatOf(descriptor));
  auto state = std::make_shared<State>(loop, cluster, table, std::move(options), std::move(router),
                                       std::move(keys), format, *targets);
  CO_RETURN_NOT_OK(co_await BatchSender::Start(state->sender()));
  co_return std::unique_ptr<UpsertWriter>(new UpsertWriter(std::move(state)));
}

io::Task<Status> UpsertWriter::Upsert(std::shared_ptr<arrow::RecordBatch> rows) {
  return Put(state_, std::move(rows), /*remove=*/false);
}

io::Task<Status> UpsertWriter::Delete(std::shared_ptr<arrow::RecordBatch> keys) {
  return Put(state_, std::move(keys), /*remove=*/true);
}

io::Task<Status> UpsertWriter::Put(std::shared_ptr<State> state,
                                   std::shared_ptr<arrow::RecordBatch> rows, bool remove) {
  CO_ASSIGN_OR_RETURN(const std::vector<int> columns, state->ColumnsOf(*rows, remove));
  const bool whole_rows = columns.size() == state->schema().columns.size();
  std::vector<types::Column> expected;
  for (const int column : columns)
    expected.push_back(state->schema().columns[static_cast<size_t>(column)]);
  // Of a row to be deleted only the key counts; the key encoder looks for its NULLs.
  if (remove) {
    for (types::Column& column : expected) column.type = column.type->WithNullable(true);
  }
  CO_RETURN_NOT_OK(CheckRows(*rows, expected));
  const std::vector<int> positions = state->PositionsIn(columns);
  CO_ASSIGN_OR_RETURN(const std::vector<RoutedRows> routed, state->router.Route(*rows, positions));
  std::vector<int> key_positions;
  for (const int column : state->keys.columns)
    key_positions.push_back(positions[static_cast<size_t>(column)]);
  std::vector<std::string> keys;
  CO_RETURN_NOT_OK(state->keys.encoder.Encode(*rows, key_positions, &keys));
  std::vector<std::string> encoded;
  if (!remove) {
    if (!whole_rows) {
      CO_ASSIGN_OR_RETURN(rows, state->Widen(*rows, positions));
    }
    CO_RETURN_NOT_OK(state->codec.Encode(*rows, 0, rows->num_rows(), &encoded));
  }
  for (const RoutedRows& group : routed) {
    CO_RETURN_NOT_OK(co_await BatchSender::WaitForRoom(state->sender()));
    types::BucketId bucket{state->table->info.table_id, std::nullopt, group.bucket};
    if (!group.partition.empty()) {
      CO_ASSIGN_OR_RETURN(
          const PartitionMetaPtr partition,
          co_await FindPartition(state->sender()->loop(), state->cluster, state->table,
                                 group.partition, state->options().create_partitions && !remove));
      bucket.partition_id = partition->partition_id;
    }
    for (const int64_t row : group.rows) {
      const auto at = static_cast<size_t>(row);
      KeyedRow record{std::move(keys[at]), std::nullopt};
      if (!remove) record.row = std::move(encoded[at]);
      CO_RETURN_NOT_OK(state->Put(bucket, std::move(record)));
    }
  }
  co_return Status::OK();
}

io::Task<Status> UpsertWriter::Flush() { return State::Flush(state_); }

WriteCounts UpsertWriter::counts() const { return state_->sender()->counts(); }
const TableMeta& UpsertWriter::table() const { return *state_->table; }

}  // namespace sluice::client
