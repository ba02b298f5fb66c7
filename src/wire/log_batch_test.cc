#include "wire/log_batch.h"

#include <arrow/array.h>

#include "base/bytes.h"
#include "base/testing.h"
#include "wire/arrow_message_internal.h"
#include "wire/frame.h"
#include "wire/log_batch_internal.h"
#include "wire/records.h"
#include "wire/sample_rows_testing_internal.h"
#include "wire/testing_internal.h"

namespace sluice::wire {
namespace {

using internal::EveryCut;
using internal::ExactBytes;
using internal::RandomDamage;
using internal::ReadTestData;
using internal::SampleRows;
using internal::SampleSchema;

const std::vector<ChangeType> kSampleChanges = {ChangeType::kInsert, ChangeType::kUpdateBefore,
                                                ChangeType::kUpdateAfter, ChangeType::kDelete};

// The batch of 1000 rows that pyfluss 1.0.0 wrote, as sent and as a Java 0.9.1 server answered it
// later.
std::string RecordedProduced() {
  const std::string frame = ReadTestData("session/12_produce_log.request");
  const auto request =
      ParseProduceLog(std::string_view(frame).substr(kFrameLengthBytes + kRequestHeaderBytes));
  return std::string(request->buckets[0].records);
}
std::string RecordedFetched() {
  const std::string frame = ReadTestData("session/16_fetch_log.reply");
  const auto tables =
      ParseFetchResponse(std::string_view(frame).substr(kFrameLengthBytes + kResponseHeaderBytes));
  return std::string(tables->at(0).buckets[0].records);
}

// Magic 1 as main writes it: `batch` with a statistics block of `statistics`.
std::string WithStatistics(const std::string& batch, const std::string& statistics) {
  std::string out = batch.substr(0, kLogBatchHeaderBytes);
  out[12] = 1;
  AppendLe(&out, static_cast<int32_t>(statistics.size()));
  out += statistics + batch.substr(kLogBatchHeaderBytes);
  internal::FinishLogBatch(&out);
  return out;
}

TEST(LogBatchTest, ReadsWhatPyflussWrote) {
  const std::string bytes = RecordedProduced();
  ASSERT_OK_AND_ASSIGN(const auto batch, LogBatchView::Parse(bytes));
  EXPECT_EQ(batch.bytes(), bytes);
  EXPECT_TRUE(batch.CrcMatches());
  EXPECT_TRUE(batch.append_only());
  EXPECT_EQ(batch.header().record_count, 1000);
  EXPECT_EQ(batch.header().last_offset_delta, 999);
  EXPECT_EQ(batch.header().schema_id, 1);
  EXPECT_EQ(batch.header().batch_sequence, 0);
  EXPECT_TRUE(batch.change_types().empty());
  const auto schema =
      arrow::schema({arrow::field("id", arrow::int32()), arrow::field("name", arrow::utf8())});
  ASSERT_OK_AND_ASSIGN(const auto rows, DecodeRows(batch, schema));
  ASSERT_EQ(rows->num_rows(), 1000);
  const auto& ids = static_cast<const arrow::Int32Array&>(*rows->column(0));
  const auto& names = static_cast<const arrow::StringArray&>(*rows->column(1));
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(ids.Value(i), i);
    ASSERT_EQ(names.GetString(i), "n" + std::to_string(i));
  }
}

TEST(LogBatchTest, StampingGivesWhatTheJavaServerAnswered) {
  std::string produced = RecordedProduced();
  const std::string fetched = RecordedFetched();
  ASSERT_OK_AND_ASSIGN(const auto answered, LogBatchView::Parse(fetched));
  StampBatch(produced.data(), 0, answered.header().commit_timestamp_ms);
  EXPECT_EQ(ToHex(produced), ToHex(fetched));
  EXPECT_TRUE(answered.CrcMatches());  // Stamps lie outside the CRC.
}

TEST(LogBatchTest, StampSetsOffsetAndTimestampOnly) {
  ASSERT_OK_AND_ASSIGN(std::string bytes, BuildLogBatch({}, *SampleRows(), {}));
  StampBatch(bytes.data(), 41, 1700000000123);
  ASSERT_OK_AND_ASSIGN(const auto batch, LogBatchView::Parse(bytes));
  EXPECT_EQ(batch.header().base_offset, 41);
  EXPECT_EQ(batch.header().commit_timestamp_ms, 1700000000123);
  EXPECT_EQ(batch.header().last_offset(), 44);
  EXPECT_EQ(batch.header().next_offset(), 45);
  EXPECT_TRUE(batch.CrcMatches());
}

class CompressionTest : public testing::TestWithParam<ArrowCompression> {};

TEST_P(CompressionTest, RowsOfEveryTypeComeBack) {
  const auto rows = SampleRows();
  for (const bool append_only : {true, false}) {
    const LogBatchOptions options{
        .schema_id = 3, .writer_id = 77, .batch_sequence = 5, .compression = GetParam()};
    const auto changes = append_only ? std::vector<ChangeType>() : kSampleChanges;
    ASSERT_OK_AND_ASSIGN(const auto bytes, BuildLogBatch(options, *rows, changes));
    ASSERT_OK_AND_ASSIGN(const auto batch, LogBatchView::Parse(bytes));
    EXPECT_TRUE(batch.CrcMatches());
    EXPECT_EQ(batch.append_only(), append_only);
    EXPECT_EQ(batch.header().schema_id, 3);
    EXPECT_EQ(batch.header().writer_id, 77);
    EXPECT_EQ(batch.change_types(), append_only ? "" : "\x01\x02\x03\x04");
    ASSERT_OK_AND_ASSIGN(const auto decoded, DecodeRows(batch, SampleSchema()));
    EXPECT_TRUE(decoded->Equals(*rows)) << decoded->ToString();
  }
}

TEST_P(CompressionTest, SlicedRowsCarryOnlyTheirBytes) {
  const auto rows = SampleRows()->Slice(3, 1);
  ASSERT_OK_AND_ASSIGN(const auto bytes, BuildLogBatch({.compression = GetParam()}, *rows, {}));
  ASSERT_OK_AND_ASSIGN(const auto batch, LogBatchView::Parse(bytes));
  ASSERT_OK_AND_ASSIGN(const auto decoded, DecodeRows(batch, SampleSchema()));
  EXPECT_TRUE(decoded->Equals(*rows)) << decoded->ToString();
}

// The message says which codec it has, and starts with the marker and a padded length.
TEST_P(CompressionTest, BodyIsOneEncapsulatedMessageWithoutSchema) {
  ASSERT_OK_AND_ASSIGN(const auto bytes,
                       BuildLogBatch({.compression = GetParam()}, *SampleRows(), {}));
  ASSERT_OK_AND_ASSIGN(const auto batch, LogBatchView::Parse(bytes));
  ASSERT_OK_AND_ASSIGN(const auto head_bytes, internal::ArrowHeadBytes(batch.body()));
  EXPECT_EQ(head_bytes % 8, 0u);
  ASSERT_OK_AND_ASSIGN(const auto message,
                       internal::ParseArrowHead(batch.body().substr(0, head_bytes)));
  EXPECT_EQ(head_bytes + message.body_bytes, batch.body().size());
  EXPECT_EQ(message.row_count, 4);
  const std::optional<int8_t> codecs[] = {std::nullopt, 0, 1};
  EXPECT_EQ(message.codec, codecs[static_cast<int>(GetParam())]);
}

INSTANTIATE_TEST_SUITE_P(Codecs, CompressionTest,
                         testing::Values(ArrowCompression::kNone, ArrowCompression::kLz4Frame,
                                         ArrowCompression::kZstd));

TEST(LogBatchTest, EmptyBatchTakesOneOffset) {
  std::string bytes = BuildEmptyLogBatch({.schema_id = 2, .writer_id = 9, .batch_sequence = 4},
                                         /*append_only=*/false);
  EXPECT_EQ(bytes.size(), kLogBatchHeaderBytes);
  StampBatch(bytes.data(), 10, 1);
  ASSERT_OK_AND_ASSIGN(const auto batch, LogBatchView::Parse(bytes));
  EXPECT_TRUE(batch.CrcMatches());
  EXPECT_EQ(batch.header().last_offset(), 10);
  EXPECT_EQ(batch.header().next_offset(), 11);
  EXPECT_EQ(batch.header().batch_sequence, 4);
  ASSERT_OK_AND_ASSIGN(const auto rows, DecodeRows(batch, SampleSchema()));
  EXPECT_EQ(rows->num_rows(), 0);
}

TEST(LogBatchTest, StatisticsOfMagic1AreSkipped) {
  ASSERT_OK_AND_ASSIGN(const auto magic0, BuildLogBatch({}, *SampleRows(), kSampleChanges));
  const std::string magic1 = WithStatistics(magic0, "statistics");
  ASSERT_OK_AND_ASSIGN(const auto batch, LogBatchView::Parse(magic1));
  EXPECT_TRUE(batch.CrcMatches());
  EXPECT_EQ(batch.header().header_bytes(), 52u);
  EXPECT_EQ(batch.statistics(), "statistics");
  EXPECT_EQ(batch.change_types(), "\x01\x02\x03\x04");
  ASSERT_OK_AND_ASSIGN(const auto rows, DecodeRows(batch, SampleSchema()));
  EXPECT_TRUE(rows->Equals(*SampleRows()));
  EXPECT_EQ(ToHex(ToMagic0(batch)), ToHex(magic0));
}

TEST(LogBatchTest, IteratorWalksBatchesAndIgnoresAFragment) {
  ASSERT_OK_AND_ASSIGN(const std::string first, BuildLogBatch({.schema_id = 1}, *SampleRows(), {}));
  const std::string second = BuildEmptyLogBatch({.schema_id = 2}, true);
  for (const size_t fragment :
       {size_t{0}, size_t{1}, size_t{11}, size_t{12}, size_t{47}, first.size() - 1}) {
    const ExactBytes records(first + second + first.substr(0, fragment));
    LogBatchIterator batches(records.view());
    std::vector<int> schema_ids;
    for (;;) {
      ASSERT_OK_AND_ASSIGN(const auto batch, batches.Next());
      if (!batch) break;
      schema_ids.push_back(batch->header().schema_id);
    }
    EXPECT_EQ(schema_ids, (std::vector<int>{1, 2})) << "fragment of " << fragment;
    EXPECT_EQ(batches.rest().size(), fragment);
  }
}

TEST(LogBatchTest, IteratorStopsAtABadBatch) {
  const std::string good = BuildEmptyLogBatch({}, true);
  std::string bad = good;
  bad[12] = 9;
  const std::string records = good + bad;
  LogBatchIterator batches(records);
  ASSERT_OK(batches.Next());
  EXPECT_CODE(ErrorCode::kCorruptRecord, batches.Next());
  EXPECT_EQ(batches.rest().size(), bad.size());
}

TEST(LogBatchTest, RefusesEveryCut) {
  const std::string bytes = RecordedProduced();
  EveryCut(bytes, [](std::string_view cut) {
    EXPECT_CODE(ErrorCode::kCorruptRecord, LogBatchView::Parse(cut));
  });
}

TEST(LogBatchTest, EveryFlippedBitInsideTheCrcShows) {
  ASSERT_OK_AND_ASSIGN(const auto bytes, BuildLogBatch({}, *SampleRows(), kSampleChanges));
  for (size_t at = 21; at < bytes.size(); ++at) {
    ExactBytes flipped(bytes);
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << at % 8));
    const auto batch = LogBatchView::Parse(flipped.view());
    EXPECT_FALSE(batch.ok() && batch->CrcMatches()) << "byte " << at;
  }
}

