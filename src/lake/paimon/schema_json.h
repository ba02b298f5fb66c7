#pragma once
#include <string>
#include <string_view>

#include "lake/lake_table.h"

namespace sluice::lake::paimon {

/// Parse a `schema-N` file. VARCHAR(n) and VARBINARY(n) become STRING and BYTES, MULTISET a MAP to
/// INT NOT NULL.
///
/// Source: TableSchema, SchemaSerializer. Errors: kCorruptRecord; kInvalidTable for a type we
/// cannot hold (VARIANT, BLOB, VECTOR, …).
Result<LakeSchema> ParseSchema(std::string_view json);
/// The text of a `schema-N` file.
std::string SchemaToJson(const LakeSchema& schema);

/// What one ALTER changes. Everything else in the file stays as it is, also what we do not
/// understand.
struct SchemaEdit {
  int64_t id = 0;
  int64_t time_ms = 0;
  std::vector<types::Column> added;  ///< Ids are given here, from highestFieldId on.
  std::map<std::string, std::string> set_options;
  std::vector<std::string> reset_options;
};
/// The next version of a schema file. New columns go to the end, in front of __bucket where it
/// stands.
Result<std::string> EditSchemaJson(std::string_view json, const SchemaEdit& edit);

/// The version after `latest` that is as `before` was, under a new id. Field ids that were given in
/// between are not given again.
Result<std::string> RestoreSchemaJson(std::string_view before, std::string_view latest, int64_t id,
                                      int64_t time_ms);

/// Text of a scalar type, without nullability: "DECIMAL(10, 2)", "TIMESTAMP(3) WITH LOCAL TIME
/// ZONE".
std::string TypeText(const types::DataType& type);
/// Parse the text of a scalar type, with or without NOT NULL.
Result<types::DataTypePtr> ParseTypeText(std::string_view text);

/// `type` with new ids for all fields of nested rows, each after the fields nested in it
/// (Java's ReassignFieldId).
types::DataTypePtr AssignNestedIds(const types::DataTypePtr& type, int32_t* highest);
/// Give ids to all columns: a column's own id comes before those nested in it.
void AssignIds(std::vector<types::Column>* columns, int32_t* highest);

}  // namespace sluice::lake::paimon
