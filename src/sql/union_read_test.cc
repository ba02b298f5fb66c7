#include "sql/union_read.h"

#include "base/testing.h"

namespace sluice::sql {

namespace {

TEST(UnionReadTest, AppendTableReadsTheLakeAndTheLogBehindIt) {
  const UnionPlan plan = PlanUnion({.snapshot_id = 7,
                                    .lake_offsets = {{{"", 0}, 10}, {{"", 1}, 4}},
                                    .high_watermarks = {{{"", 0}, 15}, {{"", 1}, 4}}});
  ASSERT_EQ(plan.parts.size(), 2u);
  EXPECT_EQ(plan.snapshot_id, 7);
  EXPECT_EQ(plan.parts[0].base, UnionPart::Base::kLake);
  EXPECT_EQ(plan.parts[0].log_from, 10);
  EXPECT_EQ(plan.parts[0].log_to, 15);
  EXPECT_FALSE(plan.parts[1].reads_log());
}

TEST(UnionReadTest, TableNeverTieredIsItsLogOrItsKeyStore) {
  const UnionPlan log = PlanUnion({.high_watermarks = {{{"", 0}, 3}}});
  EXPECT_EQ(log.snapshot_id, std::nullopt);
  EXPECT_EQ(log.parts[0].base, UnionPart::Base::kNothing);
  EXPECT_EQ(log.parts[0].log_from, UnionPart::kEarliest);
  const UnionPlan keys = PlanUnion({.primary_key = true, .high_watermarks = {{{"", 0}, 3}}});
  EXPECT_EQ(keys.parts[0].base, UnionPart::Base::kKeys);
}

TEST(UnionReadTest, BucketThatTheSnapshotLacksIsReadFromItsStart) {
  UnionFacts facts{.snapshot_id = 2,
                   .lake_offsets = {{{"p1", 0}, 5}},
                   .high_watermarks = {{{"p1", 0}, 6}, {{"p2", 0}, 9}}};
  EXPECT_EQ(PlanUnion(facts).parts[1].base, UnionPart::Base::kNothing);
  EXPECT_EQ(PlanUnion(facts).parts[1].log_from, UnionPart::kEarliest);
  facts.primary_key = true;
  EXPECT_EQ(PlanUnion(facts).parts[0].base, UnionPart::Base::kLake);
  EXPECT_EQ(PlanUnion(facts).parts[1].base, UnionPart::Base::kKeys);
}

TEST(UnionReadTest, LakeAheadOfTheKnownLogReadsNoLog) {
  const UnionPlan plan = PlanUnion({.primary_key = true,
                                    .snapshot_id = 3,
                                    .lake_offsets = {{{"", 0}, 20}},
                                    .high_watermarks = {{{"", 0}, 18}}});
  EXPECT_FALSE(plan.parts[0].reads_log());
}

TEST(UnionReadTest, LogThatExpiredBehindTheLakeIsReadFromItsStart) {
  const UnionFacts facts{
      .snapshot_id = 7, .lake_offsets = {{{"", 0}, 10}}, .high_watermarks = {{{"", 0}, 15}}};
  UnionPlan rows = PlanUnion(facts);
  PassGap(&rows.parts[0], /*primary_key=*/false, 12);
  EXPECT_EQ(rows.parts[0].base, UnionPart::Base::kLake);
  EXPECT_EQ(rows.parts[0].log_from, 12);
  EXPECT_EQ(rows.parts[0].gap_from, 10);
  EXPECT_EQ(DescribePlan(rows, false)[1],
            "bucket 0: lake, log [12, 15), expired before it was in the lake [10, 12)");
  UnionPlan keys = PlanUnion(facts);
  PassGap(&keys.parts[0], /*primary_key=*/true, 12);
  EXPECT_EQ(keys.parts[0].base, UnionPart::Base::kKeys);
  EXPECT_EQ(keys.parts[0].log_to, 15);
}

TEST(UnionReadTest, PartitionOnlyInTheLakeHasNoLogPart) {
  const UnionPlan plan = PlanUnion({.snapshot_id = 3, .lake_offsets = {{{"old", 0}, 20}}});
  EXPECT_TRUE(plan.parts.empty());
  EXPECT_EQ(plan.snapshot_id, 3);
}

}  // namespace

}  // namespace sluice::sql
