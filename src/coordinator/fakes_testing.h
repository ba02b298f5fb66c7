#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/testing.h"
#include "coordinator/coordinator.h"
#include "meta/memory_store.h"
#include "wire/api.h"
#include "wire/frame.h"
#include "wire/proto/lake.pb.h"
#include "wire/proto/log.pb.h"
#include "wire/proto/replication.pb.h"

// What a coordinator in a test talks to: a store, a lake and a tablet server that outlive its
// restarts and can stop with it.
namespace sluice::coordinator {

/// What all parts of the machine ask before they do anything: after the power went, nothing happens
/// any more.
struct Power {
  bool on = true;
  Status Check() const { return on ? Status::OK() : Status::IOError("the machine has stopped"); }
};

class PoweredStore : public meta::MetaStore {
 public:
  explicit PoweredStore(const Power& power) : power_(power) {}
  Result<std::optional<Node>> Get(const std::string& path) override { return inner_->Get(path); }
  Result<std::vector<std::string>> Children(const std::string& path) override {
    return inner_->Children(path);
  }
  Status Apply(std::vector<Op> ops) override {
    RETURN_NOT_OK(power_.Check());
    ++writes;
    return inner_->Apply(std::move(ops));
  }

  int writes = 0;  ///< Each waits for the disk.

 private:
  const Power& power_;
  std::unique_ptr<meta::MetaStore> inner_ = meta::NewMemoryMetaStore();
};

/// A lake that keeps descriptors and obeys the contract of LakeCatalog.
class FakeLake : public lake::LakeCatalog {
 public:
  struct Table {
    types::TableDescriptor descriptor;
    bool has_snapshot = false;
    std::optional<types::TableDescriptor> before;   ///< The last change.
    std::set<std::vector<std::string>> partitions;  ///< Those with rows.
    std::optional<int64_t> made_ms;                 ///< As CreateTable was told.
  };
  explicit FakeLake(const Power& power) : power_(power) {}

  Status Validate(const types::TableDescriptor& descriptor) const override {
    if (descriptor.custom_properties.contains("paimon.bucket")) {
      return Error(ErrorCode::kInvalidConfig, "only the system sets option=paimon.bucket");
    }
    return Status::OK();
  }
  Result<Taken> CreateTable(const types::TablePath& path, const types::TableDescriptor& descriptor,
                            bool must_be_empty, std::optional<int64_t> made_ms) override {
    RETURN_NOT_OK(Available());
    RETURN_NOT_OK(Validate(descriptor));
    const auto found = tables.find(path);
    if (found == tables.end()) {
      tables[path] = {.descriptor = descriptor, .made_ms = made_ms};
      return Taken::kCreated;
    }
    const bool agrees = found->second.descriptor.schema.ToJson() == descriptor.schema.ToJson();
    if (!agrees || (must_be_empty && found->second.has_snapshot)) {
      return Error(ErrorCode::kLakeTableAlreadyExist, "lake table exists path=", path);
    }
    return Taken::kExisted;
  }
  Status AlterTable(const types::TablePath& path,
                    const std::vector<lake::LakeChange>& changes) override {
    RETURN_NOT_OK(Available());
    const auto found = tables.find(path);
    if (found == tables.end()) return Error(ErrorCode::kTableNotExist, "no lake table path=", path);
    types::TableDescriptor changed = found->second.descriptor;
    for (const lake::LakeChange& change : changes) Apply(change, &changed);
    if (changed.ToJson() == found->second.descriptor.ToJson()) return Status::OK();
    found->second.before = std::exchange(found->second.descriptor, std::move(changed));
    return fails_after ? Error(ErrorCode::kStorage, "the lake did it, but says no") : Status::OK();
  }
  Status TakeBackAlter(const types::TablePath& path,
                       const std::vector<lake::LakeChange>& changes) override {
    RETURN_NOT_OK(Available());
    const auto found = tables.find(path);
    if (found == tables.end() || !found->second.before.has_value()) return Status::OK();
    Table& table = found->second;
    types::TableDescriptor changed = *table.before;
    for (const lake::LakeChange& change : changes) Apply(change, &changed);
    if (changed.ToJson() != table.descriptor.ToJson()) return Status::OK();
    table.descriptor = *std::exchange(table.before, std::nullopt);
    return Status::OK();
  }
  Result<bool> RemoveMade(const types::TablePath& path, const types::TableDescriptor& descriptor,
                          int64_t made_ms) override {
    RETURN_NOT_OK(Available());
    const auto found = tables.find(path);
    if (found == tables.end()) return true;
    const Table& table = found->second;
    if (table.has_snapshot || table.made_ms != made_ms ||
        table.descriptor.ToJson() != descriptor.ToJson()) {
      return false;
    }
    tables.erase(found);
    return true;
  }
  Result<bool> TableExists(const types::TablePath& path) override {
    RETURN_NOT_OK(Available());
    return tables.contains(path);
  }
  Status CheckPartitionEmpty(const types::TablePath& path,
                             const std::vector<std::string>& values) override {
    RETURN_NOT_OK(Available());
    const auto found = tables.find(path);
    if (found == tables.end() || !found->second.partitions.contains(values)) return Status::OK();
    return Error(ErrorCode::kLakeTableAlreadyExist, "lake partition has rows path=", path);
  }
  void Trim(std::chrono::nanoseconds) override {}
  Result<std::unique_ptr<lake::LakeTable>> OpenTable(const types::TablePath&) override {
    return Status::NotImplemented("the fake lake has no files");
  }
  Result<std::vector<std::string>> ListDatabases() override { return std::vector<std::string>(); }
  Result<std::vector<std::string>> ListTables(const std::string&) override {
    return std::vector<std::string>();
  }
  const std::string& warehouse() const override { return warehouse_; }

