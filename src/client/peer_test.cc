#include <arrow/array/array_base.h>
#include <arrow/array/array_primitive.h>
#include <arrow/json/from_string.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <cstdlib>

#include "base/testing.h"
#include "client/admin.h"
#include "client/append_writer.h"
#include "client/kv_scanner.h"
#include "client/log_scanner.h"
#include "client/lookuper.h"
#include "client/socket_servers.h"
#include "client/upsert_writer.h"
#include "io/random.h"

// The client against a running cluster, ours or the Java one: SLUICE_TEST_BOOTSTRAP names it,
// without it all is skipped.
namespace sluice::client {
namespace {

using types::DataType;
using types::TypeKind;
using Rows = std::shared_ptr<arrow::RecordBatch>;

io::Task<void> Pause(io::Loop& loop) { co_await io::Sleep(loop, std::chrono::milliseconds(10)); }

class PeerTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* bootstrap = std::getenv("SLUICE_TEST_BOOTSTRAP");
    if (bootstrap == nullptr) GTEST_SKIP() << "SLUICE_TEST_BOOTSTRAP is not set";
    loops_ = io::LoopThreads::Start("client", 2);
    SocketOptions options;
    options.bootstrap_servers = bootstrap;
    ASSERT_OK_AND_ASSIGN(servers_,
                         SocketServers::Make(io::SystemNetwork(), {&loops_->at(0)}, options));
    cluster_ = Cluster::Make(servers_, Cluster::Options{});
    database_ = "peer_test_" + io::SystemRandom().Uuid().substr(0, 8);
    ASSERT_OK(
        Wait(Admin(cluster_).CreateDatabase(loop(), database_, {"made by a test", {}}, false)));
  }

  void TearDown() override {
    if (cluster_ != nullptr)
      EXPECT_OK(Wait(Admin(cluster_).DropDatabase(loop(), database_, true, /*cascade=*/true)));
    if (servers_ != nullptr) servers_->Close();
    // What waits for an answer ends by that, on its loop, which must still be there.
    for (int i = 0; i < 6000 && cluster_ != nullptr && cluster_.use_count() > 1; ++i)
      Wait(Pause(loop()));
    EXPECT_LE(cluster_.use_count(), 1);
  }

  // Not the loop of the sockets, so that calls cross threads.
  io::Loop& loop() { return loops_->at(1); }

  template <typename T>
  T Wait(io::Task<T> task) {
    return io::SyncWait(loop(), std::move(task));
  }

  types::TablePath Make(const std::string& name, types::TableDescriptor descriptor) {
    const types::TablePath path{database_, name};
    EXPECT_OK(Wait(Admin(cluster_).CreateTable(loop(), path, std::move(descriptor), false)));
    return path;
  }

  std::vector<ScanBatch> ReadLog(LogScanner* scanner, types::BucketId bucket, int64_t rows) {
    scanner->Subscribe(bucket, LogScanner::kEarliest);
    std::vector<ScanBatch> all;
    int64_t seen = 0;
    for (int i = 0; i < 50 && seen < rows; ++i) {
      auto batches = Wait(scanner->Poll(std::chrono::milliseconds(1000)));
      EXPECT_OK(batches.status());
      if (!batches.ok()) break;
      for (ScanBatch& batch : *batches) {
        seen += batch.rows->num_rows();
        all.push_back(std::move(batch));
      }
    }
    EXPECT_EQ(seen, rows);
    return all;
  }

  std::unique_ptr<io::LoopThreads> loops_;
  std::shared_ptr<SocketServers> servers_;
  ClusterPtr cluster_;
  std::string database_;
};

