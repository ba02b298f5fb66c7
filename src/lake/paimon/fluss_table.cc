#include "lake/paimon/fluss_table.h"

#include <set>

#include "lake/paimon/schema_json.h"
#include "types/nested_type.h"

namespace sluice::lake::paimon {
namespace {

using types::DataType;
using types::DataTypePtr;
using types::TypeKind;

constexpr std::string_view kLakePrefix = "paimon.";
constexpr std::string_view kCatalogPrefix = "table.datalake.paimon.";

// Set by the system alone, with or without the prefix.
const std::set<std::string, std::less<>> kSystemOptions = {"bucket", "bucket-key",
                                                           "partition.legacy-name"};

const std::set<std::string, std::less<>> kImmutableOptions = {
    "bucket",
    "bucket-key",
    "partition.legacy-name",
    "bucket-function.type",
    "data-file.path-directory",
    "merge-engine",
    "aggregation.remove-record-on-delete",
    "partial-update.remove-record-on-delete",
    "partial-update.remove-record-on-sequence-group",
    "rowkind.field",
    "primary-key",
    "partition",
    "force-lookup",
    "row-tracking.enabled",
    "data-evolution.enabled",
    "index-file-in-data-file-dir",
    "pk-clustering-override"};

std::string Join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// Same names and types all the way down; ids and comments do not count.
bool SameType(const DataType& a, const DataType& b) {
  if (a.kind() != b.kind() || a.nullable() != b.nullable()) return false;
  switch (a.kind()) {
    case TypeKind::kArray:
      return SameType(*a.element(), *b.element());
    case TypeKind::kMap:
      return SameType(*a.key(), *b.key()) && SameType(*a.value(), *b.value());
    case TypeKind::kRow:
      return std::ranges::equal(a.fields(), b.fields(),
                                [](const types::RowField& x, const types::RowField& y) {
                                  return x.name == y.name && SameType(*x.type, *y.type);
                                });
    default:
      return a.Equals(b);
  }
}

bool IsSystemColumn(const std::string& name) {
  return name == kBucketColumn || name == kOffsetColumn || name == kTimestampColumn;
}

std::vector<types::Column> UserColumns(const LakeSchema& schema) {
  std::vector<types::Column> columns;
  std::ranges::copy_if(schema.columns, std::back_inserter(columns),
                       [](const types::Column& column) { return !IsSystemColumn(column.name); });
  return columns;
}

std::map<std::string, std::string> LakeOptionsOf(const types::TableDescriptor& descriptor) {
  std::map<std::string, std::string> options;
  const bool keyed = descriptor.has_primary_key();
  const std::vector<std::string> bucket_keys = descriptor.bucket_keys.empty() && keyed
                                                   ? descriptor.PhysicalPrimaryKey()
                                                   : descriptor.bucket_keys;
  if (keyed) options["changelog-producer"] = "input";
  for (const auto* properties : {&descriptor.properties, &descriptor.custom_properties}) {
    for (const auto& [key, value] : *properties) {
      if (const auto name = LakeOptionName(key)) options[*name] = value;
    }
  }
  options["bucket"] =
      bucket_keys.empty() ? "-1" : std::to_string(descriptor.bucket_count.value_or(-1));
  if (!bucket_keys.empty()) options["bucket-key"] = Join(bucket_keys);
  options["partition.legacy-name"] = "false";
  return options;
}

}  // namespace

std::optional<std::string> LakeOptionName(const std::string& key) {
  if (key.starts_with(kCatalogPrefix)) return std::nullopt;
  if (key.starts_with(kLakePrefix)) return key.substr(kLakePrefix.size());
  return "fluss." + key;
}

bool IsImmutableOption(const std::string& lake_option) {
  return kImmutableOptions.contains(lake_option) || lake_option.starts_with("blob-");
}

Status CheckSupported(const std::map<std::string, std::string>& lake_options) {
  static const std::map<std::string, std::set<std::string>> kOnly = {
      {"merge-engine", {"deduplicate"}},       {"changelog-producer", {"none", "input"}},
      {"deletion-vectors.enabled", {"false"}}, {"sequence.field", {}},
      {"data-file.path-directory", {}},        {"data-file.external-paths", {}},
      {"row-tracking.enabled", {"false"}},     {"data-evolution.enabled", {"false"}},
      {"bucket-function.type", {"default"}},   {"ignore-delete", {"false"}}};
  for (const auto& [option, allowed] : kOnly) {
    const auto at = lake_options.find(option);
    if (at == lake_options.end() || allowed.contains(at->second)) continue;
    return Error(ErrorCode::kInvalidConfig,
                 "option of a lake table is not supported, option=", option, " value=", at->second);
  }
  return Status::OK();
}

DataTypePtr LakeTypeOf(const DataTypePtr& type) {
  switch (type->kind()) {
    case TypeKind::kTime:
      return DataType::Time(
          0, type->nullable());  // As Fluss declares it; the values keep their milliseconds.
    case TypeKind::kArray:
      return DataType::Array(LakeTypeOf(type->element()), type->nullable());
    case TypeKind::kMap:
      return DataType::Map(LakeTypeOf(type->key())->WithNullable(false), LakeTypeOf(type->value()),
                           type->nullable());
    case TypeKind::kRow: {
      std::vector<types::RowField> fields = type->fields();
      for (types::RowField& field : fields) field.type = LakeTypeOf(field.type);
      return DataType::Row(std::move(fields), type->nullable());
    }
    default:
      return type;
  }
}

Status ValidateColumnName(const std::string& name) {
  static const std::set<std::string, std::less<>> kReserved = {"_SEQUENCE_NUMBER", "_VALUE_KIND",
                                                               "_LEVEL", "rowkind", "_ROW_ID"};
  if (IsSystemColumn(name)) {
    return Error(ErrorCode::kInvalidTable,
                 "column name is used by the system in lake tables, column=", name);
  }
  if (kReserved.contains(name) || name.starts_with("_KEY_")) {
    return Error(ErrorCode::kInvalidTable,
                 "column name is reserved in Paimon tables, column=", name);
  }
  return Status::OK();
}

Status ValidateForLake(const types::TableDescriptor& descriptor) {
  for (const auto* properties : {&descriptor.properties, &descriptor.custom_properties}) {
    for (const auto& [key, value] : *properties) {
      const std::string plain = key.starts_with(kLakePrefix) ? key.substr(kLakePrefix.size()) : key;
      if (kSystemOptions.contains(plain)) {
        return Error(ErrorCode::kInvalidConfig,
                     "option of a lake table is set by the system alone, option=", key);
      }
    }
  }
  RETURN_NOT_OK(CheckSupported(LakeOptionsOf(descriptor)));
  for (const types::Column& column : descriptor.schema.columns) {
    RETURN_NOT_OK(ValidateColumnName(column.name));
    const bool is_key = Contains(descriptor.schema.primary_key, column.name) ||
                        Contains(descriptor.partition_keys, column.name) ||
                        Contains(descriptor.bucket_keys, column.name);
    if (is_key && types::IsNested(*column.type)) {
      return Error(ErrorCode::kInvalidTable,
                   "column of a nested type cannot be a key of a lake table, column=", column.name);
    }
  }
  if (descriptor.has_primary_key() && descriptor.PhysicalPrimaryKey().empty()) {
    return Error(ErrorCode::kInvalidTable,
                 "primary key of a lake table needs a column beside the partition keys");
  }
  return Status::OK();
}

Result<LakeSchema> LakeSchemaOf(const types::TableDescriptor& descriptor, int64_t time_ms) {
  RETURN_NOT_OK(ValidateForLake(descriptor));
  LakeSchema schema;
  schema.time_ms = time_ms;
  schema.comment = descriptor.comment;
  schema.partition_keys = descriptor.partition_keys;
  schema.primary_keys = descriptor.schema.primary_key;
  schema.options = LakeOptionsOf(descriptor);
  for (const types::Column& column : descriptor.schema.columns) {
    const bool key = Contains(schema.primary_keys, column.name);
    const DataTypePtr type = LakeTypeOf(column.type);
    schema.columns.push_back({column.name, key ? type->WithNullable(false) : type, column.comment});
  }
  schema.columns.push_back({std::string(kBucketColumn), DataType::Of(TypeKind::kInteger), ""});
  schema.columns.push_back({std::string(kOffsetColumn), DataType::Of(TypeKind::kBigInt), ""});
  schema.columns.push_back({std::string(kTimestampColumn), DataType::TimestampLtz(3), ""});
  AssignIds(&schema.columns, &schema.highest_field_id);
  return schema;
}

std::string DifferenceOf(const LakeSchema& existing, const LakeSchema& wanted) {
  const auto old_columns = UserColumns(existing), new_columns = UserColumns(wanted);
  if (old_columns.size() != new_columns.size()) {
    return "columns=" + std::to_string(old_columns.size()) +
           " wanted=" + std::to_string(new_columns.size());
  }
  for (size_t i = 0; i < old_columns.size(); ++i) {
    if (old_columns[i].name != new_columns[i].name ||
        !SameType(*old_columns[i].type, *new_columns[i].type)) {
      return "column=" + old_columns[i].name + " " + old_columns[i].type->ToString() +
             " wanted=" + new_columns[i].name + " " + new_columns[i].type->ToString();
    }
  }
  if (existing.partition_keys != wanted.partition_keys)
    return "partition_keys=" + Join(existing.partition_keys);
  if (existing.primary_keys != wanted.primary_keys)
    return "primary_key=" + Join(existing.primary_keys);
  for (const std::string& option : kImmutableOptions) {
    if (existing.Option(option) != wanted.Option(option)) {
      return "option=" + option + " value=" + existing.Option(option) +
             " wanted=" + wanted.Option(option);
    }
  }
  return "";
}

}  // namespace sluice::lake::paimon
