#include "coordinator/lake_paths.h"

#include "io/file.h"

namespace sluice::coordinator {

std::string LakeOffsetsFolder(const types::TableInfo& table) {
  const std::string name = table.path.table + "-" + std::to_string(table.table_id);
  return io::JoinPath(table.remote_data_dir,
                      "lake/" + table.path.database + "/" + name + "/metadata");
}

std::string LocalPath(const std::string& path) {
  constexpr std::string_view kScheme = "file:";
  if (!path.starts_with(kScheme)) return path;
  std::string_view rest = std::string_view(path).substr(kScheme.size());
  if (rest.starts_with("//")) rest.remove_prefix(2);
  return std::string(rest);
}

}  // namespace sluice::coordinator
