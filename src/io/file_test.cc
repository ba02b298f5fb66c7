#include "io/file.h"

#include <unistd.h>

#include "base/testing.h"
#include "io/local_file_internal.h"
#include "io/sim/sim_file_system.h"
#include "io/sim/sim_world.h"

namespace sluice::io {
namespace {

using Mode = FileSystem::Mode;

// The machine's files in a temporary folder, or simulated ones.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual FileSystem& files() = 0;
  virtual std::string root() = 0;
};

class LocalMachine : public Machine {
 public:
  FileSystem& files() override { return LocalFileSystem(); }
  std::string root() override { return folder_.path(); }

 private:
  TempDir folder_;
};

class SimMachine : public Machine {
 public:
  explicit SimMachine(SimFileSystem::Renames renames = SimFileSystem::Renames::kOneStep) {
    EXPECT_OK(files_.MakeFolders(root()));
    files_.SetRenames(renames);
  }
  FileSystem& files() override { return files_; }
  std::string root() override { return "/data"; }

 private:
  SimClock clock_;
  SimFileSystem files_{clock_};
};

class LinkingSimMachine : public SimMachine {
 public:
  LinkingSimMachine() : SimMachine(SimFileSystem::Renames::kByLink) {}
};

template <typename M>
std::unique_ptr<Machine> Make() {
  return std::make_unique<M>();
}

struct FileTest : testing::TestWithParam<std::unique_ptr<Machine> (*)()> {
  std::unique_ptr<Machine> machine = GetParam()();
  FileSystem& files = machine->files();

