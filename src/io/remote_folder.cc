#include "io/remote_folder.h"

namespace sluice::io {

RemoteFolder::RemoteFolder(std::string path) : path_(std::move(path)), is_set_(!path_.empty()) {
  path_.erase(path_.find_last_not_of('/') + 1);
}

Status RemoteFolder::Open(FileSystem& files, bool may_make) const {
  if (!is_set_) return Status::OK();
  ASSIGN_OR_RAISE(const bool made, files.Exists(Mark()));
  if (made) return Status::OK();
  if (!may_make) return Gone(ErrorCode::kInvalidConfig);
  Status written = files.MakeFolders(FolderOf(Mark()));
  if (written.ok()) written = files.ReplaceFile(Mark(), "");
  if (written.ok()) return written;
  return Error(ErrorCode::kInvalidConfig,
               "remote folder cannot be written, remote.data.dir=", path_,
               " reason=", written.message());
}

Status RemoteFolder::Check(FileSystem& files, const std::string& path) const {
  if (!is_set_ || !Contains(path)) return Status::OK();
  ASSIGN_OR_RAISE(const bool there, files.Exists(Mark()));
  return there ? Status::OK() : Gone(ErrorCode::kStorage);
}

bool RemoteFolder::Contains(const std::string& path) const {
  return path.starts_with(path_) && (path.size() == path_.size() || path[path_.size()] == '/');
}

std::string RemoteFolder::Mark() const { return path_ + "/.sluice-remote"; }

Status RemoteFolder::Gone(ErrorCode code) const {
  return Error(code, "remote folder is gone, is its disk mounted? remote.data.dir=", path_,
               " missing=", Mark());
}

}  // namespace sluice::io
