#include "tablet/bucket_folders.h"

#include "io/file.h"

namespace sluice::tablet {

BucketFolders BucketFolders::Of(const std::string& data_dir, const types::TablePath& path,
                                const std::string& partition_name, const types::BucketId& id) {
  BucketFolders folders;
  folders.table = io::JoinPath(io::JoinPath(data_dir, path.database), path.table + "-" + std::to_string(id.table_id));
  folders.parent = folders.table;
  if (id.partition_id) {
    folders.parent = io::JoinPath(folders.table, partition_name + "-p" + std::to_string(*id.partition_id));
  }
  folders.log = io::JoinPath(folders.parent, "log-" + std::to_string(id.bucket));
  folders.kv = io::JoinPath(folders.parent, "kv-" + std::to_string(id.bucket));
  return folders;
}

}  // namespace sluice::tablet