  std::map<types::TablePath, Table> tables;
  bool reachable = true;
  bool fails_after = false;  ///< A change is made and answered with an error.

 private:
  Status Available() const {
    RETURN_NOT_OK(power_.Check());
    return reachable ? Status::OK() : Status::IOError("the lake does not answer");
  }
  static void Apply(const lake::LakeChange& change, types::TableDescriptor* descriptor) {
    auto& options =
        change.key.starts_with("table.") ? descriptor->properties : descriptor->custom_properties;
    switch (change.kind) {
      case lake::LakeChange::Kind::kAddColumn:
        if (descriptor->schema.IndexOf(change.column.name) < 0) {
          descriptor->schema.columns.push_back(change.column);
          descriptor->schema.highest_field_id =
              std::max(descriptor->schema.highest_field_id, change.column.id);
        }
        break;
      case lake::LakeChange::Kind::kSetOption:
        options[change.key] = change.value;
        break;
      case lake::LakeChange::Kind::kResetOption:
        options.erase(change.key);
        break;
    }
  }
  const Power& power_;
  std::string warehouse_ = "/warehouse";
};

/// A tablet server as the coordinator sees it: it remembers what it was told.
class FakeTablet : public io::Transport {
 public:
  explicit FakeTablet(const Power& power) : power_(power) {}

  io::Task<Result<std::string>> Send(io::Loop& loop, io::Call call) override {
    CO_RETURN_NOT_OK(power_.Check());
    if (delay.count() > 0) co_await io::Sleep(loop, delay);
    if (!reachable) co_return Error(ErrorCode::kNetwork, "connection refused");
    calls.push_back(static_cast<wire::ApiKey>(call.api_key));
    switch (static_cast<wire::ApiKey>(call.api_key)) {
      case wire::ApiKey::kUpdateMetadata:
        co_return UpdateMetadata(call.body);
      case wire::ApiKey::kNotifyLeaderAndIsr:
        co_return NotifyLeader(call.body);
      case wire::ApiKey::kStopReplica:
        co_return StopReplica(call.body);
      case wire::ApiKey::kNotifyLakeTableOffset:
        co_return NotifyLakeOffset(call.body);
      case wire::ApiKey::kListOffsets:
        co_return ListOffsets(call.body);
      default:
        co_return Error(ErrorCode::kUnsupportedVersion, "unknown call api_key=", call.api_key);
    }
  }
  void Close() override {}
  /// A restart: what was told is forgotten, files stay.
  void Restart() {
    replicas.clear();
    tables.clear();
    calls.clear();
    lake_offsets.clear();
  }

