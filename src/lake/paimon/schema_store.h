#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "io/file.h"
#include "lake/paimon/paths.h"

namespace sluice::lake::paimon {

/// The schema versions of one table. A version never changes once written, so those read are kept.
///
/// Threads: any.
class SchemaStore {
 public:
  SchemaStore(io::FileSystem& files, const TablePaths& paths) : files_(files), paths_(paths) {}

  /// Newest schema. Errors: kTableNotExist when the folder holds none.
  Result<std::shared_ptr<const LakeSchema>> Latest();
  /// Errors: kSchemaNotExist.
  Result<std::shared_ptr<const LakeSchema>> ById(int64_t id);
  Result<std::vector<int64_t>> Ids() const {
    return ListIds(files_, paths_.SchemaFolder(), "schema-");
  }
  /// That the version is still there as it was read: a table that was made anew in its place has
  /// others. Errors: kSchemaNotExist.
  Status CheckInPlace(const LakeSchema& schema) const;
  /// The text of a version.
  Result<std::string> Text(int64_t id) const { return files_.ReadFile(paths_.Schema(id)); }

 private:
  io::FileSystem& files_;
  const TablePaths& paths_;
  std::mutex mutex_;  // Guards what follows.
  std::map<int64_t, std::shared_ptr<const LakeSchema>> known_;
};

}  // namespace sluice::lake::paimon
