#include "tablet/log_sync.h"

#include <charconv>
#include <vector>

#include "log/segment.h"

namespace sluice::tablet {
namespace {

struct SegmentFile {
  int64_t base_offset;
  std::string name;
};

std::vector<SegmentFile> SegmentFiles(const std::vector<io::FileSystem::Entry>& entries) {
  std::vector<SegmentFile> segments;
  for (const auto& entry : entries) {
    if (!entry.name.ends_with(log::kLogSuffix)) continue;
    int64_t base_offset = 0;
    std::from_chars(entry.name.data(), entry.name.data() + entry.name.size(), base_offset);
    segments.push_back({base_offset, entry.name});
  }
  return segments;  // Names are padded, so they come in order of their offsets.
}

}  // namespace

Status LogSync::CheckUsable() const {
  if (!failed()) return Status::OK();
  return Error(ErrorCode::kLogStorage, "a sync of the log failed before folder=", folder_);
}

Status LogSync::Note(Status synced) {
  if (!synced.ok()) failed_ = true;
  return synced;
}

Status LogSync::RunOther(const std::function<Status()>& sync) {
  const std::lock_guard lock(mutex_);
  ARROW_RETURN_NOT_OK(CheckUsable());
  return Note(sync());
}

Status LogSync::Run(int64_t below_offset) {
  const std::lock_guard lock(mutex_);
  ARROW_RETURN_NOT_OK(CheckUsable());
  ASSIGN_OR_RAISE(const auto entries, files_.List(folder_));
  const auto segments = SegmentFiles(entries);
  const int64_t synced = synced_offset_.load();
  for (size_t i = 0; i < segments.size() && segments[i].base_offset < below_offset; ++i) {
    if (i + 1 < segments.size() && segments[i + 1].base_offset <= synced) continue;
    auto file = files_.Open(io::JoinPath(folder_, segments[i].name), io::FileSystem::Mode::kRead);
    if (!file.ok() && io::IsNotFound(file.status())) continue;  // Retention took it.
    ARROW_RETURN_NOT_OK(file.status());
    ARROW_RETURN_NOT_OK(Note((*file)->Sync()));
  }
  // These have no bytes to lose: where one fails, the next try finds the same.
  ARROW_RETURN_NOT_OK(files_.SyncFolder(folder_));
  ARROW_RETURN_NOT_OK(files_.SyncPath(folder_));
  synced_offset_.store(below_offset);
  return Status::OK();
}

}  // namespace sluice::tablet
