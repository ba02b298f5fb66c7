#include "tiering/log_gap.h"

#include "tiering/round_testing.h"

namespace sluice::tiering {
namespace {

using testing::ElementsAre;
using wire::ChangeType;

// Its tiering was off meanwhile.
TEST_F(RoundTest, LogThatExpiredBehindTheLakeIsPassedAndRecordedAsAGap) {
  const auto& path = Make("events", false, 1);
  cluster_.Append(path, 0, {Row(1, "a")});
  ASSERT_OK(Run());
  cluster_.Append(path, 0, {Row(2, "b"), Row(3, "c")});
  cluster_.Append(path, 0, {Row(4, "d")});
  cluster_.log_start = 3;
  ASSERT_OK_AND_ASSIGN(auto result, Run());
  EXPECT_THAT(result.gaps, ElementsAre(LogGap{"", 0, 1, 3}));
  EXPECT_THAT(lake_.Read(path),
              ElementsAre(TestLake::Row{1, "a", 0, 0}, TestLake::Row{4, "d", 0, 3}));
  EXPECT_EQ(RecordedOffset(0), 4);
  // Nothing but the gap: it is recorded all the same, so that the table is not due for ever.
  cluster_.Append(path, 0, {Row(5, "e")});
  cluster_.log_start = 5;
  ASSERT_OK_AND_ASSIGN(result, Run());
  EXPECT_EQ(RecordedOffset(0), 5);
  // A later round keeps them.
  cluster_.Append(path, 0, {Row(6, "f")});
  ASSERT_OK_AND_ASSIGN(result, Run());
  EXPECT_THAT(result.gaps, ElementsAre(LogGap{"", 0, 1, 3}, LogGap{"", 0, 4, 5}));
  ASSERT_OK_AND_ASSIGN(const auto table, lake_.catalog().OpenTable(path));
  EXPECT_EQ(GapsOf(table->NewestSnapshotOf(lake::kTieringUser).ValueOrDie()).ValueOrDie(),
            result.gaps);
}

TEST_F(RoundTest, ChangelogThatWasCutBehindTheLakeIsRefused) {
  const auto& path = Make("keyed", true, 1);
  cluster_.Append(path, 0, {{ChangeType::kInsert, 1, "a"}});
  ASSERT_OK(Run());
  cluster_.Append(path, 0, {{ChangeType::kInsert, 2, "b"}});
  cluster_.Append(path, 0, {{ChangeType::kInsert, 3, "c"}});
  cluster_.log_start = 2;
  EXPECT_CODE(ErrorCode::kInvalidTable, Run());
  EXPECT_EQ(RecordedOffset(0), 1);
}

TEST(LogGapTest, TextIsReadBack) {
  const std::vector<LogGap> gaps = {{"", 0, 1, 3}, {"eu west$2024", 7, 10, 20}};
  EXPECT_EQ(GapsFromText(GapsToText(gaps)).ValueOrDie(), gaps);
  EXPECT_EQ(GapsFromText(GapsToText({})).ValueOrDie(), std::vector<LogGap>());
  EXPECT_CODE(ErrorCode::kCorruptRecord, GapsFromText("0 x"));
  const auto many = GapsFromText(GapsToText(std::vector<LogGap>(kGapsMax + 1))).ValueOrDie();
  EXPECT_EQ(many.size(), kGapsMax);
}

TEST(LogGapTest, OfManyTheSameAreKeptHereAsInASnapshot) {
  std::vector<LogGap> gaps;
  for (int64_t i = 0; i < static_cast<int64_t>(kGapsMax) + 5; ++i) AddGap({"", 0, i, i + 1}, &gaps);
  ASSERT_EQ(gaps.size(), kGapsMax);
  EXPECT_EQ(gaps.front(), (LogGap{"", 0, 5, 6}));
  EXPECT_EQ(GapsFromText(GapsToText(gaps)).ValueOrDie(), gaps);
}

}  // namespace
}  // namespace sluice::tiering
