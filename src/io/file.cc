#include "io/file.h"

namespace sluice::io {

Result<std::string> File::ReadString(uint64_t position_bytes, size_t size) const {
  std::string out(size, '\0');
  ASSIGN_OR_RAISE(const size_t got, ReadAt(position_bytes, size, out.data()));
  out.resize(got);
  return out;
}

Result<bool> FileSystem::Exists(const std::string& path) {
  const auto entry = Stat(path);
  if (entry.ok()) return true;
  if (IsNotFound(entry.status())) return false;
  return entry.status();
}

Result<std::string> FileSystem::ReadFile(const std::string& path) {
  ASSIGN_OR_RAISE(const auto file, Open(path, Mode::kRead));
  return file->ReadString(0, file->size_bytes());
}

Status FileSystem::ReplaceFile(const std::string& path, std::string_view bytes) {
  const std::string beside = path + ".tmp";
  {
    ASSIGN_OR_RAISE(const auto file, Open(beside, Mode::kCreate));
    RETURN_NOT_OK(file->Truncate(0));  // A process killed half way may have left one.
    RETURN_NOT_OK(file->Append(bytes));
    RETURN_NOT_OK(file->Sync());
  }
  RETURN_NOT_OK(Rename(beside, path));
  return SyncFolder(FolderOf(path));
}

bool IsNotFound(const Status& status) { return status.IsKeyError(); }

Status NotFound(const std::string& path) {
  return Status::KeyError("no such file or folder path=", path);
}

std::string JoinPath(std::string_view folder, std::string_view name) {
  while (!name.empty() && name.front() == '/') name.remove_prefix(1);
  std::string path(folder);
  if (!path.empty() && path.back() != '/') path += '/';
  path += name;
  return path;
}

std::string FolderOf(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

}  // namespace sluice::io
