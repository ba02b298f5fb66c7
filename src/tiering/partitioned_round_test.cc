// Rounds over partitions that come and go.
#include "tiering/round_testing.h"

namespace sluice::tiering {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using wire::ChangeType;

types::PartitionInfo Partition(int64_t id, std::string value) {
  return {.partition_id = id, .values = {std::move(value)}};
}

class PartitionedRoundTest : public RoundTest {
 protected:
  void MakeParts(bool primary_key) {
    table_ = LakeTestTable(11, "parts", primary_key, 1);
    table_.descriptor.partition_keys = {"name"};
    if (primary_key) table_.descriptor.schema.primary_key = {"id", "name"};
    cluster_.AddTable(table_);
    lake_.Create(table_);
  }
  void Append(int64_t partition_id, std::vector<LogRow> rows) {
    cluster_.Append(table_.path, 0, std::move(rows), 1000, partition_id);
  }
  std::vector<int32_t> IdsInLake() {
    std::vector<int32_t> ids;
    for (const TestLake::Row& row : lake_.Read(table_.path)) ids.push_back(row.id);
    std::ranges::sort(ids);
    return ids;
  }
};

TEST_F(PartitionedRoundTest, APartitionMadeAgainStartsFromItsOwnLog) {
  MakeParts(false);
  cluster_.SetPartitions({Partition(1, "a"), Partition(2, "b")});
  Append(1, {Row(1, "a"), Row(2, "a"), Row(3, "a")});
  Append(2, {Row(4, "b")});
  ASSERT_OK(Run());
  cluster_.SetPartitions({Partition(2, "b"), Partition(3, "a")});
  Append(3, {Row(5, "a")});
  ASSERT_OK(Run());
  EXPECT_THAT(IdsInLake(), ElementsAre(1, 2, 3, 4, 5));
  Append(3, {Row(6, "a"), Row(7, "a")});
  ASSERT_OK(Run());
  EXPECT_THAT(IdsInLake(), ElementsAre(1, 2, 3, 4, 5, 6, 7));
}

TEST_F(PartitionedRoundTest, APartitionDroppedDuringTheRoundTakesItsRowsWithIt) {
  for (const bool made_again : {false, true}) {
    SCOPED_TRACE(made_again);
    if (!made_again) MakeParts(true);
    cluster_.SetPartitions({Partition(1, "a"), Partition(2, "b")});
    const int32_t first = made_again ? 10 : 0;
    Append(1, {{ChangeType::kInsert, first + 1, "a"}});
    Append(2, {{ChangeType::kInsert, first + 2, "b"}});
    cluster_.before_open_log = [&] {
      std::vector<types::PartitionInfo> left = {Partition(2, "b")};
      if (made_again) left.push_back(Partition(3, "a"));
      cluster_.SetPartitions(std::move(left));
    };
    ASSERT_OK_AND_ASSIGN(const auto result, Run());
    EXPECT_EQ(result.summary.records, 1);
    EXPECT_OK(lake_.catalog().CheckPartitionEmpty(table_.path, {"a"}));
    const auto recorded = cluster_.RecordedSnapshot(table_.path).ValueOrDie();
    ASSERT_EQ(recorded->buckets.size(), 1u);
    EXPECT_EQ(recorded->buckets[0].partition_id, 2);
  }
  EXPECT_THAT(IdsInLake(), ElementsAre(2, 12));
  EXPECT_CODE(ErrorCode::kLakeTableAlreadyExist,
              lake_.catalog().CheckPartitionEmpty(table_.path, {"b"}));
}

TEST_F(PartitionedRoundTest, ARoundOfDroppedPartitionsAloneMakesNoSnapshot) {
  MakeParts(false);
  cluster_.SetPartitions({Partition(1, "a")});
  Append(1, {Row(1, "a")});
  cluster_.before_open_log = [&] { cluster_.SetPartitions({}); };
  ASSERT_OK_AND_ASSIGN(const auto result, Run());
  EXPECT_EQ(result.summary.snapshot_id, -1);
  EXPECT_THAT(lake_.Read(table_.path), IsEmpty());
}

}  // namespace
}  // namespace sluice::tiering
