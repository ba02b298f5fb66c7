#include "coordinator/lake_paths.h"

#include "io/file.h"

namespace sluice::coordinator {

std::string LakeOffsetsFolder(const types::TableInfo& table) {
  const std::string name = table.path.table + "-" + std::to_string(table.table_id);
  return io::JoinPath(table.remote_data_dir,
                      "lake/" + table.path.database + "/" + name + "/metadata");
}

}  // namespace sluice::coordinator
