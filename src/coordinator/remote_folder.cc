#include "coordinator/remote_folder.h"

#include "coordinator/lake_paths.h"

namespace sluice::coordinator {
namespace {

std::string MarkIn(const std::string& folder) {
  return io::JoinPath(LocalPath(folder), ".sluice-remote");
}

Status Gone(ErrorCode code, const std::string& folder) {
  return Error(code, "remote folder is gone, is its disk mounted? remote.data.dir=", folder,
               " missing=", MarkIn(folder));
}

}  // namespace

Status OpenRemoteFolder(io::FileSystem& files, const std::string& folder, bool may_make) {
  ASSIGN_OR_RAISE(const bool made, files.Exists(MarkIn(folder)));
  if (made) return Status::OK();
  if (!may_make) return Gone(ErrorCode::kInvalidConfig, folder);
  Status written = files.MakeFolders(LocalPath(folder));
  if (written.ok()) written = files.ReplaceFile(MarkIn(folder), "");
  if (written.ok()) return written;
  return Error(ErrorCode::kInvalidConfig,
               "remote folder cannot be written, remote.data.dir=", folder,
               " reason=", written.message());
}

Status CheckRemoteFolder(io::FileSystem& files, const std::string& folder) {
  ASSIGN_OR_RAISE(const bool there, files.Exists(MarkIn(folder)));
  return there ? Status::OK() : Gone(ErrorCode::kStorage, folder);
}

}  // namespace sluice::coordinator
