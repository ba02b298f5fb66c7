#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "base/log.h"
#include "io/file.h"
#include "io/local_file_internal.h"

namespace sluice::io {
namespace {

Status ErrnoStatus(std::string_view what, const std::string& path, int error) {
  if (error == ENOENT) return NotFound(path);
  return Status::IOError("cannot ", what, " path=", path, " reason=", std::strerror(error))
      .WithDetail(std::make_shared<CodeDetail>(ErrorCode::kStorage));
}

// Repeats a system call that a signal interrupted.
template <typename Call>
auto Retried(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// Owns one descriptor.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

Result<Descriptor> OpenDescriptor(const std::string& path, int flags) {
  const int number = Retried([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0644); });
  if (number < 0) return ErrnoStatus("open", path, errno);
  return Descriptor(number);
}

class LocalFile : public File {
 public:
  LocalFile(std::string path, Descriptor descriptor, uint64_t size_bytes)
      : path_(std::move(path)), descriptor_(std::move(descriptor)), size_bytes_(size_bytes) {}

  Status Append(std::span<const std::string_view> parts) override {
    std::vector<iovec> vectors;
    vectors.reserve(parts.size());
    for (const std::string_view part : parts) {
      if (!part.empty()) vectors.push_back({const_cast<char*>(part.data()), part.size()});
    }
    const uint64_t start = size_bytes_.load(std::memory_order_relaxed);
    uint64_t end = start;
    for (size_t first = 0; first < vectors.size();) {
      const int count = static_cast<int>(std::min<size_t>(vectors.size() - first, IOV_MAX));
      const ssize_t wrote = Retried(
          [&] { return ::pwritev(descriptor(), &vectors[first], count, static_cast<off_t>(end)); });
      if (wrote < 0) {
        const int error = errno;
        // Take the partial write back, so that the file ends where size_bytes() says.
        if (end != start && ::ftruncate(descriptor(), static_cast<off_t>(start)) != 0) {
          size_bytes_.store(end, std::memory_order_release);
        }
        return ErrnoStatus("append", path_, error);
      }
      end += static_cast<uint64_t>(wrote);
      first = SkipWritten(&vectors, first, static_cast<size_t>(wrote));
    }
    size_bytes_.store(end, std::memory_order_release);
    return Status::OK();
  }

  Status WriteAt(uint64_t position_bytes, std::string_view bytes) override {
    const uint64_t end = position_bytes + bytes.size();
    while (!bytes.empty()) {
      const ssize_t wrote = Retried([&] {
        return ::pwrite(descriptor(), bytes.data(), bytes.size(),
                        static_cast<off_t>(position_bytes));
      });
      if (wrote < 0) return ErrnoStatus("write", path_, errno);
      bytes.remove_prefix(static_cast<size_t>(wrote));
      position_bytes += static_cast<uint64_t>(wrote);
    }
    if (end > size_bytes()) size_bytes_.store(end, std::memory_order_release);
    return Status::OK();
  }

  Result<size_t> ReadAt(uint64_t position_bytes, size_t size, char* out) const override {
    size_t got = 0;
    while (got < size) {
      const ssize_t part = Retried([&] {
        return ::pread(descriptor(), out + got, size - got,
                       static_cast<off_t>(position_bytes + got));
      });
      if (part < 0) return ErrnoStatus("read", path_, errno);
      if (part == 0) break;
      got += static_cast<size_t>(part);
    }
    return got;
  }

  Result<bool> TryReadAt(uint64_t position_bytes, size_t size, char* out) const override {
    size_t got = 0;
    while (got < size) {
      iovec vector{out + got, size - got};
      const ssize_t part = Retried([&] {
        return ::preadv2(descriptor(), &vector, 1, static_cast<off_t>(position_bytes + got),
                         RWF_NOWAIT);
      });
      if (part < 0 && errno == EAGAIN) return false;
      if (part < 0 && errno == EOPNOTSUPP) return ReadWhole(position_bytes, size, out);
      if (part < 0) return ErrnoStatus("read", path_, errno);
      if (part == 0) return PastEnd(position_bytes, size);
      got += static_cast<size_t>(part);
    }
    return true;
  }

