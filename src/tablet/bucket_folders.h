#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/file.h"
#include "types/ids.h"

namespace sluice::tablet {

/// Where a bucket's files lie below the data folder (docs/formats/log.md):
/// `{db}/{table}-{tableId}[/{partition}-p{partitionId}]/log-{bucket}` and `…/kv-{bucket}`.
struct BucketFolders {
  std::string table;   ///< Of the table, below the data folder.
  std::string parent;  ///< Of the partition, or of the table when it has none.
  std::string log;
  std::string kv;
  std::vector<std::string> partition_values;  ///< As text; of buckets that a name was given for.

  static BucketFolders Of(const std::string& data_dir, const types::TablePath& path,
                          const std::string& partition_name, const types::BucketId& id);
  /// The folders of a bucket whose table nobody can name any more, found by the ids in their names;
  /// nullopt when there are none. Blocks on files.
  static Result<std::optional<BucketFolders>> Find(io::FileSystem& files,
                                                   const std::string& data_dir,
                                                   const types::BucketId& id);
};

}  // namespace sluice::tablet
