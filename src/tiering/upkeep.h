#pragma once
#include <cstdint>
#include <optional>

#include "lake/lake_catalog.h"
#include "tiering/cluster_link.h"

namespace sluice::tiering {

struct UpkeepResult {
  std::optional<int64_t> compacted_snapshot;  ///< Of the compaction, when one was worth it.
  int64_t expired_snapshots = 0;
};

/// Keep a lake table's files and snapshots few: merge small files, then drop old snapshots from
/// before the one that the coordinator has recorded.
///
/// `table.datalake.auto-compaction` and `table.datalake.auto-expire-snapshot` switch each off when
/// they say false. `expire_all`, the cluster's word: true expires snapshots of every table, false
/// of those alone that say true.
Result<UpkeepResult> KeepUp(ClusterLink& link, lake::LakeCatalog& lake,
                            const types::TablePath& path, int32_t files_min,
                            std::optional<bool> expire_all = std::nullopt);

/// Remove lake files that a died writer of ours left behind; `by_age`: also those whose writer left
/// no record and that are a day old. Returns how many.
Result<int64_t> SweepOrphans(lake::LakeCatalog& lake, const types::TablePath& path, bool by_age);

}  // namespace sluice::tiering
