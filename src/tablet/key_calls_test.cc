#include "tablet/testing_internal.h"

namespace sluice::tablet {
namespace {

using internal::kKeyTable;
using internal::kLogTable;
using internal::TestChange;
using internal::TestRow;
using wire::ChangeType;

using Rows = std::vector<std::optional<TestRow>>;

class KeyCallsTest : public internal::TabletTest {
 protected:
  void SetUp() override {
    TabletTest::SetUp();
    LeadAll();
  }
};

TEST_F(KeyCallsTest, LookupReturnsWhatWasAcknowledged) {
  ASSERT_OK_AND_ASSIGN(const int64_t end, Put(0, {{1, "a", 10}, {2, "b", 20}}));
  EXPECT_EQ(end, 2);
  ASSERT_OK_AND_ASSIGN(auto found, Lookup(0, {2, 3, 1}));
  EXPECT_EQ(found, (Rows{TestRow{2, "b", 20}, std::nullopt, TestRow{1, "a", 10}}));
  ASSERT_OK(Put(0, {{1, "c", 30}}, {2}));
  ASSERT_OK_AND_ASSIGN(found, Lookup(0, {1, 2}));
  EXPECT_EQ(found, (Rows{TestRow{1, "c", 30}, std::nullopt}));
}

TEST_F(KeyCallsTest, LookupsMayBringRowsThatAreAbsent) {
  ASSERT_OK(Put(0, {{1, "a", 10}}));
  wire::LookupRequest request;
  request.set_table_id(kKeyTable);
  request.set_insert_if_not_exists(true);
  auto* keys = request.add_buckets_req();
  keys->set_bucket_id(0);
  for (const int32_t id : {2, 1, 2}) keys->add_keys(KeyOf(id));
  const auto ask = [&] { return Ask<wire::LookupResponse>(wire::ApiKey::kLookup, request, 1); };
  EXPECT_CODE(ErrorCode::kInvalidRequiredAcks, ask());
  request.set_acks(-1);
  request.set_timeout_ms(10'000);
  for (int round = 0; round < 2; ++round) {
    ASSERT_OK_AND_ASSIGN(const auto response, ask());
    const auto& values = response.buckets_resp(0).values();
    ASSERT_EQ(values.size(), 3);
    EXPECT_EQ(DecodeValue(values[0].values()), (TestRow{2, {}, 0}));
    EXPECT_EQ(DecodeValue(values[1].values()), (TestRow{1, "a", 10}));
    EXPECT_EQ(values[2].values(), values[0].values());
  }
  EXPECT_EQ(ReadAll(kKeyTable, 0).size(), 2u);
  keys->set_keys(0, "no key");
  ASSERT_OK_AND_ASSIGN(const auto refused, ask());
  EXPECT_EQ(refused.buckets_resp(0).error_code(), static_cast<int>(ErrorCode::kInvalidTable));
}

TEST_F(KeyCallsTest, ChangelogShowsEveryChange) {
  ASSERT_OK(Put(0, {{1, "a", 10}, {2, "b", 20}}));
  ASSERT_OK(Put(0, {{1, "c", 30}}, {2, 9}));
  EXPECT_EQ(ReadAll(kKeyTable, 0),
            (std::vector<TestChange>{{ChangeType::kInsert, {1, "a", 10}},
                                     {ChangeType::kInsert, {2, "b", 20}},
                                     {ChangeType::kUpdateBefore, {1, "a", 10}},
                                     {ChangeType::kUpdateAfter, {1, "c", 30}},
                                     {ChangeType::kDelete, {2, "b", 20}}}));
}

TEST_F(KeyCallsTest, PartialUpdateKeepsTheOtherColumns) {
  ASSERT_OK(Put(0, {{1, "a", 10}}));
  ASSERT_OK(Put(0, {{1, "ignored", 99}}, {}, -1, -1, {0, 2}));
  ASSERT_OK_AND_ASSIGN(const auto found, Lookup(0, {1}));
  EXPECT_EQ(found, (Rows{TestRow{1, "a", 99}}));
  EXPECT_CODE(ErrorCode::kInvalidTargetColumn, Put(0, {{1, "x", 1}}, {}, -1, -1, {1}));
}

TEST_F(KeyCallsTest, RepeatedPutChangesNothingAndSucceeds) {
  EXPECT_EQ(Put(0, {{1, "a", 10}}, {}, 7, 0).ValueOr(-1), 1);
  EXPECT_EQ(Put(0, {{1, "b", 20}}, {}, 7, 1).ValueOr(-1), 3);
  EXPECT_EQ(Put(0, {{1, "a", 10}}, {}, 7, 0).ValueOr(-1), 1);  // Its own end.
  ASSERT_OK_AND_ASSIGN(const auto found, Lookup(0, {1}));
  EXPECT_EQ(found, (Rows{TestRow{1, "b", 20}}));
  EXPECT_CODE(ErrorCode::kOutOfOrderSequence, Put(0, {{2, "x", 0}}, {}, 7, 5));
  ASSERT_OK_AND_ASSIGN(const auto not_there, Lookup(0, {2}));
  EXPECT_EQ(not_there, (Rows{std::nullopt}));
}

TEST_F(KeyCallsTest, PutThatChangesNothingKeepsItsSequence) {
  EXPECT_EQ(Put(0, {}, {5}, 7, 0).ValueOr(-1), 1);  // An empty batch takes one offset.
  EXPECT_EQ(Put(0, {{1, "a", 10}}, {}, 7, 1).ValueOr(-1), 2);
  EXPECT_EQ(Put(0, {}, {5}).ValueOr(-1), 2);  // Without a writer nothing is spent.
  ASSERT_OK_AND_ASSIGN(const int64_t latest, OffsetOf(kKeyTable, 0, 1));
  EXPECT_EQ(latest, 2);
}

TEST_F(KeyCallsTest, DeletesFollowTheTablesBehaviour) {
  ASSERT_OK(Put(0, {{1, "a", 10}}));
  tables.SetProperty(kKeyTable, "table.delete.behavior", "disable");
  ASSERT_OK(TellChanged(kKeyTable));
  EXPECT_CODE(ErrorCode::kDeletionDisabled, Put(0, {}, {1}));
  tables.SetProperty(kKeyTable, "table.delete.behavior", "ignore");
  ASSERT_OK(TellChanged(kKeyTable));
  ASSERT_OK(Put(0, {}, {1}));
  ASSERT_OK_AND_ASSIGN(const auto found, Lookup(0, {1}));
  EXPECT_EQ(found, (Rows{TestRow{1, "a", 10}}));
}

TEST_F(KeyCallsTest, RefusesBadPuts) {
  EXPECT_CODE(ErrorCode::kCorruptRecord, PutBytes(0, "garbage"));
  EXPECT_CODE(ErrorCode::kCorruptRecord, PutBytes(0, ""));
  std::string damaged = wire::BuildKvBatch(1, -1, -1, std::vector<wire::KvRecord>{{"key", "row"}});
  damaged.back() = 'x';
  EXPECT_CODE(ErrorCode::kCorruptRecord, PutBytes(0, damaged));
  EXPECT_CODE(
      ErrorCode::kSchemaNotExist,
      PutBytes(0, wire::BuildKvBatch(2, -1, -1, std::vector<wire::KvRecord>{{"key", "row"}})));
  EXPECT_CODE(ErrorCode::kUnknownTableOrBucket, Put(9, {{1, "a", 1}}));
  EXPECT_TRUE(ReadAll(kKeyTable, 0).empty());
}

TEST_F(KeyCallsTest, KeysOfALogTableAreRefused) {
  wire::LookupRequest request;
  request.set_table_id(kLogTable);
  auto* keys = request.add_buckets_req();
  keys->set_bucket_id(0);
  keys->add_keys("k");
  ASSERT_OK_AND_ASSIGN(const auto response,
                       Ask<wire::LookupResponse>(wire::ApiKey::kLookup, request, 1));
  EXPECT_EQ(response.buckets_resp(0).error_code(), 20);
}

TEST_F(KeyCallsTest, OldClientsCannotUseNewKeys) {
  const std::string batch = wire::BuildKvBatch(1, -1, -1, {});
  tables.SetProperty(kKeyTable, "table.datalake.format", "paimon");
  tables.SetProperty(kKeyTable, "table.kv.format-version", "2");
  ASSERT_OK(TellChanged(kKeyTable));
  EXPECT_OK(
      PutBytes(0, batch, {}, /*version=*/0));  // Bucket key = primary key: both encodings agree.
  tables.SetBucketKeys(kKeyTable, {"name"});
  ASSERT_OK(TellChanged(kKeyTable));
  EXPECT_CODE(ErrorCode::kUnsupportedVersion, PutBytes(0, batch, {}, /*version=*/0));
  EXPECT_OK(PutBytes(0, batch, {}, /*version=*/1));
}

// Keys in memory are full and cannot move to the store; old clients do not know the code for it.
TEST_F(KeyCallsTest, OldClientsAreToldAnOlderCode) {
  pool->Stop();
  for (const auto& [version, code] :
       {std::pair<int16_t, ErrorCode>{2, ErrorCode::kStorageBackpressure},
        {1, ErrorCode::kKvStorage}}) {
    const std::string name(1 << 20, 'n');
    Result<int64_t> put = int64_t{0};
    for (int32_t id = 0; put.ok() && id < 100; ++id)
      put = Put(0, {{id, name, id}}, {}, -1, -1, {}, version);
    EXPECT_CODE(code, put);
  }
  Drop();  // Nothing can be closed cleanly any more.
}

TEST_F(KeyCallsTest, PrefixLookupGivesAListPerKey) {
  ASSERT_OK(Put(0, {{1, "a", 10}, {300, "b", 20}}));
  wire::PrefixLookupRequest request;
  request.set_table_id(kKeyTable);
  auto* keys = request.add_buckets_req();
  keys->set_bucket_id(0);
  keys->add_keys("");  // Every key.
  keys->add_keys(KeyOf(1));
  keys->add_keys("\x7f");
  ASSERT_OK_AND_ASSIGN(const auto response,
                       Ask<wire::PrefixLookupResponse>(wire::ApiKey::kPrefixLookup, request, 1));
  const auto& lists = response.buckets_resp(0).value_lists();
  ASSERT_EQ(lists.size(), 3);
  EXPECT_EQ(lists[0].values_size(), 2);
  ASSERT_EQ(lists[1].values_size(), 1);
  EXPECT_EQ(DecodeValue(lists[1].values(0)), (TestRow{1, "a", 10}));
  EXPECT_EQ(lists[2].values_size(), 0);
}

TEST_F(KeyCallsTest, RowsThatAreNotWholeAreRefused) {
  const std::string key = KeyOf(1);
  const auto put = [&](const std::string& name, const std::string& end) {
    std::string row(1, '\0');
    row += key;
    AppendVarint(&row, name.size());
    row += name;
    AppendVarint(&row, 5);
    row += end;
    return PutBytes(0, wire::BuildKvBatch(1, -1, -1, std::vector<wire::KvRecord>{{key, row}}));
  };
  EXPECT_CODE(ErrorCode::kInvalidTable, put("a\xff", ""));
  EXPECT_CODE(ErrorCode::kInvalidTable, put("a", "more"));
  EXPECT_EQ(Lookup(0, {1}).ValueOrDie(), (Rows{std::nullopt}));
  EXPECT_TRUE(ReadAll(kKeyTable, 0).empty());
  ASSERT_OK(put("a", ""));
  EXPECT_EQ(Lookup(0, {1}).ValueOrDie(), (Rows{TestRow{1, "a", 5}}));
}

// After a restart the store is not even open: what the first scan meets is read by the pool.
TEST_F(KeyCallsTest, ColdScansReadEverything) {
  ASSERT_OK(Put(0, {{1, "a", 1}, {2, "b", 2}, {3, "c", 3}}));
  Stop();
  Start();
  LeadAll(1);
  ASSERT_OK(Put(0, {{4, "d", 4}}, {2}));
  wire::LimitScanRequest request;
  request.set_table_id(kKeyTable);
  request.set_bucket_id(0);
  request.set_limit(3);
  ASSERT_OK_AND_ASSIGN(const auto scanned,
                       Ask<wire::LimitScanResponse>(wire::ApiKey::kLimitScan, request));
  ASSERT_OK_AND_ASSIGN(const auto values, wire::ParseValueBatch(scanned.records()));
  EXPECT_EQ(values.size(), 3u);
  wire::PrefixLookupRequest lookup;
  lookup.set_table_id(kKeyTable);
  auto* keys = lookup.add_buckets_req();
  keys->set_bucket_id(0);
  for (const int32_t id : {3, 2, 4}) keys->add_keys(KeyOf(id));
  ASSERT_OK_AND_ASSIGN(const auto found,
                       Ask<wire::PrefixLookupResponse>(wire::ApiKey::kPrefixLookup, lookup, 1));
  ASSERT_OK(wire::ErrorOf(found.buckets_resp(0)));
  const auto& lists = found.buckets_resp(0).value_lists();
  ASSERT_EQ(lists.size(), 3);
  EXPECT_EQ(DecodeValue(lists[0].values(0)), (TestRow{3, "c", 3}));
  EXPECT_EQ(lists[1].values_size(), 0);
  EXPECT_EQ(DecodeValue(lists[2].values(0)), (TestRow{4, "d", 4}));
}

TEST_F(KeyCallsTest, LimitScanGivesRowsInKeyOrder) {
  ASSERT_OK(Put(0, {{3, "c", 3}, {1, "a", 1}, {2, "b", 2}}));
  wire::LimitScanRequest request;
  request.set_table_id(kKeyTable);
  request.set_bucket_id(0);
  request.set_limit(2);
  ASSERT_OK_AND_ASSIGN(const auto response,
                       Ask<wire::LimitScanResponse>(wire::ApiKey::kLimitScan, request));
  EXPECT_FALSE(response.is_log_table());
  ASSERT_OK_AND_ASSIGN(const auto values, wire::ParseValueBatch(response.records()));
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(DecodeValue(wire::BuildStoredValue(values[0].schema_id, values[0].row)),
            (TestRow{1, "a", 1}));
}

TEST_F(KeyCallsTest, StatsCountRows) {
  ASSERT_OK(Put(0, {{1, "a", 10}, {2, "b", 20}}));
  ASSERT_OK(Put(0, {{1, "c", 30}}, {2}));
  ASSERT_OK(Produce(1, LogBatch({{1, "a", 1}, {2, "b", 2}})));
  const auto count = [&](int64_t table_id, int bucket) {
    wire::GetTableStatsRequest request;
    request.set_table_id(table_id);
    request.add_buckets_req()->set_bucket_id(bucket);
    return Ask<wire::GetTableStatsResponse>(wire::ApiKey::kGetTableStats, request)
        .ValueOrDie()
        .buckets_resp(0);
  };
  EXPECT_EQ(count(kKeyTable, 0).row_count(), 1);
  EXPECT_EQ(count(kKeyTable, 1).row_count(), 0);
  EXPECT_TRUE(count(kKeyTable, 1).has_row_count());
  EXPECT_EQ(count(kLogTable, 1).row_count(), 2);
  EXPECT_EQ(count(kLogTable, 9).error_code(), 21);
}

class ScanTest : public KeyCallsTest {
 protected:
  Result<wire::ScanKvResponse> Open(int bucket, int32_t bytes, int64_t limit = 0) {
    wire::ScanKvRequest request;
    request.mutable_bucket_scan_req()->set_table_id(kKeyTable);
    request.mutable_bucket_scan_req()->set_bucket_id(bucket);
    if (limit > 0) request.mutable_bucket_scan_req()->set_limit(limit);
    request.set_batch_size_bytes(bytes);
    request.set_call_seq_id(0);
    return Ask<wire::ScanKvResponse>(wire::ApiKey::kScanKv, request);
  }
  Result<wire::ScanKvResponse> Next(const std::string& id, int32_t sequence) {
    wire::ScanKvRequest request;
    request.set_scanner_id(id);
    request.set_call_seq_id(sequence);
    request.set_batch_size_bytes(100);
    return Ask<wire::ScanKvResponse>(wire::ApiKey::kScanKv, request);
  }
  static size_t Count(const wire::ScanKvResponse& response) {
    return wire::ParseValueBatch(response.records()).ValueOrDie().size();
  }
};

TEST_F(ScanTest, SeesTheKeysAsOfItsOpening) {
  std::vector<TestRow> rows;
  for (int32_t id = 0; id < 100; ++id) rows.push_back({id, "name", id});
  ASSERT_OK(Put(0, rows));
  ASSERT_OK_AND_ASSIGN(auto scan, Open(0, 100));
  ASSERT_FALSE(scan.has_error_code()) << scan.error_message();
  EXPECT_EQ(scan.scanner_id().size(), 32u);
  EXPECT_EQ(scan.log_offset(), 100);
  ASSERT_OK(Put(0, {{1000, "later", 0}}));
  size_t count = Count(scan);
  const std::string id = scan.scanner_id();
  for (int32_t sequence = 1; scan.has_more_results(); ++sequence) {
    ASSERT_OK_AND_ASSIGN(scan, Next(id, sequence));
    ASSERT_FALSE(scan.has_error_code()) << scan.error_message();
    EXPECT_FALSE(scan.has_log_offset());
    count += Count(scan);
  }
  EXPECT_EQ(count, 100u);
  ASSERT_OK_AND_ASSIGN(const auto gone, Next(id, 1000));
  EXPECT_EQ(gone.error_code(), 67);
}

TEST_F(ScanTest, EmptyBucketEndsAtOnce) {
  ASSERT_OK_AND_ASSIGN(const auto scan, Open(1, 100));
  EXPECT_FALSE(scan.has_error_code());
  EXPECT_FALSE(scan.has_more_results());
  EXPECT_FALSE(scan.has_scanner_id());
  EXPECT_EQ(Count(scan), 0u);
}

TEST_F(ScanTest, LimitEndsTheScan) {
  ASSERT_OK(Put(0, {{1, "a", 1}, {2, "b", 2}, {3, "c", 3}}));
  ASSERT_OK_AND_ASSIGN(const auto scan, Open(0, 1 << 20, 2));
  EXPECT_EQ(Count(scan), 2u);
  EXPECT_FALSE(scan.has_more_results());
}

TEST_F(ScanTest, RefusesCallsOutOfOrder) {
  std::vector<TestRow> rows;
  for (int32_t id = 0; id < 100; ++id) rows.push_back({id, "name", id});
  ASSERT_OK(Put(0, rows));
  ASSERT_OK_AND_ASSIGN(const auto scan, Open(0, 100));
  EXPECT_EQ(Next(scan.scanner_id(), 2).ValueOrDie().error_code(), 68);
  EXPECT_FALSE(Next(scan.scanner_id(), 1).ValueOrDie().has_error_code());
  EXPECT_EQ(Next(std::string(32, 'f'), 1).ValueOrDie().error_code(), 67);
  EXPECT_EQ(Next("not an id", 1).ValueOrDie().error_code(), 67);
  EXPECT_EQ(Open(0, 0).ValueOrDie().error_code(), 68);
  EXPECT_EQ(Open(9, 100).ValueOrDie().error_code(), 21);
  EXPECT_EQ(Ask<wire::ScanKvResponse>(wire::ApiKey::kScanKv, wire::ScanKvRequest())
                .ValueOrDie()
                .error_code(),
            68);
}

TEST_F(ScanTest, CloseFreesASlot) {
  std::vector<TestRow> rows;
  for (int32_t id = 0; id < 100; ++id) rows.push_back({id, "name", id});
  ASSERT_OK(Put(0, rows));
  std::string id;
  for (size_t i = 0; i < options.scanners_per_bucket_max; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto scan, Open(0, 100));
    ASSERT_FALSE(scan.has_error_code()) << scan.error_message();
    id = scan.scanner_id();
  }
  EXPECT_EQ(Open(0, 100).ValueOrDie().error_code(), 69);
  wire::ScanKvRequest close;
  close.set_scanner_id(id);
  close.set_close_scanner(true);
  EXPECT_FALSE(
      Ask<wire::ScanKvResponse>(wire::ApiKey::kScanKv, close).ValueOrDie().has_error_code());
  EXPECT_FALSE(Open(0, 100).ValueOrDie().has_error_code());
  EXPECT_FALSE(Ask<wire::ScanKvResponse>(wire::ApiKey::kScanKv, close)
                   .ValueOrDie()
                   .has_error_code());  // Again.
}

}  // namespace
}  // namespace sluice::tablet
