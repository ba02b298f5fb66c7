#include "base/check.h"
#include "wire/frame.h"
#include "wire/proto_reader_internal.h"
#include "wire/records.h"

namespace sluice::wire {
namespace {

using internal::ProtoReader;
using internal::PutBytesField;
using internal::PutBytesHead;
using internal::PutVarintField;

void PutBucket(std::string* out, std::optional<int64_t> partition_id, int32_t bucket_id) {
  if (partition_id) PutVarintField(out, 1, *partition_id);
  PutVarintField(out, 2, bucket_id);
}

Status BadFetchResponse(std::string_view message) {
  return Error(ErrorCode::kCorruptMessage,
               "message is malformed or lacks a required field message=", message);
}

Result<FetchedBucket> ParseFetchedBucket(std::string_view message) {
  FetchedBucket bucket;
  bool has_bucket = false;
  int32_t error_code = 0;
  std::string_view error_message;
  ProtoReader reader(message);
  while (reader.Next()) {
    if (reader.IsVarint(1)) bucket.partition_id = reader.AsInt64();
    if (reader.IsVarint(2)) bucket.bucket_id = reader.AsInt32(), has_bucket = true;
    if (reader.IsVarint(3)) error_code = reader.AsInt32();
    if (reader.IsBytes(4)) error_message = reader.bytes();
    if (reader.IsVarint(5)) bucket.high_watermark = reader.AsInt64();
    if (reader.IsVarint(6)) bucket.log_start_offset = reader.AsInt64();
    if (reader.IsBytes(7)) bucket.remote_log_fetch_info = reader.bytes();
    if (reader.IsBytes(8)) bucket.records = reader.bytes();
    if (reader.IsVarint(9)) bucket.filtered_end_offset = reader.AsInt64();
  }
  if (!reader.ok() || !has_bucket) return BadFetchResponse("PbFetchLogRespForBucket");
  bucket.error = FromProtocolError(error_code, error_message);
  return bucket;
}

Result<FetchedTable> ParseFetchedTable(std::string_view message) {
  FetchedTable table;
  bool has_id = false;
  ProtoReader reader(message);
  while (reader.Next()) {
    if (reader.IsVarint(1)) table.table_id = reader.AsInt64(), has_id = true;
    if (!reader.IsBytes(2)) continue;
    ASSIGN_OR_RAISE(auto bucket, ParseFetchedBucket(reader.bytes()));
    table.buckets.push_back(std::move(bucket));
  }
  if (!reader.ok() || !has_id) return BadFetchResponse("PbFetchLogRespForTable");
  return table;
}

}  // namespace

void FetchResponseBuilder::BeginTable(int64_t table_id) {
  EndTable();
  in_table_ = true;
  std::string head;
  PutVarintField(&head, 1, table_id);
  table_.Add(std::move(head));
}

void FetchResponseBuilder::AddBucket(Bucket bucket) {
  CHECK(in_table_);
  std::string fields;
  PutBucket(&fields, bucket.partition_id, bucket.bucket_id);
  // Java clients read the watermark without asking whether it is there.
  PutVarintField(&fields, 5, bucket.high_watermark);
  PutVarintField(&fields, 6, bucket.log_start_offset);
  if (!bucket.remote_log_fetch_info.empty())
    PutBytesField(&fields, 7, bucket.remote_log_fetch_info);
  if (bucket.filtered_end_offset) PutVarintField(&fields, 9, *bucket.filtered_end_offset);
  // Records come last, so that what is in front of them is one piece.
  if (bucket.remote_log_fetch_info.empty()) {
    PutBytesHead(&fields, 8, bucket.records.size_bytes());
  } else {
    CHECK(bucket.records.size_bytes() == 0);
  }
  std::string head;
  PutBytesHead(&head, 2, fields.size() + bucket.records.size_bytes());
  table_.Add(head + fields);
  table_.Add(std::move(bucket.records));
}

void FetchResponseBuilder::AddError(std::optional<int64_t> partition_id, int32_t bucket_id,
                                    const Status& error) {
  CHECK(in_table_ && !error.ok());
  std::string fields;
  PutBucket(&fields, partition_id, bucket_id);
  const ProtocolError out = ToProtocolError(error);
  PutVarintField(&fields, 3, out.code);
  PutBytesField(&fields, 4, out.message);
  std::string entry;
  PutBytesField(&entry, 2, fields);
  table_.Add(std::move(entry));
}

void FetchResponseBuilder::EndTable() {
  if (!in_table_) return;
  std::string head;
  PutBytesHead(&head, 1, table_.size_bytes());
  out_.Add(std::move(head));
  out_.Add(std::exchange(table_, io::Payload()));
  in_table_ = false;
}

io::Payload FetchResponseBuilder::Finish() {
  EndTable();
  return std::exchange(out_, io::Payload());
}

Result<std::vector<FetchedTable>> ParseFetchResponse(std::string_view body) {
  std::vector<FetchedTable> tables;
  ProtoReader reader(body);
  while (reader.Next()) {
    if (!reader.IsBytes(1)) continue;
    ASSIGN_OR_RAISE(auto table, ParseFetchedTable(reader.bytes()));
    tables.push_back(std::move(table));
  }
  if (!reader.ok()) return BadFetchResponse("FetchLogResponse");
  return tables;
}

io::Payload BuildLimitScanResponse(bool is_log_table, io::Payload records) {
  std::string head;
  PutVarintField(&head, 3, is_log_table ? 1 : 0);
  PutBytesHead(&head, 4, records.size_bytes());
  records.Prepend(std::move(head));
  return records;
}

}  // namespace sluice::wire
