#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "base/bytes.h"
#include "base/testing.h"
#include "wire/arrow_message_internal.h"
#include "wire/log_batch.h"
#include "wire/log_batch_internal.h"
#include "wire/sample_rows_testing_internal.h"
#include "wire/testing_internal.h"

namespace sluice::wire {
namespace {

using internal::ArrowMessage;
using internal::RowsFromJson;
using internal::SampleRows;
using internal::SampleSchema;

// A batch taken apart: its Arrow message, and its body as text that a test may damage.
struct Parts {
  ArrowMessage message;
  std::string body;
};

std::string Build(const arrow::RecordBatch& rows, ArrowCompression compression) {
  return BuildLogBatch({.compression = compression}, rows, {}).ValueOrDie();
}

Parts TakeApart(const std::string& batch) {
  const std::string_view bytes = std::string_view(batch).substr(kLogBatchHeaderBytes);
  const size_t head_bytes = internal::ArrowHeadBytes(bytes).ValueOrDie();
  return {internal::ParseArrowHead(bytes.substr(0, head_bytes)).ValueOrDie(),
          std::string(bytes.substr(head_bytes))};
}

// The batch again, with a CRC that fits.
std::string PutTogether(const std::string& batch, const Parts& parts) {
  std::string out = batch.substr(0, kLogBatchHeaderBytes);
  out += internal::BuildArrowHead(parts.message) + parts.body;
  internal::FinishLogBatch(&out);
  return out;
}

Status Check(const std::string& bytes, const arrow::Schema& schema) {
  ASSIGN_OR_RAISE(const auto batch, LogBatchView::Parse(bytes));
  EXPECT_TRUE(batch.CrcMatches());
  return CheckRows(batch, schema);
}

// One column of 5000 numbers, which pack into one frame of more than a block's header.
class FrameTest : public testing::TestWithParam<ArrowCompression> {
 protected:
  FrameTest() {
    std::string json = "[";
    for (int i = 0; i < 5000; ++i) json += (i == 0 ? "[" : ",[") + std::to_string(i * i) + "]";
    good_ = Build(*RowsFromJson(schema_, json + "]"), GetParam());
    parts_ = TakeApart(good_);
    values_ = parts_.message.buffers[1];
  }

  char* packed() { return parts_.body.data() + values_.offset_bytes; }
  char* frame() { return packed() + 8; }
  std::string Batch() const { return PutTogether(good_, parts_); }

