#include "kv/snapshot_upload.h"

#include <map>

#include "base/log.h"
#include "io/crash_point.h"

namespace sluice::kv {
namespace {

constexpr size_t kCopyBytes = 1 << 20;  // Read and written at a time.

// Copies files, and can be told to end.
class Copier {
 public:
  Copier(io::FileSystem& files, std::shared_ptr<const std::atomic<bool>> stop)
      : files_(files), stop_(std::move(stop)), buffer_(kCopyBytes, '\0') {}

  // The copy is durable, its name is not.
  Status Copy(const std::string& from, const std::string& to) {
    const auto old = files_.Remove(to);  // Of an upload that failed.
    if (!old.ok() && !io::IsNotFound(old)) return old;
    ASSIGN_OR_RAISE(const auto source, files_.Open(from, io::FileSystem::Mode::kRead));
    ASSIGN_OR_RAISE(const auto copy, files_.Open(to, io::FileSystem::Mode::kCreateNew));
    for (uint64_t at = 0;;) {
      if (stop_ != nullptr && *stop_) return Status::Cancelled("the upload is to end");
      ASSIGN_OR_RAISE(const size_t size, source->ReadAt(at, buffer_.size(), buffer_.data()));
      if (size == 0) break;
      RETURN_NOT_OK(copy->Append(std::string_view(buffer_).substr(0, size)));
      at += size;
    }
    return copy->Sync();
  }

 private:
  io::FileSystem& files_;
  const std::shared_ptr<const std::atomic<bool>> stop_;
  std::string buffer_;
};

// Files of the store that the newest snapshot brought and that are still there, by local name.
using KnownFiles = std::map<std::string, types::KvSnapshotFile>;

Result<KnownFiles> FindKnown(const SnapshotUpload& upload, const std::string& shared_folder) {
  KnownFiles known;
  if (!upload.base_metadata_path) return known;
  const auto text = upload.files->ReadFile(types::RemotePath(*upload.base_metadata_path));
  if (!text.ok() && !io::IsNotFound(text.status())) return text.status();
  const auto base = types::KvSnapshot::FromJson(text.ok() ? *text : "");
  if (!base.ok()) {
    LogWarn("the newest kv snapshot cannot be read, all files are brought anew path={} {}",
            *upload.base_metadata_path, upload.bucket.ToString());
    return known;
  }
  if (base->store_id.empty() || base->store_id != upload.checkpoint.store_id) return known;
  ASSIGN_OR_RAISE(const auto entries, upload.files->List(shared_folder));
  std::map<std::string, uint64_t> sizes;
  for (const auto& entry : entries) sizes[entry.name] = entry.size_bytes;
  for (const types::KvSnapshotFile& file : base->shared_files) {
    const auto there = sizes.find(file.remote_path.substr(file.remote_path.rfind('/') + 1));
    if (there != sizes.end() && there->second == file.size_bytes) known[file.local_name] = file;
  }
  return known;
}

bool IsSortedTable(std::string_view name) { return name.ends_with(".sst"); }
// The store has no write-ahead log, but may have an empty file of one.
bool IsWriteAheadLog(std::string_view name) { return name.ends_with(".log"); }

}  // namespace

Result<types::KvSnapshot> UploadSnapshot(const SnapshotUpload& upload) {
  io::FileSystem& files = *upload.files;
  const std::string folder = types::RemotePath(upload.bucket_folder);
  const std::string own = types::KvSnapshotFolder(folder, upload.snapshot_id);
  const std::string shared = io::JoinPath(folder, types::kKvSharedFolder);
  const std::string root = types::RemotePath(upload.root);
  RETURN_NOT_OK(upload.remote.Check(files, root));
  RETURN_NOT_OK(files.RemoveTree(own));  // Of an upload that failed.
  RETURN_NOT_OK(files.MakeFoldersBelow(root, own));
  RETURN_NOT_OK(files.MakeFoldersBelow(root, shared));
  ASSIGN_OR_RAISE(const KnownFiles known, FindKnown(upload, shared));

  types::KvSnapshot snapshot;
  snapshot.bucket = upload.bucket;
  snapshot.snapshot_id = upload.snapshot_id;
  snapshot.location = types::RemoteUri(own);
  snapshot.log_offset = upload.checkpoint.applied.log_offset;
  snapshot.row_count = upload.checkpoint.applied.row_count;
  snapshot.store_id = upload.checkpoint.store_id;
  Copier copier(files, upload.stop);
  ASSIGN_OR_RAISE(const auto entries, files.List(upload.checkpoint_folder));
  for (const auto& entry : entries) {
    if (entry.is_folder || IsWriteAheadLog(entry.name)) continue;
    const bool is_shared = IsSortedTable(entry.name);
    auto& list = is_shared ? snapshot.shared_files : snapshot.private_files;
    const auto old = known.find(entry.name);
    if (is_shared && old != known.end() && old->second.size_bytes == entry.size_bytes) {
      list.push_back(old->second);
      continue;
    }
    const std::string to =
        is_shared ? io::JoinPath(shared, types::KvSharedName(upload.snapshot_id, entry.name))
                  : io::JoinPath(own, entry.name);
    RETURN_NOT_OK(copier.Copy(io::JoinPath(upload.checkpoint_folder, entry.name), to));
    list.push_back({types::RemoteUri(to), entry.size_bytes, entry.name});
    snapshot.incremental_bytes += entry.size_bytes;
    CRASH_POINT("kv.snapshot.after-file");
  }
  RETURN_NOT_OK(files.SyncFolder(shared));
  RETURN_NOT_OK(files.SyncFolder(own));
  CRASH_POINT("kv.snapshot.before-metadata");
  RETURN_NOT_OK(
      files.ReplaceFile(io::JoinPath(own, types::kKvSnapshotMetadataFile), snapshot.ToJson()));
  CRASH_POINT("kv.snapshot.after-metadata");
  RETURN_NOT_OK(upload.remote.Check(files, root));  // It may have gone away in between.
  return snapshot;
}

}  // namespace sluice::kv
