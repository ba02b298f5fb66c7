#pragma once
#include <arrow/type_fwd.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "types/data_type.h"
#include "types/ids.h"

namespace sluice::types {

struct Column {
  std::string name;
  DataTypePtr type;
  std::string comment;
  int32_t id = -1;           ///< Column id, -1 before the server assigned one; never reused.
  std::string agg_function;  ///< Lower case, empty = none.
  std::map<std::string, std::string> agg_parameters;
};

/// Columns of one version of a table with their ids.
///
/// Format: JSON `schema` document, version 1. Source: SchemaJsonSerde of the Java server.
struct Schema {
  std::vector<Column> columns;
  std::vector<std::string> primary_key;     ///< Empty = append table.
  std::vector<std::string> auto_increment;  ///< At most one column.
  int32_t highest_field_id = -1;

  std::string ToJson() const;
  static Result<Schema> FromJson(std::string_view json);

  bool has_primary_key() const { return !primary_key.empty(); }
  /// Position of a column by exact name, -1 when there is none.
  int IndexOf(std::string_view name) const;
  /// Positions of the columns named; each must exist.
  Result<std::vector<int>> IndexesOf(const std::vector<std::string>& names) const;
  std::shared_ptr<arrow::Schema> ToArrow() const;
  /// Give ids to columns and nested fields from 0 in order when none carries one.
  /// Errors: kInvalidTable when some have an id and others not, or ids repeat.
  Status AssignIds();
};

/// What CREATE TABLE says. Format: JSON `table descriptor`, version 1.
struct TableDescriptor {
  Schema schema;
  std::string comment;
  std::vector<std::string> partition_keys;
  std::vector<std::string> bucket_keys;
  std::optional<int32_t> bucket_count;
  std::map<std::string, std::string> properties;         ///< `table.*`
  std::map<std::string, std::string> custom_properties;  ///< everything else

  std::string ToJson() const;
  static Result<TableDescriptor> FromJson(std::string_view json);

  bool partitioned() const { return !partition_keys.empty(); }
  bool has_primary_key() const { return schema.has_primary_key(); }
  /// Primary key without the partition columns, in primary-key order.
  std::vector<std::string> PhysicalPrimaryKey() const;
  /// A property, or `fallback` when it is not set.
  std::string Property(const std::string& key, const std::string& fallback = "") const;
};

/// A table as it exists.
struct TableInfo {
  TablePath path;
  int64_t table_id = -1;
  int32_t schema_id = 1;
  TableDescriptor descriptor;
  int64_t created_ms = 0;
  int64_t modified_ms = 0;
  std::string remote_data_dir;
};

struct PartitionInfo {
  int64_t partition_id = -1;
  std::vector<std::string> values;  ///< In partition-key order, text form.
  std::string Name() const;         ///< Values joined by '$'.
};

struct DatabaseDescriptor {
  std::string comment;
  std::map<std::string, std::string> custom_properties;
  std::string ToJson() const;
  static Result<DatabaseDescriptor> FromJson(std::string_view json);
};

/// Database, table or partition-value name: 1–200 of letters, digits, '_' and '-', not "." or "..";
/// when `creating` no "__" in front. Returns what is wrong, or an empty string.
std::string NameProblem(std::string_view name, bool creating);

}  // namespace sluice::types