  Status Truncate(uint64_t size_bytes) override {
    if (Retried([&] { return ::ftruncate(descriptor(), static_cast<off_t>(size_bytes)); }) != 0) {
      return ErrnoStatus("truncate", path_, errno);
    }
    size_bytes_.store(size_bytes, std::memory_order_release);
    return Status::OK();
  }

  Status Sync() override {
    if (Retried([&] { return ::fdatasync(descriptor()); }) != 0)
      return ErrnoStatus("sync", path_, errno);
    return Status::OK();
  }

  uint64_t size_bytes() const override { return size_bytes_.load(std::memory_order_acquire); }
  const std::string& path() const override { return path_; }
  int descriptor() const override { return descriptor_.number(); }

 private:
  // Drops `wrote` bytes from vectors[first...]; returns the first one with bytes left.
  static size_t SkipWritten(std::vector<iovec>* vectors, size_t first, size_t wrote) {
    for (; first < vectors->size() && wrote >= (*vectors)[first].iov_len; ++first) {
      wrote -= (*vectors)[first].iov_len;
    }
    if (wrote > 0) {
      auto& partial = (*vectors)[first];
      partial.iov_base = static_cast<char*>(partial.iov_base) + wrote;
      partial.iov_len -= wrote;
    }
    return first;
  }

  Status PastEnd(uint64_t position_bytes, size_t size) const {
    return Status::IOError("file ends before the read path=", path_, " position=", position_bytes,
                           " size=", size);
  }

  Result<bool> ReadWhole(uint64_t position_bytes, size_t size, char* out) const {
    ASSIGN_OR_RAISE(const size_t got, ReadAt(position_bytes, size, out));
    if (got != size) return PastEnd(position_bytes, size);
    return true;
  }

  const std::string path_;
  const Descriptor descriptor_;
  std::atomic<uint64_t> size_bytes_;
};

class LocalLock : public FileSystem::Lock {
 public:
  LocalLock(std::string path, std::shared_ptr<const Descriptor> held)
      : path_(std::move(path)), held_(std::move(held)) {}

  bool IsInPlace() const override {
    struct stat named, held;
    return ::stat(path_.c_str(), &named) == 0 && ::fstat(held_->number(), &held) == 0 &&
           named.st_ino == held.st_ino && named.st_dev == held.st_dev;
  }

 private:
  const std::string path_;
  // The kernel frees the lock with it, also when the process is killed.
  const std::shared_ptr<const Descriptor> held_;
};

// The descriptors of held locks by the folder that they are in. Threads: any.
class HeldLocks {
 public:
  void Add(const std::string& folder, const std::shared_ptr<const Descriptor>& held) {
    const std::lock_guard lock(mutex_);
    std::erase_if(by_folder_, [](const auto& entry) { return entry.second.expired(); });
    by_folder_[folder] = held;
  }
  /// Null when there is none.
  std::shared_ptr<const Descriptor> Find(const std::string& folder) const {
    const std::lock_guard lock(mutex_);
    const auto found = by_folder_.find(folder);
    return found == by_folder_.end() ? nullptr : found->second.lock();
  }

 private:
  mutable std::mutex mutex_;  // Guards what follows.
  std::unordered_map<std::string, std::weak_ptr<const Descriptor>> by_folder_;
};

bool ThisSyncfsTells() {
  struct utsname system;
  return ::uname(&system) == 0 && internal::SyncfsTells(system.release);
}

int OpenFlags(FileSystem::Mode mode) {
  switch (mode) {
    case FileSystem::Mode::kRead:
      return O_RDONLY;
    case FileSystem::Mode::kReadWrite:
      return O_RDWR;
    case FileSystem::Mode::kCreate:
      return O_RDWR | O_CREAT;
    case FileSystem::Mode::kCreateNew:
      return O_RDWR | O_CREAT | O_EXCL;
  }
  return O_RDONLY;
}

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
    ASSIGN_OR_RAISE(Descriptor descriptor, OpenDescriptor(path, OpenFlags(mode)));
    struct stat info;
    if (::fstat(descriptor.number(), &info) != 0) return ErrnoStatus("stat", path, errno);
    if (S_ISDIR(info.st_mode)) return ErrnoStatus("open", path, EISDIR);
    return std::make_unique<LocalFile>(path, std::move(descriptor),
                                       static_cast<uint64_t>(info.st_size));
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

