#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/log.h"
#include "coordinator/kv_snapshot_leases_internal.h"

namespace sluice::coordinator {

namespace {

using Json = nlohmann::json;

constexpr char kLeasesArea[] = "kv_snapshot_leases";
constexpr size_t kLeaseIdBytesMax = 1000;
constexpr int64_t kLeaseMsMax = int64_t{3650} * 24 * 3600 * 1000;

struct StoredLease {
  int64_t expires_ms = 0;
  KvSnapshotLeases::Snapshots snapshots;
};

std::string LeaseToJson(int64_t expires_ms, const KvSnapshotLeases::Snapshots& snapshots) {
  Json list = Json::array();
  for (const auto& [bucket, snapshot_id] : snapshots)
    list.push_back({bucket.table_id, bucket.partition_id.value_or(-1), bucket.bucket, snapshot_id});
  return Json{{"version", 1}, {"expiration_time", expires_ms}, {"snapshots", std::move(list)}}
      .dump();
}

Result<StoredLease> LeaseFromJson(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("expiration_time") ||
      !json["expiration_time"].is_number_integer() || !json.contains("snapshots")) {
    return Corrupt("lease of kv snapshots is broken");
  }
  StoredLease lease{.expires_ms = json["expiration_time"].get<int64_t>(), .snapshots = {}};
  for (const Json& entry : json["snapshots"]) {
    const bool whole =
        entry.is_array() && entry.size() == 4 &&
        std::ranges::all_of(entry, [](const Json& part) { return part.is_number_integer(); });
    if (!whole) return Corrupt("lease of kv snapshots is broken");
    types::BucketId bucket{.table_id = entry[0].get<int64_t>(), .bucket = entry[2].get<int32_t>()};
    if (entry[1].get<int64_t>() >= 0) bucket.partition_id = entry[1].get<int64_t>();
    lease.snapshots[bucket] = entry[3].get<int64_t>();
  }
  return lease;
}

// Back from ToHex.
std::optional<std::string> LeaseIdOf(std::string_view key) {
  std::string id;
  for (; key.size() >= 2; key.remove_prefix(2)) {
    uint8_t byte = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + 2, byte, 16);
    if (error != std::errc() || end != key.data() + 2) return std::nullopt;
    id.push_back(static_cast<char>(byte));
  }
  return key.empty() ? std::make_optional(std::move(id)) : std::nullopt;
}

KvSnapshotLeases::Buckets BucketsOfLease(const KvSnapshotLeases::Snapshots& snapshots) {
  KvSnapshotLeases::Buckets buckets;
  for (const auto& [bucket, snapshot_id] : snapshots) buckets.insert(bucket);
  return buckets;
}

}  // namespace

Status KvSnapshotLeases::Load() {
  leases_.clear();
  held_.clear();
  snapshots_ = 0;
  ASSIGN_OR_RAISE(const auto keys, catalog_.ListValues(kLeasesArea));
  meta::Catalog::ValueChanges broken;
  for (const std::string& key : keys) {
    ASSIGN_OR_RAISE(const auto text, catalog_.GetValue(kLeasesArea, key));
    const auto id = LeaseIdOf(key);
    auto stored = LeaseFromJson(text.value_or(""));
    if (!id.has_value() || !stored.ok()) {
      LogWarn("a lease of kv snapshots cannot be read and ends id={}", key);
      broken[key] = std::nullopt;
      continue;
    }
    // Older versions took leases of any length.
    const int64_t expires_ms = std::min(stored->expires_ms, clock_.NowMs() + kLeaseMsMax);
    Put(*id, {expires_ms, std::move(stored->snapshots)});
  }
  return catalog_.ChangeValues(kLeasesArea, std::move(broken));
}

Result<KvSnapshotLeases::Buckets> KvSnapshotLeases::Acquire(const std::string& lease_id,
                                                            int64_t duration_ms,
                                                            Snapshots snapshots) {
  if (lease_id.empty() || lease_id.size() > kLeaseIdBytesMax) {
    return Error(ErrorCode::kUnknownServer,
                 "lease id is empty or too long size_bytes=", lease_id.size());
  }
  const auto known = leases_.find(lease_id);
  Lease lease = known == leases_.end() ? Lease() : known->second;
  lease.expires_ms = clock_.NowMs() + std::clamp<int64_t>(duration_ms, 0, kLeaseMsMax);
  Buckets before;
  for (const auto& [bucket, snapshot_id] : snapshots) {
    const auto [at, is_new] = lease.snapshots.insert_or_assign(bucket, snapshot_id);
    if (!is_new) before.insert(bucket);
  }
  if (lease.snapshots.size() > kSnapshotsMax) {
    return Error(ErrorCode::kUnknownServer, "lease holds too many snapshots lease_id=", lease_id,
                 " most=", kSnapshotsMax);
  }
  // One that holds nothing has nothing to keep: renewing it is fine, and leaves nothing behind.
  if (lease.snapshots.empty()) return before;
  if (known == leases_.end() && leases_.size() >= kLeasesMax) {
    return Error(ErrorCode::kUnknownServer, "too many leases of kv snapshots lease_id=", lease_id,
                 " most=", kLeasesMax);
  }
  const size_t held = known == leases_.end() ? 0 : known->second.snapshots.size();
  if (lease.snapshots.size() > held &&
      snapshots_ - held + lease.snapshots.size() > kSnapshotsInAllMax) {
    return Error(ErrorCode::kUnknownServer,
                 "all leases hold too many snapshots lease_id=", lease_id,
                 " most=", kSnapshotsInAllMax);
  }
  RETURN_NOT_OK(Store(lease_id, std::move(lease)));
  return before;
}

