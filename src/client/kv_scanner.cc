#include "client/kv_scanner.h"

#include <arrow/record_batch.h>

#include "client/rows_internal.h"
#include "wire/frame.h"
#include "wire/log_rows.h"
#include "wire/proto/kv.pb.h"

namespace sluice::client {
namespace {

constexpr int kOpenAttempts = 8;  // While the server has too many scanners: seven seconds in all.

}  // namespace

struct KvScanner::State {
  io::Loop& loop;
  ClusterPtr cluster;
  TableMetaPtr table;
  types::BucketId bucket;
  int32_t batch_bytes;
  int32_t leader = -1;     // A scanner lives on the server that opened it.
  std::string scanner_id;  // Empty = over.
  int32_t sequence = 0;
  int64_t log_offset = -1;
  std::string first_records;  // Of the reply that opened it.

  static io::Task<Status> Open(std::shared_ptr<State> self) {
    for (int attempt = 0;; ++attempt) {
      wire::ScanKvRequest request;
      auto* target = request.mutable_bucket_scan_req();
      target->set_table_id(self->bucket.table_id);
      if (self->bucket.partition_id) target->set_partition_id(*self->bucket.partition_id);
      target->set_bucket_id(self->bucket.bucket);
      request.set_call_seq_id(0);
      request.set_batch_size_bytes(self->batch_bytes);
      CO_ASSIGN_OR_RETURN(self->leader, co_await self->cluster->Leader(
                                            self->loop, self->table->info.path, self->bucket));
      const Status status = co_await Call(self, wire::Serialize(request));
      const bool again =
          CodeOf(status) == ErrorCode::kTooManyScanners
              ? attempt + 1 < kOpenAttempts
              : IsRetriableRead(status) && attempt + 1 < self->cluster->options().attempts;
      if (!again) co_return status;
      if (NeedsNewMetadata(status)) self->cluster->ForgetLeaders(self->table->info.path);
      co_await io::Sleep(self->loop, self->cluster->BackoffOf(attempt));
    }
  }

  /// One call; its records go to first_records.
  static io::Task<Status> Call(std::shared_ptr<State> self, std::string request) {
    CO_ASSIGN_OR_RETURN(const std::string body,
                        co_await self->cluster->CallTablet(
                            self->loop, self->leader, wire::ApiKey::kScanKv, std::move(request)));
    CO_ASSIGN_OR_RETURN(const auto reply, wire::ParseMessage<wire::ScanKvResponse>(body));
    if (reply.error_code() != 0)
      co_return wire::FromProtocolError(reply.error_code(), reply.error_message());
    self->first_records = reply.records();
    self->scanner_id = reply.has_more_results() ? reply.scanner_id() : std::string();
    if (reply.has_log_offset()) self->log_offset = reply.log_offset();
    co_return Status::OK();
  }

  static io::Task<Result<std::shared_ptr<arrow::RecordBatch>>> Next(std::shared_ptr<State> self) {
    while (self->first_records.empty()) {
      if (self->scanner_id.empty()) co_return std::shared_ptr<arrow::RecordBatch>();
      wire::ScanKvRequest request;
      request.set_scanner_id(self->scanner_id);
      request.set_call_seq_id(++self->sequence);
      request.set_batch_size_bytes(self->batch_bytes);
      CO_RETURN_NOT_OK(co_await Call(self, wire::Serialize(request)));
    }
    const std::string records = std::exchange(self->first_records, std::string());
    CO_ASSIGN_OR_RETURN(auto values, wire::ParseValueBatch(records));
    if (values.empty() && self->scanner_id.empty()) co_return std::shared_ptr<arrow::RecordBatch>();
    co_return co_await DecodeValues(self->loop, self->cluster, self->table, std::move(values));
  }

