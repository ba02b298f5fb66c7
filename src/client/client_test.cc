#include <arrow/array/array_base.h>
#include <arrow/array/array_binary.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "base/testing.h"
#include "client/admin.h"
#include "client/append_writer.h"
#include "client/client_fixture_testing_internal.h"
#include "client/kv_scanner.h"
#include "client/log_scanner.h"
#include "client/lookuper.h"
#include "client/upsert_writer.h"
#include "types/row.h"

namespace sluice::client {
namespace {

TEST_F(ClientTest, AppendedRowsComeBackInOrder) {
  const auto table = fake_->Add(kPath, Descriptor({}, {"id"}, 1));
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       Wait(AppendWriter::Open(loop_, cluster_, kPath, SmallBatches())));
  for (int i = 0; i < 200; i += 4)
    ASSERT_OK(Wait(writer->Append(Numbered(table.info.descriptor, i, 4))));
  ASSERT_OK(Wait(writer->Flush()));
  EXPECT_EQ(writer->counts().rows_acked, 200);
  EXPECT_EQ(writer->counts().rows_pending, 0);
  EXPECT_GT(writer->counts().batches_acked, 5);
  ASSERT_OK_AND_ASSIGN(const auto scanner, Wait(LogScanner::Open(loop_, cluster_, kPath, {})));
  const types::BucketId bucket{table.info.table_id, std::nullopt, 0};
  EXPECT_EQ(ReadLog(scanner.get(), bucket, 0), Expected(200));
  EXPECT_EQ(scanner->Position(bucket), 200);
  EXPECT_EQ(scanner->HighWatermark(bucket), 200);
  const auto all = Expected(200);
  EXPECT_EQ(ReadLog(scanner.get(), bucket, 41),
            std::vector<std::string>(all.begin() + 41, all.end()));
}

// The promise of the writer: whatever is refused or lost on the way, each row arrives once, in
// order.
TEST_F(ClientTest, RefusedCallsAndLostRepliesNeitherLoseNorRepeatRows) {
  const auto table = fake_->Add(kPath, Descriptor({}, {"id"}, 1));
  for (int seed = 0; seed < 20; ++seed) {
    fake_->Add(kPath, Descriptor({}, {"id"}, 1));  // A new table, a new log.
    ASSERT_OK_AND_ASSIGN(const auto writer,
                         Wait(AppendWriter::Open(loop_, cluster_, kPath, SmallBatches())));
    fake_->fault = [this](wire::ApiKey key) {
      if (key != wire::ApiKey::kProduceLog) return FakeCluster::Fault::kNone;
      const uint64_t dice = world_.random().Below(10);
      return dice == 0   ? FakeCluster::Fault::kRefuse
             : dice == 1 ? FakeCluster::Fault::kLoseReply
                         : FakeCluster::Fault::kNone;
    };
    for (int i = 0; i < 200; i += 4)
      ASSERT_OK(Wait(writer->Append(Numbered(table.info.descriptor, i, 4))));
    ASSERT_OK(Wait(writer->Flush()));
    fake_->fault = [](wire::ApiKey) { return FakeCluster::Fault::kNone; };
    EXPECT_EQ(writer->counts().rows_acked, 200);
    EXPECT_GT(writer->counts().retries, 0);
    ASSERT_OK_AND_ASSIGN(const auto scanner, Wait(LogScanner::Open(loop_, cluster_, kPath, {})));
    const types::BucketId bucket{writer->table().info.table_id, std::nullopt, 0};
    EXPECT_EQ(ReadLog(scanner.get(), bucket, 0), Expected(200)) << "seed " << seed;
  }
}

TEST_F(ClientTest, AtMostFiveBatchesOfABucketAreUnderWay) {
  const auto table = fake_->Add(kPath, Descriptor({}, {"id"}, 1));
  WriterOptions options = SmallBatches();
  options.buffer_bytes_max = 1 << 20;
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       Wait(AppendWriter::Open(loop_, cluster_, kPath, options)));
  fake_->delay_max = std::chrono::milliseconds(0);
  int64_t before = 0;
  // Every call hangs until time moves; nothing moves it while we append.
  fake_->fault = [&](wire::ApiKey) { return FakeCluster::Fault::kNone; };
  fake_->delay_max = std::chrono::milliseconds(1000);
  before = fake_->calls(wire::ApiKey::kProduceLog);
  for (int i = 0; i < 100; i += 10)
    ASSERT_OK(Wait(writer->Append(Numbered(table.info.descriptor, i, 10))));
  EXPECT_LE(fake_->calls(wire::ApiKey::kProduceLog) - before, 5);
  ASSERT_OK(Wait(writer->Flush()));
  EXPECT_EQ(writer->counts().rows_acked, 100);
}

