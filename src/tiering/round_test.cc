#include "tiering/round.h"

#include "base/log.h"
#include "io/crash_point.h"
#include "io/random.h"
#include "io/sim/sim_world.h"
#include "tiering/lag.h"
#include "tiering/memory_cluster_testing.h"
#include "tiering/upkeep.h"

namespace sluice::tiering {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using wire::ChangeType;

LogRow Row(int32_t id, std::string name) { return {ChangeType::kAppendOnly, id, std::move(name)}; }

class RoundTest : public testing::Test {
 protected:
  const types::TablePath& Make(const std::string& name, bool primary_key, int32_t buckets) {
    table_ = LakeTestTable(11, name, primary_key, buckets);
    cluster_.AddTable(table_);
    lake_.Create(table_);
    return table_.path;
  }
  Result<RoundResult> Run() {
    const RoundOptions options{.link = &cluster_,
                               .lake = &lake_.catalog(),
                               .clock = &io::SystemClock(),
                               .bucket_pool = pool_.get(),
                               .bytes_max = bytes_max_,
                               .time_max = time_max_,
                               .rows = &rows_,
                               .stopping = &stopping_};
    return Round(options, cluster_.Handout(table_.path)).Run();
  }
  std::vector<TestLake::Row> ExpectedRows() {
    std::vector<TestLake::Row> rows;
    for (int32_t bucket = 0; bucket < *table_.descriptor.bucket_count; ++bucket) {
      const auto part = Expected(cluster_.LogOf(table_.path, bucket), bucket,
                                 table_.descriptor.has_primary_key());
      rows.insert(rows.end(), part.begin(), part.end());
    }
    return rows;
  }
  int64_t RecordedOffset(int32_t bucket) {
    const auto recorded = cluster_.RecordedSnapshot(table_.path).ValueOrDie();
    if (!recorded) return -1;
    for (const auto& offset : recorded->buckets) {
      if (offset.bucket == bucket) return offset.log_end_offset;
    }
    return -1;
  }

