#include <functional>

#include "coordinator/coordinator_testing.h"
#include "coordinator/ddl_intents.h"
#include "io/crash_point.h"

namespace sluice::coordinator {
namespace {

using types::DataType;
using types::TypeKind;

const types::TablePath kPlain{"db", "plain"};
const types::TablePath kLake{"db", "lake"};
const types::TablePath kParts{"db", "parts"};

types::TableDescriptor LakeTableDescriptor() { return InLake(KeyTable()); }

// A history of changes that passes every crash point. Each can be tried again after a lost answer.
const std::vector<std::function<Status(Harness&)>>& Script() {
  static const std::vector<std::function<Status(Harness&)>> steps = {
      [](Harness& h) { return h.CreateDatabase("db", true); },
      [](Harness& h) { return h.CreateTable(kPlain, LogTable(), true); },
      [](Harness& h) { return h.CreateTable(kLake, LakeTableDescriptor(), true); },
      [](Harness& h) { return h.CreateTable(kParts, InLake(PartitionedTable()), true); },
      [](Harness& h) { return h.CreatePartition(kParts, {{"name", "a"}}, true); },
      [](Harness& h) { return h.CreatePartition(kParts, {{"name", "b"}}, true); },
      [](Harness& h) {
        const auto table = h.state()->FindTable(kLake);
        if (table->info.descriptor.schema.IndexOf("extra") >= 0) return Status::OK();
        return h.AddColumn(kLake, "extra", DataType::Of(TypeKind::kBigInt));
      },
      [](Harness& h) { return h.SetOption(kPlain, "table.datalake.enabled", "true"); },
      [](Harness& h) { return h.SetOption(kLake, "owner", "me"); },
      [](Harness& h) { return h.DropPartition(kParts, {{"name", "a"}}, true); },
      [](Harness& h) { return h.CreateDatabase("gone", true); },
      [](Harness& h) {
        return h.state()->FindDatabase("gone") == nullptr
                   ? Status::OK()
                   : h.CreateTable({"gone", "t"}, LogTable(), true);
      },
      [](Harness& h) { return h.DropDatabase("gone", true, true); },
      [](Harness& h) { return h.CreateTable({"db", "short"}, LogTable(), true); },
      [](Harness& h) { return h.DropTable({"db", "short"}, true); },
  };
  return steps;
}

// Catalog, lake and tablet server agree, and nothing is half done.
void ExpectWhole(Harness& h, const std::string& when) {
  SCOPED_TRACE(when);
  const auto state = h.state();
  EXPECT_TRUE(state->intents.empty());
  std::set<types::BucketId> buckets;
  for (const auto& [table_id, table] : state->tables_by_id) {
    table->ForEachBucket([&](const types::BucketId& id, const meta::PartitionState*,
                             const meta::BucketState&) { buckets.insert(id); });
    const types::TableDescriptor& descriptor = table->info.descriptor;
    ASSERT_TRUE(h.tablet->tables.contains(table_id)) << table->info.path;
    EXPECT_EQ(h.tablet->tables.at(table_id).ToJson(), descriptor.ToJson());
    if (!table->lake_enabled()) continue;
    ASSERT_TRUE(h.lake.tables.contains(table->info.path)) << table->info.path;
    EXPECT_EQ(h.lake.tables.at(table->info.path).descriptor.ToJson(), descriptor.ToJson());
  }
  for (const auto& [path, table] : h.lake.tables) {
    const auto known = state->FindTable(path);
    ASSERT_NE(known, nullptr) << path;
    EXPECT_TRUE(known->lake_enabled()) << path;
  }
  EXPECT_EQ(h.tablet->files, buckets);
  std::set<types::BucketId> led;
  for (const auto& [id, bucket] : h.tablet->replicas) led.insert(id);
  EXPECT_EQ(led, buckets);
}

void ExpectTheEnd(Harness& h) {
  const auto state = h.state();
  EXPECT_EQ(state->tables_by_id.size(), 3u);
  EXPECT_EQ(state->FindTable(kParts)->partitions.size(), 1u);
  EXPECT_EQ(state->FindTable(kLake)->info.schema_id, 2);
  EXPECT_EQ(state->FindTable(kLake)->info.descriptor.custom_properties.at("owner"), "me");
  EXPECT_TRUE(state->FindTable(kPlain)->lake_enabled());
}

std::set<std::string> DdlCrashPoints() {
  std::set<std::string> points;
  for (const std::string& point : io::CrashPoints()) {
    if (point.starts_with("ddl.")) points.insert(point);
  }
  return points;
}

class DdlRestartTest : public testing::Test {
 protected:
  ~DdlRestartTest() override { io::SetCrashHook({}); }
};

TEST_F(DdlRestartTest, TheScriptPassesEveryCrashPoint) {
  std::set<std::string> passed;
  io::SetCrashHook([&](std::string_view point) { passed.insert(std::string(point)); });
  Harness h;
  h.Start();
  for (const auto& step : Script()) ASSERT_OK(step(h));
  ExpectWhole(h, "at the end");
  ExpectTheEnd(h);
  EXPECT_EQ(passed, DdlCrashPoints());
  EXPECT_GE(passed.size(), 9u);
}

// The machine stops at the n-th pass of a crash point; after the restart everything is whole, and
// going on from the interrupted step leads to the same end.
TEST_F(DdlRestartTest, AStopAtAnyCrashPointLeavesBothSidesOrNeither) {
  for (const std::string& point : DdlCrashPoints()) {
    for (int pass = 1; pass <= 4; ++pass) {
      Harness h;
      h.Start();
      int seen = 0;
      io::SetCrashHook([&](std::string_view at) {
        if (at == point && ++seen == pass) h.power.on = false;
      });
      const std::string when = point + ":" + std::to_string(pass);
      for (const auto& step : Script()) {
        const Status status = step(h);
        if (h.power.on) {
          ASSERT_OK(status);
          continue;
        }
        h.Restart();
        ExpectWhole(h, when);
        ASSERT_OK(step(h));
        ExpectWhole(h, when + " again");
      }
      ExpectTheEnd(h);
      if (HasFailure()) return;
      if (seen < pass) break;  // The script passes it no more often.
    }
  }
}

TEST_F(DdlRestartTest, ACreateThatTheLakeRefusesIsUndone) {
  Harness h;
  h.Start();
  h.lake.tables[kLake] = {KeyTable(), /*has_snapshot=*/true};
  ASSERT_OK(h.CreateDatabase("db"));
  EXPECT_CODE(ErrorCode::kLakeTableAlreadyExist, h.CreateTable(kLake, InLake(LogTable())));
  EXPECT_EQ(h.state()->FindTable(kLake), nullptr);
  EXPECT_TRUE(h.state()->intents.empty());
  EXPECT_TRUE(h.lake.tables.contains(kLake));  // It was there before.
}

TEST_F(DdlRestartTest, AChangeThatTheLakeDoesNotAnswerWaitsForIt) {
  Harness h;
  h.Start();
  ASSERT_OK(h.CreateDatabase("db"));
  ASSERT_OK(h.CreateTable(kLake, LakeTableDescriptor()));
  // The machine stops between intent and lake, and the lake is away at the next start.
  io::SetCrashHook([&](std::string_view at) {
    if (at == "ddl.alter.after-intent") h.power.on = false;
  });
  EXPECT_FALSE(h.AddColumn(kLake, "extra", DataType::Of(TypeKind::kBigInt)).ok());
  io::SetCrashHook({});
  h.lake.reachable = false;
  h.Restart();
  EXPECT_EQ(h.state()->intents.size(), 1u);
  EXPECT_FALSE(h.SetOption(kLake, "owner", "me").ok());  // Not over a half-done change.
  h.lake.reachable = true;
  h.world.RunFor(std::chrono::seconds(60));  // It is tried again by itself.
  ExpectWhole(h, "once the lake answers");
  EXPECT_EQ(h.state()->FindTable(kLake)->info.schema_id, 1);  // Nobody was told of success.
  ASSERT_OK(h.AddColumn(kLake, "extra", DataType::Of(TypeKind::kBigInt)));
  EXPECT_EQ(h.state()->FindTable(kLake)->info.schema_id, 2);
}

// An error means that the change is not made, now and after a restart.
TEST_F(DdlRestartTest, AnAlterThatFailsInTheLakeIsUndone) {
  for (const bool made_all_the_same : {false, true}) {
    Harness h;
    h.Start();
    ASSERT_OK(h.CreateDatabase("db"));
    ASSERT_OK(h.CreateTable(kLake, LakeTableDescriptor()));
    io::SetCrashHook([&](std::string_view at) {
      if (at == "ddl.alter.after-intent" && !made_all_the_same) h.lake.reachable = false;
    });
    h.lake.fails_after = made_all_the_same;
    EXPECT_FALSE(h.AddColumn(kLake, "extra", DataType::Of(TypeKind::kBigInt)).ok());
    io::SetCrashHook({});
    h.lake.fails_after = false;
    h.lake.reachable = true;
    EXPECT_EQ(h.state()->FindTable(kLake)->info.schema_id, 1);
    h.Restart();
    EXPECT_EQ(h.state()->FindTable(kLake)->info.schema_id, 1);
    ExpectWhole(h, "after the restart");
  }
}

TEST_F(DdlRestartTest, AFirstSwitchToTheLakeThatFailsIsUndone) {
  Harness h;
  h.Start();
  ASSERT_OK(h.CreateDatabase("db"));
  ASSERT_OK(h.CreateTable(kPlain, LogTable()));
  io::SetCrashHook([&](std::string_view at) {
    if (at == "ddl.alter.after-intent") h.lake.reachable = false;
  });
  EXPECT_FALSE(h.SetOption(kPlain, "table.datalake.enabled", "true").ok());
  io::SetCrashHook({});
  h.Restart();
  h.lake.reachable = true;
  h.world.RunFor(std::chrono::seconds(60));
  EXPECT_FALSE(h.state()->FindTable(kPlain)->lake_enabled());
  EXPECT_TRUE(h.lake.tables.empty());
  ExpectWhole(h, "once the lake answers");
}

// A descriptor as the lake is told it.
types::TableDescriptor InTheLake(Harness& h, const types::TableDescriptor& descriptor) {
  const types::TablePath path{"db", "same"};
  EXPECT_OK(h.CreateTable(path, descriptor));
  const types::TableDescriptor told = h.lake.tables.at(path).descriptor;
  EXPECT_OK(h.DropTable(path));
  h.lake.tables.erase(path);
  return told;
}

// Flink or Spark makes a table of the name between our intent and our table.
TEST_F(DdlRestartTest, AnotherEnginesTableOutlivesAFailedChange) {
  for (const bool agrees : {false, true}) {
    for (const bool create : {false, true}) {
      Harness h;
      h.Start();
      ASSERT_OK(h.CreateDatabase("db"));
      if (!create) ASSERT_OK(h.CreateTable(kPlain, LogTable()));
      const types::TablePath& path = create ? kLake : kPlain;
      const auto others = InTheLake(h, agrees ? InLake(LogTable()) : InLake(KeyTable()));
      io::SetCrashHook([&](std::string_view at) {
        if (at.ends_with(".after-intent")) h.lake.tables[path] = {others};
        if (at.ends_with(".after-lake")) h.power.on = false;
      });
      const Status refused = create ? h.CreateTable(path, InLake(LogTable()))
                                    : h.SetOption(path, "table.datalake.enabled", "true");
      io::SetCrashHook({});
      EXPECT_FALSE(refused.ok());
      if (!agrees) EXPECT_CODE(ErrorCode::kLakeTableAlreadyExist, refused);
      EXPECT_EQ(h.power.on, !agrees);  // The table that agrees was taken up.
      if (agrees) h.Restart();
      EXPECT_TRUE(h.state()->intents.empty());
      ASSERT_TRUE(h.lake.tables.contains(path)) << "agrees=" << agrees << " create=" << create;
      EXPECT_EQ(h.lake.tables.at(path).descriptor.schema.ToJson(), others.schema.ToJson());
      EXPECT_EQ(h.state()->FindTable(path) == nullptr, create);
    }
  }
}

// Older versions wrote whether the lake had a table of the name, and not which one the change made.
TEST_F(DdlRestartTest, IntentsOfTheOlderFormLeaveTheLakeAlone) {
  Harness h;
  h.Start();
  ASSERT_OK(h.CreateDatabase("db"));
  const auto descriptor = InTheLake(h, InLake(KeyTable()));
  const std::string text = CreateIntent{.descriptor = descriptor}.ToJson();
  const std::string older = text.substr(0, text.size() - 1) + ",\"lake_existed\":false}";
  ASSERT_OK(h.catalog->AddIntent({.kind = CreateIntent::kKind, .path = kLake, .payload = older}));
  h.lake.tables[kLake] = {descriptor};
  h.Restart();
  EXPECT_TRUE(h.state()->intents.empty());
  EXPECT_TRUE(h.lake.tables.contains(kLake));
  EXPECT_OK(h.CreateTable(kLake, InLake(KeyTable())));  // Taken up, since it is empty.
}

TEST_F(DdlRestartTest, ATabletServerThatWasAwayIsToldLater) {
  Harness h;
  h.Start();
  h.tablet->reachable = false;
  ASSERT_OK(h.CreateDatabase("db"));
  ASSERT_OK(h.CreateTable(kPlain, LogTable()));
  ASSERT_OK(h.CreateTable({"db", "short"}, LogTable()));
  ASSERT_OK(h.DropTable({"db", "short"}));
  EXPECT_EQ(h.state()->intents.size(), 1u);
  EXPECT_TRUE(h.tablet->replicas.empty());
  h.tablet->reachable = true;
  h.world.RunFor(std::chrono::seconds(60));
  ExpectWhole(h, "once the server answers");
}

}  // namespace
}  // namespace sluice::coordinator
