// Writes tables of all types by several commits and compactions, and reads them back. With
// SLUICE_LAKE_OUT=folder they stay there, each with the rows that any other reader must find:
// FOLDER/expected/TABLE[@SNAPSHOT].jsonl.
#include <cstdlib>
#include <fstream>

#include "lake/workload_testing.h"

namespace sluice::lake {
namespace {

struct Kind {
  const char* name;
  bool primary_key, bucket_key, partitioned;
  int32_t buckets;
};

class Interop : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    const char* out = std::getenv("SLUICE_LAKE_OUT");
    out_ = out == nullptr ? "" : out;
    ASSERT_OK_AND_ASSIGN(
        catalog_,
        LakeCatalog::Open({.properties = {{"warehouse", out_.empty() ? folder_.path() : out_}},
                           .files = &io::LocalFileSystem(),
                           .clock = &clock_,
                           .random = &io::SystemRandom()}));
  }

  void Keep(const std::string& name, const std::vector<std::string>& lines) {
    if (out_.empty()) return;
    ASSERT_OK(io::LocalFileSystem().MakeFolders(out_ + "/expected"));
    std::ofstream file(out_ + "/expected/" + name + ".jsonl");
    for (const std::string& line : lines) file << line << '\n';
  }

  TempDir folder_;
  std::string out_;
  HandClock clock_;
  std::unique_ptr<LakeCatalog> catalog_;
};

TEST_P(Interop, EverySnapshotHoldsWhatWasWritten) {
  const Kind kind = GetParam();
  ASSERT_OK_AND_ASSIGN(
      const auto workload,
      LakeWorkload::Create(catalog_.get(),
                           {.path = {"judge", kind.name},
                            .descriptor = AllTypesTable(kind.primary_key, kind.bucket_key,
                                                        kind.partitioned, kind.buckets, true),
                            .keys = 60},
                           /*seed=*/7));
  for (int round = 0; round < 7; ++round) {
    clock_.Advance(1000);
    ASSERT_OK(workload->Round(80));
    if (round == 3 || round == 5) {
      ASSERT_OK(workload->table().Compact({.files_min = 2, .full = round == 3}));
    }
  }
  ASSERT_OK_AND_ASSIGN(const auto snapshots, workload->table().Snapshots());
  EXPECT_GT(snapshots.size(), 7u);
  const std::vector<std::string>* rows = nullptr;
  for (const LakeSnapshot& snapshot : snapshots) {
    if (!snapshot.compaction()) rows = &workload->ExpectedRowsAt(snapshot.id);
    ASSERT_OK_AND_ASSIGN(const auto read,
                         ReadAll(workload->table(), snapshot, workload->AllColumns()));
    EXPECT_TRUE(read == *rows) << kind.name << " snapshot " << snapshot.id << " rows "
                               << read.size() << " wanted " << rows->size();
    Keep(std::string(kind.name) + "@" + std::to_string(snapshot.id), *rows);
  }
  Keep(kind.name, *rows);
}

// With SLUICE_LAKE_IN=folder: the rows of every table of that warehouse, for comparing after
// another program wrote it.
TEST(ReadWarehouse, GivesTheRowsOfEveryTable) {
  const char* in = std::getenv("SLUICE_LAKE_IN");
  if (in == nullptr) GTEST_SKIP() << "SLUICE_LAKE_IN names no warehouse";
  HandClock clock;
  ASSERT_OK_AND_ASSIGN(const auto catalog, LakeCatalog::Open({.properties = {{"warehouse", in}},
                                                              .files = &io::LocalFileSystem(),
                                                              .clock = &clock,
                                                              .random = &io::SystemRandom()}));
  ASSERT_OK_AND_ASSIGN(const auto databases, catalog->ListDatabases());
  ASSERT_OK(io::LocalFileSystem().MakeFolders(std::string(in) + "/read"));
  for (const std::string& database : databases) {
    ASSERT_OK_AND_ASSIGN(const auto names, catalog->ListTables(database));
    for (const std::string& name : names) {
      ASSERT_OK_AND_ASSIGN(const auto table, catalog->OpenTable({database, name}));
      ASSERT_OK_AND_ASSIGN(const auto latest, table->LatestSnapshot());
      if (!latest.has_value()) continue;
      ASSERT_OK_AND_ASSIGN(const auto rows,
                           ReadAll(*table, *latest, Names(table->schema().columns)));
      std::ofstream file(std::string(in) + "/read/" + name + ".jsonl");
      for (const std::string& line : rows) file << line << '\n';
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, Interop,
                         testing::Values(Kind{"append", false, false, false, 3},
                                         Kind{"append_buckets", false, true, false, 3},
                                         Kind{"append_parts", false, false, true, 2},
                                         Kind{"keyed", true, false, false, 2},
                                         Kind{"keyed_parts", true, false, true, 2}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sluice::lake