// As it takes a while to make room on a disk, but not for ever.
TEST_F(ClientTest, AWriterSaysWhatAServerRefusesForItsStorage) {
  const auto table = fake_->Add(kPath, Descriptor({}, {"id"}, 1));
  WriterOptions options = SmallBatches();
  options.storage_timeout = std::chrono::seconds(3);
  int refusals = 4;
  fake_->fault = [&](wire::ApiKey key) {
    return key == wire::ApiKey::kProduceLog && refusals-- > 0 ? FakeCluster::Fault::kRefuse
                                                              : FakeCluster::Fault::kNone;
  };
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       Wait(AppendWriter::Open(loop_, cluster_, kPath, options)));
  ASSERT_OK(Wait(writer->Append(Numbered(table.info.descriptor, 0, 4))));
  ASSERT_OK(Wait(writer->Flush()));

  refusals = 1 << 20;
  const auto before = loop_.clock().Monotonic();
  ASSERT_OK(Wait(writer->Append(Numbered(table.info.descriptor, 4, 4))));
  const Status refused = Wait(writer->Flush());
  EXPECT_CODE(ErrorCode::kStorage, refused);
  EXPECT_NE(refused.message().find("refused by the test"), std::string::npos);
  EXPECT_LT(loop_.clock().Monotonic() - before, std::chrono::seconds(20));
}

TEST_F(ClientTest, FinalErrorsStopTheWriter) {
  const auto table = fake_->Add(kPath, Descriptor({}, {"id"}, 1));
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       Wait(AppendWriter::Open(loop_, cluster_, kPath, SmallBatches())));
  fake_->refusal = Error(ErrorCode::kAuthorization, "not allowed");
  fake_->fault = [](wire::ApiKey key) {
    return key == wire::ApiKey::kProduceLog ? FakeCluster::Fault::kRefuse
                                            : FakeCluster::Fault::kNone;
  };
  ASSERT_OK(Wait(writer->Append(Numbered(table.info.descriptor, 0, 4))));
  EXPECT_CODE(ErrorCode::kAuthorization, Wait(writer->Flush()));
  EXPECT_CODE(ErrorCode::kAuthorization,
              Wait(writer->Append(Numbered(table.info.descriptor, 4, 40))));
  EXPECT_EQ(writer->counts().rows_acked, 0);
}

TEST_F(ClientTest, LingeringRowsAreSentWithoutFlush) {
  const auto table = fake_->Add(kPath, Descriptor({}, {"id"}, 1));
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       Wait(AppendWriter::Open(loop_, cluster_, kPath, WriterOptions())));
  ASSERT_OK(Wait(writer->Append(Numbered(table.info.descriptor, 0, 3))));
  EXPECT_EQ(writer->counts().rows_pending, 3);
  world_.RunFor(std::chrono::milliseconds(300));
  EXPECT_EQ(writer->counts().rows_acked, 3);
}

TEST_F(ClientTest, KeyedRowsGoToTheBucketOfTheirHash) {
  const auto table = fake_->Add(kPath, Descriptor({}, {"id"}, 4));
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       Wait(AppendWriter::Open(loop_, cluster_, kPath, WriterOptions())));
  ASSERT_OK(Wait(writer->Append(Numbered(table.info.descriptor, 0, 100))));
  ASSERT_OK(Wait(writer->Flush()));
  ASSERT_OK_AND_ASSIGN(const auto scanner, Wait(LogScanner::Open(loop_, cluster_, kPath, {})));
  int total = 0;
  for (int32_t bucket = 0; bucket < 4; ++bucket) {
    for (const std::string& text :
         ReadLog(scanner.get(), {table.info.table_id, std::nullopt, bucket}, 0)) {
      const int id = std::stoi(text.substr(text.find(':') + 1));
      std::string key;  // The compacted form of a small INT is one byte.
      key.push_back(static_cast<char>(id));
      EXPECT_EQ(types::BucketOf("", key, 4), bucket) << id;
      ++total;
    }
  }
  EXPECT_EQ(total, 100);
}

