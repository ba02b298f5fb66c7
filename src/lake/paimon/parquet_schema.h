#pragma once
#include <memory>
#include <vector>

#include "lake/paimon/columns.h"

namespace parquet::schema {
class GroupNode;
}

namespace sluice::lake::paimon {

/// The Parquet schema of a data file (Java's ParquetSchemaConverter), with a field id on every
/// node.
Result<std::shared_ptr<parquet::schema::GroupNode>> ParquetSchemaOf(
    const std::vector<FileColumn>& columns);

}  // namespace sluice::lake::paimon
