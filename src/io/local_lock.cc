#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <charconv>

#include "io/local_descriptor_internal.h"
#include "io/local_file_internal.h"

namespace sluice::io::internal {

bool SyncfsTells(std::string_view release) {
  int major = 0, minor = 0;
  const char* end = release.data() + release.size();
  const auto parsed = std::from_chars(release.data(), end, major);
  if (parsed.ec != std::errc() || parsed.ptr == end) return false;
  std::from_chars(parsed.ptr + 1, end, minor);
  return major > 5 || (major == 5 && minor >= 8);
}

namespace {

bool ThisSyncfsTells() {
  struct utsname system;
  return ::uname(&system) == 0 && internal::SyncfsTells(system.release);
}

class LocalLock : public FileSystem::Lock {
 public:
  LocalLock(std::string path, Descriptor held) : path_(std::move(path)), held_(std::move(held)) {}

  bool IsInPlace() const override {
    struct stat named, held;
    return ::stat(path_.c_str(), &named) == 0 && ::fstat(held_.number(), &held) == 0 &&
           named.st_ino == held.st_ino && named.st_dev == held.st_dev;
  }

  // A descriptor hears of each write that fails while it is open, and one that is opened only now
  // hears of none that another has heard of.
  Status SyncAll() override {
    static const bool tells = ThisSyncfsTells();
    if (!tells) return Status::NotImplemented("syncfs hides writes that failed, path=", path_);
    if (Retried([&] { return ::syncfs(held_.number()); }) != 0)
      return ErrnoStatus("sync all beside", path_, errno);
    return Status::OK();
  }

 private:
  const std::string path_;
  const Descriptor held_;  // The kernel frees the lock with it, also when the process is killed.
};

}  // namespace

Result<std::unique_ptr<FileSystem::Lock>> TakeLocalLock(const std::string& path) {
  ASSIGN_OR_RAISE(Descriptor descriptor, OpenDescriptor(path, O_RDWR | O_CREAT));
  if (Retried([&] { return ::flock(descriptor.number(), LOCK_EX | LOCK_NB); }) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus("lock", path, errno);
    return Error(ErrorCode::kStorage,
                 "folder is in use by another process folder=", FolderOf(path));
  }
  return std::make_unique<LocalLock>(path, std::move(descriptor));
}

}  // namespace sluice::io::internal
