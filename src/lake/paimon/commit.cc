#include "lake/paimon/commit.h"

#include <unordered_set>

#include "base/log.h"
#include "io/crash_point.h"
#include "lake/paimon/sort_key.h"

namespace sluice::lake::paimon {
namespace {

constexpr int kAttemptsMax = 100;  // Each lost attempt means that another writer got on.
constexpr int64_t kSmallManifestBytes = int64_t{8} << 20;
constexpr size_t kManifestsMax = 30;

int64_t RecordsOf(const std::vector<ManifestEntry>& entries) {
  int64_t records = 0;
  for (const ManifestEntry& entry : entries)
    records += entry.is_delete ? -entry.file.row_count : entry.file.row_count;
  return records;
}

}  // namespace

Result<std::optional<ManifestMerge>> MergeManifests(const ManifestStore& store,
                                                    const std::vector<ManifestMeta>& manifests) {
  size_t from = manifests.size();
  while (from > 0 && manifests[from - 1].size_bytes < kSmallManifestBytes) --from;
  if (manifests.size() - from < kManifestsMax) return std::nullopt;
  ManifestMerge merge{from, {}};
  LiveFiles added;
  for (size_t i = from; i < manifests.size(); ++i) {
    ASSIGN_OR_RAISE(const auto entries, store.Read(manifests[i].name));
    // A DELETE whose ADD lies in an earlier manifest must stay.
    std::ranges::move(ApplyEntries(&added, entries), std::back_inserter(merge.entries));
  }
  std::ranges::move(added, std::back_inserter(merge.entries));
  return merge;
}

Result<bool> OverlapsInLevel(const LakeSchema& schema, const LiveFiles& live,
                             const std::vector<ManifestEntry>& added) {
  if (!schema.has_primary_key()) return false;
  std::vector<std::string_view> bounds;
  std::vector<const ManifestEntry*> owners;
  const auto note = [&](const ManifestEntry& entry) {
    if (entry.is_delete || entry.file.level < 1) return;
    owners.push_back(&entry);
    bounds.push_back(entry.file.min_key);
    bounds.push_back(entry.file.max_key);
  };
  for (const ManifestEntry& entry : live) note(entry);
  const size_t old = owners.size();
  for (const ManifestEntry& entry : added) note(entry);
  ASSIGN_OR_RAISE(const SortKeys keys,
                  SortKeysOfRows(TypesOf(schema, schema.TrimmedPrimaryKey()), bounds));
  for (size_t i = old; i < owners.size(); ++i) {
    for (size_t j = 0; j < old; ++j) {
      const bool neighbours = owners[i]->bucket == owners[j]->bucket &&
                              owners[i]->partition == owners[j]->partition &&
                              owners[i]->file.level == owners[j]->file.level;
      if (neighbours && keys[2 * i] <= keys[2 * j + 1] && keys[2 * j] <= keys[2 * i + 1])
        return true;
    }
  }
  return false;
}

Result<bool> Committer::Conflicts(const CommitChange& change,
                                  const std::optional<LakeSnapshot>& latest) {
  if (std::ranges::none_of(change.delta, &ManifestEntry::is_delete))
    return false;  // Plain appends never conflict.
  if (!latest.has_value()) return true;
  ASSIGN_OR_RAISE(LiveFiles live, manifests_.ReadLive(*latest));
  std::vector<ManifestEntry> deletes, added;
  for (const ManifestEntry& entry : change.delta)
    (entry.is_delete ? deletes : added).push_back(entry);
  if (!ApplyEntries(&live, deletes).empty()) return true;
  ASSIGN_OR_RAISE(const auto schema, schemas_.ById(latest->schema_id));
  return OverlapsInLevel(*schema, live, added);
}

Result<Committer::Written> Committer::WriteChange(const CommitChange& change) {
  Written written;
  RETURN_NOT_OK(manifests_.MakeFolder());
  if (!change.delta.empty()) {
    ASSIGN_OR_RAISE(auto meta, manifests_.Write(change.delta));
    written.delta.push_back(std::move(meta));
  }
  if (!change.changelog.empty()) {
    ASSIGN_OR_RAISE(auto meta, manifests_.Write(change.changelog));
    written.changelog.push_back(std::move(meta));
    ASSIGN_OR_RAISE(written.changelog_list, manifests_.WriteList(written.changelog));
  }
  ASSIGN_OR_RAISE(written.delta_list, manifests_.WriteList(written.delta));
  return written;
}

Result<std::vector<ManifestMeta>> Committer::BaseManifests(
    const std::optional<LakeSnapshot>& latest, std::vector<std::string>* attempt_files) {
  std::vector<ManifestMeta> base;
  if (!latest.has_value()) return base;
  ASSIGN_OR_RAISE(base, manifests_.ReadList(latest->base_manifest_list));
  ASSIGN_OR_RAISE(auto delta, manifests_.ReadList(latest->delta_manifest_list));
  std::ranges::move(delta, std::back_inserter(base));
  ASSIGN_OR_RAISE(auto merge, MergeManifests(manifests_, base));
  if (!merge.has_value()) return base;
  base.resize(merge->from);
  if (merge->entries.empty()) return base;
  ASSIGN_OR_RAISE(auto merged, manifests_.Write(merge->entries));
  attempt_files->push_back(merged.name);
  base.push_back(std::move(merged));
  return base;
}

Result<LakeSnapshot> Committer::MakeSnapshot(const CommitChange& change,
                                             const std::optional<LakeSnapshot>& latest,
                                             const Written& written,
                                             const ManifestStore::WrittenList& base) {
  ASSIGN_OR_RAISE(const auto schema, schemas_.Latest());
  LakeSnapshot snapshot;
  snapshot.id = latest.has_value() ? latest->id + 1 : 1;
  snapshot.schema_id = schema->id;
  snapshot.commit_user = change.options.user;
  snapshot.commit_identifier = change.options.identifier;
  snapshot.commit_kind = change.kind;
  snapshot.properties = change.options.properties;
  // Time travel searches by time, so it never goes back even when the clock does.
  snapshot.time_ms = std::max(clock_.NowMs(), latest.has_value() ? latest->time_ms : INT64_MIN);
  snapshot.base_manifest_list = base.name;
  snapshot.base_manifest_list_bytes = base.size_bytes;
  snapshot.delta_manifest_list = written.delta_list.name;
  snapshot.delta_manifest_list_bytes = written.delta_list.size_bytes;
  snapshot.delta_records = RecordsOf(change.delta);
  snapshot.total_records = snapshot.delta_records;
  if (!written.changelog.empty()) {
    snapshot.changelog_manifest_list = written.changelog_list.name;
    snapshot.changelog_manifest_list_bytes = written.changelog_list.size_bytes;
    snapshot.changelog_records = RecordsOf(change.changelog);
  }
  if (!latest.has_value()) return snapshot;
  // Offsets of a round that came in since the compaction looked still hold for the rows on top.
  if (snapshot.compaction()) snapshot.properties = latest->properties;
  snapshot.total_records += latest->total_records;
  snapshot.index_manifest = latest->index_manifest;
  snapshot.watermark = latest->watermark;
  snapshot.next_row_id = latest->next_row_id;
  if (latest->schema_id == snapshot.schema_id) snapshot.statistics = latest->statistics;
  return snapshot;
}

Status Committer::CheckFence(const CommitOptions& options) {
  if (!options.newest_of_user.has_value()) return Status::OK();
  ASSIGN_OR_RAISE(const auto newest, snapshots_.NewestOf(options.user));
  const int64_t newest_id = newest.has_value() ? newest->id : 0;
  if (newest_id == *options.newest_of_user) return Status::OK();
  return Error(ErrorCode::kFencedTieringEpoch,
               "another writer has committed table=", paths_.location(), " user=", options.user,
               " snapshot=", newest_id, " expected=", *options.newest_of_user);
}

Result<std::optional<int64_t>> Committer::Commit(const CommitChange& change) {
  RETURN_NOT_OK(session_.Begin());
  bool all_gone = true;
  auto committed = CommitAttempts(change, &all_gone);
  // Else manifests, or even the snapshot, may lie there: the session stays on record.
  if (committed.ok() && all_gone) session_.Settle();
  return committed;
}

// `all_gone` becomes false when a file of a lost attempt stays.
Result<std::optional<int64_t>> Committer::CommitAttempts(const CommitChange& change,
                                                         bool* all_gone) {
  CRASH_POINT("lake.commit.before-manifests");
  ASSIGN_OR_RAISE(const Written written, WriteChange(change));
  CRASH_POINT("lake.commit.after-manifests");
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    std::optional<LakeSnapshot> latest;
    ASSIGN_OR_RAISE(const auto latest_id, snapshots_.LatestId());
    if (latest_id.has_value()) {
      ASSIGN_OR_RAISE(latest, snapshots_.Read(*latest_id));
    }
    // Holds at the commit too: another snapshot in between would take the id that TryPut wants.
    RETURN_NOT_OK(CheckFence(change.options));
    ASSIGN_OR_RAISE(const bool conflicts, Conflicts(change, latest));
    if (conflicts) {
      *all_gone = false;  // The manifests of the change.
      return std::nullopt;
    }
    // Files of a schema that nobody can read any more, or reads as another, must not be named.
    if (!change.delta.empty()) RETURN_NOT_OK(schemas_.CheckInPlace(*change.schema));
    std::vector<std::string> attempt_files;
    ASSIGN_OR_RAISE(const auto base, BaseManifests(latest, &attempt_files));
    ASSIGN_OR_RAISE(const auto base_list, manifests_.WriteList(base));
    attempt_files.push_back(base_list.name);
    CRASH_POINT("lake.commit.after-lists");
    RETURN_NOT_OK(manifests_.SyncFolder());
    RETURN_NOT_OK(MakeFoldersOf(files_, paths_, paths_.SnapshotFolder()));
    RETURN_NOT_OK(SyncFolders(files_, paths_.location(), paths_.SnapshotFolder()));
    ASSIGN_OR_RAISE(const LakeSnapshot snapshot, MakeSnapshot(change, latest, written, base_list));
    CRASH_POINT("lake.commit.before-snapshot");
    ASSIGN_OR_RAISE(const bool put, snapshots_.TryPut(snapshot, session_));
    if (put) {
      CRASH_POINT("lake.commit.after-snapshot");
      return snapshot.id;
    }
    LogInfo("another writer committed first, trying again table={} snapshot={}", paths_.location(),
            snapshot.id);
    for (const std::string& name : attempt_files) *all_gone = manifests_.Remove(name) && *all_gone;
  }
  return Error(ErrorCode::kStorage,
               "lake commit lost against other writers too often, table=", paths_.location());
}

}  // namespace sluice::lake::paimon
