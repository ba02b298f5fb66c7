#include "wire/records.h"

#include "base/bytes.h"
#include "base/testing.h"
#include "wire/frame.h"
#include "wire/proto/kv.pb.h"
#include "wire/proto/log.pb.h"
#include "wire/testing_internal.h"

namespace sluice::wire {
namespace {

using internal::EveryCut;
using internal::RandomDamage;
using internal::ReadTestData;

std::string RequestBody(const std::string& name) {
  return ReadTestData("session/" + name + ".request")
      .substr(kFrameLengthBytes + kRequestHeaderBytes);
}
std::string ReplyBody(const std::string& name) {
  return ReadTestData("session/" + name + ".reply")
      .substr(kFrameLengthBytes + kResponseHeaderBytes);
}

bool Within(std::string_view part, std::string_view whole) {
  return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size();
}

TEST(ProduceLogTest, RecordedRequestEncodesBack) {
  const std::string body = RequestBody("12_produce_log");
  ASSERT_OK_AND_ASSIGN(const auto request, ParseProduceLog(body));
  EXPECT_EQ(request.acks, -1);
  EXPECT_EQ(request.table_id, 9);
  EXPECT_EQ(request.timeout_ms, 30000);
  ASSERT_EQ(request.buckets.size(), 1u);
  EXPECT_EQ(request.buckets[0].bucket_id, 1);
  EXPECT_EQ(request.buckets[0].partition_id, std::nullopt);
  EXPECT_TRUE(Within(request.buckets[0].records, body));  // A view, no copy.
  EXPECT_EQ(BuildProduceLog(request), body);
}

TEST(PutKvTest, RecordedRequestEncodesBack) {
  const std::string body = RequestBody("19_put_kv");
  ASSERT_OK_AND_ASSIGN(const auto request, ParsePutKv(body));
  EXPECT_EQ(request.table_id, 10);
  ASSERT_EQ(request.buckets.size(), 2u);
  EXPECT_EQ(BuildPutKv(request), body);
}

TEST(ProduceLogTest, AgreesWithProtobuf) {
  ProduceLogView request{.acks = 1, .table_id = 1L << 40, .timeout_ms = 7};
  request.buckets = {{.partition_id = 5, .bucket_id = 0, .records = "abc"},
                     {.bucket_id = 300, .records = ""}};
  ASSERT_OK_AND_ASSIGN(const auto message,
                       ParseMessage<ProduceLogRequest>(BuildProduceLog(request)));
  EXPECT_EQ(message.acks(), 1);
  EXPECT_EQ(message.table_id(), 1L << 40);
  ASSERT_EQ(message.buckets_req_size(), 2);
  EXPECT_EQ(message.buckets_req(0).partition_id(), 5);
  EXPECT_EQ(message.buckets_req(0).records(), "abc");
  EXPECT_FALSE(message.buckets_req(1).has_partition_id());
  EXPECT_TRUE(message.buckets_req(1).has_records());
  EXPECT_EQ(Serialize(message), BuildProduceLog(request));
}

TEST(PutKvTest, ReadsTargetColumnsPackedOrNot) {
  PutKvView request{
      .acks = -1, .table_id = 2, .timeout_ms = 1, .target_columns = {0, 200, 3}, .agg_mode = 1};
  request.buckets = {{.bucket_id = 4, .records = "r"}};
  const std::string packed = BuildPutKv(request);
  ASSERT_OK_AND_ASSIGN(const auto message, ParseMessage<PutKvRequest>(packed));
  EXPECT_EQ(Serialize(message), packed);
  ASSERT_OK_AND_ASSIGN(const auto again, ParsePutKv(packed));
  EXPECT_EQ(again.target_columns, request.target_columns);
  EXPECT_EQ(again.agg_mode, 1);
  // Field 4 as plain varints, behind the other fields.
  ASSERT_OK_AND_ASSIGN(const auto unpacked,
                       ParsePutKv(BuildPutKv({.table_id = 2}) + "\x20\x07\x20\x09"));
  EXPECT_EQ(unpacked.target_columns, (std::vector<int32_t>{7, 9}));
}

// What 1.0.0 adds: routing_bucket_count, field 5 of a bucket; original_partition_name, field 4 of
// the request.
TEST(ProduceLogTest, SkipsFieldsOfNewerClients) {
  std::string body = BuildProduceLog({.acks = 1, .table_id = 2, .timeout_ms = 3});
  body += std::string("\x22\x07\x10\x01\x1a\x01z\x28\x0c", 9);  // A bucket with field 5.
  body += std::string(
      "\x32\x03"
      "abc\x39"
      "12345678\x45"
      "1234",
      19);  // Fields 6, 7 (fixed64) and 8 (fixed32).
  ASSERT_OK_AND_ASSIGN(const auto request, ParseProduceLog(body));
  ASSERT_EQ(request.buckets.size(), 1u);
  EXPECT_EQ(request.buckets[0].records, "z");
}

TEST(ProduceLogTest, RefusesMissingFields) {
  EXPECT_CODE(ErrorCode::kCorruptMessage, ParseProduceLog(""));
  EXPECT_CODE(ErrorCode::kCorruptMessage, ParsePutKv(""));
  const std::string head = BuildProduceLog({.acks = 1, .table_id = 2, .timeout_ms = 3});
  EXPECT_OK(ParseProduceLog(head).status());
  EXPECT_CODE(ErrorCode::kCorruptMessage,
              ParseProduceLog(head + std::string("\x22\x02\x10\x01", 4)));  // No records.
  EXPECT_CODE(ErrorCode::kCorruptMessage,
              ParseProduceLog(head + std::string("\x22\x03\x1a\x01z", 5)));  // No bucket.
  EXPECT_CODE(ErrorCode::kCorruptMessage, ParseProduceLog(head + "\x0b"));   // A group.
  EXPECT_CODE(ErrorCode::kCorruptMessage,
              ParseProduceLog(head + std::string("\x00\x01", 2)));  // Field 0.
}

TEST(RecordsTest, AnyDamageGivesAnErrorOrViewsInside) {
  for (const std::string name : {"12_produce_log", "19_put_kv"}) {
    const std::string body = RequestBody(name);
    const auto use = [](std::string_view damaged) {
      if (const auto produce = ParseProduceLog(damaged); produce.ok()) {
        for (const auto& bucket : produce->buckets) EXPECT_TRUE(Within(bucket.records, damaged));
      }
      if (const auto put = ParsePutKv(damaged); put.ok()) {
        for (const auto& bucket : put->buckets) EXPECT_TRUE(Within(bucket.records, damaged));
      }
    };
    EveryCut(std::string_view(body).substr(0, 600), use);
    RandomDamage(body, 3000, use);
  }
}

TEST(FetchResponseTest, RecordedReplyEncodesBack) {
  for (const std::string name : {"16_fetch_log", "17_fetch_log"}) {
    const std::string body = ReplyBody(name);
    ASSERT_OK_AND_ASSIGN(const auto tables, ParseFetchResponse(body));
    ASSERT_EQ(tables.size(), 1u);
    FetchResponseBuilder builder;
    builder.BeginTable(tables[0].table_id);
    for (const auto& bucket : tables[0].buckets) {
      ASSERT_OK(bucket.error);
      EXPECT_EQ(bucket.high_watermark, 1000);
      builder.AddBucket({.partition_id = bucket.partition_id,
                         .bucket_id = bucket.bucket_id,
                         .high_watermark = bucket.high_watermark,
                         .log_start_offset = bucket.log_start_offset,
                         .records = io::Payload(std::string(bucket.records))});
    }
    ASSERT_OK_AND_ASSIGN(const auto again, builder.Finish().Flatten());
    EXPECT_EQ(ToHex(again), ToHex(body));
  }
}

TEST(FetchResponseTest, AgreesWithProtobuf) {
  PbRemoteLogFetchInfo remote;
  remote.set_remote_log_tablet_dir("file:///r");
  FetchResponseBuilder builder;
  builder.BeginTable(3);
  io::Payload records("first");
  records.Add(std::string("second"));
  builder.AddBucket({.partition_id = 8,
                     .bucket_id = 1,
                     .high_watermark = 20,
                     .filtered_end_offset = 15,
                     .records = std::move(records)});
  builder.AddError(std::nullopt, 2, Error(ErrorCode::kLogOffsetOutOfRange, "offset=", 9));
  builder.BeginTable(4);
  builder.AddBucket({.bucket_id = 0, .high_watermark = 0});
  builder.AddBucket(
      {.bucket_id = 1, .high_watermark = 5, .remote_log_fetch_info = Serialize(remote)});
  ASSERT_OK_AND_ASSIGN(const auto body, builder.Finish().Flatten());

  ASSERT_OK_AND_ASSIGN(const auto message, ParseMessage<FetchLogResponse>(body));
  ASSERT_EQ(message.tables_resp_size(), 2);
  const auto& first = message.tables_resp(0);
  EXPECT_EQ(first.table_id(), 3);
  EXPECT_EQ(first.buckets_resp(0).records(), "firstsecond");
  EXPECT_EQ(first.buckets_resp(0).filtered_end_offset(), 15);
  EXPECT_FALSE(first.buckets_resp(0).has_error_code());
  EXPECT_EQ(first.buckets_resp(1).error_code(), 19);
  const auto& second = message.tables_resp(1);
  // Clients read both without asking.
  EXPECT_TRUE(second.buckets_resp(0).has_records() && second.buckets_resp(0).has_high_watermark());
  EXPECT_FALSE(second.buckets_resp(1).has_records());
  EXPECT_EQ(second.buckets_resp(1).remote_log_fetch_info().remote_log_tablet_dir(), "file:///r");

  ASSERT_OK_AND_ASSIGN(const auto tables, ParseFetchResponse(body));
  EXPECT_EQ(tables[0].buckets[0].records, "firstsecond");
  EXPECT_EQ(tables[0].buckets[0].partition_id, 8);
  EXPECT_CODE(ErrorCode::kLogOffsetOutOfRange, tables[0].buckets[1].error);
  EXPECT_EQ(tables[1].buckets[1].remote_log_fetch_info, Serialize(remote));
}

TEST(LimitScanResponseTest, AgreesWithProtobuf) {
  ASSERT_OK_AND_ASSIGN(const auto body,
                       BuildLimitScanResponse(true, io::Payload("rows")).Flatten());
  ASSERT_OK_AND_ASSIGN(const auto message, ParseMessage<LimitScanResponse>(body));
  EXPECT_TRUE(message.is_log_table());
  EXPECT_EQ(message.records(), "rows");
  EXPECT_FALSE(message.has_error_code());
  ASSERT_OK_AND_ASSIGN(const auto none, BuildLimitScanResponse(false, io::Payload()).Flatten());
  ASSERT_OK_AND_ASSIGN(const auto empty, ParseMessage<LimitScanResponse>(none));
  EXPECT_TRUE(empty.has_records() && empty.has_is_log_table());
}

TEST(FetchResponseTest, AnyDamageGivesAnErrorOrViewsInside) {
  const std::string body = ReplyBody("16_fetch_log");
  int refused = 0, read = 0;
  const auto use = [&](std::string_view damaged) {
    const auto tables = ParseFetchResponse(damaged);
    ++(tables.ok() ? read : refused);
    if (!tables.ok()) return;
    for (const auto& table : *tables) {
      for (const auto& bucket : table.buckets) {
        EXPECT_TRUE(bucket.records.empty() || Within(bucket.records, damaged));
      }
    }
  };
  EveryCut(std::string_view(body).substr(0, 600), use);
  RandomDamage(body, 3000, use);
  EXPECT_GT(refused, 500);
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace sluice::wire