  MemoryCluster cluster_;
  TestLake lake_;
  types::TableInfo table_;
  std::unique_ptr<io::Pool> pool_ = io::Pool::Start({.name = "buckets", .threads = 2});
  int64_t bytes_max_ = 64 << 20;
  std::chrono::milliseconds time_max_ = std::chrono::minutes(10);
  MemoryBudget rows_{64 << 20};
  std::atomic<bool> stopping_ = false;
};

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

TEST_F(RoundTest, CompactionKeepsRowsOffsetsAndTheNextRound) {
  const auto& path = Make("keyed", true, 1);
  for (int32_t i = 0; i < 8; ++i) {
    cluster_.Append(path, 0, {{ChangeType::kInsert, i, "v"}});
    ASSERT_OK(Run());
  }
  ASSERT_OK_AND_ASSIGN(const auto kept, KeepUp(cluster_, lake_.catalog(), path, /*files_min=*/3));
  EXPECT_TRUE(kept.compacted_snapshot.has_value());
  EXPECT_EQ(lake_.Read(path), ExpectedRows());
  cluster_.Append(path, 0, {{ChangeType::kDelete, 3, "v"}});
  ASSERT_OK(Run());
  EXPECT_EQ(lake_.Read(path), ExpectedRows());
  EXPECT_EQ(RecordedOffset(0), 9);
}

TEST_F(RoundTest, ACompactionThatARoundOvertookNamesTheRoundsOffsets) {
  for (const bool primary_key : {false, true}) {
    const auto& path = Make(primary_key ? "overtaken_keyed" : "overtaken", primary_key, 1);
    const auto kind = primary_key ? ChangeType::kInsert : ChangeType::kAppendOnly;
    for (int32_t i = 0; i < 4; ++i) {
      cluster_.Append(path, 0, {{kind, i, "v"}});
      ASSERT_OK(Run());
    }
    bool overtaken = false;
    io::SetCrashHook([&](std::string_view point) {
      if (point != "lake.compact.after-data" || std::exchange(overtaken, true)) return;
      cluster_.Append(path, 0, {{kind, 9, "late"}});
      EXPECT_OK(Run());
    });
    const auto kept = KeepUp(cluster_, lake_.catalog(), path, /*files_min=*/3);
    io::SetCrashHook({});
    ASSERT_OK(kept);
    ASSERT_TRUE(overtaken && kept->compacted_snapshot.has_value());
    EXPECT_EQ(lake_.Read(path), ExpectedRows());
    ASSERT_OK_AND_ASSIGN(const auto table, lake_.catalog().OpenTable(path));
    ASSERT_OK_AND_ASSIGN(const auto latest, table->LatestSnapshot());
    ASSERT_OK_AND_ASSIGN(const auto round, table->NewestSnapshotOf(lake::kTieringUser));
    EXPECT_EQ(latest->id, *kept->compacted_snapshot);
    EXPECT_EQ(round->id, latest->id - 1);
    EXPECT_EQ(latest->properties, round->properties);
  }
}

TEST_F(RoundTest, SnapshotsExpireAsClusterAndTableSay) {
  const std::vector<std::string> table_says = {"", "true", "false"};
  const std::vector<std::optional<bool>> cluster_says = {std::nullopt, true, false};
  std::vector<bool> expired;
  for (const std::string& says : table_says) {
    table_ = LakeTestTable(11, "events" + says, false, 1);
    if (!says.empty()) table_.descriptor.properties["table.datalake.auto-expire-snapshot"] = says;
    table_.descriptor.custom_properties = {{"paimon.snapshot.time-retained", "0 ms"},
                                           {"paimon.snapshot.num-retained.min", "1"}};
    cluster_.AddTable(table_);
    lake_.Create(table_);
    for (const auto& all : cluster_says) {
      for (int32_t i = 0; i < 3; ++i) {
        cluster_.Append(table_.path, 0, {Row(i, "a")});
        ASSERT_OK(Run());
      }
      ASSERT_OK_AND_ASSIGN(const auto kept,
                           KeepUp(cluster_, lake_.catalog(), table_.path, /*files_min=*/99, all));
      expired.push_back(kept.expired_snapshots > 0);
    }
  }
  EXPECT_THAT(expired, testing::ElementsAre(true, true, false,     // The table says nothing,
                                            true, true, true,      // true,
                                            false, true, false));  // or false.
}

// The process ends at a crash point, over and over; each time a new round goes on from what it
// finds.
struct Killed {};

TEST_F(RoundTest, LakeIsAPrefixOfTheLogAfterAKillAtAnyPoint) {
  std::vector<std::string> points;
  for (const std::string& point : io::CrashPoints()) {
    if (point.starts_with("tiering.") || point.starts_with("lake.write") ||
        point.starts_with("lake.commit") || point.starts_with("lake.compact") ||
        point.starts_with("lake.expire")) {
      points.push_back(point);
    }
  }
  ASSERT_GE(points.size(), 10u);
  pool_ = io::Pool::Inline();  // So that a kill leaves through this thread.
  std::set<std::string> reached;
  for (const bool primary_key : {false, true}) {
    io::SeededRandom random(primary_key ? 2 : 1);
    const auto path = Make(primary_key ? "killed_keyed" : "killed_events", primary_key, 2);
    table_.table_id = primary_key ? 21 : 20;
    cluster_.AddTable(table_);
    std::map<std::pair<int32_t, int32_t>, std::string> live;
    for (int step = 0; step < 30; ++step) {
      const auto bucket = static_cast<int32_t>(random.Below(2));
      const auto id = static_cast<int32_t>(random.Below(5)) * 2 + bucket;
      const std::string name = "s" + std::to_string(step);
      if (!primary_key) {
        cluster_.Append(path, bucket, {Row(id, name)});
      } else if (const auto old = live.find({bucket, id}); old == live.end()) {
        cluster_.Append(path, bucket, {{ChangeType::kInsert, id, name}});
        live[{bucket, id}] = name;
      } else if (random.Below(3) == 0) {
        cluster_.Append(path, bucket, {{ChangeType::kDelete, id, old->second}});
        live.erase(old);
      } else {
        cluster_.Append(
            path, bucket,
            {{ChangeType::kUpdateBefore, id, old->second}, {ChangeType::kUpdateAfter, id, name}});
        old->second = name;
      }
      const std::string target = points[static_cast<size_t>(step) % points.size()];
      const bool upkeep = random.Below(3) == 0 || target.starts_with("lake.compact");
      io::SetCrashHook([&](std::string_view point) {
        if (point != target) return;
        reached.insert(target);
        throw Killed();
      });
      bool killed = false;
      try {
        EXPECT_OK(Run());
        if (upkeep) EXPECT_OK(KeepUp(cluster_, lake_.catalog(), path, /*files_min=*/3));
      } catch (const Killed&) {
        killed = true;
      }
      io::SetCrashHook({});
      if (killed) {
        SCOPED_TRACE(target);
        ASSERT_OK(Run());
        ASSERT_OK(SweepOrphans(lake_.catalog(), path, /*by_age=*/false));
        ASSERT_OK_AND_ASSIGN(const auto table, lake_.catalog().OpenTable(path));
        ASSERT_OK_AND_ASSIGN(const int64_t left, table->RemoveOrphans({.older_than_ms = 0}));
        EXPECT_EQ(left, 0);  // Every file was either named or known to come from a dead writer.
      }
      ASSERT_EQ(lake_.Read(path), ExpectedRows()) << "step " << step << " killed at " << target;
    }
  }
  EXPECT_GE(reached.size(), 8u) << testing::PrintToString(reached);
}

}  // namespace
}  // namespace sluice::tiering
