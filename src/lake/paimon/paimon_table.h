#pragma once
#include <memory>
#include <mutex>
#include <string>

#include "io/clock.h"
#include "io/file.h"
#include "io/random.h"
#include "lake/lake_table.h"

namespace sluice::lake::paimon {

struct TableServices {
  io::FileSystem* files;
  io::Clock* clock;
  io::Random* random;
};

/// Open the table in `location`. Errors: kTableNotExist.
Result<std::unique_ptr<LakeTable>> OpenPaimonTable(const TableServices& services,
                                                   const types::TablePath& path,
                                                   const std::string& location);

}  // namespace sluice::lake::paimon