TEST_F(ClientTest, RowsWithoutBucketKeyFillOneBucketAfterAnother) {
  const auto table = fake_->Add(kPath, Descriptor({}, {}, 3));
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       Wait(AppendWriter::Open(loop_, cluster_, kPath, SmallBatches())));
  for (int i = 0; i < 300; i += 10)
    ASSERT_OK(Wait(writer->Append(Numbered(table.info.descriptor, i, 10))));
  ASSERT_OK(Wait(writer->Flush()));
  int64_t total = 0;
  for (int32_t bucket = 0; bucket < 3; ++bucket) {
    const int64_t rows = fake_->log({table.info.table_id, std::nullopt, bucket}).end_offset;
    EXPECT_GT(rows, 50);
    total += rows;
  }
  EXPECT_EQ(total, 300);
}

TEST_F(ClientTest, RowsMakeTheirPartitions) {
  auto descriptor = Descriptor({}, {"id"}, 2);
  descriptor.partition_keys = {"name"};
  const auto table = fake_->Add(kPath, descriptor);
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       Wait(AppendWriter::Open(loop_, cluster_, kPath, WriterOptions())));
  ASSERT_OK(Wait(
      writer->Append(RowsOf(descriptor.schema.columns, R"([[1,"eu",1],[2,"us",2],[3,"eu",3]])"))));
  ASSERT_OK(Wait(writer->Flush()));
  ASSERT_OK_AND_ASSIGN(const auto eu, Wait(cluster_->Partition(loop_, kPath, "eu")));
  int64_t rows = 0;
  for (int32_t bucket = 0; bucket < 2; ++bucket)
    rows += fake_->log({table.info.table_id, eu->partition_id, bucket}).end_offset;
  EXPECT_EQ(rows, 2);
  EXPECT_CODE(ErrorCode::kPartitionSpecInvalid,
              Wait(writer->Append(RowsOf(descriptor.schema.columns, R"([[1,"a/b",1]])"))));
}

TEST_F(ClientTest, WrongRowsAreRefusedByName) {
  const auto table = fake_->Add(kPath, Descriptor({"id"}, {"id"}, 1));
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       Wait(UpsertWriter::Open(loop_, cluster_, kPath, WriterOptions())));
  const auto null_key =
      Wait(writer->Upsert(RowsOf(table.info.descriptor.schema.columns, R"([[null,"a",1]])")));
  EXPECT_CODE(ErrorCode::kInvalidTable, null_key);
  EXPECT_THAT(null_key.message(), testing::HasSubstr("column=id"));
  EXPECT_CODE(ErrorCode::kInvalidTable,
              Wait(writer->Upsert(RowsOf({{"id", DataType::Of(TypeKind::kBigInt)}}, "[[1]]"))));
  EXPECT_CODE(ErrorCode::kInvalidTable,
              Wait(AppendWriter::Open(loop_, cluster_, kPath, WriterOptions())));
  EXPECT_CODE(ErrorCode::kTableNotExist,
              Wait(AppendWriter::Open(loop_, cluster_, {"db", "none"}, WriterOptions())));
}

