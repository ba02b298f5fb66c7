#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "base/log.h"
#include "io/local_descriptor_internal.h"
#include "io/local_file_internal.h"

namespace sluice::io::internal {

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

}  // namespace sluice::io::internal
