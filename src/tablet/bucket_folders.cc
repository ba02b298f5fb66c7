#include "tablet/bucket_folders.h"

#include <algorithm>

namespace sluice::tablet {
namespace {

// The sub-folder whose name ends in `suffix`, empty when there is none. A folder that is not there
// holds none.
Result<std::string> SubFolderEndingIn(io::FileSystem& files, const std::string& folder,
                                      const std::string& suffix) {
  const auto entries = files.List(folder);
  if (!entries.ok())
    return io::IsNotFound(entries.status()) ? Result<std::string>("") : entries.status();
  for (const auto& entry : *entries) {
    if (entry.is_folder && entry.name.ends_with(suffix)) return io::JoinPath(folder, entry.name);
  }
  return "";
}

void NameBucketFolders(int32_t bucket, BucketFolders* folders) {
  folders->log = io::JoinPath(folders->parent, "log-" + std::to_string(bucket));
  folders->kv = io::JoinPath(folders->parent, "kv-" + std::to_string(bucket));
}

}  // namespace

BucketFolders BucketFolders::Of(const std::string& data_dir, const types::TablePath& path,
                                const std::string& partition_name, const types::BucketId& id) {
  BucketFolders folders;
  folders.table = io::JoinPath(io::JoinPath(data_dir, path.database),
                               path.table + "-" + std::to_string(id.table_id));
  folders.parent = folders.table;
  if (id.partition_id) {
    folders.parent =
        io::JoinPath(folders.table, partition_name + "-p" + std::to_string(*id.partition_id));
    for (size_t begin = 0; begin <= partition_name.size();) {
      const size_t end = std::min(partition_name.find('$', begin), partition_name.size());
      folders.partition_values.push_back(partition_name.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  NameBucketFolders(id.bucket, &folders);
  return folders;
}

Result<std::optional<BucketFolders>> BucketFolders::Find(io::FileSystem& files,
                                                         const std::string& data_dir,
                                                         const types::BucketId& id) {
  ASSIGN_OR_RAISE(const auto databases, files.List(data_dir));
  for (const auto& database : databases) {
    if (!database.is_folder) continue;
    BucketFolders folders;
    ASSIGN_OR_RAISE(folders.table, SubFolderEndingIn(files, io::JoinPath(data_dir, database.name),
                                                     "-" + std::to_string(id.table_id)));
    if (folders.table.empty()) continue;
    folders.parent = folders.table;
    if (id.partition_id) {
      ASSIGN_OR_RAISE(folders.parent, SubFolderEndingIn(files, folders.table,
                                                        "-p" + std::to_string(*id.partition_id)));
      if (folders.parent.empty()) return std::nullopt;
    }
    NameBucketFolders(id.bucket, &folders);
    return folders;
  }
  return std::nullopt;
}

}  // namespace sluice::tablet
