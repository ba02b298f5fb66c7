#pragma once
#include <memory>
#include <string>

#include "meta/store.h"

namespace rocksdb {
class Env;
}

namespace sluice::meta {

/// Open the embedded store: one RocksDB in `folder`, its log synced on every Apply. All nodes are
/// also held in memory. After a write that failed (a full disk) nodes can still be read; the next
/// Apply opens the database again and takes the failed change back. `env`: RocksDB's files; the
/// machine's when null.
///
/// Errors: kStorage naming the folder when it cannot be opened (another process holds it, it is
/// damaged).
Result<std::unique_ptr<MetaStore>> OpenRocksMetaStore(const std::string& folder,
                                                      rocksdb::Env* env = nullptr);

/// The same for reading alone: nothing in the folder changes, Apply is refused (kStorage), and
/// another process may have the store open, whose changes from now on are not seen.
Result<std::unique_ptr<MetaStore>> ReadRocksMetaStore(const std::string& folder);

}  // namespace sluice::meta