/// One column of each type that keys of any encoder leave alone, after an INT id.
std::vector<types::Column> AllColumns() {
  const auto of = [](TypeKind kind) { return DataType::Of(kind); };
  return {{"id", DataType::Of(TypeKind::kInteger, false)},
          {"c_bool", of(TypeKind::kBoolean)},
          {"c_tiny", of(TypeKind::kTinyInt)},
          {"c_small", of(TypeKind::kSmallInt)},
          {"c_big", of(TypeKind::kBigInt)},
          {"c_float", of(TypeKind::kFloat)},
          {"c_double", of(TypeKind::kDouble)},
          {"c_char", DataType::Char(5)},
          {"c_string", of(TypeKind::kString)},
          {"c_binary", DataType::Binary(3)},
          {"c_bytes", of(TypeKind::kBytes)},
          {"c_dec", DataType::Decimal(10, 2)},
          {"c_wide", DataType::Decimal(30, 5)},
          {"c_date", of(TypeKind::kDate)},
          {"c_time", DataType::Time(0)},
          {"c_time3", DataType::Time(3)},
          {"c_ts0", DataType::Timestamp(0)},
          {"c_ts3", DataType::Timestamp(3)},
          {"c_ts6", DataType::Timestamp(6)},
          {"c_ts9", DataType::Timestamp(9)},
          {"c_ltz3", DataType::TimestampLtz(3)},
          {"c_ltz6", DataType::TimestampLtz(6)},
          {"c_array", DataType::Array(of(TypeKind::kString))},
          {"c_map", DataType::Map(DataType::Of(TypeKind::kString, false), of(TypeKind::kInteger))},
          {"c_row", DataType::Row({{"a", of(TypeKind::kInteger)}, {"b", of(TypeKind::kString)}})}};
}

Rows PeerRows(const std::vector<types::Column>& columns, const std::string& json) {
  arrow::FieldVector fields;
  for (const auto& column : columns)
    fields.push_back(arrow::field(column.name, column.type->ToArrow(), column.type->nullable()));
  const auto array = arrow::json::ArrayFromJSONString(arrow::struct_(fields), json).ValueOrDie();
  return arrow::RecordBatch::FromStructArray(array).ValueOrDie();
}

// CHAR values fill their column: Java keeps the zero bytes that fill up shorter ones in INDEXED
// rows, we drop them.
constexpr const char* kAllRows = R"([
  [1, true, 1, -2, 3, 0.5, -0.25, "abcde", "text", "xyz", "bytes", "12345.67", "-1234567890123456789.12345", 19000, 3600, 3600123,
   -1, 1700000000123, 1700000000123456, 1700000000123456789, -5, -1700000000123456, ["x", null, "a longer element"],
   [["k", 1], ["a longer key", null]], {"a": 5, "b": "nested text"}],
  [2, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
   null, null, null],
  [3, false, -128, 32767, -9223372036854775808, 1e30, 1e300, "vwxyz", "", "abc", "", "-0.01", "0.00001", -1, 0, 0, 0, 0, -1, -1, 0, 0, [], [],
   {"a": null, "b": null}]])";

types::TableDescriptor TableOf(std::vector<types::Column> columns, std::vector<std::string> key,
                               int32_t buckets) {
  types::TableDescriptor table;
  table.schema.columns = std::move(columns);
  table.schema.primary_key = key;
  table.bucket_keys = {"id"};
  table.bucket_count = buckets;
  table.properties["table.replication.factor"] = "1";
  EXPECT_OK(table.schema.AssignIds());
  return table;
}

