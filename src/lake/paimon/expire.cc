#include "lake/paimon/expire.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "io/crash_point.h"
#include "lake/paimon/plan.h"
#include "types/duration.h"

namespace sluice::lake::paimon {
namespace {

constexpr int64_t kRetainedMin = 10;
constexpr int64_t kRetainedMs = 60 * 60 * 1000;

int64_t NumberOption(const LakeSchema& schema, const std::string& key, int64_t fallback) {
  const std::string text = schema.Option(key);
  int64_t number = fallback;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

int64_t DurationOption(const LakeSchema& schema, const std::string& key, int64_t fallback_ms) {
  return types::ParseDurationMs(schema.Option(key)).ValueOr(fallback_ms);
}

}  // namespace

int64_t Expiration::RetainedMs(const ExpireOptions& options) const {
  return options.retained_ms.value_or(
      DurationOption(schema_, "snapshot.time-retained", kRetainedMs));
}

// Then none goes, and the folder with its thousands of snapshots need not be listed.
Result<bool> Expiration::OldestIsYoung(const ExpireOptions& options) const {
  ASSIGN_OR_RAISE(const auto earliest, snapshots_.EarliestId());
  if (!earliest.has_value()) return true;
  ASSIGN_OR_RAISE(const auto snapshot, snapshots_.Find(*earliest));
  return snapshot.has_value() && snapshot->time_ms > clock_.NowMs() - RetainedMs(options);
}

// The first snapshot that stays: one that is there, also where some between were lost.
Result<int64_t> Expiration::EndOf(const std::vector<int64_t>& ids,
                                  const ExpireOptions& options) const {
  const int64_t retained_min =
      std::max<int64_t>(1, options.retained_min.value_or(
                               NumberOption(schema_, "snapshot.num-retained.min", kRetainedMin)));
  const int64_t retained_ms = RetainedMs(options);
  int64_t end = std::min(ids.back() - retained_min + 1, ids.front() + options.limit);
  if (options.keep_from.has_value()) end = std::min(end, *options.keep_from);
  ASSIGN_OR_RAISE(const auto consumed, snapshots_.LeastConsumed());
  if (consumed.has_value()) end = std::min(end, *consumed);
  for (const int64_t id : ids) {
    if (id >= end) break;
    ASSIGN_OR_RAISE(const LakeSnapshot snapshot, snapshots_.Read(id));
    if (snapshot.time_ms > clock_.NowMs() - retained_ms) return id;
  }
  return *std::ranges::lower_bound(ids, end);  // The newest stays whatever the options say.
}

Status Expiration::RemoveIfThere(const std::string& path) {
  const Status removed = files_.Remove(path);
  return io::IsNotFound(removed) ? Status::OK() : removed;
}

Status Expiration::Drop(const ManifestEntry& entry) {
  ASSIGN_OR_RAISE(const std::string partition, PartitionFolder(schema_, entry.partition));
  const std::string folder = paths_.Bucket(partition, entry.bucket);
  RETURN_NOT_OK(RemoveIfThere(PathOf(entry, folder)));
  for (const std::string& extra : entry.file.extra_files)
    RETURN_NOT_OK(RemoveIfThere(io::JoinPath(folder, extra)));
  return Status::OK();
}

// Files that the snapshot took away; those it put back under another level stay.
Status Expiration::DropDataDeletedBy(const LakeSnapshot& snapshot) {
  ASSIGN_OR_RAISE(const auto delta, manifests_.ReadEntries(snapshot.delta_manifest_list));
  std::unordered_set<std::string> added;
  for (const ManifestEntry& entry : delta) {
    if (!entry.is_delete) added.insert(entry.file.name);
  }
  for (const ManifestEntry& entry : delta) {
    if (entry.is_delete && !added.contains(entry.file.name)) RETURN_NOT_OK(Drop(entry));
  }
  return Status::OK();
}

Status Expiration::DropChangelog(const LakeSnapshot& snapshot) {
  if (snapshot.changelog_manifest_list.empty()) return Status::OK();
  ASSIGN_OR_RAISE(const auto entries, manifests_.ReadEntries(snapshot.changelog_manifest_list));
  for (const ManifestEntry& entry : entries) RETURN_NOT_OK(Drop(entry));
  return Status::OK();
}

// Manifests of the expired snapshots that the first kept one does not name: later ones build on
// that one alone.
Status Expiration::DropManifests(const std::vector<LakeSnapshot>& expired,
                                 const LakeSnapshot& kept) {
  std::unordered_set<std::string> named;
  for (const std::string* list : {&kept.base_manifest_list, &kept.delta_manifest_list}) {
    ASSIGN_OR_RAISE(const auto manifests, manifests_.ReadList(*list));
    named.insert(*list);
    for (const ManifestMeta& manifest : manifests) named.insert(manifest.name);
  }
  std::unordered_set<std::string> doomed, lists;
  for (const LakeSnapshot& snapshot : expired) {
    for (const std::string* list : {&snapshot.base_manifest_list, &snapshot.delta_manifest_list,
                                    &snapshot.changelog_manifest_list}) {
      if (list->empty() || named.contains(*list)) continue;
      auto manifests = manifests_.ReadList(*list);
      if (!manifests.ok() && io::IsNotFound(manifests.status()))
        continue;  // An interrupted call was here.
      RETURN_NOT_OK(manifests.status());
      lists.insert(*list);
      for (const ManifestMeta& manifest : *manifests) doomed.insert(manifest.name);
    }
  }
  for (const std::string& name : doomed) {
    if (!named.contains(name)) RETURN_NOT_OK(RemoveIfThere(paths_.Manifest(name)));
  }
  for (const std::string& name : lists) RETURN_NOT_OK(RemoveIfThere(paths_.Manifest(name)));
  return Status::OK();
}

Result<int64_t> Expiration::Run(const ExpireOptions& options) {
  ASSIGN_OR_RAISE(const bool young, OldestIsYoung(options));
  if (young) return 0;
  ASSIGN_OR_RAISE(const auto ids, snapshots_.Ids());
  if (ids.empty()) return 0;
  ASSIGN_OR_RAISE(const auto tags, ListNames(files_, io::JoinPath(paths_.location(), "tag")));
  if (!tags.empty()) return 0;  // A tag may need any of the files; we do not look which.
  ASSIGN_OR_RAISE(const int64_t end, EndOf(ids, options));
  if (end <= ids.front()) return 0;
  std::vector<LakeSnapshot> expired;
  for (const int64_t id : ids) {
    if (id > end) break;
    ASSIGN_OR_RAISE(LakeSnapshot snapshot, snapshots_.Read(id));
    // What the earliest snapshot deleted went when the one before it did. A delta list that is gone
    // means that an interrupted call got that far.
    if (id > ids.front()) {
      const Status dropped = DropDataDeletedBy(snapshot);
      if (!dropped.ok() && !(io::IsNotFound(dropped) && id < end)) return dropped;
    }
    if (id == end) break;
    const Status dropped = DropChangelog(snapshot);
    if (!dropped.ok() && !io::IsNotFound(dropped)) return dropped;
    expired.push_back(std::move(snapshot));
  }
  ASSIGN_OR_RAISE(const LakeSnapshot kept, snapshots_.Read(end));
  CRASH_POINT("lake.expire.after-data");
  RETURN_NOT_OK(DropManifests(expired, kept));
  CRASH_POINT("lake.expire.after-manifests");
  for (const LakeSnapshot& snapshot : expired)
    RETURN_NOT_OK(RemoveIfThere(paths_.Snapshot(snapshot.id)));
  RETURN_NOT_OK(session_.Begin());
  RETURN_NOT_OK(snapshots_.PutEarliest(end, session_));
  session_.Settle();
  return static_cast<int64_t>(expired.size());
}

}  // namespace sluice::lake::paimon
