#pragma once
#include <memory>
#include <string>

#include "meta/store.h"

namespace sluice::meta {

/// Open the embedded store: one RocksDB in `folder`, its log synced on every Apply. All nodes are
/// also held in memory.
///
/// Errors: kStorage naming the folder when it cannot be opened (another process holds it, it is
/// damaged).
Result<std::unique_ptr<MetaStore>> OpenRocksMetaStore(const std::string& folder);

}  // namespace sluice::meta