  static io::Task<Status> Close(std::shared_ptr<State> self) {
    const std::string id = std::exchange(self->scanner_id, std::string());
    self->first_records.clear();
    if (id.empty()) co_return Status::OK();
    wire::ScanKvRequest request;
    request.set_scanner_id(id);
    request.set_close_scanner(true);
    const Result<std::string> reply = co_await self->cluster->CallTablet(
        self->loop, self->leader, wire::ApiKey::kScanKv, wire::Serialize(request));
    co_return reply.status();
  }
};

KvScanner::KvScanner(std::shared_ptr<State> state) : state_(std::move(state)) {}
KvScanner::~KvScanner() = default;

namespace {

// The table that the bucket is of: its rows mean nothing by the schema of another one.
io::Task<Result<TableMetaPtr>> TableOfBucket(io::Loop& loop, ClusterPtr cluster,
                                             types::TablePath path, types::BucketId bucket) {
  CO_ASSIGN_OR_RETURN(TableMetaPtr table, co_await cluster->Table(loop, path));
  if (table->info.table_id == bucket.table_id) co_return table;
  CO_ASSIGN_OR_RETURN(table, co_await cluster->Table(loop, path, /*refresh=*/true));
  if (table->info.table_id == bucket.table_id) co_return table;
  co_return Error(ErrorCode::kTableNotExist, "table was made anew table=", path,
                  " table_id=", bucket.table_id, " now=", table->info.table_id);
}

}  // namespace

io::Task<Result<std::unique_ptr<KvScanner>>> KvScanner::Open(io::Loop& loop, ClusterPtr cluster,
                                                             types::TablePath path,
                                                             types::BucketId bucket,
                                                             int32_t batch_bytes) {
  CO_ASSIGN_OR_RETURN(const TableMetaPtr table,
                      co_await TableOfBucket(loop, cluster, path, bucket));
  if (!table->info.descriptor.has_primary_key())
    co_return Error(ErrorCode::kNonPrimaryKeyTable, "table has no primary key table=", path);
  auto state = std::make_shared<State>(State{loop, cluster, table, bucket, batch_bytes});
  CO_RETURN_NOT_OK(co_await State::Open(state));
  co_return std::unique_ptr<KvScanner>(new KvScanner(std::move(state)));
}

io::Task<Result<std::shared_ptr<arrow::RecordBatch>>> KvScanner::Next() {
  return State::Next(state_);
}
int64_t KvScanner::log_offset() const { return state_->log_offset; }
io::Task<Status> KvScanner::Close() { return State::Close(state_); }

namespace {

/// The last rows of a run of log batches.
io::Task<Result<std::shared_ptr<arrow::RecordBatch>>> LastLogRows(
    io::Loop& loop, ClusterPtr cluster, TableMetaPtr table, types::BucketId bucket,
    std::string records, int32_t limit) {
  const types::Schema& latest = table->info.descriptor.schema;
  std::vector<std::shared_ptr<arrow::RecordBatch>> parts;
  for (wire::LogBatchIterator batches(records);;) {
    CO_ASSIGN_OR_RETURN(const auto batch, batches.Next());
    if (!batch) break;
    if (batch->header().record_count == 0) continue;
    types::Schema schema = latest;
    if (batch->header().schema_id != table->info.schema_id) {
      CO_ASSIGN_OR_RETURN(const auto older, co_await cluster->Schema(loop, table->info.path,
                                                                     batch->header().schema_id));
      schema = *older;
    }
    const auto rows =
        wire::DecodeLogRows(*batch, types::LogFormatOf(table->info.descriptor), schema);
    if (!rows.ok()) {
      co_return rows.status().WithMessage(rows.status().message(), " table=", table->info.path, " ",
                                          bucket, " offset=", batch->header().base_offset);
    }
    CO_ASSIGN_OR_RETURN(auto adapted, AdaptRows(*rows->rows, schema, latest));
    parts.push_back(std::move(adapted));
  }
  CO_ASSIGN_OR_RETURN(const auto all, Concatenate(std::move(parts), latest.ToArrow()));
  co_return all->Slice(std::max<int64_t>(0, all->num_rows() - limit));
}

}  // namespace

io::Task<Result<std::shared_ptr<arrow::RecordBatch>>> LimitScan(io::Loop& loop, ClusterPtr cluster,
                                                                types::TablePath path,
                                                                types::BucketId bucket,
                                                                int32_t limit) {
  CO_ASSIGN_OR_RETURN(const TableMetaPtr table,
                      co_await TableOfBucket(loop, cluster, path, bucket));
  wire::LimitScanRequest request;
  request.set_table_id(bucket.table_id);
  if (bucket.partition_id) request.set_partition_id(*bucket.partition_id);
  request.set_bucket_id(bucket.bucket);
  request.set_limit(limit);
  std::string body = wire::Serialize(request);
  CO_ASSIGN_OR_RETURN(
      const std::string reply_body,
      co_await cluster->CallLeader(loop, path, bucket, wire::ApiKey::kLimitScan, std::move(body)));
  CO_ASSIGN_OR_RETURN(const auto reply, wire::ParseMessage<wire::LimitScanResponse>(reply_body));
  if (reply.error_code() != 0)
    co_return wire::FromProtocolError(reply.error_code(), reply.error_message());
  if (reply.is_log_table())
    co_return co_await LastLogRows(loop, cluster, table, bucket, reply.records(), limit);
  if (reply.records().empty())
    co_return arrow::RecordBatch::MakeEmpty(table->info.descriptor.schema.ToArrow());
  CO_ASSIGN_OR_RETURN(auto values, wire::ParseValueBatch(reply.records()));
  co_return co_await DecodeValues(loop, cluster, table, std::move(values));
}

}  // namespace sluice::client
