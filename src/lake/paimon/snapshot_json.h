#pragma once
#include <string>
#include <string_view>

#include "lake/lake_table.h"

namespace sluice::lake::paimon {

/// Parse a `snapshot-N` file. Errors: kCorruptRecord. Source: Snapshot of Paimon.
Result<LakeSnapshot> ParseSnapshot(std::string_view json);
/// The text of a `snapshot-N` file.
std::string SnapshotToJson(const LakeSnapshot& snapshot);

/// Text of a consumer file, and back.
std::string ConsumerToJson(int64_t next_snapshot);
Result<int64_t> ParseConsumer(std::string_view json);

}  // namespace sluice::lake::paimon
