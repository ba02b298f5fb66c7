#include "wire/records.h"

#include "wire/frame.h"
#include "wire/proto_reader_internal.h"

namespace sluice::wire {
namespace {

using internal::ProtoReader;
using internal::PutBytesField;
using internal::PutBytesHead;
using internal::PutVarintField;

Status Malformed(std::string_view message, std::string_view problem) {
  return Error(ErrorCode::kCorruptMessage, problem, " message=", message);
}

// Fields of PbProduceLogReqForBucket and PbPutKvReqForBucket.
Result<BucketRecords> ParseBucketRecords(std::string_view message) {
  BucketRecords bucket;
  bool has_bucket = false, has_records = false;
  ProtoReader reader(message);
  while (reader.Next()) {
    if (reader.IsVarint(1)) {
      bucket.partition_id = reader.AsInt64();
    } else if (reader.IsVarint(2)) {
      bucket.bucket_id = reader.AsInt32();
      has_bucket = true;
    } else if (reader.IsBytes(3)) {
      bucket.records = reader.bytes();
      has_records = true;
    }
  }
  if (!reader.ok() || !has_bucket || !has_records) {
    return Malformed("bucket records", "bucket entry is malformed or lacks a required field");
  }
  return bucket;
}

std::string BucketHead(const BucketRecords& bucket) {
  std::string head;
  if (bucket.partition_id) PutVarintField(&head, 1, *bucket.partition_id);
  PutVarintField(&head, 2, bucket.bucket_id);
  PutBytesHead(&head, 3, bucket.records.size());
  return head;
}

uint64_t RecordBytes(const std::vector<BucketRecords>& buckets) {
  uint64_t bytes = 64;
  for (const auto& bucket : buckets) bytes += bucket.records.size() + 40;
  return bytes;
}

void PutBuckets(std::string* out, uint32_t field, const std::vector<BucketRecords>& buckets) {
  for (const auto& bucket : buckets) {
    const std::string head = BucketHead(bucket);
    PutBytesHead(out, field, head.size() + bucket.records.size());
    out->append(head).append(bucket.records);
  }
}

// A repeated number arrives packed or one by one.
bool AddNumbers(const ProtoReader& reader, uint32_t field, std::vector<int32_t>* numbers) {
  if (reader.IsVarint(field)) numbers->push_back(reader.AsInt32());
  if (!reader.IsBytes(field)) return true;
  std::string_view packed = reader.bytes();
  for (uint64_t value; !packed.empty();) {
    if (!TakeVarint(&packed, &value)) return false;
    numbers->push_back(static_cast<int32_t>(value));
  }
  return true;
}

// The fields that both requests begin with: acks, table id, timeout.
struct RequestHead {
  int32_t acks = 0;
  int64_t table_id = -1;
  int32_t timeout_ms = 0;
  int seen = 0;  // Bit per field.

  void Take(const ProtoReader& reader) {
    if (reader.IsVarint(1)) acks = reader.AsInt32(), seen |= 1;
    if (reader.IsVarint(2)) table_id = reader.AsInt64(), seen |= 2;
    if (reader.IsVarint(3)) timeout_ms = reader.AsInt32(), seen |= 4;
  }
  bool complete() const { return seen == 7; }
};

}  // namespace

Result<ProduceLogView> ParseProduceLog(std::string_view body) {
  RequestHead head;
  std::vector<BucketRecords> buckets;
  ProtoReader reader(body);
  while (reader.Next()) {
    head.Take(reader);
    if (!reader.IsBytes(4)) continue;
    ASSIGN_OR_RAISE(auto bucket, ParseBucketRecords(reader.bytes()));
    buckets.push_back(bucket);
  }
  if (!reader.ok()) return Malformed("ProduceLogRequest", "message is not protobuf");
  if (!head.complete()) return Malformed("ProduceLogRequest", "message lacks a required field");
  return ProduceLogView{head.acks, head.table_id, head.timeout_ms, std::move(buckets)};
}

std::string BuildProduceLog(const ProduceLogView& request) {
  std::string out;
  out.reserve(RecordBytes(request.buckets));
  PutVarintField(&out, 1, request.acks);
  PutVarintField(&out, 2, request.table_id);
  PutVarintField(&out, 3, request.timeout_ms);
  PutBuckets(&out, 4, request.buckets);
  return out;
}

Result<PutKvView> ParsePutKv(std::string_view body) {
  RequestHead head;
  PutKvView request;
  ProtoReader reader(body);
  while (reader.Next()) {
    head.Take(reader);
    if (!AddNumbers(reader, 4, &request.target_columns)) {
      return Malformed("PutKvRequest", "target columns are malformed");
    }
    if (reader.IsVarint(6)) request.agg_mode = reader.AsInt32();
    if (!reader.IsBytes(5)) continue;
    ASSIGN_OR_RAISE(auto bucket, ParseBucketRecords(reader.bytes()));
    request.buckets.push_back(bucket);
  }
  if (!reader.ok()) return Malformed("PutKvRequest", "message is not protobuf");
  if (!head.complete()) return Malformed("PutKvRequest", "message lacks a required field");
  request.acks = head.acks;
  request.table_id = head.table_id;
  request.timeout_ms = head.timeout_ms;
  return request;
}

std::string BuildPutKv(const PutKvView& request) {
  std::string out;
  out.reserve(RecordBytes(request.buckets) + request.target_columns.size() * 5);
  PutVarintField(&out, 1, request.acks);
  PutVarintField(&out, 2, request.table_id);
  PutVarintField(&out, 3, request.timeout_ms);
  std::string packed;
  for (const int32_t column : request.target_columns) {
    AppendVarint(&packed, static_cast<uint64_t>(static_cast<int64_t>(column)));
  }
  if (!packed.empty()) PutBytesField(&out, 4, packed);
  PutBuckets(&out, 5, request.buckets);
  if (request.agg_mode != 0) PutVarintField(&out, 6, request.agg_mode);
  return out;
}

}  // namespace sluice::wire
