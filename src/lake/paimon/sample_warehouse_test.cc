// Tables written by Fluss's own tiering job (0.9.1, Paimon 1.3.1) and the rows that Java Paimon
// read from them.
#include <filesystem>
#include <fstream>

#include "lake/lake_testing.h"

namespace sluice::lake {
namespace {

class SampleWarehouse : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    // A copy, because opening a catalog tries whether it can write.
    std::filesystem::copy("lake/testdata/sample.db", folder_.path() + "/sample.db",
                          std::filesystem::copy_options::recursive);
    ASSERT_OK_AND_ASSIGN(catalog_, LakeCatalog::Open({.properties = {{"warehouse", folder_.path()}},
                                                      .files = &io::LocalFileSystem(),
                                                      .clock = &clock_,
                                                      .random = &random_}));
  }

  static std::vector<std::string> Expected(const std::string& name) {
    std::ifstream file("lake/testdata/expected/" + name + ".jsonl");
    EXPECT_TRUE(file.is_open()) << name;
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    std::ranges::sort(lines);
    return lines;
  }

  TempDir folder_;
  HandClock clock_;
  io::SeededRandom random_{1};
  std::unique_ptr<LakeCatalog> catalog_;
};

TEST_P(SampleWarehouse, EverySnapshotGivesTheRowsThatJavaReads) {
  const std::string name = GetParam();
  ASSERT_OK_AND_ASSIGN(const auto table, catalog_->OpenTable({"sample", name}));
  ASSERT_OK_AND_ASSIGN(const auto snapshots, table->Snapshots());
  ASSERT_EQ(snapshots.size(), 3u);
  for (const LakeSnapshot& snapshot : snapshots) {
    ASSERT_OK_AND_ASSIGN(const auto rows,
                         ReadAll(*table, snapshot, Names(table->schema().columns)));
    EXPECT_EQ(rows, Expected(name + "@" + std::to_string(snapshot.id)))
        << "snapshot " << snapshot.id;
  }
  ASSERT_OK_AND_ASSIGN(const auto latest, table->LatestSnapshot());
  ASSERT_TRUE(latest.has_value());
  EXPECT_EQ(latest->id, 3);
  EXPECT_EQ(latest->commit_user, kTieringUser);
  EXPECT_TRUE(
      latest->properties.at(std::string(kOffsetsProperty)).starts_with("/REMOTE/lake/sample/"));
}

TEST_P(SampleWarehouse, CompactionKeepsTheRows) {
  const std::string name = GetParam();
  ASSERT_OK_AND_ASSIGN(const auto table, catalog_->OpenTable({"sample", name}));
  ASSERT_OK_AND_ASSIGN(const auto id, table->Compact({.full = true}));
  ASSERT_TRUE(id.has_value());
  ASSERT_OK_AND_ASSIGN(const auto snapshot, table->SnapshotById(*id));
  EXPECT_EQ(snapshot.commit_kind, "COMPACT");
  ASSERT_OK_AND_ASSIGN(const auto rows, ReadAll(*table, snapshot, Names(table->schema().columns)));
  EXPECT_EQ(rows, Expected(name));
}

INSTANTIATE_TEST_SUITE_P(Tables, SampleWarehouse,
                         testing::Values("log_all", "pk_all", "log_part", "pk_part", "log_bkey"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace sluice::lake
