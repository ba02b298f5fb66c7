#include <set>

#include "types/agg_function.h"
#include "types/data_type_internal.h"
#include "types/schema.h"

namespace sluice::types {
namespace {

constexpr auto kSchemaCode = ErrorCode::kInvalidTable;
constexpr int32_t kDocumentVersion = 1;

Status CheckVersion(const Json& json, ErrorCode code) {
  ASSIGN_OR_RAISE(const auto version, IntMember(json, "version", code));
  if (version.value_or(kDocumentVersion) == kDocumentVersion) return Status::OK();
  return Error(code, "document has another version version=", *version);
}

Json ColumnToJson(const Column& column) {
  Json json = {{"name", column.name}, {"data_type", TypeToJson(*column.type)}};
  if (!column.comment.empty()) json["comment"] = column.comment;
  if (!column.agg_function.empty()) {
    json["agg_function"]["type"] = column.agg_function;
    if (!column.agg_parameters.empty()) json["agg_function"]["parameters"] = column.agg_parameters;
  }
  if (column.id >= 0) json["id"] = column.id;
  return json;
}

Status ReadAgg(const Json& json, Column* column) {
  const auto found = json.find("agg_function");
  if (found == json.end() || found->is_null()) return Status::OK();
  if (!found->is_object())
    return Error(kSchemaCode, "agg_function is not a json object column=", column->name);
  ASSIGN_OR_RAISE(const auto name, TextMember(*found, "type", kSchemaCode));
  column->agg_function = AggName(name.value_or(""));
  if (!AggFunctionNamed(column->agg_function)) {
    return Error(kSchemaCode, "unknown agg_function column=", column->name,
                 " type=", name.value_or(""));
  }
  ASSIGN_OR_RAISE(column->agg_parameters, PropertiesMember(*found, "parameters", kSchemaCode));
  return Status::OK();
}

Result<Column> ReadColumn(const Json& json) {
  if (!json.is_object()) return Error(kSchemaCode, "column is not a json object");
  Column column;
  ASSIGN_OR_RAISE(auto name, TextMember(json, "name", kSchemaCode));
  if (!name || name->empty()) return Error(kSchemaCode, "column lacks its name");
  column.name = *std::move(name);
  const auto type = json.find("data_type");
  if (type == json.end())
    return Error(kSchemaCode, "column lacks its data_type column=", column.name);
  ASSIGN_OR_RAISE(column.type, TypeFromJson(*type));
  ASSIGN_OR_RAISE(auto comment, TextMember(json, "comment", kSchemaCode));
  column.comment = std::move(comment).value_or("");
  ASSIGN_OR_RAISE(const auto id, IntMember(json, "id", kSchemaCode));
  column.id = id.value_or(-1);
  RETURN_NOT_OK(ReadAgg(json, &column));
  return column;
}

Status CheckDistinct(const std::vector<std::string>& names, const char* what) {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second)
      return Error(kSchemaCode, what, " repeats a column column=", name);
  }
  return Status::OK();
}

/// Each of `names` is a column, none twice.
Status CheckColumns(const Schema& schema, const std::vector<std::string>& names, const char* what) {
  RETURN_NOT_OK(CheckDistinct(names, what));
  for (const std::string& name : names) {
    if (schema.IndexOf(name) < 0)
      return Error(kSchemaCode, what, " names an unknown column column=", name);
  }
  return Status::OK();
}

Status FinishPrimaryKey(Schema* schema) {
  RETURN_NOT_OK(CheckColumns(*schema, schema->primary_key, "primary key"));
  for (const std::string& name : schema->primary_key) {
    Column& column = schema->columns[schema->IndexOf(name)];
    column.type = column.type->WithNullable(false);
    if (!column.agg_function.empty())
      return Error(kSchemaCode, "primary key column has an agg_function column=", name);
  }
  return Status::OK();
}

Status FinishAutoIncrement(const Schema& schema) {
  RETURN_NOT_OK(CheckColumns(schema, schema.auto_increment, "auto increment"));
  if (schema.auto_increment.empty()) return Status::OK();
  if (schema.auto_increment.size() > 1)
    return Error(kSchemaCode, "more than one auto increment column");
  const Column& column = schema.columns[schema.IndexOf(schema.auto_increment[0])];
  const bool in_key =
      std::ranges::find(schema.primary_key, column.name) != schema.primary_key.end();
  const bool integer =
      column.type->kind() == TypeKind::kInteger || column.type->kind() == TypeKind::kBigInt;
  if (in_key || !integer || !schema.has_primary_key()) {
    return Error(
        kSchemaCode,
        "auto increment needs an INT or BIGINT column beside a primary key column=", column.name);
  }
  return Status::OK();
}

Json SchemaToJson(const Schema& schema) {
  Json json;
  json["version"] = kDocumentVersion;
  json["columns"] = Json::array();
  for (const Column& column : schema.columns) json["columns"].push_back(ColumnToJson(column));
  if (!schema.primary_key.empty()) json["primary_key"] = schema.primary_key;
  if (!schema.auto_increment.empty()) json["auto_increment_column"] = schema.auto_increment;
  if (schema.highest_field_id >= 0) json["highest_field_id"] = schema.highest_field_id;
  return json;
}

