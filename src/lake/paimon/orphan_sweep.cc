#include "lake/paimon/orphan_sweep.h"

#include "base/log.h"
#include "io/crash_point.h"
#include "lake/paimon/snapshot_json.h"
#include "lake/paimon/writer_session.h"

namespace sluice::lake::paimon {
namespace {

Result<std::vector<io::FileSystem::Entry>> EntriesOf(io::FileSystem& files,
                                                     const std::string& folder) {
  auto listed = files.List(folder);
  if (!listed.ok() && io::IsNotFound(listed.status())) return std::vector<io::FileSystem::Entry>();
  return listed;
}

}  // namespace

Result<int64_t> OrphanSweep::Run(const OrphanOptions& options) {
  RETURN_NOT_OK(LookAtRecords());
  if (dead_.empty() && !options.older_than_ms.has_value()) return 0;
  RETURN_NOT_OK(NoteAll());
  RETURN_NOT_OK(Collect(paths_.location(), options));
  for (const std::string& path : orphans_) {
    const Status removed = files_.Remove(path);
    if (!removed.ok() && !io::IsNotFound(removed)) return removed;
    CRASH_POINT("lake.sweep.after-file");
  }
  // A record goes last: what a crash interrupts, the next sweep finishes.
  for (const DeadWriter& writer : dead_) {
    const Status removed = files_.Remove(paths_.SessionRecord(writer.session));
    if (!removed.ok() && !io::IsNotFound(removed)) return removed;
  }
  if (!orphans_.empty())
    LogInfo("files that nothing names were removed table={} files={} writers={}", paths_.location(),
            orphans_.size(), dead_.size());
  return static_cast<int64_t>(orphans_.size());
}

Status OrphanSweep::LookAtRecords() {
  ASSIGN_OR_RAISE(const auto sessions, ListNames(files_, paths_.SessionFolder()));
  for (const std::string& session : sessions) {
    auto lock = files_.LockFile(paths_.SessionRecord(session));
    if (!lock.ok()) {
      living_sessions_.insert(session);  // Or not known: then it counts as living.
      continue;
    }
    dead_sessions_.insert(session);
    dead_.push_back({session, std::move(lock).ValueUnsafe()});
  }
  return Status::OK();
}

Status OrphanSweep::NoteAll() {
  std::vector<std::string> roots{paths_.location()};
  const std::string branches = io::JoinPath(paths_.location(), "branch");
  ASSIGN_OR_RAISE(const auto names, ListNames(files_, branches));
  for (const std::string& name : names) roots.push_back(io::JoinPath(branches, name));
  for (const std::string& root : roots) {
    RETURN_NOT_OK(NoteFolder(io::JoinPath(root, "snapshot"), "snapshot-"));
    RETURN_NOT_OK(NoteFolder(io::JoinPath(root, "changelog"), "changelog-"));
    RETURN_NOT_OK(NoteFolder(io::JoinPath(root, "tag"), "tag-"));
  }
  return Status::OK();
}

Status OrphanSweep::NoteFolder(const std::string& folder, std::string_view prefix) {
  ASSIGN_OR_RAISE(const auto names, ListNames(files_, folder));
  ASSIGN_OR_RAISE(const auto ids, ListIds(files_, folder, prefix));
  const int64_t newest = ids.empty() ? 0 : ids.back();
  for (const std::string& name : names) {
    if (!name.starts_with(prefix)) continue;
    const std::string path = io::JoinPath(folder, name);
    const Status noted = NoteSnapshot(path);
    if (noted.ok()) continue;
    // It may have expired while we read it, or an expiry that was stopped took some of its
    // manifests and has yet to take the snapshot; then nothing of it counts.
    ASSIGN_OR_RAISE(const bool there, files_.Exists(path));
    const bool half_expired = io::IsNotFound(noted) && folder == paths_.SnapshotFolder() &&
                              path != paths_.Snapshot(newest);
    if (there && !half_expired) return noted;
  }
  return Status::OK();
}

Status OrphanSweep::NoteSnapshot(const std::string& path) {
  ASSIGN_OR_RAISE(const std::string text, files_.ReadFile(path));
  ASSIGN_OR_RAISE(const LakeSnapshot snapshot, ParseSnapshot(text));
  for (const std::string* list : {&snapshot.base_manifest_list, &snapshot.delta_manifest_list,
                                  &snapshot.changelog_manifest_list}) {
    if (!list->empty()) RETURN_NOT_OK(NoteList(*list));
  }
  named_.insert(snapshot.index_manifest);
  named_.insert(snapshot.statistics);
  return Status::OK();
}

// All files in a list's manifests, those that were deleted later too: what expiry has to remove is
// left to it. Lists share most manifests, so each is read once.
Status OrphanSweep::NoteList(const std::string& list) {
  if (named_.contains(list)) return Status::OK();
  ASSIGN_OR_RAISE(const auto manifests, manifests_.ReadList(list));
  for (const ManifestMeta& manifest : manifests) {
    if (named_.contains(manifest.name)) continue;
    ASSIGN_OR_RAISE(const auto entries, manifests_.Read(manifest.name));
    for (const ManifestEntry& entry : entries) {
      named_.insert(entry.file.name);
      named_.insert(entry.file.extra_files.begin(), entry.file.extra_files.end());
    }
    named_.insert(manifest.name);
  }
  named_.insert(list);
  return Status::OK();
}

bool OrphanSweep::IsOrphan(const io::FileSystem::Entry& entry, const OrphanOptions& options) const {
  const auto session = SessionOf(entry.name);
  if (!session.has_value() || named_.contains(entry.name) || living_sessions_.contains(*session))
    return false;
  if (dead_sessions_.contains(*session)) return true;
  return options.older_than_ms.has_value() &&
         clock_.NowMs() - entry.modified_ms >= *options.older_than_ms;
}

Status OrphanSweep::Collect(const std::string& folder, const OrphanOptions& options) {
  ASSIGN_OR_RAISE(const auto entries, EntriesOf(files_, folder));
  for (const io::FileSystem::Entry& entry : entries) {
    const std::string path = io::JoinPath(folder, entry.name);
    if (!entry.is_folder) {
      if (IsOrphan(entry, options)) orphans_.push_back(path);
    } else if (path != paths_.SessionFolder()) {
      RETURN_NOT_OK(Collect(path, options));
    }
  }
  return Status::OK();
}

}  // namespace sluice::lake::paimon
