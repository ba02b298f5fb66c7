#include "base/bytes.h"
#include "client/calls_internal.h"
#include "client/fake_cluster_testing_internal.h"
#include "wire/frame.h"
#include "wire/kv_batch.h"
#include "wire/log_batch.h"
#include "wire/proto/kv.pb.h"
#include "wire/proto/log.pb.h"
#include "wire/proto/metadata.pb.h"
#include "wire/proto/partition.pb.h"
#include "wire/proto/table.pb.h"
#include "wire/records.h"

namespace sluice::client {
namespace {

constexpr size_t kKeptBatches = 5;

template <typename Entry>
types::BucketId BucketOf(int64_t table_id, const Entry& entry) {
  types::BucketId bucket{table_id, std::nullopt, entry.bucket_id()};
  if (entry.has_partition_id()) bucket.partition_id = entry.partition_id();
  return bucket;
}

template <typename Entry>
void SetBucket(Entry* entry, const types::BucketId& bucket) {
  if (bucket.partition_id) entry->set_partition_id(*bucket.partition_id);
  entry->set_bucket_id(bucket.bucket);
}

}  // namespace

const FakeCluster::Table& FakeCluster::Add(types::TablePath path,
                                           types::TableDescriptor descriptor) {
  CHECK(descriptor.schema.AssignIds().ok());
  Table table;
  table.info.path = path;
  table.info.table_id = next_table_++;
  table.info.descriptor = std::move(descriptor);
  table.schemas[1] = table.info.descriptor.schema;
  return tables_[path] = std::move(table);
}

FakeCluster::Table* FakeCluster::Find(int64_t table_id) {
  for (auto& [path, table] : tables_) {
    if (table.info.table_id == table_id) return &table;
  }
  return nullptr;
}

io::Task<Result<std::string>> FakeCluster::Send(io::Loop& loop, io::Call call) {
  const auto key = static_cast<wire::ApiKey>(call.api_key);
  ++calls_[key];
  const Fault what = fault(key);
  Result<std::string> reply = refusal;
  if (what != Fault::kRefuse) reply = Answer(call);
  if (what == Fault::kLoseReply) reply = Error(ErrorCode::kNetwork, "reply lost by the test");
  if (!at_once)
    co_await io::Sleep(loop, std::chrono::milliseconds(random_.Below(delay_max.count() + 1)));
  co_return reply;
}

Result<std::string> FakeCluster::Answer(const io::Call& call) {
  switch (static_cast<wire::ApiKey>(call.api_key)) {
    case wire::ApiKey::kGetMetadata:
      return Metadata(call.body);
    case wire::ApiKey::kInitWriter: {
      wire::InitWriterResponse reply;
      reply.set_writer_id(next_writer_++);
      return wire::Serialize(reply);
    }
    case wire::ApiKey::kProduceLog:
      return Produce(call.body);
    case wire::ApiKey::kPutKv:
      return Put(call.body);
    case wire::ApiKey::kFetchLog:
      return Fetch(call.body);
    case wire::ApiKey::kListOffsets:
      return Offsets(call.body);
    case wire::ApiKey::kLookup:
      return Lookup(call.body);
    case wire::ApiKey::kPrefixLookup:
      return PrefixLookup(call.body);
    case wire::ApiKey::kScanKv:
      return Scan(call.body);
    case wire::ApiKey::kLimitScan:
      return LimitScan(call.body);
    case wire::ApiKey::kGetTableSchema:
      return Schema(call.body);
    case wire::ApiKey::kCreatePartition:
      return CreatePartition(call.body);
    default:
      return Error(ErrorCode::kUnsupportedVersion, "not in the fake api=", call.api_key);
  }
}

Result<std::string> FakeCluster::Metadata(std::string_view body) {
  ASSIGN_OR_RAISE(const auto request, wire::ParseMessage<wire::MetadataRequest>(body));
  wire::MetadataResponse reply;
  auto* coordinator = reply.mutable_coordinator_server();
  coordinator->set_node_id(-1);
  coordinator->set_host("coordinator");
  coordinator->set_port(1);
  auto* tablet = reply.add_tablet_servers();
  tablet->set_node_id(0);
  tablet->set_host("tablet");
  tablet->set_port(2);
  const auto add_buckets = [](auto* out, int32_t count) {
    for (int32_t bucket = 0; bucket < count; ++bucket) {
      auto* entry = out->add_bucket_metadata();
      entry->set_bucket_id(bucket);
      entry->set_leader_id(0);
    }
  };
  for (const auto& path : request.table_path()) {
    const auto found = tables_.find({path.database_name(), path.table_name()});
    if (found == tables_.end()) return Error(ErrorCode::kTableNotExist, "no such table");
    const types::TableInfo& info = found->second.info;
    auto* table = reply.add_table_metadata();
    SetPath(table->mutable_table_path(), info.path);
    table->set_table_id(info.table_id);
    table->set_schema_id(info.schema_id);
    table->set_table_json(info.descriptor.ToJson());
    table->set_created_time(1);
    table->set_modified_time(1);
    if (!info.descriptor.partitioned()) add_buckets(table, *info.descriptor.bucket_count);
  }
  const auto add_partition = [&](const Table& table, const std::string& name, int64_t id) {
    auto* partition = reply.add_partition_metadata();
    partition->set_table_id(table.info.table_id);
    partition->set_partition_name(name);
    partition->set_partition_id(id);
    add_buckets(partition, *table.info.descriptor.bucket_count);
  };
  for (const auto& path : request.partitions_path()) {
    const Table& table = tables_.at({path.database_name(), path.table_name()});
    const auto found = table.partitions.find(path.partition_name());
    if (found == table.partitions.end())
      return Error(ErrorCode::kPartitionNotExists, "no such partition");
    add_partition(table, found->first, found->second);
  }
  for (const int64_t id : request.partitions_id()) {
    for (const auto& [path, table] : tables_) {
      for (const auto& [name, partition_id] : table.partitions) {
        if (partition_id == id) add_partition(table, name, id);
      }
    }
  }
  return wire::Serialize(reply);
}

Result<bool> FakeCluster::CheckSequence(Log* log, int64_t writer_id, int32_t sequence,
                                        int64_t* base_offset) {
  auto& kept = log->writers[writer_id];
  for (const Log::Kept& one : kept) {
    if (one.sequence != sequence) continue;
    *base_offset = one.base_offset;
    return false;
  }
  const int32_t expected = kept.empty() ? 0 : kept.back().sequence + 1;
  if (sequence != expected)
    return Error(ErrorCode::kOutOfOrderSequence, "gap expected=", expected, " got=", sequence);
  kept.push_back({sequence, log->end_offset});
  if (kept.size() > kKeptBatches) kept.pop_front();
  return true;
}

Status FakeCluster::AppendBatch(Log* log, std::string_view bytes, int64_t* base_offset) {
  ASSIGN_OR_RAISE(const auto batch, wire::LogBatchView::Parse(bytes));
  if (!batch.CrcMatches() || batch.bytes().size() != bytes.size())
    return Corrupt("batch is damaged");
  const auto& header = batch.header();
  ASSIGN_OR_RAISE(const bool is_new,
                  CheckSequence(log, header.writer_id, header.batch_sequence, base_offset));
  if (!is_new) return Status::OK();
  std::string stamped(bytes);
  *base_offset = log->end_offset;
  wire::StampBatch(stamped.data(), log->end_offset, 1000 + log->end_offset);
  log->end_offset += header.last_offset_delta + 1;
  log->batches.push_back(std::move(stamped));
  return Status::OK();
}

Result<std::string> FakeCluster::Produce(std::string_view body) {
  ASSIGN_OR_RAISE(const auto request, wire::ParseProduceLog(body));
  if (request.acks != -1) return Error(ErrorCode::kInvalidRequiredAcks, "acks=", request.acks);
  wire::ProduceLogResponse reply;
  for (const auto& bucket : request.buckets) {
    const types::BucketId id{request.table_id, bucket.partition_id, bucket.bucket_id};
    auto* entry = reply.add_buckets_resp();
    SetBucket(entry, id);
    int64_t base_offset = -1;
    const Status status = AppendBatch(&logs_[id], bucket.records, &base_offset);
    wire::SetError(entry, status);
    if (status.ok()) entry->set_base_offset(base_offset);
  }
  return wire::Serialize(reply);
}

Result<std::string> FakeCluster::Put(std::string_view body) {
  ASSIGN_OR_RAISE(const auto request, wire::ParsePutKv(body));
  wire::PutKvResponse reply;
  for (const auto& bucket : request.buckets) {
    const types::BucketId id{request.table_id, bucket.partition_id, bucket.bucket_id};
    Log& log = logs_[id];
    auto* entry = reply.add_buckets_resp();
    SetBucket(entry, id);
    ASSIGN_OR_RAISE(const auto batch, wire::KvBatchView::Parse(bucket.records));
    if (!batch.CrcMatches()) return Corrupt("kv batch is damaged");
    int64_t base_offset = -1;
    const auto is_new =
        CheckSequence(&log, batch.header().writer_id, batch.header().batch_sequence, &base_offset);
    wire::SetError(entry, is_new.status());
    if (!is_new.ok() || !*is_new) continue;
    for (const wire::KvRecord& record : batch.records()) {
      if (record.row)
        log.values[std::string(record.key)] =
            wire::BuildStoredValue(batch.header().schema_id, *record.row);
      else
        log.values.erase(std::string(record.key));
      ++log.end_offset;
    }
    entry->set_log_end_offset(log.end_offset);
  }
  return wire::Serialize(reply);
}

Result<std::string> FakeCluster::Fetch(std::string_view body) {
  ASSIGN_OR_RAISE(const auto request, wire::ParseMessage<wire::FetchLogRequest>(body));
  wire::FetchResponseBuilder reply;
  for (const auto& table : request.tables_req()) {
    reply.BeginTable(table.table_id());
    for (const auto& bucket : table.buckets_req()) {
      const types::BucketId id = BucketOf(table.table_id(), bucket);
      const Log& log = logs_[id];
      if (bucket.fetch_offset() > log.end_offset) {
        reply.AddError(id.partition_id, id.bucket,
                       Error(ErrorCode::kLogOffsetOutOfRange, "beyond the end"));
        continue;
      }
      // At most two batches at a time, so that readers have to come back.
      std::string records;
      int taken = 0;
      for (const std::string& batch : log.batches) {
        const auto header = wire::ParseLogBatchHeader(batch).ValueOrDie();
        if (header.next_offset() > bucket.fetch_offset() && taken < 2 && ++taken > 0)
          records += batch;
      }
      reply.AddBucket({id.partition_id, id.bucket, log.end_offset, 0, std::nullopt, "",
                       io::Payload(std::move(records))});
    }
  }
  return reply.Finish().Flatten();
}

Result<std::string> FakeCluster::Offsets(std::string_view body) {
  ASSIGN_OR_RAISE(const auto request, wire::ParseMessage<wire::ListOffsetsRequest>(body));
  wire::ListOffsetsResponse reply;
  for (const int32_t bucket : request.bucket_id()) {
    types::BucketId id{request.table_id(), std::nullopt, bucket};
    if (request.has_partition_id()) id.partition_id = request.partition_id();
    auto* entry = reply.add_buckets_resp();
    entry->set_bucket_id(bucket);
    entry->set_offset(request.offset_type() == 0 ? 0 : logs_[id].end_offset);
  }
  return wire::Serialize(reply);
}

Result<std::string> FakeCluster::Lookup(std::string_view body) {
  ASSIGN_OR_RAISE(const auto request, wire::ParseMessage<wire::LookupRequest>(body));
  wire::LookupResponse reply;
  for (const auto& bucket : request.buckets_req()) {
    auto* entry = reply.add_buckets_resp();
    SetBucket(entry, BucketOf(request.table_id(), bucket));
    const auto& values = logs_[BucketOf(request.table_id(), bucket)].values;
    for (const std::string& key : bucket.keys()) {
      auto* value = entry->add_values();
      if (const auto found = values.find(key); found != values.end())
        value->set_values(found->second);
    }
  }
  return wire::Serialize(reply);
}

Result<std::string> FakeCluster::PrefixLookup(std::string_view body) {
  ASSIGN_OR_RAISE(const auto request, wire::ParseMessage<wire::PrefixLookupRequest>(body));
  wire::PrefixLookupResponse reply;
  for (const auto& bucket : request.buckets_req()) {
    auto* entry = reply.add_buckets_resp();
    SetBucket(entry, BucketOf(request.table_id(), bucket));
    for (const std::string& prefix : bucket.keys()) {
      auto* list = entry->add_value_lists();
      for (const auto& [key, value] : logs_[BucketOf(request.table_id(), bucket)].values) {
        if (key.starts_with(prefix)) list->add_values(value);
      }
    }
  }
  return wire::Serialize(reply);
}

Result<std::string> FakeCluster::Scan(std::string_view body) {
  ASSIGN_OR_RAISE(const auto request, wire::ParseMessage<wire::ScanKvRequest>(body));
  wire::ScanKvResponse reply;
  std::string id = request.scanner_id();
  if (request.close_scanner()) {
    scanners_.erase(id);
    return wire::Serialize(reply);
  }
  if (request.has_bucket_scan_req()) {
    id = "scanner" + std::to_string(scanners_.size());
    const types::BucketId bucket =
        BucketOf(request.bucket_scan_req().table_id(), request.bucket_scan_req());
    for (const auto& [key, value] : logs_[bucket].values) scanners_[id].push_back(value);
    reply.set_log_offset(logs_[bucket].end_offset);
  }
  auto& left = scanners_[id];
  std::vector<std::string> some;
  for (; !left.empty() && some.size() < 3; left.pop_front()) some.push_back(left.front());
  if (!some.empty()) reply.set_records(wire::BuildValueBatch(some));
  reply.set_has_more_results(!left.empty());
  if (!left.empty()) reply.set_scanner_id(id);
  if (left.empty()) scanners_.erase(id);
  return wire::Serialize(reply);
}

Result<std::string> FakeCluster::LimitScan(std::string_view body) {
  ASSIGN_OR_RAISE(const auto request, wire::ParseMessage<wire::LimitScanRequest>(body));
  const types::BucketId bucket = BucketOf(request.table_id(), request);
  wire::LimitScanResponse reply;
  const bool log_table = !Find(request.table_id())->info.descriptor.has_primary_key();
  reply.set_is_log_table(log_table);
  std::string records;
  std::vector<std::string> values;
  for (const std::string& batch : logs_[bucket].batches) records += batch;
  for (const auto& [key, value] : logs_[bucket].values) {
    if (values.size() < static_cast<size_t>(request.limit())) values.push_back(value);
  }
  reply.set_records(log_table ? records : wire::BuildValueBatch(values));
  return wire::Serialize(reply);
}

Result<std::string> FakeCluster::Schema(std::string_view body) {
  ASSIGN_OR_RAISE(const auto request, wire::ParseMessage<wire::GetTableSchemaRequest>(body));
  const Table& table =
      tables_.at({request.table_path().database_name(), request.table_path().table_name()});
  wire::GetTableSchemaResponse reply;
  reply.set_schema_id(request.schema_id());
  reply.set_schema_json(table.schemas.at(request.schema_id()).ToJson());
  return wire::Serialize(reply);
}

Result<std::string> FakeCluster::CreatePartition(std::string_view body) {
  ASSIGN_OR_RAISE(const auto request, wire::ParseMessage<wire::CreatePartitionRequest>(body));
  Table& table =
      tables_.at({request.table_path().database_name(), request.table_path().table_name()});
  types::PartitionInfo partition;
  for (const std::string& key : table.info.descriptor.partition_keys) {
    for (const auto& pair : request.partition_spec().partition_key_values()) {
      if (pair.key() == key) partition.values.push_back(pair.value());
    }
  }
  if (!table.partitions.contains(partition.Name()))
    table.partitions[partition.Name()] = next_partition_++;
  return wire::Serialize(wire::CreatePartitionResponse());
}

}  // namespace sluice::client
