#pragma once
#include <memory>
#include <vector>

#include "lake/paimon/file_rows.h"
#include "lake/paimon/plan.h"

namespace sluice::lake::paimon {

/// Reader of one split: raw files one after another, others merged, deleted rows left out. Batches
/// of `bytes_max`, as LakeTable::Read.
Result<std::unique_ptr<LakeReader>> OpenSplitReader(const ReadContext& context,
                                                    std::shared_ptr<const LakeSchema> newest,
                                                    const LakeSplit& split,
                                                    std::vector<types::Column> columns,
                                                    int64_t bytes_max);

}  // namespace sluice::lake::paimon