TEST_F(ClientTest, UpsertsAndDeletesShowInLookupsAndScans) {
  const auto table = fake_->Add(kPath, Descriptor({"id"}, {"id"}, 3));
  const auto& columns = table.info.descriptor.schema.columns;
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       Wait(UpsertWriter::Open(loop_, cluster_, kPath, SmallBatches())));
  ASSERT_OK(Wait(writer->Upsert(Numbered(table.info.descriptor, 0, 50))));
  ASSERT_OK(Wait(writer->Upsert(RowsOf(columns, R"([[7,"seven",null]])"))));
  ASSERT_OK(Wait(writer->Delete(RowsOf({columns[0]}, "[[8],[1000]]"))));
  ASSERT_OK(Wait(writer->Delete(RowsOf(columns, R"([[9,"ignored",0]])"))));
  ASSERT_OK(Wait(writer->Flush()));
  EXPECT_EQ(writer->counts().rows_acked, 54);

  ASSERT_OK_AND_ASSIGN(const auto lookuper, Wait(Lookuper::Open(loop_, cluster_, kPath)));
  ASSERT_OK_AND_ASSIGN(const auto found,
                       Wait(lookuper->Lookup(loop_, RowsOf({columns[0]}, "[[7],[8],[3],[7]]"))));
  EXPECT_TRUE(found.of_key[1].empty());
  ASSERT_EQ(found.of_key[0].size(), 1u);
  const auto& names = static_cast<const arrow::StringArray&>(*found.rows->column(1));
  EXPECT_EQ(names.GetString(found.of_key[0][0]), "seven");
  EXPECT_EQ(names.GetString(found.of_key[2][0]), "name3");
  EXPECT_EQ(names.GetString(found.of_key[3][0]), "seven");
  EXPECT_TRUE(found.rows->column(2)->IsNull(found.of_key[0][0]));

  int64_t scanned = 0;
  for (int32_t bucket = 0; bucket < 3; ++bucket) {
    const types::BucketId id{table.info.table_id, std::nullopt, bucket};
    ASSERT_OK_AND_ASSIGN(const auto scanner, Wait(KvScanner::Open(loop_, cluster_, kPath, id)));
    EXPECT_EQ(scanner->log_offset(), fake_->log(id).end_offset);
    for (;;) {
      ASSERT_OK_AND_ASSIGN(const Rows rows, Wait(scanner->Next()));
      if (rows == nullptr) break;
      scanned += rows->num_rows();
    }
    ASSERT_OK_AND_ASSIGN(const Rows some, Wait(LimitScan(loop_, cluster_, kPath, id, 2)));
    EXPECT_EQ(some->num_rows(), 2);
  }
  EXPECT_EQ(scanned, 48);
}

TEST_F(ClientTest, AScanOfATableThatWasMadeAnewSaysSo) {
  const auto table = fake_->Add(kPath, Descriptor({"id"}, {"id"}, 1));
  const types::BucketId before{table.info.table_id + 7, std::nullopt, 0};
  LogScannerOptions options;
  options.table_id = before.table_id;
  const auto of_log = Wait(LogScanner::Open(loop_, cluster_, kPath, options)).status();
  const auto of_keys = Wait(KvScanner::Open(loop_, cluster_, kPath, before)).status();
  const auto limited = Wait(LimitScan(loop_, cluster_, kPath, before, 2)).status();
  for (const Status& refused : {of_log, of_keys, limited}) {
    EXPECT_CODE(ErrorCode::kTableNotExist, refused);
    EXPECT_THAT(refused.message(), testing::HasSubstr("made anew"));
  }
  options.table_id = table.info.table_id;
  ASSERT_OK(Wait(LogScanner::Open(loop_, cluster_, kPath, options)));
}

TEST_F(ClientTest, AScanWaitsForRoomButNotForEver) {
  const auto table = fake_->Add(kPath, Descriptor({"id"}, {"id"}, 1));
  const types::BucketId id{table.info.table_id, std::nullopt, 0};
  int refusals = 6;
  fake_->refusal = Error(ErrorCode::kTooManyScanners, "refused by the test");
  fake_->fault = [&](wire::ApiKey key) {
    const bool refuses = key == wire::ApiKey::kScanKv && refusals-- > 0;
    return refuses ? FakeCluster::Fault::kRefuse : FakeCluster::Fault::kNone;
  };
  ASSERT_OK(Wait(KvScanner::Open(loop_, cluster_, kPath, id)));
  refusals = 1000;
  EXPECT_CODE(ErrorCode::kTooManyScanners, Wait(KvScanner::Open(loop_, cluster_, kPath, id)));
  EXPECT_EQ(refusals, 992);
}

