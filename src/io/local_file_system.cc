#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <unordered_set>

#include "io/local_descriptor_internal.h"
#include "io/local_file_internal.h"

namespace sluice::io {
namespace {

using internal::Descriptor;
using internal::ErrnoStatus;
using internal::Retried;

FileSystem::Entry ToEntry(std::string name, const struct stat& info) {
  const int64_t modified_ms =
      info.st_mtim.tv_sec * int64_t{1000} + info.st_mtim.tv_nsec / 1'000'000;
  return {std::move(name), S_ISDIR(info.st_mode), static_cast<uint64_t>(info.st_size), modified_ms};
}

// Sync a folder; an errno, or 0.
int SyncNamesOf(const std::string& folder) {
  const int number =
      Retried([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (number < 0) return errno;
  const Descriptor opened(number);
  return Retried([&] { return ::fsync(number); }) == 0 ? 0 : errno;
}

// Of a folder that we did not make: not ours to read, or of a file system without such a sync.
bool NobodyCanSync(int error) {
  return error == EACCES || error == EPERM || error == EROFS || error == EINVAL || error == ENOTSUP;
}

// Folders whose names are known to be durable, with all names above them. Threads: any.
class DurableNames {
 public:
  bool Contains(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    return paths_.contains(path);
  }
  void Add(const std::string& path) {
    const std::lock_guard lock(mutex_);
    if (paths_.size() >= kPathsMax) paths_.clear();  // Costs some syncs again.
    paths_.insert(path);
  }
  /// Its name is about to be made anew.
  void Forget(const std::string& path) {
    const std::lock_guard lock(mutex_);
    paths_.erase(path);
  }

 private:
  static constexpr size_t kPathsMax = 16 << 10;
  mutable std::mutex mutex_;  // Guards what follows.
  std::unordered_set<std::string> paths_;
};

class MachineFiles : public FileSystem {
 public:
  Result<std::unique_ptr<File>> Open(const std::string& path, Mode mode) override {
    return internal::OpenLocalFile(path, mode);
  }

  Status Rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) return ErrnoStatus("rename", from, errno);
    return Status::OK();
  }

  Result<bool> RenameIfAbsent(const std::string& from, const std::string& to) override {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0)
      return true;
    if (errno == EEXIST) return internal::FinishHalfRename(from, to);
    if (errno != EINVAL && errno != ENOSYS) return ErrnoStatus("rename", from, errno);
    return internal::RenameByLink(from, to);
  }

  Status Remove(const std::string& path) override {
    if (std::remove(path.c_str()) != 0) return ErrnoStatus("remove", path, errno);
    return Status::OK();
  }

  Status RemoveTree(const std::string& path) override {
    std::error_code error;
    std::filesystem::remove_all(path, error);
    if (error) return ErrnoStatus("remove", path, error.value());
    return Status::OK();
  }

  Status MakeFoldersBelow(const std::string& top, const std::string& path) override {
    struct stat info;
    if (::stat(path.c_str(), &info) == 0)
      return S_ISDIR(info.st_mode) ? SyncPath(path) : ErrnoStatus("make folder", path, ENOTDIR);
    if (errno != ENOENT) return ErrnoStatus("make folder", path, errno);
    const std::string above = FolderOf(path);
    if (above == path || path.size() <= top.size()) return NotFound(path);
    RETURN_NOT_OK(MakeFoldersBelow(top, above));
    durable_names_.Forget(path);
    if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST)
      return ErrnoStatus("make folder", path, errno);
    RETURN_NOT_OK(SyncFolder(above));
    durable_names_.Add(path);
    return Status::OK();
  }

  Status SyncPath(const std::string& path) override {
    std::vector<std::string> synced;
    for (std::string at = path; !durable_names_.Contains(at);) {
      const std::string above = FolderOf(at);
      if (above == at) break;
      const int error = SyncNamesOf(above);
      if (error != 0 && !NobodyCanSync(error)) return ErrnoStatus("sync", above, error);
      synced.push_back(std::exchange(at, above));
    }
    // Only now: a known name says the same of all above it.
    for (const std::string& name : synced) durable_names_.Add(name);
    return Status::OK();
  }

  Status SyncFolder(const std::string& path) override {
    const int error = SyncNamesOf(path);
    return error == 0 ? Status::OK() : ErrnoStatus("sync", path, error);
  }

  Result<std::vector<Entry>> List(const std::string& folder) override {
    std::error_code error;
    std::filesystem::directory_iterator next(folder, error);
    std::vector<Entry> entries;
    for (; !error && next != std::filesystem::directory_iterator(); next.increment(error)) {
      struct stat info;
      // A file that another thread removed meanwhile is not an error.
      if (::stat(next->path().c_str(), &info) != 0) continue;
      entries.push_back(ToEntry(next->path().filename().string(), info));
    }
    if (error) return ErrnoStatus("list", folder, error.value());
    std::ranges::sort(entries, {}, &Entry::name);
    return entries;
  }

  Result<Entry> Stat(const std::string& path) override {
    struct stat info;
    if (::stat(path.c_str(), &info) != 0) {
      return ErrnoStatus("stat", path, errno == ENOTDIR ? ENOENT : errno);
    }
    return ToEntry(std::filesystem::path(path).filename().string(), info);
  }

  Result<std::unique_ptr<Lock>> LockFile(const std::string& path) override {
    return internal::TakeLocalLock(path);
  }

  Result<Space> SpaceAt(const std::string& path) override {
    struct statvfs info;
    if (::statvfs(path.c_str(), &info) != 0) return ErrnoStatus("stat", path, errno);
    return Space{info.f_bavail * info.f_frsize, (info.f_blocks - info.f_bfree) * info.f_frsize,
                 info.f_blocks * info.f_frsize};
  }

 private:
  DurableNames durable_names_;
};

}  // namespace

FileSystem& LocalFileSystem() {
  static MachineFiles files;
  return files;
}

}  // namespace sluice::io
