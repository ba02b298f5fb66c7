// Stops the process, or the machine, at every step of rounds, compaction and expiry; after the next
// start the folder holds what the table names and nothing else.
#include <set>

#include "base/log.h"
#include "io/crash_point.h"
#include "io/sim/sim_file_system.h"
#include "lake/paimon/manifest_store.h"
#include "lake/paimon/snapshot_json.h"
#include "lake/workload_testing.h"

namespace sluice::lake {
namespace {

constexpr int64_t kDayMs = int64_t{24} * 60 * 60 * 1000;
constexpr const char* kTable = "/wh/db.db/t";

// A warehouse on a simulated disk, and a table in it.
struct Site {
  explicit Site(bool primary_key, uint64_t seed = 1) : random(seed), files(clock) {
    Start();
    workload =
        LakeWorkload::Create(catalog.get(), {{"db", "t"}, TwoColumnTable(primary_key, 2), 20}, seed)
            .ValueOrDie();
  }
  void Start() { catalog = OpenWarehouse(files, clock, random); }
  std::unique_ptr<LakeTable> Open() { return catalog->OpenTable({"db", "t"}).ValueOrDie(); }

  HandClock clock;
  io::SeededRandom random;
  io::SimFileSystem files;
  std::unique_ptr<LakeCatalog> catalog;
  std::unique_ptr<LakeWorkload> workload;
};

void ListAll(io::FileSystem& files, const std::string& folder, std::set<std::string>* names) {
  for (const auto& entry : files.List(folder).ValueOrDie()) {
    const std::string path = io::JoinPath(folder, entry.name);
    if (entry.is_folder) {
      ListAll(files, path, names);
    } else {
      names->insert(path);
    }
  }
}

std::set<std::string> AllFiles(Site& site) {
  std::set<std::string> names;
  ListAll(site.files, kTable, &names);
  for (const char* hint : {"/snapshot/LATEST", "/snapshot/EARLIEST"}) {
    names.erase(std::string(kTable) + hint);  // Both may be missing.
  }
  return names;
}

// What all snapshots hold: live files, changelogs, manifests, lists, and the schema.
std::set<std::string> NamedFiles(Site& site) {
  const paimon::TablePaths paths(kTable);
  paimon::SchemaStore schemas(site.files, paths);
  paimon::WriterSession session(site.files, site.random, paths);
  const paimon::ManifestStore manifests(site.files, site.random, paths, schemas, session);
  std::set<std::string> named{paths.Schema(0)};
  const auto table = site.Open();
  for (const LakeSnapshot& snapshot : table->Snapshots().ValueOrDie()) {
    named.insert(paths.Snapshot(snapshot.id));
    std::vector<paimon::ManifestEntry> entries = manifests.ReadLive(snapshot).ValueOrDie();
    for (const std::string* list : {&snapshot.base_manifest_list, &snapshot.delta_manifest_list,
                                    &snapshot.changelog_manifest_list}) {
      if (list->empty()) continue;
      named.insert(paths.Manifest(*list));
      for (const auto& manifest : manifests.ReadList(*list).ValueOrDie())
        named.insert(paths.Manifest(manifest.name));
    }
    if (!snapshot.changelog_manifest_list.empty()) {
      const auto changes = manifests.ReadEntries(snapshot.changelog_manifest_list).ValueOrDie();
      entries.insert(entries.end(), changes.begin(), changes.end());
    }
    for (const auto& entry : entries)
      named.insert(io::JoinPath(paths.Bucket("", entry.bucket), entry.file.name));
  }
  return named;
}

const ExpireOptions kKeepTwo{.retained_min = 2, .retained_ms = 0};

// Rounds, a compaction and an expiry, the `stop`-th changing operation of the last round and what
// follows being the last (0 = never). Returns how many operations that is.
uint64_t RunAndStop(Site& site, uint64_t stop) {
  for (int i = 0; i < 3; ++i) EXPECT_OK(site.workload->Round(20));
  const uint64_t before = site.files.operations();
  uint64_t passed = 0;
  site.files.SetHook([&](std::string_view, const std::string&) { return ++passed != stop; });
  LakeTable& table = site.workload->table();
  const bool went = site.workload->Round(20).ok() && table.Compact({.full = true}).ok() &&
                    table.Pin(4).ok() && table.Expire(kKeepTwo).ok();
  EXPECT_TRUE(went || stop > 0);
  const uint64_t operations = site.files.operations() - before;
  site.files.SetHook({});
  return operations;
}

class OrphanSweepTest : public testing::TestWithParam<bool> {};

TEST_P(OrphanSweepTest, AfterAStopAtAnyStepTheFolderHoldsWhatTheTableNames) {
  OpenLog("", LogLevel::kWarn);
  Site whole(GetParam());
  const uint64_t operations = RunAndStop(whole, 0);
  ASSERT_GT(operations, 40u);
  // Neighbouring steps differ little; the two tables begin at different ones.
  for (uint64_t stop = GetParam() ? 1 : 3; stop <= operations; stop += 5) {
    SCOPED_TRACE("stop " + std::to_string(stop));
    Site site(GetParam(), stop);
    if (stop % 2 == 0) site.files.SetRenames(io::SimFileSystem::Renames::kByLink);
    RunAndStop(site, stop);
    site.workload.reset();
    if (stop % 3 == 0) {
      site.files.Crash(site.random);
    } else {
      site.files.Restart();
    }
    site.Start();
    ASSERT_OK(site.Open()->RemoveOrphans({}));
    ASSERT_OK(site.Open()->Expire(kKeepTwo));  // What a broken expiry left is expiry's to finish.
    ASSERT_EQ(AllFiles(site), NamedFiles(site));
    ASSERT_OK_AND_ASSIGN(const int64_t again, site.Open()->RemoveOrphans({.older_than_ms = 0}));
    ASSERT_EQ(again, 0);
  }
}

// A round that an error ends at any of its operations leaves no file that the next sweep would not
// find: of a keyed table, the data of a round whose changelog failed.
TEST_P(OrphanSweepTest, AfterAnErrorAtAnyOperationNothingIsLeftOfTheRound) {
  Site site(GetParam());
  ASSERT_OK(site.workload->Round(20));
  bool whole = false;
  for (uint64_t n = 1; !whole; ++n) {
    {
      const auto table = site.Open();
      site.files.FailOperation(n);
      auto writer = table->OpenWriter({.columns = {"id", "s"}});
      if (!writer.ok()) continue;
      const std::vector<types::Column> columns = TwoColumnTable(GetParam()).schema.columns;
      const Status written = (*writer)->Write({RandomRows(columns, 5, site.random), {}, 0, 0});
      whole = written.ok() && (*writer)->Finish().ok();
    }
    if (whole) break;
    ASSERT_OK(site.Open()->RemoveOrphans({}));
    EXPECT_EQ(AllFiles(site), NamedFiles(site)) << "error at operation " << n;
    ASSERT_LT(n, 100u);
  }
}

TEST_P(OrphanSweepTest, AStopOfTheSweepItselfIsFinishedByTheNext) {
  OpenLog("", LogLevel::kWarn);
  for (uint64_t stop = 1; stop <= 12; stop += 2) {
    SCOPED_TRACE("stop " + std::to_string(stop));
    Site site(GetParam());
    RunAndStop(site, 30);
    site.workload.reset();
    site.files.Restart();
    uint64_t passed = 0;
    site.files.SetHook([&](std::string_view, const std::string&) { return ++passed != stop; });
    (void)site.Open()->RemoveOrphans({});
    site.files.SetHook({});
    site.files.Restart();
    ASSERT_OK(site.Open()->RemoveOrphans({}));
    ASSERT_EQ(AllFiles(site), NamedFiles(site));
  }
}

TEST_P(OrphanSweepTest, FilesOfALivingWriterStayHoweverOldTheyAre) {
  Site site(GetParam());
  ASSERT_OK(site.workload->Round(20));
  auto table = site.Open();
  ASSERT_OK_AND_ASSIGN(auto writer, table->OpenWriter({.columns = {"id", "s"}, .bucket = 0}));
  const auto rows = RandomRows(TwoColumnTable(GetParam(), 2).schema.columns, 5, site.random);
  ASSERT_OK(writer->Write({.rows = rows, .kinds = {}}));
  std::vector<std::unique_ptr<PreparedFiles>> prepared;
  ASSERT_OK_AND_ASSIGN(auto files, writer->Finish());
  prepared.push_back(std::move(files));
  site.clock.Advance(3 * kDayMs);
  ASSERT_OK_AND_ASSIGN(const int64_t removed,
                       site.Open()->RemoveOrphans({.older_than_ms = kDayMs}));
  EXPECT_EQ(removed, 0);
  ASSERT_OK_AND_ASSIGN(const int64_t id, table->Commit(std::move(prepared), {}));
  writer.reset();
  table.reset();
  site.workload.reset();
  ASSERT_OK_AND_ASSIGN(const auto snapshot, site.Open()->SnapshotById(id));
  EXPECT_OK(ReadAll(*site.Open(), snapshot, {"id", "s"}));
  EXPECT_EQ(AllFiles(site), NamedFiles(site));  // No record of a finished writer either.
}

TEST_P(OrphanSweepTest, OtherEnginesAndWhatTagsAndBranchesNameAreLeftAlone) {
  Site site(GetParam());
  ASSERT_OK(site.workload->Round(20));
  const auto put = [&](const std::string& name, const std::string& text) {
    const std::string path = std::string(kTable) + "/" + name;
    ASSERT_OK(site.files.MakeFolders(io::FolderOf(path)));
    ASSERT_OK(site.files.ReplaceFile(path, text));
  };
  const std::string uuid = "0a1b2c3d-0000-4000-8000-000000000000";
  put("bucket-0/data-" + uuid + "-0.parquet", "another engine's");
  put("manifest/manifest-" + uuid + "-0", "another engine's");
  put("snapshot/.snapshot-2." + uuid + ".tmp", "another engine's");
  put("bucket-0/data-sluice-" + uuid + "-0.parquet", "ours, without a record");
  // Snapshot 1 lives on in a tag and in a branch alone.
  const std::string first =
      site.files.ReadFile(std::string(kTable) + "/snapshot/snapshot-1").ValueOrDie();
  const auto named_by_first = NamedFiles(site);
  ASSERT_OK(site.workload->Round(20));
  ASSERT_OK(site.workload->table().Compact({.full = true}));
  put(GetParam() ? "tag/tag-a" : "branch/branch-b/snapshot/snapshot-1", first);
  for (const char* id : {"1", "2"})
    ASSERT_OK(site.files.Remove(std::string(kTable) + "/snapshot/snapshot-" + id));
  site.workload.reset();
  ASSERT_OK_AND_ASSIGN(const int64_t young, site.Open()->RemoveOrphans({.older_than_ms = kDayMs}));
  EXPECT_EQ(young, 0);
  site.clock.Advance(kDayMs);
  ASSERT_OK(site.Open()->RemoveOrphans({.older_than_ms = kDayMs}));
  auto left = AllFiles(site);
  for (const std::string& name : named_by_first) {
    if (name.ends_with("/snapshot-1")) continue;
    EXPECT_TRUE(left.contains(name)) << name;
  }
  EXPECT_TRUE(left.contains(std::string(kTable) + "/bucket-0/data-" + uuid + "-0.parquet"));
  EXPECT_TRUE(left.contains(std::string(kTable) + "/manifest/manifest-" + uuid + "-0"));
  EXPECT_TRUE(left.contains(std::string(kTable) + "/snapshot/.snapshot-2." + uuid + ".tmp"));
  EXPECT_FALSE(left.contains(std::string(kTable) + "/bucket-0/data-sluice-" + uuid + "-0.parquet"));
}

TEST_P(OrphanSweepTest, NothingGoesWhenWhatIsNamedCannotBeRead) {
  Site site(GetParam());
  RunAndStop(site, 8);
  site.workload.reset();
  site.files.Restart();
  ASSERT_OK_AND_ASSIGN(const auto latest, site.Open()->LatestSnapshot());
  const paimon::TablePaths paths(kTable);
  ASSERT_OK(site.files.ReplaceFile(paths.Manifest(latest->delta_manifest_list), "torn"));
  const auto before = AllFiles(site);
  EXPECT_CODE(ErrorCode::kCorruptRecord, site.Open()->RemoveOrphans({.older_than_ms = 0}));
  EXPECT_EQ(AllFiles(site), before);
}

// A disk on which a sweep takes each new record before its writer looks again.
class SweptFiles : public io::SimFileSystem {
 public:
  using SimFileSystem::SimFileSystem;
  Result<std::unique_ptr<Lock>> LockFile(const std::string& path) override {
    auto lock = SimFileSystem::LockFile(path);
    if (sweeps_left > 0) {
      --sweeps_left;
      EXPECT_OK(Remove(path));
    }
    return lock;
  }
  int sweeps_left = 0;
};

TEST(WriterSessionTest, NoWriterBeginsWithoutItsRecord) {
  HandClock clock;
  io::SeededRandom random(1);
  SweptFiles files(clock);
  const paimon::TablePaths paths(kTable);
  ASSERT_OK(files.MakeFolders(paths.location()));
  files.sweeps_left = 2;
  paimon::WriterSession late(files, random, paths);
  EXPECT_OK(late.Begin());
  EXPECT_EQ(files.List(paths.SessionFolder())->size(), 1u);
  files.sweeps_left = 3;
  paimon::WriterSession never(files, random, paths);
  EXPECT_CODE(ErrorCode::kStorage, never.Begin());
}

INSTANTIATE_TEST_SUITE_P(Tables, OrphanSweepTest, testing::Values(false, true),
                         [](const auto& info) { return info.param ? "keyed" : "append"; });

}  // namespace
}  // namespace sluice::lake