TEST(LogBatchTest, RefusesLyingNumbers) {
  ASSERT_OK_AND_ASSIGN(const std::string good, BuildLogBatch({}, *SampleRows(), kSampleChanges));
  const auto with = [](std::string bytes, size_t at, int32_t value) {
    StoreLe(&bytes[at], value);
    return bytes;
  };
  for (const int32_t value : {-1, INT32_MIN, INT32_MAX, 0, 35, static_cast<int32_t>(good.size())}) {
    EXPECT_CODE(ErrorCode::kCorruptRecord, LogBatchView::Parse(with(good, 8, value)));
  }
  for (const int32_t value : {-1, INT32_MIN, INT32_MAX, 0, 3, 5}) {
    EXPECT_CODE(ErrorCode::kCorruptRecord, LogBatchView::Parse(with(good, 44, value)));
  }
  // A count that agrees with the delta but not with the bytes.
  EXPECT_CODE(ErrorCode::kCorruptRecord,
              LogBatchView::Parse(with(with(good, 44, 1 << 30), 28, (1 << 30) - 1)));
  const std::string magic1 = WithStatistics(good, "statistics");
  for (const int32_t value : {-1, INT32_MIN, INT32_MAX, static_cast<int32_t>(magic1.size())}) {
    EXPECT_CODE(ErrorCode::kCorruptRecord, LogBatchView::Parse(with(magic1, 48, value)));
  }
  std::string change = good;
  change[kLogBatchHeaderBytes] = 5;
  ASSERT_OK_AND_ASSIGN(const auto unknown, LogBatchView::Parse(change));
  EXPECT_CODE(ErrorCode::kCorruptRecord, DecodeRows(unknown, SampleSchema()));
  EXPECT_CODE(ErrorCode::kCorruptRecord, CheckRows(unknown, *SampleSchema()));
}

