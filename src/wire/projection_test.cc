#include "wire/projection.h"

#include "base/bytes.h"
#include "base/testing.h"
#include "wire/arrow_message_internal.h"
#include "wire/log_batch.h"
#include "wire/log_batch_internal.h"
#include "wire/sample_rows_testing_internal.h"
#include "wire/testing_internal.h"

namespace sluice::wire {
namespace {

using internal::ExactBytes;
using internal::RandomDamage;
using internal::SampleRows;
using internal::SampleSchema;

std::shared_ptr<arrow::Schema> Chosen(const std::vector<int32_t>& positions) {
  arrow::FieldVector fields;
  for (const int32_t position : positions) fields.push_back(SampleSchema()->field(position));
  return arrow::schema(fields);
}

std::string SampleBatch(ArrowCompression compression, bool append_only = true) {
  const std::vector<ChangeType> changes(append_only ? 0 : 4, ChangeType::kUpdateAfter);
  const LogBatchOptions options{
      .schema_id = 2, .writer_id = 5, .batch_sequence = 6, .compression = compression};
  std::string bytes = BuildLogBatch(options, *SampleRows(), changes).ValueOrDie();
  StampBatch(bytes.data(), 100, 1234);
  return bytes;
}

class ProjectionCodecTest : public testing::TestWithParam<ArrowCompression> {};

// Every single column, and pairs of neighbours and strangers, decode to what the full batch has
// there.
TEST_P(ProjectionCodecTest, EveryChoiceOfColumnsDecodes) {
  const int columns = SampleSchema()->num_fields();
  std::vector<std::vector<int32_t>> choices;
  for (int32_t i = 0; i < columns; ++i) {
    choices.push_back({i});
    for (int32_t j = i + 1; j < columns; ++j) choices.push_back({i, j});
  }
  choices.emplace_back();
  for (int32_t i = 0; i < columns; ++i) choices.back().push_back(i);

  for (const bool append_only : {true, false}) {
    const std::string bytes = SampleBatch(GetParam(), append_only);
    for (const auto& positions : choices) {
      ASSERT_OK_AND_ASSIGN(const auto projector, BatchProjector::Make(*SampleSchema(), positions));
      ASSERT_OK_AND_ASSIGN(const auto projected, projector.ProjectInMemory(bytes));
      ASSERT_OK_AND_ASSIGN(const auto batch, LogBatchView::Parse(projected));
      EXPECT_EQ(batch.bytes().size(), projected.size());
      ASSERT_OK_AND_ASSIGN(const auto rows, DecodeRows(batch, Chosen(positions)));
      ASSERT_OK_AND_ASSIGN(const auto expected,
                           SampleRows()->SelectColumns({positions.begin(), positions.end()}));
      EXPECT_TRUE(rows->Equals(*expected)) << "first column " << positions[0];
    }
  }
}

TEST_P(ProjectionCodecTest, KeepsTheHeaderAndTheStaleCrc) {
  const std::string bytes = SampleBatch(GetParam(), /*append_only=*/false);
  ASSERT_OK_AND_ASSIGN(const auto projector,
                       BatchProjector::Make(*SampleSchema(), std::vector<int32_t>{3}));
  ASSERT_OK_AND_ASSIGN(const auto projected, projector.ProjectInMemory(bytes));
  ASSERT_OK_AND_ASSIGN(const auto batch, LogBatchView::Parse(projected));
  ASSERT_OK_AND_ASSIGN(const auto original, LogBatchView::Parse(bytes));
  EXPECT_EQ(batch.header().base_offset, 100);
  EXPECT_EQ(batch.header().commit_timestamp_ms, 1234);
  EXPECT_EQ(batch.header().crc, original.header().crc);
  EXPECT_FALSE(batch.CrcMatches());
  EXPECT_EQ(batch.header().writer_id, 5);
  EXPECT_EQ(batch.header().record_count, 4);
  EXPECT_EQ(batch.change_types(), "\x03\x03\x03\x03");
  EXPECT_LT(projected.size(), bytes.size());
}

INSTANTIATE_TEST_SUITE_P(Codecs, ProjectionCodecTest,
                         testing::Values(ArrowCompression::kNone, ArrowCompression::kLz4Frame,
                                         ArrowCompression::kZstd));

TEST(ProjectionTest, NeighboursAreOneRange) {
  ASSERT_OK_AND_ASSIGN(const auto projector,
                       BatchProjector::Make(*SampleSchema(), std::vector<int32_t>{3, 4, 6, 18}));
  ASSERT_OK_AND_ASSIGN(const auto projected,
                       projector.Project(SampleBatch(ArrowCompression::kNone)));
  EXPECT_EQ(projected.ranges.size(), 3u);
  uint64_t bytes = projected.head.size();
  for (const auto& range : projected.ranges) bytes += range.size_bytes;
  EXPECT_EQ(projected.size_bytes, bytes);
}

// The reader of a file gives as much of the front as is asked for, however little it begins with.
TEST(ProjectionTest, AsksForTheFrontInSteps) {
  const std::string bytes = SampleBatch(ArrowCompression::kZstd, /*append_only=*/false);
  ASSERT_OK_AND_ASSIGN(const auto projector,
                       BatchProjector::Make(*SampleSchema(), std::vector<int32_t>{7}));
  ASSERT_OK_AND_ASSIGN(const auto whole, projector.Project(bytes));
  for (const size_t start : {0, 13, 48, 60, 64, 200}) {
    size_t have = start;
    for (int steps = 0;; ++steps) {
      ASSERT_LE(steps, 4);
      ASSERT_OK_AND_ASSIGN(const auto needed,
                           BatchProjector::FrontBytes(ExactBytes(bytes.substr(0, have)).view()));
      if (needed <= have) break;
      have = needed;
    }
    ASSERT_OK_AND_ASSIGN(const auto projected,
                         projector.Project(ExactBytes(bytes.substr(0, have)).view()));
    EXPECT_EQ(projected.head, whole.head);
    EXPECT_EQ(projected.ranges, whole.ranges);
  }
}

TEST(ProjectionTest, StatisticsDropOut) {
  const std::string magic0 = SampleBatch(ArrowCompression::kZstd);
  std::string magic1 = magic0.substr(0, kLogBatchHeaderBytes);
  magic1[12] = 1;
  AppendLe<int32_t>(&magic1, 4);
  magic1 += "stat" + magic0.substr(kLogBatchHeaderBytes);
  internal::FinishLogBatch(&magic1);
  ASSERT_OK_AND_ASSIGN(const auto projector,
                       BatchProjector::Make(*SampleSchema(), std::vector<int32_t>{7, 16}));
  ASSERT_OK_AND_ASSIGN(const auto projected, projector.ProjectInMemory(magic1));
  ASSERT_OK_AND_ASSIGN(const auto batch, LogBatchView::Parse(projected));
  EXPECT_EQ(batch.header().magic, 0);
  ASSERT_OK_AND_ASSIGN(const auto rows, DecodeRows(batch, Chosen({7, 16})));
  ASSERT_OK_AND_ASSIGN(const auto expected, SampleRows()->SelectColumns({7, 16}));
  EXPECT_TRUE(rows->Equals(*expected));
}

TEST(ProjectionTest, EmptyBatchStaysAHeader) {
  const std::string bytes = BuildEmptyLogBatch({}, false);
  ASSERT_OK_AND_ASSIGN(const auto projector,
                       BatchProjector::Make(*SampleSchema(), std::vector<int32_t>{1}));
  ASSERT_OK_AND_ASSIGN(const auto needed, BatchProjector::FrontBytes(bytes));
  EXPECT_EQ(needed, kLogBatchHeaderBytes);
  ASSERT_OK_AND_ASSIGN(const auto projected, projector.ProjectInMemory(bytes));
  EXPECT_EQ(ToHex(projected), ToHex(bytes));
}

TEST(ProjectionTest, RefusesPositionsOutOfOrderOrOutside) {
  for (const std::vector<int32_t>& positions :
       {std::vector<int32_t>{}, {1, 1}, {2, 1}, {-1}, {19}, {0, 19}, {INT32_MIN}, {0, INT32_MAX}}) {
    EXPECT_CODE(ErrorCode::kInvalidColumnProjection,
                BatchProjector::Make(*SampleSchema(), positions));
  }
}

TEST(ProjectionTest, RefusesBatchesOfAnotherSchema) {
  ASSERT_OK_AND_ASSIGN(const auto projector,
                       BatchProjector::Make(*Chosen({0, 1}), std::vector<int32_t>{0}));
  EXPECT_CODE(ErrorCode::kCorruptRecord, projector.Project(SampleBatch(ArrowCompression::kNone)));
}

// A buffer that points outside the body, or before the one in front of it.
TEST(ProjectionTest, RefusesBuffersThatLie) {
  const std::string bytes = SampleBatch(ArrowCompression::kNone);
  ASSERT_OK_AND_ASSIGN(const auto batch, LogBatchView::Parse(bytes));
  ASSERT_OK_AND_ASSIGN(const auto head_bytes, internal::ArrowHeadBytes(batch.body()));
  ASSERT_OK_AND_ASSIGN(const auto good,
                       internal::ParseArrowHead(batch.body().substr(0, head_bytes)));
  ASSERT_OK_AND_ASSIGN(const auto projector,
                       BatchProjector::Make(*SampleSchema(), std::vector<int32_t>{3}));
  const auto project = [&](const internal::ArrowMessage& message) {
    std::string changed = bytes.substr(0, kLogBatchHeaderBytes) + internal::BuildArrowHead(message);
    changed += batch.body().substr(head_bytes);
    internal::FinishLogBatch(&changed);
    return projector.ProjectInMemory(changed);
  };
  ASSERT_OK(project(good));
  for (const int64_t offset : {int64_t{-8}, good.body_bytes + 8, INT64_MAX, INT64_MIN}) {
    auto lying = good;
    lying.buffers[7].offset_bytes = offset;  // Data of column "int".
    EXPECT_CODE(ErrorCode::kCorruptRecord, project(lying));
  }
  for (const int64_t size : {int64_t{-1}, good.body_bytes, INT64_MAX}) {
    auto lying = good;
    lying.buffers[7].size_bytes = size;
    EXPECT_CODE(ErrorCode::kCorruptRecord, project(lying));
  }
  auto longer = good;
  longer.body_bytes += 8;
  EXPECT_CODE(ErrorCode::kCorruptRecord, project(longer));
}

TEST(ProjectionTest, AnyDamageStaysInside) {
  for (const auto compression : {ArrowCompression::kNone, ArrowCompression::kZstd}) {
    const std::string bytes = SampleBatch(compression, /*append_only=*/false);
    ASSERT_OK_AND_ASSIGN(const auto projector,
                         BatchProjector::Make(*SampleSchema(), std::vector<int32_t>{0, 7, 17}));
    int refused = 0, cut = 0;
    const auto use = [&](std::string_view damaged) {
      const auto projected = projector.Project(damaged);
      ++(projected.ok() ? cut : refused);
      if (!projected.ok()) return;
      ASSERT_OK_AND_ASSIGN(const auto header, ParseLogBatchHeader(damaged));
      for (const auto& range : projected->ranges) {
        EXPECT_LE(range.position_bytes + range.size_bytes, header.size_bytes());
      }
      const auto all = projector.ProjectInMemory(damaged);
      EXPECT_TRUE(!all.ok() || all->size() == projected->size_bytes);
    };
    RandomDamage(bytes, 5000, use);
    EXPECT_GT(refused, 500);
    EXPECT_GT(cut, 100);
    for (size_t size = 0; size < bytes.size(); ++size)
      use(ExactBytes(bytes.substr(0, size)).view());
  }
}

TEST(ArrowMessageTest, HeadRoundTrips) {
  internal::ArrowMessage message;
  message.row_count = 9;
  message.body_bytes = 64;
  message.nodes = {{9, 1}, {9, 0}};
  message.buffers = {{0, 2}, {8, 36}, {48, 0}};
  for (const std::optional<int8_t> codec :
       {std::optional<int8_t>(), std::optional<int8_t>(0), std::optional<int8_t>(1)}) {
    message.codec = codec;
    const std::string head = internal::BuildArrowHead(message);
    EXPECT_EQ(head.size() % 8, 0u);
    ASSERT_OK_AND_ASSIGN(const auto again, internal::ParseArrowHead(head));
    EXPECT_EQ(again.codec, codec);
    EXPECT_EQ(again.row_count, 9);
    EXPECT_EQ(again.body_bytes, 64);
    EXPECT_EQ(again.nodes.size(), 2u);
    EXPECT_EQ(again.nodes[0].null_count, 1);
    ASSERT_EQ(again.buffers.size(), 3u);
    EXPECT_EQ(again.buffers[1].offset_bytes, 8);
    EXPECT_EQ(again.buffers[1].size_bytes, 36);
    internal::EveryCut(
        head, [](std::string_view cut) { EXPECT_FALSE(internal::ParseArrowHead(cut).ok()); });
  }
}

}  // namespace
}  // namespace sluice::wire