TEST_F(PeerTest, AppendedRowsOfAllTypesComeBack) {
  const auto columns = AllColumns();
  const auto path = Make("log_all", TableOf(columns, {}, 1));
  const Rows rows = PeerRows(columns, kAllRows);
  ASSERT_OK_AND_ASSIGN(const auto writer, Wait(AppendWriter::Open(loop(), cluster_, path, {})));
  ASSERT_OK(Wait(writer->Append(rows)));
  ASSERT_OK(Wait(writer->Append(rows)));
  ASSERT_OK(Wait(writer->Flush()));
  EXPECT_EQ(writer->counts().rows_acked, 6);
  const types::BucketId bucket{writer->table().info.table_id, std::nullopt, 0};
  ASSERT_OK_AND_ASSIGN(const auto scanner, Wait(LogScanner::Open(loop(), cluster_, path, {})));
  const auto batches = ReadLog(scanner.get(), bucket, 6);
  ASSERT_FALSE(batches.empty());
  EXPECT_TRUE(batches[0].changes.empty());
  for (int i = 0; i < rows->num_columns(); ++i) {
    EXPECT_TRUE(batches[0].rows->column(i)->Slice(0, 3)->Equals(rows->column(i)))
        << columns[i].name;
  }
  EXPECT_EQ(scanner->HighWatermark(bucket), 6);

  LogScannerOptions projected;
  projected.projection = {"c_row", "c_string", "id"};
  ASSERT_OK_AND_ASSIGN(const auto narrow,
                       Wait(LogScanner::Open(loop(), cluster_, path, projected)));
  const auto narrow_batches = ReadLog(narrow.get(), bucket, 6);
  ASSERT_FALSE(narrow_batches.empty());
  EXPECT_TRUE(narrow_batches[0].rows->column(0)->Slice(0, 3)->Equals(rows->column(24)));
  EXPECT_TRUE(narrow_batches[0].rows->column(1)->Slice(0, 3)->Equals(rows->column(8)));
  EXPECT_TRUE(narrow_batches[0].rows->column(2)->Slice(0, 3)->Equals(rows->column(0)));
  ASSERT_OK_AND_ASSIGN(const Rows last, Wait(LimitScan(loop(), cluster_, path, bucket, 2)));
  EXPECT_EQ(last->num_rows(), 2);
  ASSERT_OK_AND_ASSIGN(const auto offsets,
                       Wait(Admin(cluster_).ListOffsets(loop(), path, bucket.table_id, std::nullopt,
                                                        {0}, OffsetType::kLatest, 0)));
  EXPECT_EQ(offsets.at(0), 6);
}

// The server decodes our rows and writes its own change log from them: what we read there was
// understood.
TEST_F(PeerTest, UpsertedRowsOfAllTypesComeBackByLookupScanAndChangeLog) {
  for (const std::string format : {"COMPACTED", "INDEXED"}) {
    SCOPED_TRACE(format);
    const auto columns = AllColumns();
    auto descriptor = TableOf(columns, {"id"}, 1);
    descriptor.properties["table.kv.format"] = format;
    const auto path = Make("kv_" + format, descriptor);
    const Rows rows = PeerRows(columns, kAllRows);
    ASSERT_OK_AND_ASSIGN(const auto writer, Wait(UpsertWriter::Open(loop(), cluster_, path, {})));
    ASSERT_OK(Wait(writer->Upsert(rows)));
    ASSERT_OK(Wait(writer->Flush()));
    ASSERT_OK(Wait(writer->Upsert(rows->Slice(0, 1))));
    ASSERT_OK(Wait(writer->Delete(PeerRows({columns[0]}, "[[2],[77]]"))));
    ASSERT_OK(Wait(writer->Flush()));

    ASSERT_OK_AND_ASSIGN(const auto lookuper, Wait(Lookuper::Open(loop(), cluster_, path)));
    ASSERT_OK_AND_ASSIGN(const auto found,
                         Wait(lookuper->Lookup(loop(), PeerRows({columns[0]}, "[[1],[2],[3]]"))));
    ASSERT_EQ(found.rows->num_rows(), 2);
    EXPECT_TRUE(found.of_key[1].empty());
    for (int i = 0; i < rows->num_columns(); ++i) {
      EXPECT_TRUE(found.rows->column(i)->Slice(0, 1)->Equals(rows->column(i)->Slice(0, 1)))
          << columns[i].name;
      EXPECT_TRUE(found.rows->column(i)->Slice(1, 1)->Equals(rows->column(i)->Slice(2, 1)))
          << columns[i].name;
    }

    const types::BucketId bucket{writer->table().info.table_id, std::nullopt, 0};
    ASSERT_OK_AND_ASSIGN(const auto scanner, Wait(LogScanner::Open(loop(), cluster_, path, {})));
    const auto batches = ReadLog(scanner.get(), bucket, 6);
    std::vector<int> changes;
    std::vector<std::shared_ptr<arrow::RecordBatch>> logged;
    for (const auto& batch : batches) {
      for (const auto change : batch.changes) changes.push_back(static_cast<int>(change));
    }
    EXPECT_EQ(changes, (std::vector<int>{1, 1, 1, 2, 3, 4}));
    for (int i = 0; i < rows->num_columns(); ++i) {
      EXPECT_TRUE(batches[0].rows->column(i)->Slice(0, 3)->Equals(rows->column(i)))
          << columns[i].name;
    }
    ASSERT_OK_AND_ASSIGN(const Rows some, Wait(LimitScan(loop(), cluster_, path, bucket, 10)));
    EXPECT_EQ(some->num_rows(), 2);
    const auto kv_scanner = Wait(KvScanner::Open(loop(), cluster_, path, bucket));
    if (CodeOf(kv_scanner.status()) == ErrorCode::kUnsupportedVersion)
      continue;  // Java 0.9.1 does not have the call.
    ASSERT_OK(kv_scanner.status());
    ASSERT_OK_AND_ASSIGN(const Rows scanned, Wait((*kv_scanner)->Next()));
    EXPECT_EQ(scanned->num_rows(), 2);
    EXPECT_EQ((*kv_scanner)->log_offset(), 6);
    ASSERT_OK_AND_ASSIGN(const Rows end, Wait((*kv_scanner)->Next()));
    EXPECT_EQ(end, nullptr);
  }
}

