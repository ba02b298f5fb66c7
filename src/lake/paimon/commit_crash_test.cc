// Stops the machine at every step of a commit and of a compaction, loses what was not synced, and
// looks what is left.
#include "base/log.h"
#include "io/sim/sim_file_system.h"
#include "lake/workload_testing.h"

namespace sluice::lake {
namespace {

// Every snapshot that is there after the crash can be read and holds the rows of its round.
void CheckSnapshots(LakeTable& table, const LakeWorkload& workload,
                    const std::vector<std::string>& columns) {
  ASSERT_OK_AND_ASSIGN(const auto snapshots, table.Snapshots());
  int64_t next = 1;
  for (const LakeSnapshot& snapshot : snapshots) {
    EXPECT_EQ(snapshot.id, next++);
    ASSERT_OK_AND_ASSIGN(const auto rows, ReadAll(table, snapshot, columns));
    const auto known = workload.history().find(snapshot.id);
    if (known == workload.history().end()) continue;
    EXPECT_EQ(rows, known->second) << "snapshot " << snapshot.id;
  }
  ASSERT_OK_AND_ASSIGN(const auto latest, table.LatestSnapshot());
  EXPECT_EQ(latest.has_value() ? latest->id : 0, next - 1);
}

// Run one round (and a compaction) with the machine stopping at the `stop`-th changing operation; 0
// = never. Returns the number of operations.
uint64_t RunOnce(uint64_t seed, bool primary_key, uint64_t stop) {
  HandClock clock;
  io::SeededRandom random(seed);
  io::SimFileSystem files(clock);
  const auto open = [&] {
    return LakeCatalog::Open({.properties = {{"warehouse", "/wh"}},
                              .files = &files,
                              .clock = &clock,
                              .random = &random});
  };
  auto catalog = open().ValueOrDie();
  auto workload =
      LakeWorkload::Create(catalog.get(), {{"db", "t"}, TwoColumnTable(primary_key), 20}, seed)
          .ValueOrDie();
  EXPECT_OK(workload->Round(20));
  const uint64_t before = files.operations();
  uint64_t passed = 0;
  files.SetHook([&](std::string_view, const std::string&) { return ++passed != stop; });
  std::optional<int64_t> committed;
  const auto round = workload->Round(20);
  if (round.ok()) committed = *round;
  if (round.ok()) (void)workload->table().Compact({.full = true});
  const uint64_t operations = files.operations() - before;
  files.SetHook({});
  if (stop == 0) return operations;
  files.Crash(random);

  const auto reopened = open();
  EXPECT_OK(reopened.status());
  auto table = (*reopened)->OpenTable({"db", "t"});
  EXPECT_OK(table.status());
  if (!table.ok()) return operations;
  EXPECT_OK((*table)->RemoveOrphans({}));
  CheckSnapshots(**table, *workload, workload->AllColumns());
  // A commit that returned is there; the next one goes through.
  if (committed.has_value()) {
    EXPECT_OK((*table)->SnapshotById(*committed));
  }
  EXPECT_OK((*table)->SnapshotById(1));
  EXPECT_OK((*table)->Commit({}, {}));
  return operations;
}

class CommitCrashTest : public testing::TestWithParam<bool> {};

TEST_P(CommitCrashTest, ASnapshotIsWholeOrNotThereAtEveryStep) {
  OpenLog("", LogLevel::kWarn);  // Files left behind are the point here, and each is an INFO line.
  const uint64_t operations = RunOnce(1, GetParam(), 0);
  ASSERT_GT(operations, 10u);
  for (uint64_t stop = 1; stop <= operations; ++stop) {
    SCOPED_TRACE("stop " + std::to_string(stop) + " seed " + std::to_string(1 + stop));
    RunOnce(1 + stop, GetParam(), stop);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, CommitCrashTest, testing::Values(false, true),
                         [](const auto& info) { return info.param ? "keyed" : "append"; });

}  // namespace
}  // namespace sluice::lake
