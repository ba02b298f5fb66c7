#pragma once
#include <functional>
#include <memory>
#include <string>

#include "io/clock.h"
#include "io/file.h"
#include "io/random.h"
#include "lake/lake_table.h"
#include "lake/paimon/table_share.h"

namespace sluice::lake::paimon {

struct TableServices {
  io::FileSystem* files;
  io::Clock* clock;
  io::Random* random;
};

/// What the opened table has in common with others of the same place, by its newest schema.
using ShareOf = std::function<std::shared_ptr<TableShare>(const LakeSchema& newest)>;

/// Open the table in `location`. Errors: kTableNotExist.
Result<std::unique_ptr<LakeTable>> OpenPaimonTable(const TableServices& services,
                                                   const types::TablePath& path,
                                                   const std::string& location,
                                                   const ShareOf& share_of);

}  // namespace sluice::lake::paimon
