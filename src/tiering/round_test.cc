#include "tiering/round.h"

#include <thread>

#include "base/log.h"
#include "io/crash_point.h"
#include "io/sim/sim_world.h"
#include "tiering/door_testing.h"
#include "tiering/lag.h"
#include "tiering/round_testing.h"
#include "tiering/upkeep.h"

namespace sluice::tiering {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using wire::ChangeType;

TEST_F(RoundTest, AppendTableGetsItsRowsWithBucketAndOffset) {
  const auto& path = Make("events", false, 2);
  cluster_.Append(path, 0, {Row(1, "a"), Row(2, "b")});
  cluster_.Append(path, 1, {Row(3, "c")});
  ASSERT_OK_AND_ASSIGN(auto result, Run());
  EXPECT_EQ(result.summary.records, 3);
  EXPECT_FALSE(result.more);
  EXPECT_THAT(lake_.Read(path),
              ElementsAre(TestLake::Row{1, "a", 0, 0}, TestLake::Row{2, "b", 0, 1},
                          TestLake::Row{3, "c", 1, 0}));
  EXPECT_EQ(RecordedOffset(0), 2);
  cluster_.Append(path, 0, {Row(4, "d")});
  ASSERT_OK_AND_ASSIGN(result, Run());
  EXPECT_EQ(result.summary.records, 1);
  EXPECT_EQ(lake_.Read(path), ExpectedRows());
  EXPECT_EQ(RecordedOffset(1), 1);  // Kept from the round before.
}

TEST_F(RoundTest, NothingToMoveMakesNoSnapshot) {
  Make("events", false, 2);
  ASSERT_OK_AND_ASSIGN(const auto result, Run());
  EXPECT_EQ(result.summary.snapshot_id, -1);
  EXPECT_EQ(*cluster_.RecordedSnapshot(table_.path), std::nullopt);
}

TEST_F(RoundTest, EmptyBatchesMoveTheOffset) {
  const auto& path = Make("keyed", true, 1);
  cluster_.Append(path, 0, {});
  ASSERT_OK_AND_ASSIGN(auto result, Run());
  EXPECT_GE(result.summary.snapshot_id, 1);
  EXPECT_EQ(RecordedOffset(0), 1);
  cluster_.Append(path, 0, {{ChangeType::kInsert, 1, "a"}});
  cluster_.Append(path, 0, {});
  ASSERT_OK(Run());
  EXPECT_EQ(RecordedOffset(0), 3);
  EXPECT_EQ(lake_.Read(path), ExpectedRows());
}

TEST_F(RoundTest, PrimaryKeyTableShowsTheNewestPerKey) {
  const auto& path = Make("keyed", true, 1);
  cluster_.Append(path, 0, {{ChangeType::kInsert, 2, "b"}, {ChangeType::kInsert, 1, "a"}});
  cluster_.Append(path, 0,
                  {{ChangeType::kUpdateBefore, 1, "a"},
                   {ChangeType::kUpdateAfter, 1, "a2"},
                   {ChangeType::kDelete, 2, "b"}});
  ASSERT_OK(Run());
  EXPECT_EQ(lake_.Read(path), ExpectedRows());
  cluster_.Append(path, 0, {{ChangeType::kDelete, 1, "a2"}, {ChangeType::kInsert, 3, "c"}});
  ASSERT_OK(Run());
  EXPECT_THAT(lake_.Read(path), ElementsAre(TestLake::Row{3, "c", 0, 6}));
}

// Three batches of the log come with one read, and each bucket may take one read.
TEST_F(RoundTest, RowsBeyondTheBudgetWaitForTheNextRound) {
  const auto& path = Make("events", false, 2);
  for (int i = 0; i < 24; ++i) cluster_.Append(path, i % 2, {Row(i, std::string(20000, 'x'))});
  {
    MemoryBudget::Part other(rows_);
    EXPECT_TRUE(other.Hold(rows_.bytes_max()));  // Another round has it all.
    ASSERT_OK_AND_ASSIGN(const auto result, Run());
    EXPECT_TRUE(result.more);
    EXPECT_EQ(RecordedOffset(0), 3);
    EXPECT_EQ(RecordedOffset(1), 3);
  }
  EXPECT_EQ(rows_.used_bytes(), 0);
  for (bool more = true; more;) {
    ASSERT_OK_AND_ASSIGN(const auto result, Run());
    more = result.more;
  }
  EXPECT_EQ(lake_.Read(path), ExpectedRows());
}

TEST_F(RoundTest, LagGoesOnWhenTheWallClockIsSetBack) {
  const auto& path = Make("events", false, 1);
  io::SimWorld world(1);
  LagMeter meter(cluster_, world.clock());
  cluster_.Append(path, 0, {Row(1, "a"), Row(2, "b")}, world.clock().NowMs());
  world.clock().Advance(std::chrono::seconds(1));
  ASSERT_OK_AND_ASSIGN(auto lag, meter.Measure(table_));
  EXPECT_EQ(lag[0].lag_ms, 1000);
  world.clock().SetSkew(std::chrono::hours(-1));
  world.clock().Advance(std::chrono::seconds(3));
  ASSERT_OK_AND_ASSIGN(lag, meter.Measure(table_));
  EXPECT_EQ(lag[0].lag_rows, 2);
  EXPECT_EQ(lag[0].lag_ms, 3000);  // Since it was first seen.
}

TEST_F(RoundTest, ByteLimitEndsARoundAndTheNextGoesOn) {
  const auto& path = Make("events", false, 1);
  bytes_max_ = 1;  // Below the least share of a bucket, 256 KiB.
  for (int i = 0; i < 40; ++i) cluster_.Append(path, 0, {Row(i, std::string(20000, 'x'))});
  int rounds = 0;
  for (bool more = true; more; ++rounds) {
    ASSERT_OK_AND_ASSIGN(const auto result, Run());
    more = result.more;
    ASSERT_LT(rounds, 10);
  }
  EXPECT_GE(rounds, 3);
  EXPECT_EQ(lake_.Read(path), ExpectedRows());
}

TEST_F(RoundTest, ARoundWithoutTimeTakesWhatItReadsFirst) {
  const auto& path = Make("events", false, 2);
  time_max_ = std::chrono::milliseconds(0);
  for (int i = 0; i < 24; ++i) cluster_.Append(path, i % 2, {Row(i, std::string(20000, 'x'))});
  int rounds = 0;
  for (bool more = true; more; ++rounds) {
    ASSERT_OK_AND_ASSIGN(const auto result, Run());
    more = result.more;
    EXPECT_GT(result.summary.records, 0);
    ASSERT_LT(rounds, 24);
  }
  EXPECT_GE(rounds, 3);
  EXPECT_EQ(lake_.Read(path), ExpectedRows());
}

TEST_F(RoundTest, RowsBehindThePlanWaitForTheNextRound) {
  const auto& path = Make("events", false, 1);
  cluster_.Append(path, 0, {Row(1, "a"), Row(2, "b")});
  cluster_.Append(path, 0, {Row(3, "c")});
  ASSERT_OK_AND_ASSIGN(const auto lake, lake_.catalog().OpenTable(path));
  const std::atomic<bool> no = false;
  const BucketSpan span{.bucket = {table_.table_id, std::nullopt, 0}, .from = 0, .to = 2};
  const MoveLimits limits{.bytes_max = 1 << 20,
                          .clock = &io::SystemClock(),
                          .until = std::chrono::nanoseconds::max(),
                          .rows = &rows_,
                          .cancelled = &no,
                          .stopping = &no};
  ASSERT_OK_AND_ASSIGN(const auto moved, MoveBucket(cluster_, *lake, path, span, limits));
  EXPECT_EQ(moved.end_offset, 2);
  EXPECT_EQ(moved.records, 2);
}

TEST_F(RoundTest, BucketsRunOnTheThreadsOfTheirPoolAndNoMore) {
  const auto& path = Make("events", false, 4);
  for (int32_t bucket = 0; bucket < 4; ++bucket) cluster_.Append(path, bucket, {Row(bucket, "a")});
  Door door;
  cluster_.before_open_log = [&] { door.Pass(); };
  Status ran = Status::UnknownError("it did not run");
  {
    const auto rounds = io::Pool::Start({.name = "rounds", .threads = 1});
    ASSERT_TRUE(rounds->TryPost([&] { ran = Run().status(); }));
    EXPECT_TRUE(door.AwaitInside(2));
    for (int i = 0; i < 60'000 && pool_->queued() < 2; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(pool_->queued(), 2u);  // The other two of the four.
    door.Open();
  }
  EXPECT_OK(ran);
  EXPECT_EQ(door.most(), 2u);
  EXPECT_EQ(lake_.Read(path), ExpectedRows());
}

TEST_F(RoundTest, FailedReadLeavesNothingBehind) {
  const auto& path = Make("events", false, 2);
  cluster_.Append(path, 0, {Row(1, "a")});
  cluster_.Append(path, 1, {Row(2, "b")});
  for (const char* call : {"OpenLog", "Prepare"}) {
    cluster_.Fail(call);
    EXPECT_CODE(ErrorCode::kStorage, Run());
    cluster_.Fail(call, false);
    EXPECT_THAT(lake_.Read(path), IsEmpty());
  }
  stopping_ = true;
  EXPECT_CODE(ErrorCode::kOperationNotAttempted, Run());
  stopping_ = false;
  ASSERT_OK(Run());
  EXPECT_EQ(lake_.Read(path), ExpectedRows());
}

TEST_F(RoundTest, LakeSnapshotThatTheCoordinatorMissedIsAdopted) {
  const auto& path = Make("events", false, 1);
  cluster_.Append(path, 0, {Row(1, "a")});
  cluster_.Fail("Commit");
  EXPECT_CODE(ErrorCode::kStorage, Run());
  EXPECT_EQ(lake_.Read(path), ExpectedRows());  // In the lake, not in the record.
  EXPECT_EQ(RecordedOffset(0), -1);
  cluster_.Fail("Commit", false);
  cluster_.Append(path, 0, {Row(2, "b")});
  ASSERT_OK_AND_ASSIGN(const auto result, Run());
  EXPECT_EQ(result.summary.records, 1);
  EXPECT_EQ(lake_.Read(path), ExpectedRows());
  EXPECT_EQ(RecordedOffset(0), 2);
}

TEST_F(RoundTest, RoundLosesAgainstAServiceThatCommittedMeanwhile) {
  const auto& path = Make("events", false, 1);
  cluster_.Append(path, 0, {Row(1, "a")});
  bool committed = false;
  io::SetCrashHook([&](std::string_view point) {
    if (point != "tiering.after-prepare" || std::exchange(committed, true)) return;
    lake::CommitOptions other;
    const auto offsets =
        cluster_.Prepare(path, table_.table_id, {{.bucket = 0, .log_end_offset = 0}});
    other.properties[std::string(lake::kOffsetsProperty)] = *offsets;
    EXPECT_OK((*lake_.catalog().OpenTable(path))->Commit({}, other));
  });
  EXPECT_CODE(ErrorCode::kFencedTieringEpoch, Run());
  io::SetCrashHook({});
  EXPECT_TRUE(committed);
  EXPECT_THAT(lake_.Read(path), IsEmpty());
  ASSERT_OK(Run());
  EXPECT_EQ(lake_.Read(path), ExpectedRows());
}

TEST_F(RoundTest, TableMadeAnewIsNotTieredInTheOldOnesName) {
  const auto& path = Make("events", false, 1);
  cluster_.Append(path, 0, {Row(1, "a")});
  auto handout = cluster_.Handout(path);
  handout.table_id = 10;
  const RoundOptions options{.link = &cluster_,
                             .lake = &lake_.catalog(),
                             .clock = &io::SystemClock(),
                             .bucket_pool = pool_.get(),
                             .rows = &rows_,
                             .stopping = &stopping_};
  EXPECT_CODE(ErrorCode::kTableNotExist, Round(options, handout).Run());
}

TEST_F(RoundTest, ChangelogWithoutItsStartIsRefused) {
  const auto& path = Make("keyed", true, 1);
  cluster_.Append(path, 0, {{ChangeType::kInsert, 1, "a"}});
  cluster_.log_start = 1;
  EXPECT_CODE(ErrorCode::kInvalidTable, Run());
}

}  // namespace
}  // namespace sluice::tiering
