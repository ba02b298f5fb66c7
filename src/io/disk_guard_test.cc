#include "io/disk_guard.h"

#include "base/testing.h"

namespace sluice::io {
namespace {

/// A disk of 1000 bytes whose use the test sets.
class FakeDisk {
 public:
  explicit FakeDisk(FileSystem& real) : files(real, this) {}
  void Use(uint64_t bytes) { used_ = bytes; }

 private:
  class Files : public FileSystem {
   public:
    Files(FileSystem& real, FakeDisk* disk) : real_(real), disk_(disk) {}
    Result<std::unique_ptr<File>> Open(const std::string& path, Mode mode) override {
      return real_.Open(path, mode);
    }
    Status Rename(const std::string& from, const std::string& to) override {
      return real_.Rename(from, to);
    }
    Result<bool> RenameIfAbsent(const std::string& from, const std::string& to) override {
      return real_.RenameIfAbsent(from, to);
    }
    Status Remove(const std::string& path) override { return real_.Remove(path); }
    Status RemoveTree(const std::string& path) override { return real_.RemoveTree(path); }
    Status MakeFoldersBelow(const std::string& top, const std::string& path) override {
      return real_.MakeFoldersBelow(top, path);
    }
    Status SyncPath(const std::string& path) override { return real_.SyncPath(path); }
    Status SyncFolder(const std::string& path) override { return real_.SyncFolder(path); }
    Result<std::vector<Entry>> List(const std::string& folder) override {
      return real_.List(folder);
    }
    Result<Entry> Stat(const std::string& path) override { return real_.Stat(path); }
    Result<std::unique_ptr<Lock>> LockFile(const std::string& path) override {
      return real_.LockFile(path);
    }
    Result<Space> SpaceAt(const std::string& path) override {
      RETURN_NOT_OK(real_.Stat(path));
      return Space{1000 - disk_->used_, disk_->used_, 1000};
    }

   private:
    FileSystem& real_;
    FakeDisk* disk_;
  };
  uint64_t used_ = 0;

 public:
  Files files;
};

TEST(DiskGuardTest, RefusesFromTheLimitOnUntilUseIsBelowTheLowerOne) {
  const TempDir folder;
  FakeDisk disk(LocalFileSystem());
  DiskGuard guard({.files = &disk.files, .folder = folder.path()});
  disk.Use(849);
  guard.Look();
  EXPECT_OK(guard.CheckWrite());
  disk.Use(850);
  guard.Look();
  EXPECT_CODE(ErrorCode::kDiskWriteLocked, guard.CheckWrite());
  EXPECT_THAT(guard.CheckWrite().message(), testing::HasSubstr(folder.path()));
  EXPECT_EQ(guard.state().space.free_bytes, 150u);
  disk.Use(801);
  guard.Look();
  EXPECT_CODE(ErrorCode::kDiskWriteLocked, guard.CheckWrite());
  disk.Use(799);
  guard.Look();
  EXPECT_OK(guard.CheckWrite());
}

TEST(DiskGuardTest, RefusesWhileTheFolderIsMovedAway) {
  const TempDir root;
  const std::string folder = JoinPath(root.path(), "data");
  FileSystem& files = LocalFileSystem();
  ASSERT_OK(files.MakeFolders(folder));
  ASSERT_OK_AND_ASSIGN(const auto lock, files.LockFile(JoinPath(folder, "lock")));
  DiskGuard guard({.files = &files, .folder = folder, .limit_ratio = 1, .lock = lock.get()});
  guard.Look();
  EXPECT_OK(guard.CheckWrite());
  ASSERT_OK(files.Rename(folder, folder + "2"));
  guard.Look();
  EXPECT_CODE(ErrorCode::kDiskWriteLocked, guard.CheckWrite());
  ASSERT_OK(files.MakeFolders(folder));
  ASSERT_OK(files.ReplaceFile(JoinPath(folder, "lock"), ""));  // Another file of that name.
  guard.Look();
  EXPECT_CODE(ErrorCode::kDiskWriteLocked, guard.CheckWrite());
  ASSERT_OK(files.RemoveTree(folder));
  ASSERT_OK(files.Rename(folder + "2", folder));
  guard.Look();
  EXPECT_OK(guard.CheckWrite());
}

}  // namespace
}  // namespace sluice::io
