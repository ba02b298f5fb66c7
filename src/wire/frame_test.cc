#include "wire/frame.h"

#include "base/bytes.h"
#include "base/testing.h"
#include "wire/api.h"
#include "wire/proto/handshake.pb.h"
#include "wire/proto/kv.pb.h"
#include "wire/proto/log.pb.h"
#include "wire/proto/metadata.pb.h"
#include "wire/proto/snapshot.pb.h"
#include "wire/proto/table.pb.h"
#include "wire/testing_internal.h"

namespace sluice::wire {
namespace {

using internal::ReadTestData;

std::string_view AfterLength(std::string_view frame) { return frame.substr(kFrameLengthBytes); }

TEST(FrameTest, RequestHasBigEndianHeader) {
  const std::string frame =
      EncodeRequest({.api_key = 1015, .api_version = 1, .request_id = 258}, "abc");
  EXPECT_EQ(ToHex(frame), "0000000b03f7000100000102616263");
  ASSERT_OK_AND_ASSIGN(const auto header, ParseRequestHeader(AfterLength(frame)));
  EXPECT_EQ(header, (RequestHeader{1015, 1, 258}));
}

TEST(FrameTest, ResponseRoundTrip) {
  ASSERT_OK_AND_ASSIGN(const auto frame, EncodeResponse(7, io::Payload("xy")).Flatten());
  EXPECT_EQ(ToHex(frame),
            "00000007"
            "00"
            "00000007"
            "7879");
  ASSERT_OK_AND_ASSIGN(const auto response, ParseResponse(AfterLength(frame)));
  EXPECT_EQ(response.request_id, 7);
  ASSERT_OK_AND_ASSIGN(const auto body, response.body);
  EXPECT_EQ(body, "xy");
}

TEST(FrameTest, ResponseWithoutBodyHasOnlyItsHead) {
  ASSERT_OK_AND_ASSIGN(const auto frame, EncodeResponse(0, io::Payload()).Flatten());
  EXPECT_EQ(ToHex(frame),
            "00000005"
            "00"
            "00000000");
}

// Its length is 32 bits.
TEST(FrameTest, ABodyThatNoFrameHoldsIsAnError) {
  io::Payload body;
  for (int i = 0; i < 3; ++i)
    body.Add(io::Payload::FileRange{.file = nullptr, .position_bytes = 0, .size_bytes = 1 << 30});
  ASSERT_OK_AND_ASSIGN(const auto frame, EncodeResponse(9, std::move(body)).Flatten());
  ASSERT_OK_AND_ASSIGN(const auto response, ParseResponse(AfterLength(frame)));
  EXPECT_EQ(response.request_id, 9);
  EXPECT_CODE(ErrorCode::kRecordTooLarge, response.body);
}

TEST(FrameTest, ErrorFrameCarriesCodeAndText) {
  const std::string frame =
      EncodeErrorResponse(3, Error(ErrorCode::kTableNotExist, "no table path=", "a.b"));
  ASSERT_OK_AND_ASSIGN(const auto response, ParseResponse(AfterLength(frame)));
  EXPECT_EQ(response.request_id, 3);
  EXPECT_CODE(ErrorCode::kTableNotExist, response.body);
  EXPECT_EQ(response.body.status().message(), "no table path=a.b");
}

TEST(FrameTest, ServerFailureFailsTheConnection) {
  ErrorResponse error;
  error.set_error_code(25);
  EXPECT_CODE(ErrorCode::kRequestTimeOut, ParseResponse("\x02" + Serialize(error)));
  EXPECT_CODE(ErrorCode::kCorruptMessage, ParseResponse("\x03zzzz"));
}

TEST(FrameTest, RefusesCutHeads) {
  for (size_t size = 0; size < kRequestHeaderBytes; ++size) {
    EXPECT_CODE(ErrorCode::kCorruptMessage, ParseRequestHeader(std::string(size, '\0')));
  }
  for (size_t size = 0; size < kResponseHeaderBytes; ++size) {
    EXPECT_CODE(ErrorCode::kCorruptMessage, ParseResponse(std::string(size, '\0')));
  }
}

TEST(ProtocolErrorTest, OldClientsGetOldRetriableCodes) {
  EXPECT_EQ(ToProtocolError(Error(ErrorCode::kDiskWriteLocked, "x")).code, 26);
  EXPECT_EQ(ToProtocolError(Error(ErrorCode::kHistoricalPartitionThrottled, "x")).code, 26);
  EXPECT_EQ(ToProtocolError(Error(ErrorCode::kStorageBackpressure, "x")).code, 11);
  EXPECT_EQ(
      ToProtocolError(Error(ErrorCode::kStorageBackpressure, "x"), /*knows_backpressure=*/true)
          .code,
      72);
  EXPECT_EQ(ToProtocolError(Error(ErrorCode::kFencedTieringEpoch, "x")).code, 50);
  EXPECT_EQ(ToProtocolError(Status::IOError("disk")).code, -1);
}

TEST(ProtocolErrorTest, TextIsBoundedUtf8) {
  // 1 + 2048 bytes of two-byte characters: the cut falls inside one.
  std::string text = "x";
  for (int i = 0; i < 1024; ++i) text += "\xc3\xa4";
  EXPECT_EQ(ToProtocolError(Status::Invalid(text)).message.size(), 2047u);
  EXPECT_EQ(ToProtocolError(Status::Invalid("name=\xff\xfe!")).message, "name=\?\?!");
}

TEST(ProtocolErrorTest, WayBackKnowsOnlyCodesOfTheTable) {
  EXPECT_OK(FromProtocolError(0, ""));
  EXPECT_CODE(ErrorCode::kNotLeaderOrFollower, FromProtocolError(12, ""));
  EXPECT_EQ(FromProtocolError(12, "").message(), NameOf(ErrorCode::kNotLeaderOrFollower));
  EXPECT_CODE(ErrorCode::kUnknownServer, FromProtocolError(74, "routing"));
  EXPECT_CODE(ErrorCode::kUnknownServer, FromProtocolError(-7, ""));
}

TEST(ProtocolErrorTest, EntryOfASuccessHasNoCode) {
  PbProduceLogRespForBucket entry;
  SetError(&entry, Status::OK());
  EXPECT_FALSE(entry.has_error_code() || entry.has_error_message());
  EXPECT_OK(ErrorOf(entry));
  SetError(&entry, Error(ErrorCode::kCorruptRecord, "bad"));
  EXPECT_CODE(ErrorCode::kCorruptRecord, ErrorOf(entry));
}

TEST(ParseMessageTest, NamesTheMessageThatLacksAField) {
  const auto parsed = ParseMessage<InitWriterResponse>("");
  EXPECT_CODE(ErrorCode::kCorruptMessage, parsed);
  EXPECT_THAT(parsed.status().message(), testing::HasSubstr("InitWriterResponse"));
  EXPECT_CODE(ErrorCode::kCorruptMessage, ParseMessage<InitWriterResponse>("\xff\xff"));
}

// Frames of pyfluss 1.0.0 and a Java 0.9.1 server, recorded from one session.
struct Recorded {
  const char* name;
  ApiKey key;
  std::function<Result<std::string>(std::string_view)> request, reply;  // Parse, then serialize.
};

template <typename M>
Result<std::string> Again(std::string_view body) {
  ASSIGN_OR_RAISE(const auto message, ParseMessage<M>(body));
  return Serialize(message);
}

class RecordedFrameTest : public testing::TestWithParam<Recorded> {};

TEST_P(RecordedFrameTest, RequestEncodesBackToTheSameBytes) {
  const std::string frame = ReadTestData("session/" + std::string(GetParam().name) + ".request");
  ASSERT_OK_AND_ASSIGN(const auto header, ParseRequestHeader(AfterLength(frame)));
  EXPECT_EQ(header.api_key, static_cast<int16_t>(GetParam().key));
  ASSERT_OK_AND_ASSIGN(const auto body,
                       GetParam().request(AfterLength(frame).substr(kRequestHeaderBytes)));
  EXPECT_EQ(ToHex(EncodeRequest(header, body)), ToHex(frame));
}

TEST_P(RecordedFrameTest, ReplyEncodesBackToTheSameBytes) {
  const std::string frame = ReadTestData("session/" + std::string(GetParam().name) + ".reply");
  ASSERT_OK_AND_ASSIGN(const auto response, ParseResponse(AfterLength(frame)));
  ASSERT_OK_AND_ASSIGN(const auto body, response.body);
  ASSERT_OK_AND_ASSIGN(auto again, GetParam().reply(body));
  ASSERT_OK_AND_ASSIGN(const auto encoded,
                       EncodeResponse(response.request_id, io::Payload(again)).Flatten());
  EXPECT_EQ(ToHex(encoded), ToHex(frame));
}

INSTANTIATE_TEST_SUITE_P(
    Session, RecordedFrameTest,
    testing::Values(
        Recorded{"00_api_versions", ApiKey::kApiVersions, Again<ApiVersionsRequest>,
                 Again<ApiVersionsResponse>},
        Recorded{"01_get_metadata", ApiKey::kGetMetadata, Again<MetadataRequest>,
                 Again<MetadataResponse>},
        Recorded{"06_create_table", ApiKey::kCreateTable, Again<CreateTableRequest>,
                 Again<CreateTableResponse>},
        Recorded{"08_create_table", ApiKey::kCreateTable, Again<CreateTableRequest>,
                 Again<CreateTableResponse>},
        Recorded{"09_api_versions", ApiKey::kApiVersions, Again<ApiVersionsRequest>,
                 Again<ApiVersionsResponse>},
        Recorded{"10_get_metadata", ApiKey::kGetMetadata, Again<MetadataRequest>,
                 Again<MetadataResponse>},
        Recorded{"11_init_writer", ApiKey::kInitWriter, Again<InitWriterRequest>,
                 Again<InitWriterResponse>},
        Recorded{"12_produce_log", ApiKey::kProduceLog, Again<ProduceLogRequest>,
                 Again<ProduceLogResponse>},
        Recorded{"13_token", ApiKey::kGetFileSystemSecurityToken,
                 Again<GetFileSystemSecurityTokenRequest>,
                 Again<GetFileSystemSecurityTokenResponse>},
        Recorded{"15_list_offsets", ApiKey::kListOffsets, Again<ListOffsetsRequest>,
                 Again<ListOffsetsResponse>},
        Recorded{"16_fetch_log", ApiKey::kFetchLog, Again<FetchLogRequest>,
                 Again<FetchLogResponse>},
        Recorded{"17_fetch_log", ApiKey::kFetchLog, Again<FetchLogRequest>,
                 Again<FetchLogResponse>},
        Recorded{"18_get_metadata", ApiKey::kGetMetadata, Again<MetadataRequest>,
                 Again<MetadataResponse>},
        Recorded{"19_put_kv", ApiKey::kPutKv, Again<PutKvRequest>, Again<PutKvResponse>},
        Recorded{"20_lookup", ApiKey::kLookup, Again<LookupRequest>, Again<LookupResponse>},
        Recorded{"23_lookup", ApiKey::kLookup, Again<LookupRequest>, Again<LookupResponse>}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sluice::wire
