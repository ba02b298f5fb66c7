// What one request may ask for, and what all of them together may hold.
#include "tablet/request_limits.h"

#include <latch>

#include "kv/kv_tablet.h"
#include "tablet/call_memory.h"
#include "tablet/replica.h"
#include "tablet/testing_internal.h"

namespace sluice::tablet {
namespace {

using internal::kKeyTable;
using internal::kLogTable;
using internal::TestRow;
using wire::ApiKey;

constexpr int kTooManyBuckets = static_cast<int>(kBucketsNamedMax) + 1;

class RequestLimitsTest : public internal::TabletTest {
 protected:
  void SetUp() override {
    TabletTest::SetUp();
    LeadAll();
  }

  template <typename M>
  Status Answered(ApiKey key, const M& request) {
    return Send(MakeCall(key, request, /*version=*/0)).status();
  }
  static io::Task<void> Answer(TabletService* service, io::Loop* loop, io::Call call,
                               std::function<void()> done) {
    co_await io::SwitchTo(*loop);
    const auto answer = co_await SendTask(service, loop, std::move(call));
    EXPECT_OK(answer);
    done();
  }
  static wire::ListOffsetsRequest OffsetsOf(int buckets) {
    wire::ListOffsetsRequest request;
    request.set_follower_server_id(-1);
    request.set_offset_type(kLatestOffset);
    request.set_table_id(kLogTable);
    for (int i = 0; i < buckets; ++i) request.add_bucket_id(i);
    return request;
  }
  static wire::LimitScanRequest ScanOf(int32_t limit) {
    wire::LimitScanRequest request;
    request.set_table_id(kKeyTable);
    request.set_bucket_id(0);
    request.set_limit(limit);
    return request;
  }
  static wire::LookupRequest LookupOf(const std::vector<int32_t>& ids) {
    wire::LookupRequest request;
    request.set_table_id(kKeyTable);
    auto* bucket = request.add_buckets_req();
    bucket->set_bucket_id(0);
    for (const int32_t id : ids) bucket->add_keys(KeyOf(id));
    return request;
  }
  void PutMany(int32_t count, const std::string& name) {
    std::vector<TestRow> rows;
    for (int32_t id = 0; id < count; ++id) {
      rows.push_back({id, name, id});
      if (rows.size() < 1000 && id + 1 < count) continue;
      ASSERT_OK(Put(0, rows));
      rows.clear();
    }
  }
};

TEST_F(RequestLimitsTest, TooManyNamesAreRefused) {
  EXPECT_CODE(ErrorCode::kRecordTooLarge,
              Answered(ApiKey::kListOffsets, OffsetsOf(kTooManyBuckets)));

  auto fetch = FetchRequest({}, {.positions = {0}});
  for (int i = 0; i < kTooManyBuckets; ++i) {
    auto* bucket = fetch.mutable_tables_req(0)->add_buckets_req();
    bucket->set_bucket_id(i);
    bucket->set_fetch_offset(0);
    bucket->set_max_fetch_bytes(1);
  }
  EXPECT_CODE(ErrorCode::kRecordTooLarge, Answered(ApiKey::kFetchLog, fetch));
  FetchOptions wide;
  wide.positions.resize(kColumnsNamedMax + 1);
  EXPECT_CODE(ErrorCode::kRecordTooLarge,
              Answered(ApiKey::kFetchLog, FetchRequest({{0, 0}}, wide)));

  wire::LookupRequest lookup = LookupOf({});
  for (size_t i = 0; i <= kKeysNamedMax; ++i) lookup.mutable_buckets_req(0)->add_keys("k");
  EXPECT_CODE(ErrorCode::kRecordTooLarge, Answered(ApiKey::kLookup, lookup));
  // The two messages are the same on the wire, but for a flag.
  wire::PrefixLookupRequest prefixes;
  ASSERT_TRUE(prefixes.ParseFromString(wire::Serialize(lookup)));
  EXPECT_CODE(ErrorCode::kRecordTooLarge, Answered(ApiKey::kPrefixLookup, prefixes));

  wire::GetTableStatsRequest stats;
  stats.set_table_id(kKeyTable);
  for (int i = 0; i < kTooManyBuckets; ++i) stats.add_buckets_req()->set_bucket_id(i);
  EXPECT_CODE(ErrorCode::kRecordTooLarge, Answered(ApiKey::kGetTableStats, stats));

  const std::vector<wire::BucketRecords> many(kBucketsNamedMax + 1, {std::nullopt, 0, "x"});
  const auto send = [&](ApiKey key, const std::string& body) {
    return Send({static_cast<int16_t>(key), 0, body});
  };
  EXPECT_CODE(ErrorCode::kRecordTooLarge,
              send(ApiKey::kProduceLog, wire::BuildProduceLog({1, kLogTable, 1000, many})));
  EXPECT_CODE(ErrorCode::kRecordTooLarge,
              send(ApiKey::kPutKv, wire::BuildPutKv({1, kKeyTable, 1000, {}, many, 0})));
  const std::vector<int32_t> columns(kColumnsNamedMax + 1);
  EXPECT_CODE(ErrorCode::kRecordTooLarge,
              send(ApiKey::kPutKv, wire::BuildPutKv({1, kKeyTable, 1000, columns, {}, 0})));
}

// Deletes alone are small and take their time all the same.
TEST_F(RequestLimitsTest, APutBringsSoManyRows) {
  std::string batch = wire::BuildKvBatch(1, -1, -1, {});
  constexpr size_t kCountAt = 24;
  StoreLe(&batch[kCountAt], static_cast<int32_t>(kPutRecordsMax / 2));
  EXPECT_CODE(ErrorCode::kCorruptRecord, PutBytes(0, batch));  // Not that many bytes.
  EXPECT_CODE(ErrorCode::kRecordTooLarge, PutBytes(0, batch + batch + batch));
}

// What a bucket id costs does not grow with how many there are.
TEST_F(RequestLimitsTest, ManyBucketsAreAnswered) {
  ASSERT_OK(Produce(1, LogBatch({{1, "a", 1}})));
  constexpr int kBuckets = 50'000;
  ASSERT_OK_AND_ASSIGN(const auto offsets,
                       Ask<wire::ListOffsetsResponse>(ApiKey::kListOffsets, OffsetsOf(kBuckets)));
  ASSERT_EQ(offsets.buckets_resp_size(), kBuckets);
  EXPECT_EQ(offsets.buckets_resp(1).offset(), 1);
  EXPECT_EQ(wire::ErrorOf(offsets.buckets_resp(kBuckets - 1)).ok(), false);

  // One projection for all of them.
  std::vector<std::pair<int, int64_t>> asked(3000, {1, 0});
  FetchOptions how;
  how.positions = {0, 2};
  ASSERT_OK_AND_ASSIGN(const auto fetched, Fetch(asked, how));
  ASSERT_EQ(fetched.size(), asked.size());
  EXPECT_FALSE(fetched[0].records().empty());
}

TEST_F(RequestLimitsTest, ManyKeysAreFoundInTurns) {
  constexpr int32_t kRows = 3000;
  PutMany(kRows, "name");
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < kRows + 10; ++id) ids.push_back(id);
  ASSERT_OK_AND_ASSIGN(const auto found, Lookup(0, ids));
  ASSERT_EQ(found.size(), ids.size());
  for (int32_t id = 0; id < kRows + 10; ++id) {
    EXPECT_EQ(found[static_cast<size_t>(id)].has_value(), id < kRows) << id;
    if (id >= kRows) continue;
    EXPECT_EQ(found[static_cast<size_t>(id)]->id, id);
  }
  wire::PrefixLookupRequest prefixes;
  prefixes.set_table_id(kKeyTable);
  auto* bucket = prefixes.add_buckets_req();
  bucket->set_bucket_id(0);
  for (int32_t id = 0; id < 100; ++id) bucket->add_keys(KeyOf(id));
  ASSERT_OK_AND_ASSIGN(const auto lists,
                       Ask<wire::PrefixLookupResponse>(ApiKey::kPrefixLookup, prefixes, 1));
  ASSERT_EQ(lists.buckets_resp(0).value_lists_size(), 100);
  for (int32_t id = 0; id < 100; ++id) {
    const auto& values = lists.buckets_resp(0).value_lists(id).values();
    ASSERT_GE(values.size(), 1) << id;
    EXPECT_EQ(DecodeValue(values[0]).id, id);
  }
  // More rows than one turn reads go through the pool, and are all there.
  PutMany(static_cast<int32_t>(kv::kTurnRowsMax) + 100, "name");
  ASSERT_OK_AND_ASSIGN(const auto scan,
                       Ask<wire::LimitScanResponse>(ApiKey::kLimitScan, ScanOf(INT32_MAX)));
  ASSERT_OK(wire::ErrorOf(scan));
  ASSERT_OK_AND_ASSIGN(const auto values, wire::ParseValueBatch(scan.records()));
  EXPECT_EQ(values.size(), kv::kTurnRowsMax + 100);
}

// A call on the loop of the bucket itself: what came after it runs before its last turn.
TEST_F(RequestLimitsTest, OthersGoInBetweenTheTurns) {
  PutMany(10, "name");
  const auto asked = MakeCall(ApiKey::kLookup, LookupOf(std::vector<int32_t>(5000, 1)), 1);
  for (size_t shard = 0; shard < shards->size(); ++shard) {
    io::Loop& owner = shards->loop(shard);
    std::latch done(1);
    bool other_ran = false, ran_before = false;
    owner.Post([&] {
      owner.Post([&] { other_ran = true; });
      io::Spawn(Answer(service.get(), &owner, asked, [&] {
        ran_before = other_ran;
        done.count_down();
      }));
    });
    done.wait();
    EXPECT_TRUE(ran_before) << shard;
  }
}

class CallMemoryTest : public RequestLimitsTest {
 protected:
  void SetUp() override {
    options.call_bytes_max = 1 << 20;
    RequestLimitsTest::SetUp();
    PutMany(10, std::string(100'000, 'x'));
  }
  static io::Task<Result<io::Payload>> HoldTask(TabletService* service, io::Loop* loop,
                                                io::Call call) {
    auto client = std::make_shared<const io::Principal>();
    co_return co_await service->Handle(*loop, std::move(client), std::move(call));
  }
  // What served a call on a shard lets go of it after the answer.
  void WaitForNone() {
    for (int i = 0; i < 5000 && service->call_bytes() > 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(service->call_bytes(), 0);
  }
  // The answer as it would wait to be sent.
  Result<io::Payload> Hold(io::Call call) {
    return io::SyncWait(loop(), HoldTask(service.get(), &loop(), std::move(call)));
  }
};

TEST_F(CallMemoryTest, AnswersThatNobodyTakesAreBounded) {
  const auto lookup = LookupOf({0, 1, 2, 3, 4, 5, 6, 7, 8});
  const auto scan = ScanOf(9);
  wire::PrefixLookupRequest prefix;
  ASSERT_TRUE(prefix.ParseFromString(wire::Serialize(lookup)));
  wire::ScanKvRequest session;
  session.mutable_bucket_scan_req()->set_table_id(kKeyTable);
  session.mutable_bucket_scan_req()->set_bucket_id(0);
  session.set_batch_size_bytes(900'000);
  session.set_call_seq_id(0);
  const auto looked_up = [&]() -> Status {
    ASSIGN_OR_RAISE(const auto answer, Ask<wire::LookupResponse>(ApiKey::kLookup, lookup, 1));
    return wire::ErrorOf(answer.buckets_resp(0));
  };
  const auto scanned = [&]() -> Status {
    ASSIGN_OR_RAISE(const auto answer, Ask<wire::LimitScanResponse>(ApiKey::kLimitScan, scan));
    return wire::ErrorOf(answer);
  };
  const io::Call calls[] = {
      MakeCall(ApiKey::kLookup, lookup, 1), MakeCall(ApiKey::kLimitScan, scan),
      MakeCall(ApiKey::kPrefixLookup, prefix, 1), MakeCall(ApiKey::kScanKv, session)};
  for (const io::Call& call : calls) {
    SCOPED_TRACE(call.api_key);
    WaitForNone();
    ASSERT_OK(looked_up());  // One alone may.
    WaitForNone();
    {
      ASSERT_OK_AND_ASSIGN(const io::Payload unsent, Hold(call));
      // Retriable, also for those who do not know of backpressure.
      EXPECT_CODE(ErrorCode::kKvStorage, looked_up());
      EXPECT_CODE(ErrorCode::kKvStorage, scanned());
      EXPECT_OK(Lookup(1, {1}));  // Small ones go on.
    }
    WaitForNone();
    EXPECT_OK(scanned());
  }
}

TEST_F(CallMemoryTest, WaitingFetchesOfManyBucketsAreBounded) {
  std::vector<std::pair<int, int64_t>> asked(1200, {3, 0});
  FetchOptions how;
  how.min_bytes = 1;
  how.max_wait_ms = 60'000;
  const auto call = MakeCall(ApiKey::kFetchLog, FetchRequest(asked, how));
  std::latch ended(1);
  io::Spawn(Answer(service.get(), &loop(), call, [&] { ended.count_down(); }));
  how.max_wait_ms = 0;
  // It may not have begun yet.
  Status second;
  for (int i = 0; i < 5000 && second.ok(); ++i) {
    second = Answered(ApiKey::kFetchLog, FetchRequest(asked, how));
    if (second.ok()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_CODE(ErrorCode::kStorageBackpressure, second);
  EXPECT_OK(Fetch({{3, 0}}));
  service->EndWaits();
  ended.wait();
}

// The mailboxes of the shards are bounded for every call of a client.
class MailboxTest : public RequestLimitsTest {
 protected:
  void SetUp() override {
    mailbox_bytes_max = 1;
    RequestLimitsTest::SetUp();
  }
  // Fill each mailbox with one call; what comes then is refused. The shards do nothing meanwhile.
  template <typename M>
  Result<std::string> AskTheBusy(ApiKey key, const M& request) {
    std::latch go(1), stopped(2);
    for (size_t shard = 0; shard < 2; ++shard) {
      shards->loop(shard).Post([&] {
        stopped.count_down();
        go.wait();
      });
    }
    stopped.wait();
    std::atomic<int> ran = 0;
    for (size_t shard = 0; shard < 2; ++shard)
      EXPECT_TRUE(shards->TryPost(shard, 1, [&ran] { ++ran; }));
    auto answer = Send(MakeCall(key, request));
    go.count_down();
    while (ran < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return answer;
  }
};

TEST_F(MailboxTest, EveryCallOfAClientIsRefusedWhenItIsFull) {
  const auto refused = static_cast<int>(ErrorCode::kKvStorage);
  ASSERT_OK_AND_ASSIGN(std::string answer, AskTheBusy(ApiKey::kListOffsets, OffsetsOf(4)));
  ASSERT_OK_AND_ASSIGN(const auto offsets, wire::ParseMessage<wire::ListOffsetsResponse>(answer));
  ASSERT_EQ(offsets.buckets_resp_size(), 4);
  for (const auto& bucket : offsets.buckets_resp()) EXPECT_EQ(bucket.error_code(), refused);
  ASSERT_OK_AND_ASSIGN(answer, AskTheBusy(ApiKey::kLimitScan, ScanOf(1)));
  EXPECT_EQ(wire::ParseMessage<wire::LimitScanResponse>(answer).ValueOrDie().error_code(), refused);
  wire::ScanKvRequest scan;
  scan.mutable_bucket_scan_req()->set_table_id(kKeyTable);
  scan.mutable_bucket_scan_req()->set_bucket_id(0);
  scan.set_batch_size_bytes(1);
  scan.set_call_seq_id(0);
  ASSERT_OK_AND_ASSIGN(answer, AskTheBusy(ApiKey::kScanKv, scan));
  EXPECT_EQ(wire::ParseMessage<wire::ScanKvResponse>(answer).ValueOrDie().error_code(), refused);
  wire::GetTableStatsRequest stats;
  stats.set_table_id(kKeyTable);
  stats.add_buckets_req()->set_bucket_id(0);
  ASSERT_OK_AND_ASSIGN(answer, AskTheBusy(ApiKey::kGetTableStats, stats));
  EXPECT_EQ(wire::ParseMessage<wire::GetTableStatsResponse>(answer)
                .ValueOrDie()
                .buckets_resp(0)
                .error_code(),
            refused);
  wire::ScanKvRequest close;
  close.set_scanner_id(std::string(32, '0'));
  close.set_close_scanner(true);
  EXPECT_CODE(ErrorCode::kStorageBackpressure, AskTheBusy(ApiKey::kScanKv, close));
}

}  // namespace
}  // namespace sluice::tablet
