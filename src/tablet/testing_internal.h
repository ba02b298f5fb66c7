#pragma once
// A tablet server over real files, logs and stores, for the tests of this module.
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "base/testing.h"
#include "io/file.h"
#include "io/loop.h"
#include "io/pool.h"
#include "io/random.h"
#include "kv/key_store.h"
#include "tablet/tablet_service.h"
#include "tablet/test_tables_testing.h"
#include "wire/api.h"
#include "wire/frame.h"
#include "wire/kv_batch.h"
#include "wire/log_batch.h"
#include "wire/proto/kv.pb.h"
#include "wire/proto/lake.pb.h"
#include "wire/proto/log.pb.h"
#include "wire/proto/replication.pb.h"
#include "wire/records.h"

namespace sluice::tablet::internal {

/// A pool that can end before the loops that use it: what is queued is finished, what comes later
/// is refused.
class StoppablePool : public io::Pool {
 public:
  explicit StoppablePool(std::unique_ptr<io::Pool> inner) : inner_(std::move(inner)) {}
  [[nodiscard]] bool TryPost(std::function<void()> work) override {
    const std::lock_guard lock(mutex_);
    return inner_ != nullptr && inner_->TryPost(std::move(work));
  }
  size_t queued() const override { return 0; }
  const std::string& name() const override { return name_; }
  void Stop() {
    std::unique_ptr<io::Pool> inner;
    {
      const std::lock_guard lock(mutex_);
      inner = std::move(inner_);
    }
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<io::Pool> inner_;
  const std::string name_ = "pool";
};

class TabletTest : public ::testing::Test {
 public:
  void SetUp() override { Start(); }
  void TearDown() override {
    if (service != nullptr) Stop();
  }

