#pragma once
#include <string>

#include "types/schema.h"

namespace sluice::coordinator {

/// Folder of a table's lake offsets files: {remote data dir}/lake/{db}/{table}-{id}/metadata
/// (Java's FlussPaths).
std::string LakeOffsetsFolder(const types::TableInfo& table);

}  // namespace sluice::coordinator
