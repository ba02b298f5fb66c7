// What many small rounds leave behind stays bounded when each is followed by upkeep.
#include "io/sim/sim_file_system.h"
#include "lake/workload_testing.h"

namespace sluice::lake {
namespace {

constexpr int kRounds = 200;
constexpr int32_t kBuckets = 2;
constexpr int32_t kFilesMin = 5;
constexpr int64_t kKept = 3;

int64_t FilesBelow(io::FileSystem& files, const std::string& folder) {
  int64_t count = 0;
  for (const auto& entry : files.List(folder).ValueOrDie())
    count += entry.is_folder ? FilesBelow(files, io::JoinPath(folder, entry.name)) : 1;
  return count;
}

class UpkeepTest : public testing::TestWithParam<bool> {};

TEST_P(UpkeepTest, ManySmallRoundsLeaveFewFiles) {
  HandClock clock;
  io::SeededRandom random(5);
  io::SimFileSystem files(clock);
  const auto catalog = LakeCatalog::Open({.properties = {{"warehouse", "/wh"}},
                                          .files = &files,
                                          .clock = &clock,
                                          .random = &random})
                           .ValueOrDie();
  const auto workload =
      LakeWorkload::Create(
          catalog.get(),
          {{"db", "t"}, AllTypesTable(GetParam(), false, false, kBuckets, false), 100}, 11)
          .ValueOrDie();
  LakeTable& table = workload->table();
  // A bucket: runs that do not start a merge yet, and one file for each level above.
  const size_t live_max = kBuckets * (kFilesMin + 6);
  int64_t most_on_disk = 0;
  for (int round = 1; round <= kRounds; ++round) {
    ASSERT_OK(workload->Round(6));
    ASSERT_OK(table.Compact({.files_min = kFilesMin}));
    ASSERT_OK(table.Expire({.retained_min = kKept, .retained_ms = 0}));
    ASSERT_OK_AND_ASSIGN(const auto snapshot, table.LatestSnapshot());
    ASSERT_OK_AND_ASSIGN(const LakePlan plan, table.Plan(*snapshot, {}));
    size_t live = 0;
    for (const LakeSplit& split : plan.splits) live += split.files.size();
    ASSERT_LE(live, live_max) << "round=" << round;
    if (round <= kRounds / 4)
      most_on_disk = std::max(most_on_disk, FilesBelow(files, table.location()));
  }
  // Nothing of the files on disk grows with the number of rounds: data, changelogs, manifests.
  EXPECT_LE(FilesBelow(files, table.location()), 2 * most_on_disk);
  ASSERT_OK_AND_ASSIGN(const auto snapshot, table.LatestSnapshot());
  ASSERT_OK_AND_ASSIGN(const auto rows, ReadAll(table, *snapshot, workload->AllColumns()));
  EXPECT_EQ(rows, workload->ExpectedRows());
}

INSTANTIATE_TEST_SUITE_P(Tables, UpkeepTest, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "keyed" : "append");
});

}  // namespace
}  // namespace sluice::lake
