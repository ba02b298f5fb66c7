#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "io/file.h"
#include "types/schema.h"
#include "types/table_options.h"

namespace sluice::app {

/// What it takes to read the rows of a table's log.
struct SegmentTable {
  std::string name;  ///< Empty = not known.
  types::LogFormat format = types::LogFormat::kArrow;
  std::map<int32_t, std::shared_ptr<const types::Schema>> schemas;  ///< By id.

  /// Errors: kSchemaNotExist.
  Result<std::shared_ptr<const types::Schema>> SchemaOf(int32_t schema_id) const;
};

/// The table of a segment file, by the ids in the names of its folders: the folders of a data
/// folder, or of remote storage. Its schemas are read from the metadata below `data_dir`; when that
/// is empty, below the data folder that the file is in. A server may run meanwhile. Nothing when
/// there is no metadata, or it knows no such table.
/// Errors: of metadata that is there.
Result<std::optional<SegmentTable>> TableOfSegment(io::FileSystem& files, const std::string& path,
                                                   const std::string& data_dir);

}  // namespace sluice::app