  std::string Path(std::string_view name) { return JoinPath(machine->root(), name); }
  std::unique_ptr<File> Open(std::string_view name, Mode mode = Mode::kCreate) {
    auto file = files.Open(Path(name), mode);
    CHECK(file.ok());
    return std::move(file).ValueUnsafe();
  }
  std::vector<std::string> Names(std::string_view folder = "") {
    auto entries = files.List(Path(folder));
    CHECK(entries.ok());
    std::vector<std::string> names;
    for (const auto& entry : *entries) names.push_back(entry.name);
    return names;
  }
};

TEST_P(FileTest, AppendsInOrderAndReadsBack) {
  const auto file = Open("a");
  ASSERT_OK(file->Append("one"));
  const std::vector<std::string_view> parts{"two", "", "three"};
  ASSERT_OK(file->Append(parts));
  EXPECT_EQ(file->size_bytes(), 11u);
  ASSERT_OK_AND_ASSIGN(const std::string all, file->ReadString(0, 100));
  EXPECT_EQ(all, "onetwothree");
  ASSERT_OK_AND_ASSIGN(const std::string middle, file->ReadString(3, 3));
  EXPECT_EQ(middle, "two");
  ASSERT_OK_AND_ASSIGN(const std::string past_end, file->ReadString(11, 5));
  EXPECT_EQ(past_end, "");
}

TEST_P(FileTest, AppendsMorePartsThanOneCallTakes) {
  const auto file = Open("a");
  const std::vector<std::string_view> parts(5000, "xyz");
  ASSERT_OK(file->Append(parts));
  EXPECT_EQ(file->size_bytes(), 15'000u);
}

TEST_P(FileTest, ReopenedFilesAppendAtTheirEnd) {
  ASSERT_OK(Open("a")->Append("one"));
  const auto again = Open("a", Mode::kReadWrite);
  EXPECT_EQ(again->size_bytes(), 3u);
  ASSERT_OK(again->Append("two"));
  ASSERT_OK_AND_ASSIGN(const std::string all, files.ReadFile(Path("a")));
  EXPECT_EQ(all, "onetwo");
}

TEST_P(FileTest, WritesInPlaceAndPastTheEnd) {
  const auto file = Open("a");
  ASSERT_OK(file->Append("abcdef"));
  ASSERT_OK(file->WriteAt(2, "XY"));
  ASSERT_OK(file->WriteAt(8, "Z"));
  ASSERT_OK_AND_ASSIGN(const std::string all, file->ReadString(0, 100));
  EXPECT_EQ(all, std::string("abXYef\0\0Z", 9));
  EXPECT_EQ(file->size_bytes(), 9u);
}

TEST_P(FileTest, TruncatesAndGoesOn) {
  const auto file = Open("a");
  ASSERT_OK(file->Append("abcdef"));
  ASSERT_OK(file->Truncate(2));
  ASSERT_OK(file->Append("Z"));
  ASSERT_OK_AND_ASSIGN(const std::string all, file->ReadString(0, 100));
  EXPECT_EQ(all, "abZ");
}

TEST_P(FileTest, TryReadGivesWhatWasJustWritten) {
  const auto file = Open("a");
  ASSERT_OK(file->Append("abcdef"));
  char out[3];
  ASSERT_OK_AND_ASSIGN(const bool cached, file->TryReadAt(2, 3, out));
  EXPECT_TRUE(cached);
  EXPECT_EQ(std::string_view(out, 3), "cde");
  EXPECT_FALSE(file->TryReadAt(5, 3, out).ok());
}

TEST_P(FileTest, AMissingPathIsNotFound) {
  EXPECT_TRUE(IsNotFound(files.Open(Path("a"), Mode::kRead).status()));
  EXPECT_TRUE(IsNotFound(files.Open(Path("no/a"), Mode::kCreate).status()));
  EXPECT_TRUE(IsNotFound(files.Stat(Path("a")).status()));
  EXPECT_TRUE(IsNotFound(files.List(Path("a")).status()));
  EXPECT_TRUE(IsNotFound(files.Remove(Path("a"))));
  EXPECT_TRUE(IsNotFound(files.Rename(Path("a"), Path("b"))));
  EXPECT_THAT(files.Stat(Path("a")).status().message(), testing::HasSubstr(Path("a")));
  ASSERT_OK_AND_ASSIGN(const bool exists, files.Exists(Path("a")));
  EXPECT_FALSE(exists);
}

TEST_P(FileTest, CreateNewRefusesAnExistingFile) {
  Open("a", Mode::kCreateNew);
  const auto again = files.Open(Path("a"), Mode::kCreateNew);
  EXPECT_FALSE(again.ok());
  EXPECT_FALSE(IsNotFound(again.status()));
}

TEST_P(FileTest, AFolderIsNotAFile) {
  EXPECT_FALSE(files.Open(machine->root(), Mode::kRead).ok());
  Open("a");
  EXPECT_FALSE(files.MakeFolders(Path("a")).ok());
}

TEST_P(FileTest, MakesFoldersBelowOneThatIsThere) {
  ASSERT_OK(files.MakeFolders(Path("top")));
  ASSERT_OK(files.MakeFoldersBelow(Path("top"), Path("top/a/b")));
  ASSERT_OK(files.MakeFoldersBelow(Path("top"), Path("top/a/b")));
  ASSERT_OK(files.MakeFoldersBelow(Path("top"), Path("top")));
  EXPECT_EQ(Names("top/a"), std::vector<std::string>{"b"});
  ASSERT_OK(files.Rename(Path("top"), Path("away")));
  EXPECT_TRUE(IsNotFound(files.MakeFoldersBelow(Path("top"), Path("top/a/c"))));
  EXPECT_TRUE(IsNotFound(files.MakeFoldersBelow(Path("top"), Path("top"))));
  EXPECT_EQ(Names(), std::vector<std::string>{"away"});
}

TEST_P(FileTest, ListsFoldersInNameOrder) {
  ASSERT_OK(Open("b")->Append("12345"));
  ASSERT_OK(files.MakeFolders(Path("c/d/e")));
  Open("a");
  ASSERT_OK_AND_ASSIGN(const auto entries, files.List(machine->root()));
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].name, "a");
  EXPECT_EQ(entries[1].name, "b");
  EXPECT_EQ(entries[1].size_bytes, 5u);
  EXPECT_FALSE(entries[1].is_folder);
  EXPECT_EQ(entries[2].name, "c");
  EXPECT_TRUE(entries[2].is_folder);
  EXPECT_EQ(Names("c/d"), std::vector<std::string>{"e"});
}

