#include "lake/paimon/table_share.h"

#include <algorithm>

#include "base/log.h"

namespace sluice::lake::paimon {
namespace {

constexpr std::chrono::minutes kUnusedMax{1};

// Empty when the snapshot cannot be read.
std::string DeltaListOf(const SnapshotStore& snapshots, int64_t id) {
  const auto found = snapshots.Find(id);
  return found.ok() && found->has_value() ? (*found)->delta_manifest_list : "";
}

}  // namespace

// When null, the whole is read and tells what is wrong. A rollback by others, or a table made anew,
// gives the ids to snapshots of another descent.
std::shared_ptr<const LiveFiles> LiveFilesCache::Advance(const Known& before,
                                                         const ManifestStore& manifests,
                                                         const SnapshotStore& snapshots,
                                                         const LakeSnapshot& snapshot) {
  if (DeltaListOf(snapshots, before.id) != before.delta_list) return nullptr;
  LiveFiles live = *before.live;
  for (int64_t id = before.id + 1; id <= snapshot.id; ++id) {
    const std::string delta_list =
        id == snapshot.id ? snapshot.delta_manifest_list : DeltaListOf(snapshots, id);
    if (delta_list.empty()) return nullptr;
    const auto delta = manifests.ReadEntries(delta_list);
    if (!delta.ok() || !ApplyEntries(&live, *delta).empty()) return nullptr;
  }
  return std::make_shared<const LiveFiles>(std::move(live));
}

Result<std::shared_ptr<const LiveFiles>> LiveFilesCache::Get(const ManifestStore& manifests,
                                                             const SnapshotStore& snapshots,
                                                             const LakeSnapshot& snapshot) {
  if (auto known = Find(snapshot)) return known;
  std::shared_ptr<const LiveFiles> live;
  if (const Known before = NearestBefore(snapshot.id); before.live != nullptr)
    live = Advance(before, manifests, snapshots, snapshot);
  if (live == nullptr) {
    ASSIGN_OR_RAISE(LiveFiles whole, manifests.ReadLive(snapshot));
    live = std::make_shared<const LiveFiles>(std::move(whole));
  }
  Add(snapshot, live);
  return live;
}

std::shared_ptr<const LiveFiles> LiveFilesCache::Find(const LakeSnapshot& snapshot) {
  const std::lock_guard lock(mutex_);
  for (Known& known : known_) {
    if (known.id != snapshot.id || known.delta_list != snapshot.delta_manifest_list) continue;
    known.asked_at = clock_.Monotonic();
    return known.live;
  }
  return nullptr;
}

LiveFilesCache::Known LiveFilesCache::NearestBefore(int64_t id) const {
  const std::lock_guard lock(mutex_);
  Known nearest{.id = id - kDeltasMax - 1, .delta_list = "", .live = nullptr, .asked_at = {}};
  for (const Known& known : known_) {
    if (known.id < id && known.id > nearest.id) nearest = known;
  }
  return nearest;
}

void LiveFilesCache::Add(const LakeSnapshot& snapshot, std::shared_ptr<const LiveFiles> live) {
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [&](const Known& known) { return known.id == snapshot.id; });
  if (known_.size() == kKnownMax)
    known_.erase(std::ranges::min_element(known_, {}, &Known::asked_at));
  known_.push_back(
      {snapshot.id, snapshot.delta_manifest_list, std::move(live), clock_.Monotonic()});
}

void LiveFilesCache::Trim(std::chrono::nanoseconds unused) {
  const std::lock_guard lock(mutex_);
  std::erase_if(known_,
                [&](const Known& known) { return clock_.Monotonic() - known.asked_at >= unused; });
}

bool LiveFilesCache::empty() const {
  const std::lock_guard lock(mutex_);
  return known_.empty();
}

bool TableShare::IsOf(const LakeSchema& newest) {
  const std::lock_guard lock(mutex_);
  const bool same =
      newest.id > schema_id_ || (newest.id == schema_id_ && newest.time_ms == schema_time_ms_);
  if (!same) return false;
  schema_id_ = newest.id;
  schema_time_ms_ = newest.time_ms;
  return true;
}

void TableShare::Trim(std::chrono::nanoseconds pins_unused) {
  live_.Trim(kUnusedMax);
  LogIfError(pins_.Renew(pins_unused), "release of a lake snapshot");
}

}  // namespace sluice::lake::paimon