TEST_F(ClientTest, UpsertsSurviveFaultsInOrder) {
  const auto table = fake_->Add(kPath, Descriptor({"id"}, {"id"}, 2));
  const auto& columns = table.info.descriptor.schema.columns;
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       Wait(UpsertWriter::Open(loop_, cluster_, kPath, SmallBatches())));
  fake_->fault = [this](wire::ApiKey key) {
    const bool hit = key == wire::ApiKey::kPutKv && world_.random().Below(4) == 0;
    return hit ? FakeCluster::Fault::kLoseReply : FakeCluster::Fault::kNone;
  };
  for (int i = 0; i < 300; ++i) {
    const std::string json = "[[" + std::to_string(i % 5) + ",\"v\"," + std::to_string(i) + "]]";
    ASSERT_OK(Wait(writer->Upsert(RowsOf(columns, json))));
  }
  ASSERT_OK(Wait(writer->Flush()));
  ASSERT_OK_AND_ASSIGN(const auto lookuper, Wait(Lookuper::Open(loop_, cluster_, kPath)));
  ASSERT_OK_AND_ASSIGN(
      const auto found,
      Wait(lookuper->Lookup(loop_, RowsOf({columns[0]}, "[[0],[1],[2],[3],[4]]"))));
  const auto& amounts = static_cast<const arrow::Int64Array&>(*found.rows->column(2));
  for (int key = 0; key < 5; ++key) EXPECT_EQ(amounts.Value(found.of_key[key][0]), 295 + key);
  EXPECT_EQ(fake_->log({table.info.table_id, std::nullopt, 0}).end_offset +
                fake_->log({table.info.table_id, std::nullopt, 1}).end_offset,
            300);
}

TEST_F(ClientTest, PartialUpdatesNeedThePrimaryKey) {
  fake_->Add(kPath, Descriptor({"id"}, {"id"}, 1));
  WriterOptions options;
  options.target_columns = {"amount"};
  EXPECT_CODE(ErrorCode::kInvalidTargetColumn,
              Wait(UpsertWriter::Open(loop_, cluster_, kPath, options)));
  options.target_columns = {"amount", "id"};
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       Wait(UpsertWriter::Open(loop_, cluster_, kPath, options)));
  ASSERT_OK(Wait(writer->Upsert(RowsOf(
      {{"amount", DataType::Of(TypeKind::kBigInt)}, {"id", DataType::Of(TypeKind::kInteger)}},
      "[[5,1]]"))));
  ASSERT_OK(Wait(writer->Flush()));
  ASSERT_OK_AND_ASSIGN(const auto lookuper, Wait(Lookuper::Open(loop_, cluster_, kPath)));
  ASSERT_OK_AND_ASSIGN(
      const auto found,
      Wait(lookuper->Lookup(loop_, RowsOf({{"id", DataType::Of(TypeKind::kInteger)}}, "[[1]]"))));
  EXPECT_TRUE(found.rows->column(1)->IsNull(0));
  EXPECT_EQ(static_cast<const arrow::Int64Array&>(*found.rows->column(2)).Value(0), 5);
}

TEST_F(ClientTest, PrefixLookupFindsAllRowsOfABucketKey) {
  auto descriptor = Descriptor({"id", "name"}, {"id"}, 2);
  descriptor.schema.columns[1].type = DataType::Of(TypeKind::kString, false);
  fake_->Add(kPath, descriptor);
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       Wait(UpsertWriter::Open(loop_, cluster_, kPath, WriterOptions())));
  ASSERT_OK(Wait(
      writer->Upsert(RowsOf(descriptor.schema.columns, R"([[1,"a",1],[1,"b",2],[2,"a",3]])"))));
  ASSERT_OK(Wait(writer->Flush()));
  EXPECT_CODE(ErrorCode::kInvalidTable, Wait(Lookuper::Open(loop_, cluster_, kPath, {"name"})));
  ASSERT_OK_AND_ASSIGN(const auto lookuper, Wait(Lookuper::Open(loop_, cluster_, kPath, {"id"})));
  ASSERT_OK_AND_ASSIGN(
      const auto found,
      Wait(lookuper->Lookup(loop_, RowsOf({descriptor.schema.columns[0]}, "[[1],[2],[3]]"))));
  EXPECT_EQ(found.of_key[0].size(), 2u);
  EXPECT_EQ(found.of_key[1].size(), 1u);
  EXPECT_TRUE(found.of_key[2].empty());
}