  // A descriptor hears of each write that fails while it is open, and one that is opened only now
  // hears of none that another has heard of: so the lock's is used.
  Status SyncAll(const std::string& path) override {
    static const bool tells = ThisSyncfsTells();
    if (!tells) return Status::NotImplemented("syncfs hides writes that failed, path=", path);
    auto opened = locks_.Find(FolderOf(JoinPath(path, "-")));
    if (opened == nullptr) {
      ASSIGN_OR_RAISE(Descriptor fresh, OpenDescriptor(path, O_RDONLY));
      opened = std::make_shared<const Descriptor>(std::move(fresh));
    }
    if (Retried([&] { return ::syncfs(opened->number()); }) != 0)
      return ErrnoStatus("sync", path, errno);
    return Status::OK();
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
    ASSIGN_OR_RAISE(Descriptor descriptor, OpenDescriptor(path, O_RDWR | O_CREAT));
    if (Retried([&] { return ::flock(descriptor.number(), LOCK_EX | LOCK_NB); }) != 0) {
      if (errno != EWOULDBLOCK) return ErrnoStatus("lock", path, errno);
      return Error(ErrorCode::kStorage,
                   "folder is in use by another process folder=", FolderOf(path));
    }
    auto held = std::make_shared<const Descriptor>(std::move(descriptor));
    locks_.Add(FolderOf(path), held);
    return std::make_unique<LocalLock>(path, std::move(held));
  }

  Result<Space> SpaceAt(const std::string& path) override {
    struct statvfs info;
    if (::statvfs(path.c_str(), &info) != 0) return ErrnoStatus("stat", path, errno);
    return Space{info.f_bavail * info.f_frsize, (info.f_blocks - info.f_bfree) * info.f_frsize,
                 info.f_blocks * info.f_frsize};
  }

 private:
  DurableNames durable_names_;
  HeldLocks locks_;
};

}  // namespace

namespace internal {

bool SyncfsTells(std::string_view release) {
  int major = 0, minor = 0;
  const char* end = release.data() + release.size();
  const auto parsed = std::from_chars(release.data(), end, major);
  if (parsed.ec != std::errc() || parsed.ptr == end) return false;
  std::from_chars(parsed.ptr + 1, end, minor);
  return major > 5 || (major == 5 && minor >= 8);
}

Result<bool> FinishHalfRename(const std::string& from, const std::string& to) {
  struct stat source, target;
  if (::lstat(from.c_str(), &source) != 0) return ErrnoStatus("rename", from, errno);
  // Gone again since: then it was there, and that is the answer.
  if (::lstat(to.c_str(), &target) != 0)
    return errno == ENOENT ? Result<bool>(false) : ErrnoStatus("rename", to, errno);
  if (source.st_dev != target.st_dev || source.st_ino != target.st_ino) return false;
  if (::unlink(from.c_str()) != 0) return ErrnoStatus("remove", from, errno);
  return true;
}

Result<bool> RenameByLink(const std::string& from, const std::string& to) {
  if (::link(from.c_str(), to.c_str()) != 0) {
    if (errno == EEXIST) return FinishHalfRename(from, to);
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS)
      return ErrnoStatus("link", from, errno);
    return Status::IOError(
               "file system has neither links nor a rename that keeps what is there,"
               " path=",
               to)
        .WithDetail(std::make_shared<CodeDetail>(ErrorCode::kStorage));
  }
  // The move has happened: a second name that stays is for the caller's sweep of `from` names.
  if (::unlink(from.c_str()) != 0)
    LogInfo("second name of a moved file stays behind path={} reason={}", from,
            std::strerror(errno));
  return true;
}

}  // namespace internal

FileSystem& LocalFileSystem() {
  static MachineFiles files;
  return files;
}

}  // namespace sluice::io
