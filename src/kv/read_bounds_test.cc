// What a shard reads in one turn, and what a put of keys may hold.
#include "kv/kv_tablet.h"
#include "kv/tablet_fixture.h"

namespace sluice::kv {
namespace {

class ReadBoundsTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(bucket_.Reopen()); }
  void PutRows(int32_t count, const std::string& text) {
    std::vector<TestPut> puts;
    for (int32_t id = 0; id < count; ++id) puts.push_back(Up({id, text, id, {}}));
    ASSERT_OK(bucket_.Put(puts));
  }

  MemoryKeyStores stores_;
  ManualPool pool_;
  TestBucket bucket_{stores_, "kv-0", TestTable(), &pool_, 1 << 30};
};

TEST_F(ReadBoundsTest, MoreRowsThanATurnAreForThePool) {
  const auto rows = static_cast<int32_t>(kTurnRowsMax) + 1;
  PutRows(rows, "x");
  const KvTablet& tablet = bucket_.tablet();
  EXPECT_FALSE(tablet.FirstCached(kTurnRowsMax + 1).ValueOrDie().has_value());
  EXPECT_TRUE(tablet.FirstCached(kTurnRowsMax).ValueOrDie().has_value());
  const KeyRanges all{{""}};
  EXPECT_FALSE(tablet.ReadCached(all).ValueOrDie().has_value());
  const KeyRanges halves{{"", ""}, kTurnRowsMax / 2 + 1};  // The turn is of all ranges together.
  EXPECT_FALSE(tablet.ReadCached(halves).ValueOrDie().has_value());
  size_t copied_bytes = 0;
  const auto later = tablet.ReadLater(all, &copied_bytes).ValueOrDie();
  EXPECT_GT(copied_bytes, static_cast<size_t>(rows));
  EXPECT_EQ(later().ValueOrDie()[0].size(), static_cast<size_t>(rows));
}

TEST_F(ReadBoundsTest, SoAreMoreBytes) {
  PutRows(10, std::string(kTurnBytesMax / 4, 'x'));
  const KvTablet& tablet = bucket_.tablet();
  EXPECT_TRUE(tablet.FirstCached(2).ValueOrDie().has_value());
  EXPECT_FALSE(tablet.FirstCached(10).ValueOrDie().has_value());
  EXPECT_TRUE(tablet.ReadCached({{""}, 2}).ValueOrDie().has_value());
  EXPECT_FALSE(tablet.ReadCached({{""}, 10}).ValueOrDie().has_value());
}

// A client's keys, and the rows that are made of them: never more than a batch holds.
TEST_F(ReadBoundsTest, RowsOfKeysAreBounded) {
  const std::string key = bucket_.Key(1);
  const std::vector<std::string_view> keys(100, key);
  const KvTablet& tablet = bucket_.tablet();
  ASSERT_OK_AND_ASSIGN(const auto batch, tablet.BatchOfKeys(keys));
  EXPECT_OK(tablet.BatchOfKeys(keys, 2 * batch.batch.size()));
  EXPECT_CODE(ErrorCode::kRecordTooLarge, tablet.BatchOfKeys(keys, batch.batch.size() / 2));
}

}  // namespace
}  // namespace sluice::kv