TEST_F(PeerTest, PartitionsAndBucketsAreFilledAndCounted) {
  std::vector<types::Column> columns = {{"id", DataType::Of(TypeKind::kInteger, false)},
                                        {"day", DataType::Of(TypeKind::kString, false)},
                                        {"v", DataType::Of(TypeKind::kBigInt)}};
  auto descriptor = TableOf(columns, {"id", "day"}, 3);
  descriptor.partition_keys = {"day"};
  const auto path = Make("parts", descriptor);
  ASSERT_OK_AND_ASSIGN(const auto writer, Wait(UpsertWriter::Open(loop(), cluster_, path, {})));
  std::string json = "[";
  for (int i = 0; i < 500; ++i) {
    json += (i == 0 ? "" : ",") + std::string("[") + std::to_string(i) + ",\"" +
            (i % 2 == 0 ? "d1" : "d2") + "\"," + std::to_string(i) + "]";
  }
  ASSERT_OK(Wait(writer->Upsert(PeerRows(columns, json + "]"))));
  ASSERT_OK(Wait(writer->Flush()));
  Admin admin(cluster_);
  ASSERT_OK_AND_ASSIGN(const auto partitions, Wait(admin.ListPartitions(loop(), path, {})));
  ASSERT_EQ(partitions.size(), 2u);
  int64_t rows = 0;
  for (const auto& partition : partitions) {
    ASSERT_OK_AND_ASSIGN(
        const auto offsets,
        Wait(admin.ListOffsets(loop(), path, writer->table().info.table_id, partition.partition_id,
                               {0, 1, 2}, OffsetType::kLatest, 0)));
    for (const auto& [bucket, offset] : offsets) rows += offset;
  }
  EXPECT_EQ(rows, 500);
  ASSERT_OK_AND_ASSIGN(const auto lookuper, Wait(Lookuper::Open(loop(), cluster_, path)));
  EXPECT_EQ(lookuper->key_columns(), (std::vector<std::string>{"id", "day"}));
  ASSERT_OK_AND_ASSIGN(
      const auto found,
      Wait(lookuper->Lookup(loop(), PeerRows({columns[0], columns[1]},
                                             R"([[4,"d1"],[4,"d2"],[5,"d2"],[1,"none"]])"))));
  EXPECT_EQ(found.of_key[0].size(), 1u);
  EXPECT_EQ(found.of_key[1].size(), 0u);
  EXPECT_EQ(found.of_key[2].size(), 1u);
  EXPECT_EQ(found.of_key[3].size(), 0u);
}

TEST_F(PeerTest, PartialUpdatesKeepTheOtherColumns) {
  std::vector<types::Column> columns = {{"id", DataType::Of(TypeKind::kInteger, false)},
                                        {"a", DataType::Of(TypeKind::kString)},
                                        {"b", DataType::Of(TypeKind::kBigInt)}};
  const auto path = Make("partial", TableOf(columns, {"id"}, 1));
  ASSERT_OK_AND_ASSIGN(const auto whole, Wait(UpsertWriter::Open(loop(), cluster_, path, {})));
  ASSERT_OK(Wait(whole->Upsert(PeerRows(columns, R"([[1,"keep",1]])"))));
  ASSERT_OK(Wait(whole->Flush()));
  WriterOptions options;
  options.target_columns = {"id", "b"};
  ASSERT_OK_AND_ASSIGN(const auto part, Wait(UpsertWriter::Open(loop(), cluster_, path, options)));
  ASSERT_OK(Wait(part->Upsert(PeerRows({columns[0], columns[2]}, "[[1,2]]"))));
  ASSERT_OK(Wait(part->Flush()));
  ASSERT_OK_AND_ASSIGN(const auto lookuper, Wait(Lookuper::Open(loop(), cluster_, path)));
  ASSERT_OK_AND_ASSIGN(const auto found,
                       Wait(lookuper->Lookup(loop(), PeerRows({columns[0]}, "[[1]]"))));
  EXPECT_TRUE(found.rows->Equals(*PeerRows(columns, R"([[1,"keep",2]])")));
}

