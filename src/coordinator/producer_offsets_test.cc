// Offsets of producers: how many there may be, and that they go.
#include "coordinator/coordinator_testing.h"
#include "coordinator/producer_offsets_internal.h"

namespace sluice::coordinator {
namespace {

using wire::ApiKey;

class ProducerOffsetsTest : public testing::Test {
 protected:
  ProducerOffsetsTest() { h_.Start(); }
  // With so many bytes, which a later version of the protocol may have for something.
  Result<wire::RegisterProducerOffsetsResponse> Register(const std::string& id, size_t size_bytes,
                                                         int64_t ttl_ms = 3'600'000) {
    wire::RegisterProducerOffsetsRequest request;
    request.set_producer_id(id);
    request.set_ttl_ms(ttl_ms);
    auto* table = request.add_table_offsets();
    table->set_table_id(4);
    if (size_bytes > 0) {
      std::string* later = table->mutable_unknown_fields();
      *later = "\xa2\x06";  // Field 100, so many bytes.
      AppendVarint(size_bytes, later);
      later->append(size_bytes, 'x');
    }
    return h_.Call<wire::RegisterProducerOffsetsResponse>(ApiKey::kRegisterProducerOffsets,
                                                          request);
  }
  static void AppendVarint(size_t value, std::string* out) {
    for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
    out->push_back(static_cast<char>(value));
  }
  bool Has(const std::string& id) {
    wire::GetProducerOffsetsRequest get;
    get.set_producer_id(id);
    const auto got = h_.Call<wire::GetProducerOffsetsResponse>(ApiKey::kGetProducerOffsets, get);
    EXPECT_OK(got);
    return got->has_producer_id();
  }
  Harness h_;
};

TEST_F(ProducerOffsetsTest, TheirBytesAreBoundedAndWhatExpiresMakesRoom) {
  EXPECT_CODE(ErrorCode::kRecordTooLarge, Register("large", ProducerOffsets::kBytesMax + 1));
  constexpr size_t kLarge = ProducerOffsets::kBytesMax * 9 / 10;
  const int fit = static_cast<int>(ProducerOffsets::kBytesInAllMax / kLarge);
  for (int i = 0; i < fit; ++i) ASSERT_OK(Register("p" + std::to_string(i), kLarge, 60'000));
  EXPECT_CODE(ErrorCode::kUnknownServer, Register("more", kLarge));
  EXPECT_FALSE(Has("more"));
  EXPECT_EQ(Register("p0", kLarge)->result(), 1);  // It is there.
  h_.Restart();
  EXPECT_CODE(ErrorCode::kUnknownServer, Register("more", kLarge));
  wire::DeleteProducerOffsetsRequest remove;
  remove.set_producer_id("p0");
  ASSERT_OK(h_.Call(ApiKey::kDeleteProducerOffsets, remove));
  ASSERT_OK(Register("more", kLarge));
  EXPECT_CODE(ErrorCode::kUnknownServer, Register("and more", kLarge));
  h_.world.RunFor(std::chrono::seconds(61));
  ASSERT_OK(Register("and more", kLarge));
  EXPECT_TRUE(Has("more") && Has("and more"));
}

TEST_F(ProducerOffsetsTest, TheirNumberIsBoundedAndTheyGoInFewWrites) {
  for (size_t i = 0; i < ProducerOffsets::kProducersMax; ++i)
    ASSERT_OK(Register("p" + std::to_string(i), 0, 60'000));
  EXPECT_CODE(ErrorCode::kUnknownServer, Register("more", 0));
  const int before = h_.store.writes;
  h_.world.RunFor(std::chrono::minutes(11));
  EXPECT_THAT(h_.catalog->ListValues("producers").ValueOrDie(), testing::IsEmpty());
  EXPECT_LE(h_.store.writes - before, 20);
}

TEST_F(ProducerOffsetsTest, WhatCannotBeReadGoes) {
  ASSERT_OK(Register("good", 100));
  ASSERT_OK(h_.catalog->PutValue("producers", "626164", "\x0a\xff\xff"));
  ASSERT_OK(h_.catalog->PutValue("producers", "6e6f6e65", ""));
  h_.Restart();
  EXPECT_EQ(h_.catalog->ListValues("producers")->size(), 1u);
  EXPECT_TRUE(Has("good"));
}

}  // namespace
}  // namespace sluice::coordinator