Result<KvSnapshotLeases::Buckets> KvSnapshotLeases::Release(const std::string& lease_id,
                                                            const Buckets& buckets) {
  const auto known = leases_.find(lease_id);
  if (known == leases_.end()) return Buckets();
  Lease lease = known->second;
  Buckets released;
  std::erase_if(lease.snapshots, [&](const auto& held) {
    return buckets.contains(held.first) && released.insert(held.first).second;
  });
  if (lease.snapshots.empty()) return End(lease_id);
  RETURN_NOT_OK(Store(lease_id, std::move(lease)));
  return released;
}

Result<KvSnapshotLeases::Buckets> KvSnapshotLeases::Drop(const std::string& lease_id) {
  return leases_.contains(lease_id) ? End(lease_id) : Buckets();
}

namespace {

bool HoldsAnyOf(const KvSnapshotLeases::Snapshots& snapshots,
                const KvSnapshotLeases::Buckets& buckets) {
  if (buckets.size() < snapshots.size()) {
    return std::ranges::any_of(buckets,
                               [&](const auto& bucket) { return snapshots.contains(bucket); });
  }
  return std::ranges::any_of(snapshots,
                             [&](const auto& held) { return buckets.contains(held.first); });
}

}  // namespace

Result<KvSnapshotLeases::Ended> KvSnapshotLeases::EndSome(const meta::CatalogState& now) {
  const Buckets dropped = HeldOfDropped(now);
  const int64_t now_ms = clock_.NowMs();
  std::map<std::string, Lease> changed;
  Ended ended;
  size_t snapshots = 0;
  for (const auto& [lease_id, lease] : leases_) {
    const bool over = lease.expires_ms <= now_ms;
    if (!over && !HoldsAnyOf(lease.snapshots, dropped)) continue;
    if (changed.size() == kLeasesAtOnce || snapshots >= kSnapshotsAtOnce) {
      ended.more = true;
      break;
    }
    snapshots += lease.snapshots.size();
    Lease& left = changed[lease_id] = {lease.expires_ms, {}};
    if (over) {
      LogInfo("lease of kv snapshots is over lease_id={} snapshots={}", lease_id,
              lease.snapshots.size());
      ended.released.merge(BucketsOfLease(lease.snapshots));
      continue;
    }
    left.snapshots = lease.snapshots;
    std::erase_if(left.snapshots, [&](const auto& held) { return dropped.contains(held.first); });
  }
  RETURN_NOT_OK(StoreAll(std::move(changed)));
  return ended;
}

// Of tables and partitions that were dropped nobody can read a snapshot.
KvSnapshotLeases::Buckets KvSnapshotLeases::HeldOfDropped(const meta::CatalogState& now) const {
  Buckets dropped;
  for (const auto& [snapshot, leases] : held_) {
    if (!now.Bucket(snapshot.first).ok()) dropped.insert(snapshot.first);
  }
  return dropped;
}

bool KvSnapshotLeases::Holds(const types::BucketId& bucket, int64_t snapshot_id) const {
  return held_.contains({bucket, snapshot_id});
}

Status KvSnapshotLeases::Store(const std::string& lease_id, Lease lease) {
  std::map<std::string, Lease> changed;
  changed.emplace(lease_id, std::move(lease));
  return StoreAll(std::move(changed));
}

// Leases as they are from now on; one that holds nothing ends.
Status KvSnapshotLeases::StoreAll(std::map<std::string, Lease> changed) {
  meta::Catalog::ValueChanges values;
  for (const auto& [lease_id, lease] : changed) {
    std::optional<std::string>& value = values[ToHex(lease_id)];
    if (!lease.snapshots.empty()) value = LeaseToJson(lease.expires_ms, lease.snapshots);
  }
  RETURN_NOT_OK(catalog_.ChangeValues(kLeasesArea, std::move(values)));
  for (auto& [lease_id, lease] : changed) Put(lease_id, std::move(lease));
  return Status::OK();
}

void KvSnapshotLeases::Put(const std::string& lease_id, Lease lease) {
  const auto known = leases_.find(lease_id);
  if (known != leases_.end()) Count(known->second.snapshots, -1);
  Count(lease.snapshots, 1);
  if (!lease.snapshots.empty()) {
    leases_[lease_id] = std::move(lease);
  } else if (known != leases_.end()) {
    leases_.erase(known);
  }
}

Result<KvSnapshotLeases::Buckets> KvSnapshotLeases::End(const std::string& lease_id) {
  Buckets buckets = BucketsOfLease(leases_.at(lease_id).snapshots);
  RETURN_NOT_OK(Store(lease_id, {}));
  return buckets;
}

void KvSnapshotLeases::Count(const Snapshots& snapshots, int by) {
  for (const auto& [bucket, snapshot_id] : snapshots) {
    const auto at = held_.try_emplace({bucket, snapshot_id}, 0).first;
    at->second += by;
    if (at->second == 0) held_.erase(at);
  }
  snapshots_ = by > 0 ? snapshots_ + snapshots.size() : snapshots_ - snapshots.size();
}

}  // namespace sluice::coordinator
