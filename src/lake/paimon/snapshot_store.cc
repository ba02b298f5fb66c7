#include "lake/paimon/snapshot_store.h"

#include <charconv>

#include "base/log.h"
#include "io/crash_point.h"
#include "lake/paimon/snapshot_json.h"

namespace sluice::lake::paimon {

Result<std::optional<int64_t>> SnapshotStore::ReadHint(const std::string& path) const {
  const auto text = files_.ReadFile(path);
  if (!text.ok()) {
    if (io::IsNotFound(text.status())) return std::nullopt;
    return text.status();
  }
  int64_t id = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), id);
  if (error != std::errc() || id <= 0) return std::nullopt;
  return id;
}

Result<std::optional<int64_t>> SnapshotStore::LatestId() const {
  ASSIGN_OR_RAISE(const auto hint, ReadHint(paths_.Latest()));
  if (hint.has_value()) {
    ASSIGN_OR_RAISE(const bool there, Exists(*hint));
    ASSIGN_OR_RAISE(const bool newer, Exists(*hint + 1));
    if (there && !newer) return hint;
  }
  ASSIGN_OR_RAISE(const auto ids, Ids());
  if (ids.empty()) return std::nullopt;
  return ids.back();
}

Result<std::optional<LakeSnapshot>> SnapshotStore::Find(int64_t id) const {
  const auto text = files_.ReadFile(paths_.Snapshot(id));
  if (!text.ok()) {
    if (io::IsNotFound(text.status())) return std::nullopt;
    return text.status();
  }
  ASSIGN_OR_RAISE(LakeSnapshot snapshot, ParseSnapshot(*text));
  return snapshot;
}

Result<std::optional<int64_t>> SnapshotStore::EarliestId() const {
  ASSIGN_OR_RAISE(const auto hint, ReadHint(paths_.Earliest()));
  const int64_t likely = hint.value_or(1);
  ASSIGN_OR_RAISE(const bool there, Exists(likely));
  ASSIGN_OR_RAISE(const bool older, Exists(likely - 1));
  if (there && !older) return likely;
  ASSIGN_OR_RAISE(const auto ids, Ids());
  return ids.empty() ? std::nullopt : std::optional(ids.front());
}

Result<LakeSnapshot> SnapshotStore::Read(int64_t id) const {
  ASSIGN_OR_RAISE(auto snapshot, Find(id));
  if (!snapshot.has_value()) {
    return Error(ErrorCode::kLakeSnapshotNotExist,
                 "lake snapshot does not exist, table=", paths_.location(), " snapshot=", id);
  }
  return std::move(*snapshot);
}

Result<LakeSnapshot> SnapshotStore::AtTime(int64_t time_ms) const {
  ASSIGN_OR_RAISE(const auto ids, Ids());
  // Times do not decrease with ids. Snapshots that expire while we look count as too old.
  std::optional<LakeSnapshot> best;
  size_t low = 0, high = ids.size();
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    ASSIGN_OR_RAISE(auto snapshot, Find(ids[middle]));
    if (snapshot.has_value() && snapshot->time_ms > time_ms) {
      high = middle;
    } else {
      low = middle + 1;
      best = std::move(snapshot);
    }
  }
  if (!best.has_value()) {
    return Error(ErrorCode::kLakeSnapshotNotExist,
                 "no lake snapshot is as old as the time, table=", paths_.location(),
                 " time_ms=", time_ms);
  }
  return std::move(*best);
}

Result<std::optional<LakeSnapshot>> SnapshotStore::NewestOf(std::string_view user) const {
  // Usually one of the last few. Ids follow each other, so the folder is listed only past a gap.
  ASSIGN_OR_RAISE(const auto latest, LatestId());
  int64_t next = latest.value_or(0);
  for (; next > 0; --next) {
    ASSIGN_OR_RAISE(auto snapshot, Find(next));
    if (!snapshot.has_value()) break;
    if (snapshot->commit_user == user) return snapshot;
  }
  if (next == 0) return std::nullopt;
  ASSIGN_OR_RAISE(const auto ids, Ids());
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    if (*id >= next) continue;
    ASSIGN_OR_RAISE(auto snapshot, Find(*id));
    if (snapshot.has_value() && snapshot->commit_user == user) return snapshot;
  }
  return std::nullopt;
}

Status SnapshotStore::MakeDurable() const { return files_.SyncFolder(paths_.SnapshotFolder()); }

Result<bool> SnapshotStore::TryPut(const LakeSnapshot& snapshot, WriterSession& session) const {
  ASSIGN_OR_RAISE(const bool put,
                  PutFileIfAbsent(files_, session.NewName(), paths_.Snapshot(snapshot.id),
                                  SnapshotToJson(snapshot)));
  if (!put) return false;
  CRASH_POINT("lake.commit.before-latest-hint");
  // The snapshot counts from here on. A lost hint only makes readers list the folder.
  const Status hinted = ReplaceFileAtomically(files_, session.NewName(), paths_.Latest(),
                                              std::to_string(snapshot.id));
  if (!hinted.ok())
    LogInfo("hint of the newest lake snapshot is not written path={} reason={}", paths_.Latest(),
            hinted.message());
  return true;
}

Result<std::optional<int64_t>> SnapshotStore::LeastConsumed() const {
  auto listed = files_.List(paths_.ConsumerFolder());
  if (!listed.ok()) {
    if (io::IsNotFound(listed.status())) return std::nullopt;
    return listed.status();
  }
  std::optional<int64_t> least;
  for (const io::FileSystem::Entry& entry : *listed) {
    if (entry.is_folder || !entry.name.starts_with("consumer-")) continue;
    const auto text = files_.ReadFile(io::JoinPath(paths_.ConsumerFolder(), entry.name));
    if (!text.ok() && io::IsNotFound(text.status())) continue;  // Unpinned meanwhile.
    RETURN_NOT_OK(text.status());
    ASSIGN_OR_RAISE(const int64_t next, ParseConsumer(*text));
    least = std::min(least.value_or(next), next);
  }
  return least;
}

Status SnapshotStore::PutConsumer(const std::string& id, int64_t next_snapshot,
                                  WriterSession& session) const {
  RETURN_NOT_OK(MakeFoldersOf(files_, paths_, paths_.ConsumerFolder()));
  return ReplaceFileAtomically(files_, session.NewName(), paths_.Consumer(id),
                               ConsumerToJson(next_snapshot));
}

Status SnapshotStore::RemoveConsumer(const std::string& id) const {
  const Status removed = files_.Remove(paths_.Consumer(id));
  return io::IsNotFound(removed) ? Status::OK() : removed;
}

}  // namespace sluice::lake::paimon