Result<Schema> ReadSchema(const Json& json) {
  if (!json.is_object()) return Error(kSchemaCode, "schema is not a json object");
  RETURN_NOT_OK(CheckVersion(json, kSchemaCode));
  Schema schema;
  const auto columns = json.find("columns");
  if (columns == json.end() || !columns->is_array())
    return Error(kSchemaCode, "schema lacks its columns");
  std::vector<std::string> names;
  for (const Json& item : *columns) {
    ASSIGN_OR_RAISE(Column column, ReadColumn(item));
    names.push_back(column.name);
    schema.columns.push_back(std::move(column));
  }
  RETURN_NOT_OK(CheckDistinct(names, "schema"));
  ASSIGN_OR_RAISE(auto primary_key, TextsMember(json, "primary_key", kSchemaCode));
  schema.primary_key = std::move(primary_key).value_or(std::vector<std::string>());
  ASSIGN_OR_RAISE(auto auto_increment, TextsMember(json, "auto_increment_column", kSchemaCode));
  schema.auto_increment = std::move(auto_increment).value_or(std::vector<std::string>());
  ASSIGN_OR_RAISE(const auto highest, IntMember(json, "highest_field_id", kSchemaCode));
  schema.highest_field_id = highest.value_or(-1);
  RETURN_NOT_OK(FinishPrimaryKey(&schema));
  RETURN_NOT_OK(FinishAutoIncrement(schema));
  return schema;
}

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// The checks that belong to the descriptor itself, and the default bucket key of a primary-key
/// table.
Status FinishDescriptor(TableDescriptor* table) {
  const Schema& schema = table->schema;
  RETURN_NOT_OK(CheckColumns(schema, table->partition_keys, "partition key"));
  RETURN_NOT_OK(CheckColumns(schema, table->bucket_keys, "bucket key"));
  if (table->bucket_count && *table->bucket_count <= 0) {
    return Error(kSchemaCode, "bucket count is not positive bucket_count=", *table->bucket_count);
  }
  for (const std::string& name : table->bucket_keys) {
    if (Has(table->partition_keys, name))
      return Error(kSchemaCode, "bucket key has a partition column column=", name);
    if (table->has_primary_key() && !Has(schema.primary_key, name)) {
      return Error(kSchemaCode, "bucket key has a column outside the primary key column=", name);
    }
  }
  if (!table->has_primary_key()) return Status::OK();
  for (const std::string& name : table->partition_keys) {
    if (!Has(schema.primary_key, name))
      return Error(kSchemaCode, "partition column is not in the primary key column=", name);
  }
  if (table->bucket_keys.empty()) table->bucket_keys = table->PhysicalPrimaryKey();
  if (table->bucket_keys.empty())
    return Error(kSchemaCode, "primary key has no column beside the partition columns");
  return Status::OK();
}

}  // namespace

std::string Schema::ToJson() const { return Dump(SchemaToJson(*this)); }

Result<Schema> Schema::FromJson(std::string_view json) {
  ASSIGN_OR_RAISE(const Json document, ParseObject(json, kSchemaCode, "schema"));
  return ReadSchema(document);
}

std::string TableDescriptor::ToJson() const {
  Json json;
  json["version"] = kDocumentVersion;
  json["schema"] = SchemaToJson(schema);
  if (!comment.empty()) json["comment"] = comment;
  json["partition_key"] = partition_keys;
  if (!bucket_keys.empty() || bucket_count) json["bucket_key"] = bucket_keys;
  if (bucket_count) json["bucket_count"] = *bucket_count;
  json["properties"] = Json(properties);
  json["custom_properties"] = Json(custom_properties);
  return Dump(json);
}

Result<TableDescriptor> TableDescriptor::FromJson(std::string_view text) {
  ASSIGN_OR_RAISE(const Json json, ParseObject(text, kSchemaCode, "table descriptor"));
  RETURN_NOT_OK(CheckVersion(json, kSchemaCode));
  TableDescriptor table;
  const auto schema = json.find("schema");
  if (schema == json.end()) return Error(kSchemaCode, "table descriptor lacks its schema");
  ASSIGN_OR_RAISE(table.schema, ReadSchema(*schema));
  ASSIGN_OR_RAISE(auto comment, TextMember(json, "comment", kSchemaCode));
  table.comment = std::move(comment).value_or("");
  ASSIGN_OR_RAISE(auto partition_keys, TextsMember(json, "partition_key", kSchemaCode));
  table.partition_keys = std::move(partition_keys).value_or(std::vector<std::string>());
  ASSIGN_OR_RAISE(auto bucket_keys, TextsMember(json, "bucket_key", kSchemaCode));
  ASSIGN_OR_RAISE(table.bucket_count, IntMember(json, "bucket_count", kSchemaCode));
  if (table.bucket_count && !bucket_keys)
    return Error(kSchemaCode, "table descriptor has bucket_count without bucket_key");
  table.bucket_keys = std::move(bucket_keys).value_or(std::vector<std::string>());
  ASSIGN_OR_RAISE(table.properties, PropertiesMember(json, "properties", kSchemaCode));
  ASSIGN_OR_RAISE(table.custom_properties,
                  PropertiesMember(json, "custom_properties", kSchemaCode));
  RETURN_NOT_OK(FinishDescriptor(&table));
  return table;
}

std::string DatabaseDescriptor::ToJson() const {
  Json json;
  json["version"] = kDocumentVersion;
  if (!comment.empty()) json["comment"] = comment;
  json["custom_properties"] = Json(custom_properties);
  return Dump(json);
}

Result<DatabaseDescriptor> DatabaseDescriptor::FromJson(std::string_view text) {
  constexpr auto kCode = ErrorCode::kInvalidDatabase;
  ASSIGN_OR_RAISE(const Json json, ParseObject(text, kCode, "database descriptor"));
  RETURN_NOT_OK(CheckVersion(json, kCode));
  DatabaseDescriptor database;
  ASSIGN_OR_RAISE(auto comment, TextMember(json, "comment", kCode));
  database.comment = std::move(comment).value_or("");
  ASSIGN_OR_RAISE(database.custom_properties, PropertiesMember(json, "custom_properties", kCode));
  return database;
}

}  // namespace sluice::types