TEST(DecodeRowsTest, RefusesOtherSchemas) {
  ASSERT_OK_AND_ASSIGN(const auto bytes, BuildLogBatch({}, *SampleRows(), {}));
  ASSERT_OK_AND_ASSIGN(const auto batch, LogBatchView::Parse(bytes));
  const auto schema = SampleSchema();
  EXPECT_CODE(ErrorCode::kCorruptRecord, DecodeRows(batch, arrow::schema({schema->field(0)})));
  ASSERT_OK_AND_ASSIGN(const auto wider, schema->AddField(0, arrow::field("more", arrow::int32())));
  EXPECT_CODE(ErrorCode::kCorruptRecord, DecodeRows(batch, wider));
}

TEST(DecodeRowsTest, RefusesAnotherRowCountThanTheHeader) {
  ASSERT_OK_AND_ASSIGN(std::string bytes, BuildLogBatch({}, *SampleRows(), {}));
  StoreLe<int32_t>(&bytes[28], 2);
  StoreLe<int32_t>(&bytes[44], 3);
  ASSERT_OK_AND_ASSIGN(const auto batch, LogBatchView::Parse(bytes));
  EXPECT_CODE(ErrorCode::kCorruptRecord, DecodeRows(batch, SampleSchema()));
}

TEST(CheckRowsTest, SeesShapeAndNullsWithoutDecoding) {
  ASSERT_OK_AND_ASSIGN(const auto bytes, BuildLogBatch({}, *SampleRows(), {}));
  ASSERT_OK_AND_ASSIGN(const auto batch, LogBatchView::Parse(bytes));
  const auto schema = SampleSchema();
  EXPECT_OK(CheckRows(batch, *schema));
  EXPECT_CODE(ErrorCode::kCorruptRecord, CheckRows(batch, *arrow::schema({schema->field(0)})));
  ASSERT_OK_AND_ASSIGN(const auto strict,
                       schema->SetField(7, schema->field(7)->WithNullable(false)));
  const Status refused = CheckRows(batch, *strict);
  EXPECT_CODE(ErrorCode::kInvalidTable, refused);
  EXPECT_THAT(refused.message(), testing::HasSubstr("column=string"));
  // Row 0 alone has no NULL.
  ASSERT_OK_AND_ASSIGN(const auto first, BuildLogBatch({}, *SampleRows()->Slice(0, 1), {}));
  ASSERT_OK_AND_ASSIGN(const auto first_batch, LogBatchView::Parse(first));
  EXPECT_OK(CheckRows(first_batch, *strict));
}

