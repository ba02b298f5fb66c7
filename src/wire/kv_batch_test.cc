#include "wire/kv_batch.h"

#include "base/bytes.h"
#include "base/testing.h"
#include "wire/frame.h"
#include "wire/records.h"
#include "wire/testing_internal.h"

namespace sluice::wire {
namespace {

using internal::EveryCut;
using internal::RandomDamage;

// KV batches that pyfluss 1.0.0 wrote: 1000 upserts of ids 0 to 499 over two buckets.
std::vector<std::string> RecordedBatches() {
  const std::string frame = internal::ReadTestData("session/19_put_kv.request");
  const auto request =
      ParsePutKv(std::string_view(frame).substr(kFrameLengthBytes + kRequestHeaderBytes));
  std::vector<std::string> batches;
  for (const auto& bucket : request->buckets) batches.emplace_back(bucket.records);
  return batches;
}

TEST(KvBatchTest, RecordedBatchesEncodeBack) {
  int records = 0;
  for (const std::string& bytes : RecordedBatches()) {
    ASSERT_OK_AND_ASSIGN(const auto batch, KvBatchView::Parse(bytes));
    EXPECT_EQ(batch.bytes(), bytes);
    EXPECT_TRUE(batch.CrcMatches());
    EXPECT_EQ(batch.header().schema_id, 1);
    EXPECT_EQ(batch.header().batch_sequence, 0);
    records += static_cast<int>(batch.records().size());
    EXPECT_EQ(BuildKvBatch(1, batch.header().writer_id, 0, batch.records()), bytes);
  }
  EXPECT_EQ(records, 1000);
}

TEST(KvBatchTest, RecordWithoutRowIsADelete) {
  const std::vector<KvRecord> records = {
      {"key", "row"}, {"gone", std::nullopt}, {std::string_view("\0", 1), "x"}};
  const std::string bytes = BuildKvBatch(7, 42, 9, records);
  const std::string followed = bytes + "next batch";
  ASSERT_OK_AND_ASSIGN(const auto batch, KvBatchView::Parse(followed));
  EXPECT_EQ(batch.bytes(), bytes);
  EXPECT_EQ(batch.records(), records);
  EXPECT_EQ(batch.header().writer_id, 42);
  EXPECT_EQ(batch.header().batch_sequence, 9);
}

TEST(KvBatchTest, EmptyBatchIsOnlyAHeader) {
  const std::string bytes = BuildKvBatch(1, -1, -1, {});
  EXPECT_EQ(bytes.size(), kKvBatchHeaderBytes);
  ASSERT_OK_AND_ASSIGN(const auto batch, KvBatchView::Parse(bytes));
  EXPECT_TRUE(batch.records().empty());
  EXPECT_TRUE(batch.CrcMatches());
}

TEST(KvBatchTest, RefusesEveryCut) {
  const std::string bytes = RecordedBatches()[0].substr(0);
  EveryCut(std::string_view(bytes).substr(0, 3000), [](std::string_view cut) {
    EXPECT_CODE(ErrorCode::kCorruptRecord, KvBatchView::Parse(cut));
  });
}

TEST(KvBatchTest, EveryFlippedBitShows) {
  const std::vector<KvRecord> records = {{"key", "row"}, {"gone", std::nullopt}};
  const std::string bytes = BuildKvBatch(1, 2, 3, records);
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    internal::ExactBytes flipped(bytes);
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const auto batch = KvBatchView::Parse(flipped.view());
    EXPECT_FALSE(batch.ok() && batch->CrcMatches()) << "bit " << bit;
  }
}

TEST(KvBatchTest, AnyDamageStaysInside) {
  for (const std::string& bytes : RecordedBatches()) {
    int refused = 0, read = 0;
    RandomDamage(bytes, 2000, [&](std::string_view damaged) {
      const auto batch = KvBatchView::Parse(damaged);
      ++(batch.ok() ? read : refused);
      if (!batch.ok()) return;
      size_t key_bytes = 0;
      for (const auto& record : batch->records())
        key_bytes += record.key.size() + (record.row ? record.row->size() : 0);
      EXPECT_LE(key_bytes, damaged.size());
    });
    EXPECT_GT(refused, 500);
    EXPECT_GT(read, 5);
  }
}

TEST(KvBatchTest, RefusesLyingNumbers) {
  const std::string good = BuildKvBatch(1, 2, 3, std::vector<KvRecord>{{"key", "row"}});
  const auto with = [&good](size_t at, int32_t value) {
    std::string bytes = good;
    StoreLe(&bytes[at], value);
    return bytes;
  };
  for (const int32_t value : {-1, INT32_MIN, INT32_MAX, 0, 1000}) {
    EXPECT_CODE(ErrorCode::kCorruptRecord, KvBatchView::Parse(with(0, value)));
    EXPECT_CODE(ErrorCode::kCorruptRecord, KvBatchView::Parse(with(24, value)));
    EXPECT_CODE(ErrorCode::kCorruptRecord, KvBatchView::Parse(with(28, value)));
  }
  std::string magic = good;
  magic[4] = 1;
  EXPECT_CODE(ErrorCode::kCorruptRecord, KvBatchView::Parse(magic));
  for (const char attributes : {1, 2, -128}) {
    std::string changed = good;
    changed[11] = attributes;
    EXPECT_CODE(ErrorCode::kCorruptRecord, KvBatchView::Parse(changed));
  }
}

TEST(ValueBatchTest, RoundTrip) {
  const std::vector<std::string> values = {BuildStoredValue(1, "row"), BuildStoredValue(-2, "")};
  const std::string bytes = BuildValueBatch(values);
  EXPECT_EQ(ToHex(bytes),
            "14000000"
            "00"
            "02000000"
            "05000000"
            "0100"
            "726f77"
            "02000000"
            "feff");
  ASSERT_OK_AND_ASSIGN(const auto parsed, ParseValueBatch(bytes));
  ASSERT_EQ(parsed.size(), 2u);
  EXPECT_EQ(parsed[0].schema_id, 1);
  EXPECT_EQ(parsed[0].row, "row");
  EXPECT_EQ(parsed[1].schema_id, -2);
  ASSERT_OK_AND_ASSIGN(const auto none, ParseValueBatch(BuildValueBatch({})));
  EXPECT_TRUE(none.empty());
}

TEST(ValueBatchTest, RefusesDamage) {
  const std::string bytes = BuildValueBatch(
      std::vector<std::string>{BuildStoredValue(1, "row"), BuildStoredValue(1, "")});
  EveryCut(bytes, [](std::string_view cut) {
    EXPECT_CODE(ErrorCode::kCorruptRecord, ParseValueBatch(cut));
  });
  RandomDamage(bytes, 3000,
               [](std::string_view damaged) { ParseValueBatch(damaged).status().ok(); });
  EXPECT_CODE(ErrorCode::kCorruptRecord, ParseStoredValue("x"));
}

}  // namespace
}  // namespace sluice::wire
