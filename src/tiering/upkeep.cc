#include "tiering/upkeep.h"

#include "io/crash_point.h"
#include "types/table_options.h"

namespace sluice::tiering {
namespace {

Result<std::optional<int64_t>> CompactOnce(lake::LakeTable& table, int32_t files_min) {
  lake::CompactOptions options;
  options.files_min = files_min;
  ASSIGN_OR_RAISE(auto compacted, table.Compact(options));
  CRASH_POINT("tiering.after-compaction");
  return compacted;
}

bool Expires(const types::TableDescriptor& table, std::optional<bool> expire_all) {
  return expire_all == true || types::AutoExpireSnapshot(table, expire_all.value_or(true));
}

constexpr int64_t kOrphanAgeMs = int64_t{24} * 60 * 60 * 1000;

}  // namespace

Result<int64_t> SweepOrphans(lake::LakeCatalog& lake, const types::TablePath& path, bool by_age) {
  ASSIGN_OR_RAISE(const auto table, lake.OpenTable(path));
  lake::OrphanOptions options;
  if (by_age) options.older_than_ms = kOrphanAgeMs;
  return table->RemoveOrphans(options);
}

Result<UpkeepResult> KeepUp(ClusterLink& link, lake::LakeCatalog& lake,
                            const types::TablePath& path, int32_t files_min,
                            std::optional<bool> expire_all) {
  UpkeepResult result;
  ASSIGN_OR_RAISE(const auto info, link.GetTable(path));
  ASSIGN_OR_RAISE(const auto table, lake.OpenTable(path));
  if (types::AutoCompaction(info.descriptor)) {
    ASSIGN_OR_RAISE(result.compacted_snapshot, CompactOnce(*table, files_min));
  }
  if (Expires(info.descriptor, expire_all)) {
    ASSIGN_OR_RAISE(const auto recorded, link.RecordedSnapshot(path));
    if (!recorded.has_value()) return result;
    lake::ExpireOptions options;
    options.keep_from = recorded->snapshot_id;
    ASSIGN_OR_RAISE(result.expired_snapshots, table->Expire(options));
    CRASH_POINT("tiering.after-expire");
  }
  return result;
}

}  // namespace sluice::tiering
