#pragma once
#include <map>
#include <string>
#include <vector>

#include "types/schema.h"

namespace sluice::coordinator {

/// A partition spec as a request brings it: column → text of the value.
using PartitionSpec = std::vector<std::pair<std::string, std::string>>;

/// Values of a full spec in partition-key order.
/// Errors: kTableNotPartitioned; kPartitionSpecInvalid when a column is missing, repeated or
/// unknown, or a value is no name or not the text form of its column's type (checked only when
/// `creating`).
Result<std::vector<std::string>> PartitionValues(const types::TableInfo& table,
                                                 const PartitionSpec& spec, bool creating);

/// Check a spec that may name only some of the columns, and return column → value.
/// Errors: kTableNotPartitioned, kPartitionSpecInvalid.
Result<std::map<std::string, std::string>> PartialPartitionSpec(const types::TableInfo& table,
                                                                const PartitionSpec& spec);

}  // namespace sluice::coordinator
