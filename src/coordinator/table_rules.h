#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "coordinator/settings.h"
#include "types/schema.h"

namespace sluice::coordinator {

/// Fill in what CREATE TABLE left open: NOT NULL key columns, ids, bucket key and count, and the
/// properties that clients expect to read back, as Java does. Errors: kInvalidTable for broken
/// ids.
Status FillTableDefaults(const ClusterSettings& settings, types::TableDescriptor* descriptor);

/// Check a filled descriptor against the rules of the reference (7.3, 7.4), lake rules excepted.
/// Errors: kInvalidTable, kInvalidConfig, kBucketMaxNum, each naming the column or option.
Status ValidateTable(const ClusterSettings& settings, const types::TableDescriptor& descriptor);

/// Columns of a table: each that is added is looked for among all others.
inline constexpr size_t kColumnsMax = 8192;
/// Errors: kInvalidTable.
Status CheckColumnCount(size_t count);

/// Check one column as CREATE or ADD COLUMN brings it. Errors: kInvalidTable.
Status ValidateColumn(const types::Column& column);

/// Check the aggregate function of a column that a table has or gets. Errors: kInvalidTable,
/// kInvalidConfig.
Status ValidateAggFunction(const types::TableDescriptor& descriptor, const types::Column& column);

/// Check that a type can be the type of a partition column. Errors: kInvalidTable.
Status ValidatePartitionType(const types::Column& column);

/// Check values and relations of the properties of a descriptor. Errors: kInvalidConfig,
/// kInvalidTable.
Status ValidateProperties(const ClusterSettings& settings,
                          const types::TableDescriptor& descriptor);

}  // namespace sluice::coordinator
