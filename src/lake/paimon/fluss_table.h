#pragma once
#include <optional>
#include <string>

#include "lake/lake_catalog.h"
#include "types/schema.h"

namespace sluice::lake::paimon {

/// What Fluss's table descriptor means for its Paimon table. Source: PaimonConversions of Fluss.

/// Errors: kInvalidConfig for options that only the system sets; kInvalidTable for column names,
/// keys and types that the lake cannot hold.
Status ValidateForLake(const types::TableDescriptor& descriptor);

/// The schema of a new lake table, with the system columns at its end. `time_ms`: creation time.
Result<LakeSchema> LakeSchemaOf(const types::TableDescriptor& descriptor, int64_t time_ms);

/// What keeps an existing lake table from being the one that the descriptor asks for; empty when
/// nothing does. Tables without system columns are fine, as are comments, ids and options that may
/// change.
std::string DifferenceOf(const LakeSchema& existing, const LakeSchema& wanted);

/// Name of a Fluss property among the lake table's options: "paimon.X" is X, others "fluss.<key>";
/// nullopt = not kept.
std::optional<std::string> LakeOptionName(const std::string& key);
/// Errors: kInvalidConfig naming an option that asks for what our writers and readers do not do:
/// another merge engine, sequence fields, deletion vectors, changelog producers that need a
/// compaction, data files elsewhere.
Status CheckSupported(const std::map<std::string, std::string>& lake_options);
/// True for options that may never change once the table exists.
bool IsImmutableOption(const std::string& lake_option);
/// Type of a column in the lake.
types::DataTypePtr LakeTypeOf(const types::DataTypePtr& type);
/// Errors: kInvalidTable for names that Paimon or the system columns use.
Status ValidateColumnName(const std::string& name);

}  // namespace sluice::lake::paimon
