#include "lake/paimon/durable_file.h"

namespace sluice::lake::paimon {
namespace {

std::string TemporaryPath(std::string_view unique, const std::string& path) {
  const std::string folder = io::FolderOf(path);
  return io::JoinPath(folder,
                      "." + path.substr(folder.size() + 1) + "." + std::string(unique) + ".tmp");
}

}  // namespace

Status WriteSynced(io::FileSystem& files, const std::string& path, std::string_view bytes) {
  ASSIGN_OR_RAISE(const auto file, files.Open(path, io::FileSystem::Mode::kCreateNew));
  RETURN_NOT_OK(file->Append(bytes));
  return file->Sync();
}

Result<bool> PutFileIfAbsent(io::FileSystem& files, std::string_view unique,
                             const std::string& path, std::string_view bytes) {
  const std::string temporary = TemporaryPath(unique, path);
  RETURN_NOT_OK(WriteSynced(files, temporary, bytes));
  ASSIGN_OR_RAISE(const bool renamed, files.RenameIfAbsent(temporary, path));
  if (!renamed) {
    LogIfError(files.Remove(temporary), "removing a temporary file");
    return false;
  }
  RETURN_NOT_OK(files.SyncFolder(io::FolderOf(path)));
  return true;
}

Status ReplaceFileAtomically(io::FileSystem& files, std::string_view unique,
                             const std::string& path, std::string_view bytes) {
  const std::string temporary = TemporaryPath(unique, path);
  RETURN_NOT_OK(WriteSynced(files, temporary, bytes));
  RETURN_NOT_OK(files.Rename(temporary, path));
  return files.SyncFolder(io::FolderOf(path));
}

}  // namespace sluice::lake::paimon