TEST_P(FileTest, RenameReplaces) {
  ASSERT_OK(Open("a")->Append("new"));
  ASSERT_OK(Open("b")->Append("old"));
  ASSERT_OK(files.Rename(Path("a"), Path("b")));
  EXPECT_EQ(Names(), std::vector<std::string>{"b"});
  ASSERT_OK_AND_ASSIGN(const std::string all, files.ReadFile(Path("b")));
  EXPECT_EQ(all, "new");
}

TEST_P(FileTest, RenameIfAbsentLetsOnlyTheFirstIn) {
  ASSERT_OK(Open("first")->Append("1"));
  ASSERT_OK(Open("second")->Append("2"));
  ASSERT_OK_AND_ASSIGN(const bool first, files.RenameIfAbsent(Path("first"), Path("target")));
  EXPECT_TRUE(first);
  ASSERT_OK_AND_ASSIGN(const bool second, files.RenameIfAbsent(Path("second"), Path("target")));
  EXPECT_FALSE(second);
  EXPECT_EQ(Names(), (std::vector<std::string>{"second", "target"}));
  ASSERT_OK_AND_ASSIGN(const std::string all, files.ReadFile(Path("target")));
  EXPECT_EQ(all, "1");
}

TEST_P(FileTest, AnOpenFileOutlivesItsName) {
  const auto file = Open("a");
  ASSERT_OK(file->Append("abc"));
  ASSERT_OK(files.Remove(Path("a")));
  ASSERT_OK_AND_ASSIGN(const std::string all, file->ReadString(0, 10));
  EXPECT_EQ(all, "abc");
  EXPECT_TRUE(Names().empty());
}

TEST_P(FileTest, RemovesTreesAndRefusesToRemoveAFullFolder) {
  ASSERT_OK(files.MakeFolders(Path("c/d")));
  Open("c/d/x");
  EXPECT_FALSE(files.Remove(Path("c/d")).ok());
  ASSERT_OK(files.RemoveTree(Path("c")));
  ASSERT_OK(files.RemoveTree(Path("c")));
  EXPECT_TRUE(Names().empty());
}

TEST_P(FileTest, ReplaceFileReplacesTheWhole) {
  ASSERT_OK(files.ReplaceFile(Path("a"), "a longer first content"));
  ASSERT_OK(Open("a.tmp")->Append("left by a killed process, longer than the next"));
  ASSERT_OK(files.ReplaceFile(Path("a"), "second"));
  ASSERT_OK_AND_ASSIGN(const std::string all, files.ReadFile(Path("a")));
  EXPECT_EQ(all, "second");
  EXPECT_EQ(Names(), std::vector<std::string>{"a"});
}

TEST_P(FileTest, ALockIsExclusiveAndNamesTheFolder) {
  ASSERT_OK_AND_ASSIGN(auto lock, files.LockFile(Path("lock")));
  const auto second = files.LockFile(Path("lock"));
  EXPECT_CODE(ErrorCode::kStorage, second);
  EXPECT_THAT(second.status().message(), testing::HasSubstr(machine->root()));
  lock.reset();
  EXPECT_OK(files.LockFile(Path("lock")));
}

TEST_P(FileTest, SpaceIsKnown) {
  ASSERT_OK_AND_ASSIGN(const auto space, files.SpaceAt(machine->root()));
  EXPECT_GT(space.free_bytes, 0u);
  EXPECT_GE(space.total_bytes, space.free_bytes);
}

TEST_P(FileTest, AFileOpenedForReadingRefusesWrites) {
  Open("a");
  EXPECT_FALSE(Open("a", Mode::kRead)->Append("x").ok());
}

INSTANTIATE_TEST_SUITE_P(Local, FileTest, testing::Values(&Make<LocalMachine>));
INSTANTIATE_TEST_SUITE_P(Sim, FileTest, testing::Values(&Make<SimMachine>));
INSTANTIATE_TEST_SUITE_P(LinkingSim, FileTest, testing::Values(&Make<LinkingSimMachine>));

