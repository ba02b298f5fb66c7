#include "io/sim/sim_file_system.h"

#include <set>

#include "base/testing.h"
#include "io/sim/sim_world.h"

namespace sluice::io {
namespace {

using Mode = FileSystem::Mode;

struct SimFileSystemTest : testing::Test {
  SimClock clock;
  SimFileSystem files{clock};

  void SetUp() override { ASSERT_OK(files.MakeFolders("/d")); }
  std::unique_ptr<File> Open(const std::string& path) {
    auto file = files.Open(path, Mode::kCreate);
    CHECK(file.ok());
    return std::move(file).ValueUnsafe();
  }
  std::string Content(const std::string& path) {
    const auto content = files.ReadFile(path);
    return content.ok() ? *content : "(missing)";
  }
};

// What a file with synced "SSSS" and unsynced appends "aaaa", "bbbb" looks like after a crash, over
// many seeds.
std::set<std::string> OutcomesOfUnsyncedAppends() {
  std::set<std::string> outcomes;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SimClock clock;
    SimFileSystem files(clock);
    CHECK(files.MakeFolders("/d").ok());
    auto file = files.Open("/d/f", Mode::kCreate).ValueOrDie();
    CHECK(file->Append("SSSS").ok() && file->Sync().ok() && files.SyncFolder("/d").ok());
    CHECK(file->Append("aaaa").ok() && file->Append("bbbb").ok());
    SeededRandom random(seed);
    files.Crash(random);
    outcomes.insert(files.ReadFile("/d/f").ValueOrDie());
  }
  return outcomes;
}

TEST(SimCrashTest, UnsyncedWritesCanSurviveVanishTearAndLoseTheirOrder) {
  const auto outcomes = OutcomesOfUnsyncedAppends();
  EXPECT_TRUE(outcomes.contains("SSSSaaaabbbb"));
  EXPECT_TRUE(outcomes.contains("SSSS"));
  EXPECT_TRUE(outcomes.contains("SSSSaaaa"));
  EXPECT_TRUE(outcomes.contains("SSSSaa"));
  EXPECT_TRUE(outcomes.contains(std::string("SSSSaa\0\0", 8)));
  EXPECT_TRUE(outcomes.contains(std::string("SSSS\0\0\0\0bbbb", 12)));
}

TEST(SimCrashTest, SyncedBytesAlwaysSurvive) {
  for (const std::string& outcome : OutcomesOfUnsyncedAppends()) {
    EXPECT_TRUE(outcome.starts_with("SSSS")) << outcome;
    EXPECT_LE(outcome.size(), 12u);
  }
}

TEST_F(SimFileSystemTest, AnUnsyncedNameCanVanishThoughItsFileWasSynced) {
  std::set<bool> there;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    ASSERT_OK(files.RemoveTree("/d/f"));
    ASSERT_OK(files.SyncFolder("/d"));
    auto file = Open("/d/f");
    ASSERT_OK(file->Append("abc"));
    ASSERT_OK(file->Sync());
    SeededRandom random(seed);
    files.Crash(random);
    there.insert(Content("/d/f") == "abc");
  }
  EXPECT_EQ(there, (std::set<bool>{false, true}));
}

// The process was killed between making a name and syncing it.
TEST_F(SimFileSystemTest, AFolderOfAKilledProcessIsMadeDurableByWhoeverMakesItAgain) {
  std::set<bool> unsynced, synced;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    for (std::set<bool>* there : {&unsynced, &synced}) {
      ASSERT_OK(files.RemoveTree("/a"));
      ASSERT_OK(files.SyncFolder("/"));
      files.SetHook([](std::string_view operation, const std::string&) {
        return operation != "sync folder";
      });
      ASSERT_FALSE(files.MakeFolders("/a").ok());
      files.SetHook(nullptr);
      files.Restart();
      ASSERT_OK_AND_ASSIGN(const bool made, files.Exists("/a"));
      ASSERT_TRUE(made);
      if (there == &synced) ASSERT_OK(files.MakeFolders("/a/b"));
      SeededRandom random(seed);
      files.Crash(random);
      there->insert(*files.Exists(there == &synced ? "/a/b" : "/a"));
    }
  }
  EXPECT_EQ(unsynced, (std::set<bool>{false, true}));
  EXPECT_EQ(synced, (std::set<bool>{true}));
}

TEST_F(SimFileSystemTest, ASyncedNameAlwaysSurvives) {
  auto file = Open("/d/f");
  ASSERT_OK(file->Append("abc"));
  ASSERT_OK(file->Sync());
  ASSERT_OK(files.SyncFolder("/d"));
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SeededRandom random(seed);
    files.Crash(random);
    ASSERT_EQ(Content("/d/f"), "abc");
  }
}

