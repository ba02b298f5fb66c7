#pragma once

namespace rocksdb {
struct DBOptions;
}  // namespace rocksdb

namespace sluice::rocks {

/// Make a database answer a failed write, such as on a full disk, with its status and nothing else:
/// it keeps no log file of its own and does not try to recover. Its owner opens it again.
void FailWithoutAborting(rocksdb::DBOptions* options);

}  // namespace sluice::rocks