TEST(LocalFileTest, FoldersAboveThatNobodyCanSyncArePassedOver) {
  EXPECT_FALSE(LocalFileSystem().SyncFolder("/proc/self").ok());
  EXPECT_OK(LocalFileSystem().SyncPath("/proc/self/fd"));
}

// The held descriptor hears of every write that failed since.
TEST(LocalFileTest, AllIsSyncedByTheLockWhereverItsFolderIsNow) {
  const TempDir folder;
  FileSystem& files = LocalFileSystem();
  const std::string data = JoinPath(folder.path(), "data");
  ASSERT_OK(files.MakeFolders(data));
  ASSERT_OK_AND_ASSIGN(auto lock, files.LockFile(JoinPath(data, "lock")));
  if (lock->SyncAll().IsNotImplemented()) GTEST_SKIP() << "before Linux 5.8";
  ASSERT_OK(files.Rename(data, JoinPath(folder.path(), "moved")));
  ASSERT_OK(files.MakeFolders(data));
  ASSERT_OK_AND_ASSIGN(auto other, files.LockFile(JoinPath(data, "lock")));
  EXPECT_OK(lock->SyncAll());
  EXPECT_FALSE(lock->IsInPlace());
  EXPECT_OK(other->SyncAll());
}

TEST(LocalFileTest, OldSystemsHideWritesThatFailed) {
  for (const char* release : {"5.8.0", "5.10.0-28-amd64", "6.1", "10.0.1"})
    EXPECT_TRUE(internal::SyncfsTells(release)) << release;
  for (const char* release : {"5.7.19", "4.19.0-8", "4.4.0", "5", "", "x"})
    EXPECT_FALSE(internal::SyncfsTells(release)) << release;
}

TEST(RenameByLinkTest, MovesFinishesAHalfMoveAndKeepsWhatIsThere) {
  const TempDir folder;
  FileSystem& files = LocalFileSystem();
  const std::string from = JoinPath(folder.path(), "from"), to = JoinPath(folder.path(), "to");
  const auto put = [&](const std::string& path, const char* text) {
    auto file = files.Open(path, Mode::kCreateNew);
    ASSERT_OK(file.status());
    ASSERT_OK((*file)->Append(text));
  };
  put(from, "1");
  ASSERT_OK_AND_ASSIGN(const bool moved, internal::RenameByLink(from, to));
  EXPECT_TRUE(moved);
  EXPECT_FALSE(files.Exists(from).ValueOrDie());
  put(from, "2");
  ASSERT_OK_AND_ASSIGN(const bool taken, internal::RenameByLink(from, to));
  EXPECT_FALSE(taken);
  EXPECT_EQ(files.ReadFile(to).ValueOrDie(), "1");
  // Stopped between link and removal: both calls finish it.
  for (const bool by_link : {true, false}) {
    ASSERT_OK(files.Remove(to));
    ASSERT_EQ(::link(from.c_str(), to.c_str()), 0);
    ASSERT_OK_AND_ASSIGN(const bool finished, by_link ? internal::RenameByLink(from, to)
                                                      : files.RenameIfAbsent(from, to));
    EXPECT_TRUE(finished);
    EXPECT_FALSE(files.Exists(from).ValueOrDie());
    EXPECT_EQ(files.ReadFile(to).ValueOrDie(), "2");
    ASSERT_OK(files.Rename(to, from));
    put(to, "0");
  }
}

TEST(PathTest, JoinsWithOneSlashAndFindsTheFolder) {
  EXPECT_EQ(JoinPath("/a", "b"), "/a/b");
  EXPECT_EQ(JoinPath("/a/", "/b"), "/a/b");
  EXPECT_EQ(FolderOf("/a/b"), "/a");
  EXPECT_EQ(FolderOf("/a/b/"), "/a");
  EXPECT_EQ(FolderOf("/a"), "/");
  EXPECT_EQ(FolderOf("a"), ".");
}

}  // namespace
}  // namespace sluice::io