TEST_F(PeerTest, AddedColumnsAreNullInOldRows) {
  std::vector<types::Column> columns = {{"id", DataType::Of(TypeKind::kInteger, false)},
                                        {"a", DataType::Of(TypeKind::kString)}};
  const auto path = Make("evolved", TableOf(columns, {"id"}, 1));
  ASSERT_OK_AND_ASSIGN(const auto before, Wait(UpsertWriter::Open(loop(), cluster_, path, {})));
  ASSERT_OK(Wait(before->Upsert(PeerRows(columns, R"([[1,"old"]])"))));
  ASSERT_OK(Wait(before->Flush()));
  TableChange change;
  change.add_columns = {{"b", DataType::Of(TypeKind::kBigInt)}};
  ASSERT_OK(Wait(Admin(cluster_).AlterTable(loop(), path, change, false)));
  columns.push_back({"b", DataType::Of(TypeKind::kBigInt)});
  ASSERT_OK_AND_ASSIGN(const auto after, Wait(UpsertWriter::Open(loop(), cluster_, path, {})));
  ASSERT_OK(Wait(after->Upsert(PeerRows(columns, R"([[2,"new",7]])"))));
  ASSERT_OK(Wait(after->Flush()));
  ASSERT_OK_AND_ASSIGN(const auto lookuper, Wait(Lookuper::Open(loop(), cluster_, path)));
  ASSERT_OK_AND_ASSIGN(const auto found,
                       Wait(lookuper->Lookup(loop(), PeerRows({columns[0]}, "[[1],[2]]"))));
  EXPECT_TRUE(found.rows->Equals(*PeerRows(columns, R"([[1,"old",null],[2,"new",7]])")))
      << found.rows->ToString();
  ASSERT_OK_AND_ASSIGN(const auto scanner, Wait(LogScanner::Open(loop(), cluster_, path, {})));
  const auto batches = ReadLog(scanner.get(), {after->table().info.table_id, std::nullopt, 0}, 2);
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_TRUE(batches[0].rows->column(2)->IsNull(0));
}

TEST_F(PeerTest, ErrorsCarryTheirCodes) {
  Admin admin(cluster_);
  EXPECT_CODE(ErrorCode::kTableNotExist, Wait(admin.GetTable(loop(), {database_, "none"})));
  EXPECT_CODE(ErrorCode::kDatabaseNotExist, Wait(admin.GetDatabase(loop(), "no_such_database")));
  EXPECT_CODE(ErrorCode::kDatabaseAlreadyExist,
              Wait(admin.CreateDatabase(loop(), database_, {}, false)));
  const auto path = Make("there", TableOf({{"id", DataType::Of(TypeKind::kInteger)}}, {}, 1));
  EXPECT_CODE(
      ErrorCode::kTableAlreadyExist,
      Wait(admin.CreateTable(loop(), path,
                             TableOf({{"id", DataType::Of(TypeKind::kInteger)}}, {}, 1), false)));
  EXPECT_CODE(ErrorCode::kLakeSnapshotNotExist,
              Wait(admin.GetLakeSnapshot(loop(), path, std::nullopt, false)));
  ASSERT_OK_AND_ASSIGN(const auto tables, Wait(admin.ListTables(loop(), database_)));
  EXPECT_EQ(tables, std::vector<std::string>{"there"});
  ASSERT_OK_AND_ASSIGN(const bool exists, Wait(admin.TableExists(loop(), path)));
  EXPECT_TRUE(exists);
}

}  // namespace
}  // namespace sluice::client
