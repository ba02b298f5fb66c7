// Rounds beside compaction and expiry, and kills at every step of them.
#include <set>

#include "io/crash_point.h"
#include "io/random.h"
#include "tiering/round_testing.h"
#include "tiering/upkeep.h"

namespace sluice::tiering {
namespace {

using wire::ChangeType;

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
