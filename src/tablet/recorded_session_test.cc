// What pyfluss 1.0.0 sent to a Java 0.9.1 server, sent to ours: the answers must be the same bytes.
#include "tablet/testing_internal.h"

namespace sluice::tablet {
namespace {

constexpr int64_t kRecordedLog = 9, kRecordedKeys = 10;

class RecordedSessionTest : public internal::TabletTest {
 protected:
  void SetUp() override {
    TabletTest::SetUp();
    tables.Add(Table(kRecordedLog, false));
    tables.Add(Table(kRecordedKeys, true));
    for (const int64_t table : {kRecordedLog, kRecordedKeys}) {
      for (int bucket = 0; bucket < 2; ++bucket) ASSERT_OK(Lead(table, bucket, 0, 0));
    }
  }

  // `smoke.log1` and `smoke.pk1` of the session; its cluster had the lake format paimon.
  static types::TableInfo Table(int64_t table_id, bool keyed) {
    types::TableInfo table;
    table.path = {"smoke", keyed ? "pk1" : "log1"};
    table.table_id = table_id;
    types::Schema& schema = table.descriptor.schema;
    schema.columns = {{"id", types::DataType::Of(types::TypeKind::kInteger, !keyed), "", 0, "", {}},
                      {"name", types::DataType::Of(types::TypeKind::kString), "", 1, "", {}}};
    schema.highest_field_id = 1;
    table.descriptor.bucket_count = 2;
    table.descriptor.properties["table.datalake.format"] = "paimon";
    if (keyed) {
      schema.primary_key = table.descriptor.bucket_keys = {"id"};
      table.descriptor.properties["table.kv.format-version"] = "2";
    }
    return table;
  }

  static std::string Frame(const std::string& name) {
    return io::LocalFileSystem().ReadFile("wire/testdata/session/" + name).ValueOrDie();
  }
  // The recorded reply's body, and ours to the recorded request.
  static std::string TheirReply(const std::string& name) {
    return Frame(name + ".reply").substr(wire::kFrameLengthBytes + wire::kResponseHeaderBytes);
  }
  Result<std::string> OurReply(const std::string& name) {
    const std::string frame = Frame(name + ".request").substr(wire::kFrameLengthBytes);
    ASSIGN_OR_RAISE(const auto header, wire::ParseRequestHeader(frame));
    return Send({header.api_key, header.api_version, frame.substr(wire::kRequestHeaderBytes)});
  }
  void ExpectSameReply(const std::string& name) {
    ASSERT_OK_AND_ASSIGN(const std::string ours, OurReply(name));
    EXPECT_EQ(ToHex(ours), ToHex(TheirReply(name))) << name;
  }
};

TEST_F(RecordedSessionTest, LogIsAnsweredAlike) {
  ExpectSameReply("12_produce_log");
  ASSERT_OK_AND_ASSIGN(std::string ours, OurReply("16_fetch_log"));
  const std::string theirs = TheirReply("16_fetch_log");
  // The same but for the time of the append.
  ASSERT_OK_AND_ASSIGN(const auto tables, wire::ParseFetchResponse(theirs));
  ASSERT_OK_AND_ASSIGN(const auto batch, wire::LogBatchView::Parse(tables[0].buckets[0].records));
  const size_t records_at =
      static_cast<size_t>(tables[0].buckets[0].records.data() - theirs.data());
  ASSERT_EQ(ours.size(), theirs.size());
  wire::StampBatch(ours.data() + records_at, 0, batch.header().commit_timestamp_ms);
  EXPECT_EQ(ToHex(ours), ToHex(theirs));
  ExpectSameReply("17_fetch_log");  // At the end: nothing, after the time that the client allows.
}

TEST_F(RecordedSessionTest, OffsetsAreAnsweredAlike) {
  ExpectSameReply("12_produce_log");
  ExpectSameReply("15_list_offsets");
}

TEST_F(RecordedSessionTest, KeysAreAnsweredAlike) {
  ExpectSameReply("19_put_kv");
  ExpectSameReply("20_lookup");
  ExpectSameReply("23_lookup");  // No such key.
}

}  // namespace
}  // namespace sluice::tablet