  void Start() {
    loops = io::LoopThreads::Start("shard", 2);
    client_loops = io::LoopThreads::Start("client", 1);
    shards = std::make_unique<shard::Shards>(
        shard::Shards::Options{{&loops->at(0), &loops->at(1)}, mailbox_bytes_max});
    pool = std::make_unique<StoppablePool>(io::Pool::Start({.name = "pool", .threads = 2}));
    remote_pool =
        std::make_unique<StoppablePool>(io::Pool::Start({.name = "remote", .threads = 2}));
    stores = kv::MakeRocksStores(io::LocalFileSystem(), {});
    options.data_dir = folder.path();
    options.tables = &tables;
    options.shards = shards.get();
    options.files = files;
    options.clock = &io::SystemClock();
    options.random = &io::SystemRandom();
    options.read_pool = options.sync_pool = options.flush_pool = options.snapshot_pool = pool.get();
    options.remote_pool = remote_pool.get();
    options.key_stores = stores.get();
    options.new_writer_id = NextWriterId;
    service = std::make_unique<TabletService>(options);
    ASSERT_OK(io::SyncWait(loop(), service->Start(loop())));
  }
  void Stop() {
    EXPECT_OK(io::SyncWait(loop(), service->Stop(loop())));
    Drop();
  }
  /// End without any goodbye, as kill -9 does: what was written is in the files.
  void Drop() {
    pool->Stop();  // Its last answers go to loops that still run.
    remote_pool->Stop();
    client_loops.reset();
    loops.reset();
    service.reset();
    pool.reset();
    remote_pool.reset();
    shards.reset();
    stores.reset();
  }
  io::Loop& loop() { return client_loops->at(0); }
  /// Wait until `done` holds. Once is enough: it may not last. False after a minute.
  template <typename Done>
  static bool Soon(Done done) {
    for (int i = 0; i < 6000; ++i) {
      if (done()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return done();
  }

  /// Start a call; its answer comes later.
  template <typename M>
  io::Call MakeCall(wire::ApiKey key, const M& request, int16_t version = 0) {
    return {static_cast<int16_t>(key), version, wire::Serialize(request)};
  }
  static io::Task<Result<std::string>> SendTask(TabletService* service, io::Loop* loop,
                                                io::Call call, std::string client_name = "") {
    auto client = std::make_shared<io::Principal>();
    client->client_name = std::move(client_name);
    const std::shared_ptr<const io::Principal> principal = std::move(client);
    CO_ASSIGN_OR_RETURN(auto payload, co_await service->Handle(*loop, principal, std::move(call)));
    co_return payload.Flatten();
  }
  Result<std::string> Send(io::Call call) {
    return io::SyncWait(loop(), SendTask(service.get(), &loop(), std::move(call), client_name));
  }
  template <typename Response, typename Request>
  Result<Response> Ask(wire::ApiKey key, const Request& request, int16_t version = 0) {
    ASSIGN_OR_RAISE(const std::string body, Send(MakeCall(key, request, version)));
    return wire::ParseMessage<Response>(body);
  }

  /// Make this server the leader of buckets 0 to 3 of both tables.
  void LeadAll(int32_t epoch = 0) {
    for (const int64_t table : {kLogTable, kKeyTable}) {
      for (int bucket = 0; bucket < 4; ++bucket) ASSERT_OK(Lead(table, bucket, epoch, epoch));
    }
  }
  Status Lead(int64_t table_id, int bucket, int32_t leader_epoch, int32_t bucket_epoch,
              int32_t leader = 0) {
    wire::NotifyLeaderAndIsrRequest request;
    request.set_coordinator_epoch(coordinator_epoch);
    auto* news = request.add_notify_buckets_leader_req();
    news->mutable_physical_table_path()->set_database_name("db");
    news->mutable_physical_table_path()->set_table_name(table_id == kLogTable ? "log" : "keys");
    news->mutable_table_bucket()->set_table_id(table_id);
    news->mutable_table_bucket()->set_bucket_id(bucket);
    news->set_leader(leader);
    news->set_leader_epoch(leader_epoch);
    news->set_bucket_epoch(bucket_epoch);
    news->add_isr(0);
    news->add_replicas(0);
    ASSIGN_OR_RAISE(const auto response, Ask<wire::NotifyLeaderAndIsrResponse>(
                                             wire::ApiKey::kNotifyLeaderAndIsr, request));
    return wire::ErrorOf(response.notify_buckets_leader_resp(0));
  }

  /// Tell the server that a table has changed.
  Status TellChanged(int64_t table_id) {
    wire::UpdateMetadataRequest news;
    news.set_coordinator_epoch(coordinator_epoch);
    auto* table = news.add_table_metadata();
    table->mutable_table_path()->set_database_name("db");
    table->mutable_table_path()->set_table_name("any");
    table->set_table_id(table_id);
    table->set_schema_id(1);
    table->set_table_json("{}");
    table->set_created_time(0);
    table->set_modified_time(0);
    return Ask<wire::UpdateMetadataResponse>(wire::ApiKey::kUpdateMetadata, news).status();
  }

  std::string LogBatch(const std::vector<TestRow>& rows, wire::LogBatchOptions batch = {}) {
    const auto schema = tables.SchemaOf(kLogTable, 1).ValueOrDie();
    return wire::BuildLogBatch(batch, *ToArrow(*schema, rows), {}).ValueOrDie();
  }
  /// Produce to one bucket of the log table; the base offset.
  Result<int64_t> Produce(int bucket, const std::string& records, int32_t acks = -1,
                          int64_t table_id = kLogTable) {
    const wire::ProduceLogView view{acks, table_id, 1000, {{std::nullopt, bucket, records}}};
    ASSIGN_OR_RAISE(const std::string body, Send({static_cast<int16_t>(wire::ApiKey::kProduceLog),
                                                  0, wire::BuildProduceLog(view)}));
    ASSIGN_OR_RAISE(const auto response, wire::ParseMessage<wire::ProduceLogResponse>(body));
    ARROW_RETURN_NOT_OK(wire::ErrorOf(response.buckets_resp(0)));
    return response.buckets_resp(0).base_offset();
  }

  struct FetchOptions {
    int64_t table_id = kLogTable;
    int32_t max_bytes = 16 << 20;
    int32_t max_fetch_bytes = 1 << 20;
    int32_t min_bytes = 0;
    int32_t max_wait_ms = 0;
    std::vector<int32_t> positions;
  };
  static wire::FetchLogRequest FetchRequest(std::vector<std::pair<int, int64_t>> buckets,
                                            const FetchOptions& how) {
    wire::FetchLogRequest request;
    request.set_follower_server_id(-1);
    request.set_max_bytes(how.max_bytes);
    request.set_min_bytes(how.min_bytes);
    request.set_max_wait_ms(how.max_wait_ms);
    auto* table = request.add_tables_req();
    table->set_table_id(how.table_id);
    table->set_projection_pushdown_enabled(!how.positions.empty());
    for (const int32_t position : how.positions) table->add_projected_fields(position);
    for (const auto& [bucket, offset] : buckets) {
      auto* wanted = table->add_buckets_req();
      wanted->set_bucket_id(bucket);
      wanted->set_fetch_offset(offset);
      wanted->set_max_fetch_bytes(how.max_fetch_bytes);
    }
    return request;
  }
  /// One entry per bucket asked for, in order.
  Result<std::vector<wire::PbFetchLogRespForBucket>> Fetch(
      const std::vector<std::pair<int, int64_t>>& buckets, const FetchOptions& how) {
    ASSIGN_OR_RAISE(const auto response, Ask<wire::FetchLogResponse>(wire::ApiKey::kFetchLog,
                                                                     FetchRequest(buckets, how)));
    const auto& entries = response.tables_resp(0).buckets_resp();
    return std::vector<wire::PbFetchLogRespForBucket>(entries.begin(), entries.end());
  }
  Result<std::vector<wire::PbFetchLogRespForBucket>> Fetch(
      const std::vector<std::pair<int, int64_t>>& buckets) {
    return Fetch(buckets, FetchOptions());
  }

  /// Every record of a bucket from `offset` on, with its offset checked to be dense.
  std::vector<TestChange> ReadAll(int64_t table_id, int bucket, int64_t offset = 0) {
    FetchOptions how;
    how.table_id = table_id;
    std::vector<TestChange> changes;
    for (;;) {
      const auto fetched = Fetch({{bucket, offset}}, how).ValueOrDie();
      CHECK(!fetched[0].has_error_code());
      const std::string& records = fetched[0].records();
      if (records.empty()) return changes;
      wire::LogBatchIterator batches(records);
      while (const auto batch = batches.Next().ValueOrDie()) {
        CHECK(batch->CrcMatches() && batch->header().base_offset == offset);
        offset = batch->header().next_offset();
        const auto schema =
            tables.SchemaOf(table_id, batch->header().schema_id).ValueOrDie()->ToArrow();
        const auto rows = FromArrow(*wire::DecodeRows(*batch, schema).ValueOrDie());
        for (size_t i = 0; i < rows.size(); ++i) {
          const auto types = batch->change_types();
          changes.push_back({types.empty() ? wire::ChangeType::kAppendOnly
                                           : static_cast<wire::ChangeType>(types[i]),
                             rows[i]});
        }
      }
    }
  }

  static std::string KeyOf(int32_t id) {
    std::string key;
    AppendVarint(&key, static_cast<uint32_t>(id));
    return key;
  }
  /// Put rows (by encoded row) and deletes (ids) into one bucket; the log's end after it.
  Result<int64_t> Put(int bucket, const std::vector<TestRow>& rows,
                      const std::vector<int32_t>& deleted = {}, int64_t writer_id = -1,
                      int32_t sequence = -1, std::vector<int32_t> target_columns = {},
                      int16_t version = 2) {
    const auto schema = tables.SchemaOf(kKeyTable, 1).ValueOrDie();
    std::vector<types::DataTypePtr> columns;
    for (const auto& column : schema->columns) columns.push_back(column.type);
    const types::RowCodec codec(types::RowFormat::kCompacted, columns);
    std::vector<std::string> encoded, keys;
    if (!rows.empty())
      ARROW_RETURN_NOT_OK(codec.Encode(*ToArrow(*schema, rows), 0, rows.size(), &encoded));
    for (const TestRow& row : rows) keys.push_back(KeyOf(row.id));
    for (const int32_t id : deleted) keys.push_back(KeyOf(id));
    std::vector<wire::KvRecord> records;
    for (size_t i = 0; i < keys.size(); ++i) {
      records.push_back({keys[i], i < encoded.size() ? std::optional<std::string_view>(encoded[i])
                                                     : std::nullopt});
    }
    const std::string batch = wire::BuildKvBatch(1, writer_id, sequence, records);
    return PutBytes(bucket, batch, std::move(target_columns), version);
  }
  Result<int64_t> PutBytes(int bucket, const std::string& records,
                           std::vector<int32_t> target_columns = {}, int16_t version = 2) {
    const wire::PutKvView view{
        -1, kKeyTable, 1000, std::move(target_columns), {{std::nullopt, bucket, records}}, 0};
    ASSIGN_OR_RAISE(const std::string body, Send({static_cast<int16_t>(wire::ApiKey::kPutKv),
                                                  version, wire::BuildPutKv(view)}));
    ASSIGN_OR_RAISE(const auto response, wire::ParseMessage<wire::PutKvResponse>(body));
    ARROW_RETURN_NOT_OK(wire::ErrorOf(response.buckets_resp(0)));
    return response.buckets_resp(0).log_end_offset();
  }
  TestRow DecodeValue(std::string_view value) {
    const auto stored = wire::ParseStoredValue(value).ValueOrDie();
    const auto schema = tables.SchemaOf(kKeyTable, stored.schema_id).ValueOrDie();
    std::vector<types::DataTypePtr> columns;
    for (const auto& column : schema->columns) columns.push_back(column.type);
    const types::RowCodec codec(types::RowFormat::kCompacted, columns);
    return FromArrow(*codec.Decode(std::vector<std::string_view>{stored.row}).ValueOrDie())[0];
  }
  Result<std::vector<std::optional<TestRow>>> Lookup(int bucket, const std::vector<int32_t>& ids) {
    wire::LookupRequest request;
    request.set_table_id(kKeyTable);
    auto* keys = request.add_buckets_req();
    keys->set_bucket_id(bucket);
    for (const int32_t id : ids) keys->add_keys(KeyOf(id));
    ASSIGN_OR_RAISE(const auto response,
                    Ask<wire::LookupResponse>(wire::ApiKey::kLookup, request, 1));
    ARROW_RETURN_NOT_OK(wire::ErrorOf(response.buckets_resp(0)));
    std::vector<std::optional<TestRow>> rows;
    for (const auto& value : response.buckets_resp(0).values()) {
      rows.push_back(value.has_values() ? std::optional(DecodeValue(value.values()))
                                        : std::nullopt);
    }
    return rows;
  }
  Result<int64_t> OffsetOf(int64_t table_id, int bucket, int32_t type, int64_t timestamp_ms = 0) {
    wire::ListOffsetsRequest request;
    request.set_follower_server_id(-1);
    request.set_offset_type(type);
    request.set_table_id(table_id);
    request.add_bucket_id(bucket);
    request.set_starttimestamp(timestamp_ms);
    ASSIGN_OR_RAISE(const auto response,
                    Ask<wire::ListOffsetsResponse>(wire::ApiKey::kListOffsets, request));
    ARROW_RETURN_NOT_OK(wire::ErrorOf(response.buckets_resp(0)));
    return response.buckets_resp(0).offset();
  }

  static io::Task<Result<int64_t>> NextWriterId(io::Loop&) {
    static int64_t next = 100;
    co_return next++;
  }

  TempDir folder;
  TestTables tables;
  TabletOptions options;
  io::FileSystem* files = &io::LocalFileSystem();
  std::string client_name = "test";  ///< Of the calls.
  int32_t coordinator_epoch = 1;
  size_t mailbox_bytes_max = 64 << 20;
  std::unique_ptr<io::LoopThreads> loops, client_loops;
  std::unique_ptr<shard::Shards> shards;
  std::unique_ptr<StoppablePool> pool, remote_pool;
  std::unique_ptr<kv::KeyStores> stores;
  std::unique_ptr<TabletService> service;
};

}  // namespace sluice::tablet::internal
