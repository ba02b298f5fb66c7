#pragma once

namespace rocksdb {
struct DBOptions;
}  // namespace rocksdb

namespace sluice::rocks {

/// Let a database hold up to `count` table files open, whichever they are.
void KeepFilesOpen(rocksdb::DBOptions* options, int count);

}  // namespace sluice::rocks