// A zstd buffer that claims to unpack to 2^62 bytes must not be believed.
TEST(DecodeRowsTest, RefusesHugeUnpackedLengths) {
  ASSERT_OK_AND_ASSIGN(const std::string good, BuildLogBatch({}, *SampleRows(), {}));
  ASSERT_OK_AND_ASSIGN(const auto view, LogBatchView::Parse(good));
  ASSERT_OK_AND_ASSIGN(const auto head_bytes, internal::ArrowHeadBytes(view.body()));
  for (const int64_t claim :
       {int64_t{1} << 62, INT64_MAX, INT64_MIN, int64_t{-2}, (int64_t{1} << 30) + 1}) {
    std::string bytes = good;
    StoreLe(&bytes[kLogBatchHeaderBytes + head_bytes], claim);
    ASSERT_OK_AND_ASSIGN(const auto batch, LogBatchView::Parse(bytes));
    EXPECT_CODE(ErrorCode::kCorruptRecord, DecodeRows(batch, SampleSchema()));
  }
}

// Whatever the damage, the rows are refused or can be read whole.
TEST(DecodeRowsTest, AnyDamageStaysInside) {
  for (const auto compression :
       {ArrowCompression::kNone, ArrowCompression::kLz4Frame, ArrowCompression::kZstd}) {
    ASSERT_OK_AND_ASSIGN(const auto bytes, BuildLogBatch({.compression = compression},
                                                         *SampleRows(), kSampleChanges));
    int refused = 0, read = 0;
    const auto use = [&](std::string_view damaged) {
      const auto batch = LogBatchView::Parse(damaged);
      if (!batch.ok()) ++refused;
      if (!batch.ok()) return;
      const auto rows = DecodeRows(*batch, SampleSchema());
      ++(rows.ok() ? read : refused);
      EXPECT_TRUE(!rows.ok() || !(*rows)->ToString().empty());
    };
    RandomDamage(bytes, 3000, use);
    EXPECT_GT(refused, 100);
    EXPECT_GT(read, 0);
    // Cuts with a length that agrees.
    for (size_t size = kLogBatchHeaderBytes; size < bytes.size(); ++size) {
      std::string cut = bytes.substr(0, size);
      internal::SetLogBatchLength(cut.data(), size);
      use(ExactBytes(cut).view());
    }
  }
}

}  // namespace
}  // namespace sluice::wire