  std::vector<wire::ApiKey> calls;
  std::map<int64_t, types::TableDescriptor> tables;
  std::map<types::BucketId, wire::PbNotifyLeaderAndIsrReqForBucket> replicas;
  std::set<types::BucketId> files;  ///< Replicas that have files.
  std::map<types::BucketId, int64_t> lake_offsets;
  std::map<types::BucketId, int64_t> log_ends;
  int32_t coordinator_epoch = 0;
  int table_news = 0;  ///< Tables and partitions in all UPDATE_METADATA.
  int partition_news = 0;
  bool reachable = true;
  std::chrono::milliseconds delay{0};  ///< Of every answer.

 private:
  template <typename Entry>
  static types::BucketId IdOf(const Entry& entry) {
    types::BucketId id{.table_id = entry.table_id(), .bucket = entry.bucket_id()};
    if (entry.has_partition_id()) id.partition_id = entry.partition_id();
    return id;
  }
  Result<std::string> UpdateMetadata(const std::string& body) {
    ASSIGN_OR_RAISE(const auto request, wire::ParseMessage<wire::UpdateMetadataRequest>(body));
    coordinator_epoch = request.coordinator_epoch();
    table_news += request.table_metadata_size();
    partition_news += request.partition_metadata_size();
    for (const auto& table : request.table_metadata()) {
      ASSIGN_OR_RAISE(tables[table.table_id()],
                      types::TableDescriptor::FromJson(table.table_json()));
    }
    return std::string();
  }
  Result<std::string> NotifyLeader(const std::string& body) {
    ASSIGN_OR_RAISE(const auto request, wire::ParseMessage<wire::NotifyLeaderAndIsrRequest>(body));
    wire::NotifyLeaderAndIsrResponse response;
    for (const auto& bucket : request.notify_buckets_leader_req()) {
      auto* entry = response.add_notify_buckets_leader_resp();
      *entry->mutable_table_bucket() = bucket.table_bucket();
      const types::BucketId id = IdOf(bucket.table_bucket());
      if (!tables.contains(id.table_id)) {
        wire::SetError(entry,
                       Error(ErrorCode::kUnknownTableOrBucket, "metadata must come first ", id));
        continue;
      }
      replicas[id] = bucket;
      files.insert(id);
    }
    return wire::Serialize(response);
  }
  Result<std::string> StopReplica(const std::string& body) {
    ASSIGN_OR_RAISE(const auto request, wire::ParseMessage<wire::StopReplicaRequest>(body));
    for (const auto& bucket : request.stop_replicas_req()) {
      EXPECT_TRUE(bucket.delete_());
      replicas.erase(IdOf(bucket.table_bucket()));
      files.erase(IdOf(bucket.table_bucket()));
    }
    return wire::Serialize(wire::StopReplicaResponse());
  }
  Result<std::string> NotifyLakeOffset(const std::string& body) {
    ASSIGN_OR_RAISE(const auto request,
                    wire::ParseMessage<wire::NotifyLakeTableOffsetRequest>(body));
    for (const auto& bucket : request.notify_buckets_req())
      lake_offsets[IdOf(bucket)] = bucket.log_end_offset();
    return std::string();
  }
  Result<std::string> ListOffsets(const std::string& body) {
    ASSIGN_OR_RAISE(const auto request, wire::ParseMessage<wire::ListOffsetsRequest>(body));
    wire::ListOffsetsResponse response;
    for (const int32_t bucket : request.bucket_id()) {
      types::BucketId id{.table_id = request.table_id(), .bucket = bucket};
      if (request.has_partition_id()) id.partition_id = request.partition_id();
      auto* entry = response.add_buckets_resp();
      entry->set_bucket_id(bucket);
      entry->set_offset(log_ends[id]);
    }
    return wire::Serialize(response);
  }
  const Power& power_;
};

}  // namespace sluice::coordinator
