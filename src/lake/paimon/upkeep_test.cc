// What many small rounds leave behind stays bounded when each is followed by upkeep.
#include <arrow/record_batch.h>

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
  const auto catalog = OpenWarehouse(files, clock, random);
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

// Small files gather until they weigh a target file. Then no more come, and few may stay of them.
TEST(UpkeepOfFullPacksTest, ManyTargetFilesLeaveFewSmallOnes) {
  constexpr int64_t kTarget = 64 << 10;
  HandClock clock;
  io::SeededRandom random(5);
  io::SimFileSystem files(clock);
  const auto catalog = OpenWarehouse(files, clock, random);
  types::TableDescriptor descriptor = AllTypesTable(false, false, false, 1, false);
  descriptor.properties["paimon.target-file-size"] = std::to_string(kTarget) + " b";
  const auto workload =
      LakeWorkload::Create(catalog.get(), {{"db", "t"}, descriptor, 100}, 11).ValueOrDie();
  LakeTable& table = workload->table();
  for (int round = 1; round <= kRounds; ++round) {
    ASSERT_OK(workload->Round(20));
    ASSERT_OK(table.Compact({.files_min = kFilesMin}));
    ASSERT_OK(table.Expire({.retained_min = kKept, .retained_ms = 0}));
  }
  ASSERT_OK_AND_ASSIGN(const auto snapshot, table.LatestSnapshot());
  ASSERT_OK_AND_ASSIGN(const LakePlan plan, table.Plan(*snapshot, {}));
  int64_t count = 0, bytes = 0;
  for (const LakeSplit& split : plan.splits) {
    for (const LakeFile& file : split.files) {
      ++count;
      bytes += file.size_bytes;
    }
  }
  EXPECT_GT(bytes, 6 * kTarget);  // Several packs were full.
  EXPECT_LE(count, 2 * bytes / kTarget + kFilesMin + 6);
  ASSERT_OK_AND_ASSIGN(const auto again, table.Compact({.files_min = kFilesMin}));
  EXPECT_FALSE(again.has_value());
  ASSERT_OK_AND_ASSIGN(const auto rows, ReadAll(table, *snapshot, workload->AllColumns()));
  EXPECT_EQ(rows, workload->ExpectedRows());
}

// Rows that take far less in a file than the writer expects, which begins another one early.
TEST(UpkeepOfFullPacksTest, AMergeOfManyIsOneFile) {
  HandClock clock;
  io::SeededRandom random(5);
  io::SimFileSystem files(clock);
  const auto catalog = OpenWarehouse(files, clock, random);
  types::TableDescriptor descriptor = TwoColumnTable(/*primary_key=*/false);
  descriptor.properties["paimon.target-file-size"] = "96 kb";
  ASSERT_OK(catalog->CreateTable({"db", "t"}, descriptor, true));
  ASSERT_OK_AND_ASSIGN(const auto table, catalog->OpenTable({"db", "t"}));
  const auto rows =
      WithText(RandomRows(descriptor.schema.columns, 200, random), "s", std::string(1000, 'x'));
  for (int round = 0; round < 10; ++round) {
    ASSERT_OK_AND_ASSIGN(const auto writer, table->OpenWriter({.columns = {"id", "s"}}));
    ASSERT_OK(writer->Write({rows, {}, round * 200, 1000}));
    std::vector<std::unique_ptr<PreparedFiles>> prepared;
    prepared.push_back(writer->Finish().ValueOrDie());
    ASSERT_OK(table->Commit(std::move(prepared), {}));
  }
  ASSERT_OK_AND_ASSIGN(const auto merged, table->Compact({.files_min = kFilesMin}));
  ASSERT_TRUE(merged.has_value());
  ASSERT_OK_AND_ASSIGN(const LakePlan plan, table->Plan(*table->SnapshotById(*merged), {}));
  ASSERT_EQ(plan.splits.size(), 1u);
  EXPECT_EQ(plan.splits[0].files.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Tables, UpkeepTest, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "keyed" : "append");
});

}  // namespace
}  // namespace sluice::lake