  const std::shared_ptr<arrow::Schema> schema_ = arrow::schema({arrow::field("n", arrow::int32())});
  std::string good_;
  Parts parts_;
  ArrowMessage::Buffer values_;
};
INSTANTIATE_TEST_SUITE_P(Codecs, FrameTest,
                         testing::Values(ArrowCompression::kLz4Frame, ArrowCompression::kZstd));

TEST_P(FrameTest, AcceptsItsOwn) { EXPECT_OK(Check(Batch(), *schema_)); }

TEST_P(FrameTest, RefusesAnotherMagic) {
  frame()[0] = static_cast<char>(frame()[0] ^ 1);
  EXPECT_CODE(ErrorCode::kCorruptRecord, Check(Batch(), *schema_));
}

TEST_P(FrameTest, NamesTheColumn) {
  frame()[1] = 0;
  EXPECT_THAT(Check(Batch(), *schema_).message(), testing::HasSubstr("column=n"));
}

TEST_P(FrameTest, RefusesTooFewBytesForTheRows) {
  for (const int64_t claim : {int64_t{0}, int64_t{1}, int64_t{4 * 5000 - 1}}) {
    StoreLe(packed(), claim);
    EXPECT_CODE(ErrorCode::kCorruptRecord, Check(Batch(), *schema_));
  }
}

TEST_P(FrameTest, RefusesCutFramesAndBytesBehindThem) {
  auto& size_bytes = parts_.message.buffers[1].size_bytes;
  for (int64_t cut = 0; cut < values_.size_bytes; cut += 7) {
    size_bytes = cut;
    EXPECT_CODE(ErrorCode::kCorruptRecord, Check(Batch(), *schema_));
  }
  size_bytes = values_.size_bytes + 1;
  parts_.body += std::string(8, '\0');
  parts_.message.body_bytes += 8;
  EXPECT_CODE(ErrorCode::kCorruptRecord, Check(Batch(), *schema_));
}

TEST_P(FrameTest, TakesRawBuffersBehindMinusOne) {
  std::string raw(8 + 4 * 5000, '\x01');
  StoreLe<int64_t>(raw.data(), -1);
  parts_.body = raw;
  parts_.message.buffers = {{0, 0}, {0, static_cast<int64_t>(raw.size())}};
  parts_.message.body_bytes = static_cast<int64_t>(raw.size());
  EXPECT_OK(Check(Batch(), *schema_));
  parts_.message.buffers[1].size_bytes -= 1;
  EXPECT_CODE(ErrorCode::kCorruptRecord, Check(Batch(), *schema_));
}

// Java writes an empty buffer as a length of 0 and no frame.
TEST_P(FrameTest, TakesEmptyBuffersWithoutAFrame) {
  parts_.body.insert(0, 8, '\0');
  parts_.message.buffers = {{0, 8}, {values_.offset_bytes + 8, values_.size_bytes}};
  parts_.message.body_bytes += 8;
  EXPECT_OK(Check(Batch(), *schema_));
}

TEST(ZstdFrameTest, RefusesAnotherContentSize) {
  const auto schema = arrow::schema({arrow::field("s", arrow::utf8())});
  const std::string good =
      Build(*RowsFromJson(schema, R"([["some text"]])"), ArrowCompression::kZstd);
  Parts parts = TakeApart(good);
  const auto& text = parts.message.buffers[2];
  // Nobody else tells how long the text is; only the frame itself does.
  StoreLe<int64_t>(parts.body.data() + text.offset_bytes, 10);
  EXPECT_CODE(ErrorCode::kCorruptRecord, Check(PutTogether(good, parts), *schema));
}

TEST(ColumnCheckTest, AcceptsEveryTypeInEveryCodec) {
  for (const auto compression :
       {ArrowCompression::kNone, ArrowCompression::kLz4Frame, ArrowCompression::kZstd}) {
    const std::string good = Build(*SampleRows(), compression);
    EXPECT_OK(Check(good, *SampleSchema()));
    EXPECT_OK(Check(PutTogether(good, TakeApart(good)), *SampleSchema()));
    const auto first = SampleRows()->Slice(1, 1);  // NULL and empty values alone.
    EXPECT_OK(Check(Build(*first, compression), *SampleSchema()));
  }
}

TEST(ColumnCheckTest, RefusesBuffersThatOverlapOrAreTooSmall) {
  const std::string good = Build(*SampleRows(), ArrowCompression::kNone);
  const Parts parts = TakeApart(good);
  for (size_t i = 0; i < parts.message.buffers.size(); ++i) {
    SCOPED_TRACE(i);
    if (parts.message.buffers[i].size_bytes == 0) continue;
    Parts overlapping = parts;
    if (i > 0) {
      overlapping.message.buffers[i].offset_bytes = 0;
      EXPECT_CODE(ErrorCode::kCorruptRecord,
                  Check(PutTogether(good, overlapping), *SampleSchema()));
    }
    Parts beyond = parts;
    beyond.message.buffers[i].size_bytes = parts.message.body_bytes;
    EXPECT_CODE(ErrorCode::kCorruptRecord, Check(PutTogether(good, beyond), *SampleSchema()));
  }
  Parts small = parts;
  small.message.buffers[7].size_bytes = 15;  // Four INTs.
  EXPECT_CODE(ErrorCode::kCorruptRecord, Check(PutTogether(good, small), *SampleSchema()));
  small = parts;
  small.message.buffers[6].size_bytes = 0;  // Their validity: one is NULL.
  EXPECT_CODE(ErrorCode::kCorruptRecord, Check(PutTogether(good, small), *SampleSchema()));
}

TEST(ColumnCheckTest, RefusesColumnsOfOtherRowCounts) {
  const std::string good = Build(*SampleRows(), ArrowCompression::kZstd);
  for (const int64_t rows : {int64_t{0}, int64_t{3}, int64_t{5}, INT64_MAX}) {
    Parts parts = TakeApart(good);
    parts.message.nodes[3] = {rows, 0};
    EXPECT_CODE(ErrorCode::kCorruptRecord, Check(PutTogether(good, parts), *SampleSchema()));
    parts = TakeApart(good);
    parts.message.nodes.back() = {rows, 0};
    EXPECT_CODE(ErrorCode::kCorruptRecord, Check(PutTogether(good, parts), *SampleSchema()));
  }
}

// Nothing is refused that could have been read.
TEST(ColumnCheckTest, RefusesOnlyWhatCannotBeDecoded) {
  const std::string good = Build(*SampleRows(), ArrowCompression::kZstd);
  int refused = 0;
  internal::RandomDamage(good, 3000, [&](std::string_view damaged) {
    std::string bytes(damaged);
    if (LoadLe<int32_t>(bytes.data() + 8) != LoadLe<int32_t>(good.data() + 8)) return;
    internal::FinishLogBatch(&bytes);
    const auto batch = LogBatchView::Parse(bytes);
    if (!batch.ok()) return;
    if (CheckRows(*batch, *SampleSchema()).ok()) return;
    ++refused;
    EXPECT_FALSE(DecodeRows(*batch, SampleSchema()).ok());
  });
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace sluice::wire