TEST_F(SimFileSystemTest, ReplaceFileLeavesTheOldOrTheNewWhereverPowerIsLost) {
  uint64_t steps = 0;
  std::set<std::string> outcomes;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    ASSERT_OK(files.ReplaceFile("/d/f", "old"));
    const uint64_t before = files.operations();
    const uint64_t stop_at = before + seed % 8;
    files.SetHook(
        [&](std::string_view, const std::string&) { return files.operations() <= stop_at; });
    const Status replaced = files.ReplaceFile("/d/f", "new");
    files.SetHook(nullptr);
    steps = std::max(steps, files.operations() - before);
    SeededRandom random(seed);
    files.Crash(random);
    const std::string content = Content("/d/f");
    ASSERT_TRUE(replaced.ok() ? content == "new" : content == "old" || content == "new") << content;
    outcomes.insert(content);
  }
  EXPECT_EQ(outcomes.size(), 2u);
  EXPECT_GE(steps, 5u);  // Create, truncate, append, sync, rename, sync folder.
}

TEST_F(SimFileSystemTest, ARenameBetweenFoldersIsWholeOrNotAtAll) {
  std::set<std::string> outcomes;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    ASSERT_OK(files.RemoveTree("/d"));
    ASSERT_OK(files.RemoveTree("/e"));
    ASSERT_OK(files.MakeFolders("/d"));
    ASSERT_OK(files.MakeFolders("/e"));
    Open("/d/f");
    ASSERT_OK(files.SyncFolder("/d"));
    ASSERT_OK(files.Rename("/d/f", "/e/g"));
    SeededRandom random(seed);
    files.Crash(random);
    ASSERT_OK_AND_ASSIGN(const bool old_there, files.Exists("/d/f"));
    ASSERT_OK_AND_ASSIGN(const bool new_there, files.Exists("/e/g"));
    ASSERT_NE(old_there, new_there);
    outcomes.insert(old_there ? "old" : "new");
  }
  EXPECT_EQ(outcomes.size(), 2u);
}

TEST_F(SimFileSystemTest, AMoveByLinkThatStopsHalfWayHasHappenedAndCanBeFinished) {
  files.SetRenames(SimFileSystem::Renames::kByLink);
  ASSERT_OK(Open("/d/f")->Append("abc"));
  files.SetHook(
      [](std::string_view operation, const std::string&) { return operation != "remove"; });
  EXPECT_CODE(ErrorCode::kStorage, files.RenameIfAbsent("/d/f", "/d/g"));
  files.SetHook(nullptr);
  files.Restart();
  EXPECT_EQ(Content("/d/f"), "abc");
  EXPECT_EQ(Content("/d/g"), "abc");
  ASSERT_OK_AND_ASSIGN(const bool moved, files.RenameIfAbsent("/d/f", "/d/g"));
  EXPECT_TRUE(moved);
  EXPECT_EQ(Content("/d/f"), "(missing)");
  EXPECT_EQ(Content("/d/g"), "abc");
}

TEST_F(SimFileSystemTest, AKilledProcessLosesNothingThatItWrote) {
  auto file = Open("/d/f");
  ASSERT_OK(file->Append("abc"));
  ASSERT_OK_AND_ASSIGN(const auto lock, files.LockFile("/d/lock"));
  files.Restart();
  EXPECT_EQ(Content("/d/f"), "abc");
  EXPECT_FALSE(file->Append("from the dead").ok());
  EXPECT_FALSE(file->ReadString(0, 3).ok());
  EXPECT_OK(files.LockFile("/d/lock"));
}

TEST_F(SimFileSystemTest, AStoppedMachineDoesNothingUntilItStartsAgain) {
  auto file = Open("/d/f");
  files.SetHook(
      [](std::string_view operation, const std::string&) { return operation != "append"; });
  EXPECT_CODE(ErrorCode::kStorage, file->Append("abc"));
  files.SetHook(nullptr);
  EXPECT_CODE(ErrorCode::kStorage, file->Sync());
  EXPECT_CODE(ErrorCode::kStorage, files.MakeFolders("/x"));
  EXPECT_CODE(ErrorCode::kStorage, files.Stat("/d/f"));
  files.Restart();
  EXPECT_EQ(Content("/d/f"), "");
}

TEST_F(SimFileSystemTest, TheNthOperationFailsOnce) {
  auto file = Open("/d/f");
  files.FailOperation(2);
  EXPECT_OK(file->Append("a"));
  EXPECT_CODE(ErrorCode::kStorage, file->Append("b"));
  EXPECT_OK(file->Append("c"));
  EXPECT_EQ(Content("/d/f"), "ac");
}

TEST_F(SimFileSystemTest, AFullDiskRefusesWithoutWriting) {
  auto file = Open("/d/f");
  files.SetFreeBytes(5);
  EXPECT_OK(file->Append("abc"));
  EXPECT_CODE(ErrorCode::kStorage, file->Append("def"));
  EXPECT_OK(file->WriteAt(0, "XYZ"));
  EXPECT_EQ(Content("/d/f"), "XYZ");
  files.SetFreeBytes(100);
  EXPECT_OK(file->Append("def"));
}

TEST_F(SimFileSystemTest, ModifiedTimesFollowTheClock) {
  clock.Advance(std::chrono::milliseconds(1234));
  Open("/d/f");
  ASSERT_OK_AND_ASSIGN(const auto entry, files.Stat("/d/f"));
  EXPECT_EQ(entry.modified_ms, SimClock::kStartMs + 1234);
}

}  // namespace
}  // namespace sluice::io