TEST_F(ClientTest, ProjectionGivesTheColumnsInTheOrderAsked) {
  const auto table = fake_->Add(kPath, Descriptor({}, {"id"}, 1));
  LogScannerOptions options;
  options.projection = {"amount", "nothing"};
  EXPECT_CODE(ErrorCode::kInvalidColumnProjection,
              Wait(LogScanner::Open(loop_, cluster_, kPath, options)));
  options.projection = {"amount", "id"};
  ASSERT_OK_AND_ASSIGN(const auto scanner, Wait(LogScanner::Open(loop_, cluster_, kPath, options)));
  EXPECT_EQ(scanner->schema()->field_names(), (std::vector<std::string>{"amount", "id"}));
}

TEST_F(ClientTest, RowsCanBeDecodedOnAPool) {
  const auto table = fake_->Add(kPath, Descriptor({}, {"id"}, 1));
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       Wait(AppendWriter::Open(loop_, cluster_, kPath, SmallBatches())));
  ASSERT_OK(Wait(writer->Append(Numbered(table.info.descriptor, 0, 100))));
  ASSERT_OK(Wait(writer->Flush()));
  const auto pool = world_.NewPool({.name = "decode"});
  LogScannerOptions options;
  options.decode_pool = pool.get();
  ASSERT_OK_AND_ASSIGN(const auto scanner, Wait(LogScanner::Open(loop_, cluster_, kPath, options)));
  EXPECT_EQ(ReadLog(scanner.get(), {table.info.table_id, std::nullopt, 0}, 0), Expected(100));
}

TEST_F(ClientTest, ScannersReportOffsetsOutOfRange) {
  const auto table = fake_->Add(kPath, Descriptor({}, {"id"}, 1));
  ASSERT_OK_AND_ASSIGN(const auto scanner, Wait(LogScanner::Open(loop_, cluster_, kPath, {})));
  scanner->Subscribe({table.info.table_id, std::nullopt, 0}, 5);
  EXPECT_CODE(ErrorCode::kLogOffsetOutOfRange, Wait(scanner->Poll(std::chrono::milliseconds(500))));
}

// What was fetched of a bucket before it was subscribed anew must not come out.
TEST_F(ClientTest, SubscribingAgainDropsWhatIsUnderWay) {
  const auto table = fake_->Add(kPath, Descriptor({}, {"id"}, 1));
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       Wait(AppendWriter::Open(loop_, cluster_, kPath, SmallBatches())));
  ASSERT_OK(Wait(writer->Append(Numbered(table.info.descriptor, 0, 50))));
  ASSERT_OK(Wait(writer->Flush()));
  const types::BucketId bucket{table.info.table_id, std::nullopt, 0};
  ASSERT_OK_AND_ASSIGN(const auto scanner, Wait(LogScanner::Open(loop_, cluster_, kPath, {})));
  scanner->Subscribe(bucket, 0);
  ASSERT_OK(
      Wait(scanner->Poll(std::chrono::milliseconds(0))).status());  // Its fetch is under way now.
  const auto all = Expected(50);
  EXPECT_EQ(ReadLog(scanner.get(), bucket, 30),
            std::vector<std::string>(all.begin() + 30, all.end()));
}

TEST_F(ClientTest, OffsetsComeForAllBuckets) {
  const auto table = fake_->Add(kPath, Descriptor({}, {"id"}, 2));
  fake_->log({table.info.table_id, std::nullopt, 1}).end_offset = 12;
  Admin admin(cluster_);
  int refusals = 2;
  fake_->fault = [&](wire::ApiKey key) {
    return key == wire::ApiKey::kListOffsets && refusals-- > 0 ? FakeCluster::Fault::kRefuse
                                                               : FakeCluster::Fault::kNone;
  };
  std::vector<int32_t> buckets = {0, 1};
  ASSERT_OK_AND_ASSIGN(const auto offsets,
                       Wait(admin.ListOffsets(loop_, kPath, table.info.table_id, std::nullopt,
                                              buckets, OffsetType::kLatest, 0)));
  EXPECT_EQ(offsets, (std::map<int32_t, int64_t>{{0, 0}, {1, 12}}));
}

}  // namespace
}  // namespace sluice::client
