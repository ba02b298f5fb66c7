#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/file.h"
#include "log/folder_check.h"

namespace sluice::app {

/// What a check of a whole data folder found.
struct DataFolderCheck {
  std::vector<log::Finding> findings;
  bool clean_stop = false;
  uint64_t tables = 0, partitions = 0, buckets = 0;  ///< With files.
  uint64_t segments = 0, batches = 0, records = 0, log_bytes = 0;
  uint64_t key_stores = 0, keys = 0;

  bool damaged() const;
};

/// Check the data folder of a server that does not run, and change nothing: the metadata store, the
/// checkpoint file, the log of every bucket (log::CheckFolder), the keys (kv::CheckRocksStore) and
/// how far they follow their logs, and whose each folder is.
/// Errors: kStorage when a server has the folder, or it is no data folder; what is wrong inside is
/// a finding.
Result<DataFolderCheck> CheckDataFolder(io::FileSystem& files, const std::string& folder);

}  // namespace sluice::app
