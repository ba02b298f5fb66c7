#include "rocks/open_files.h"

#include <rocksdb/options.h>

namespace sluice::rocks {

namespace {
// RocksDB takes these off the limit for its log and manifest before it makes the table cache.
constexpr int kOtherFiles = 10;
}  // namespace

void KeepFilesOpen(rocksdb::DBOptions* options, int count) {
  options->max_open_files = count + kOtherFiles;
  // The open tables are a cache, by default in 2^6 shards: of 64 files each shard holds one, so two
  // tables that fall into one shard close and open each other at every read while others stand
  // empty. (Of 60 tables read over and over under a limit of 64, 26 were opened anew in each pass;
  // with one shard none is.) What more shards would save is waiting for a mutex, which the few
  // threads that read a store hold for a look-up.
  options->table_cache_numshardbits = 0;
}

}  // namespace sluice::rocks
