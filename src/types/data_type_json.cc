#include "types/data_type_internal.h"

namespace sluice::types {
namespace {

constexpr auto kCode = ErrorCode::kInvalidTable;
constexpr int kDepthMax = 64;  // Types come from outside; the recursion below must end.

struct KindName {
  TypeKind kind;
  const char* name;
};
constexpr KindName kKindNames[] = {
    {TypeKind::kChar, "CHAR"},
    {TypeKind::kString, "STRING"},
    {TypeKind::kBoolean, "BOOLEAN"},
    {TypeKind::kBinary, "BINARY"},
    {TypeKind::kBytes, "BYTES"},
    {TypeKind::kDecimal, "DECIMAL"},
    {TypeKind::kTinyInt, "TINYINT"},
    {TypeKind::kSmallInt, "SMALLINT"},
    {TypeKind::kInteger, "INTEGER"},
    {TypeKind::kBigInt, "BIGINT"},
    {TypeKind::kFloat, "FLOAT"},
    {TypeKind::kDouble, "DOUBLE"},
    {TypeKind::kDate, "DATE"},
    {TypeKind::kTime, "TIME_WITHOUT_TIME_ZONE"},
    {TypeKind::kTimestamp, "TIMESTAMP_WITHOUT_TIME_ZONE"},
    {TypeKind::kTimestampLtz, "TIMESTAMP_WITH_LOCAL_TIME_ZONE"},
    {TypeKind::kArray, "ARRAY"},
    {TypeKind::kMap, "MAP"},
    {TypeKind::kRow, "ROW"},
};

const char* JsonNameOf(TypeKind kind) {
  return std::ranges::find(kKindNames, kind, &KindName::kind)->name;
}

Json FieldToJson(const RowField& field) {
  Json json = {{"name", field.name}, {"field_type", TypeToJson(*field.type)}};
  if (!field.description.empty()) json["description"] = field.description;
  if (field.field_id >= 0) json["field_id"] = field.field_id;
  return json;
}

Result<DataTypePtr> ReadType(const Json& json, int depth);

/// The integer member `key`, in [low, high].
Result<int32_t> Number(const Json& json, const char* key, int32_t low, int32_t high) {
  ASSIGN_OR_RAISE(const std::optional<int32_t> value, IntMember(json, key, kCode));
  if (!value) return Error(kCode, "data type lacks a member member=", key);
  if (*value < low || *value > high) {
    return Error(kCode, "data type is out of range member=", key, " value=", *value, " low=", low,
                 " high=", high);
  }
  return *value;
}

Result<DataTypePtr> Child(const Json& json, const char* key, int depth) {
  const auto found = json.find(key);
  if (found == json.end()) return Error(kCode, "data type lacks a member member=", key);
  return ReadType(*found, depth + 1);
}

Result<RowField> ReadField(const Json& json, int depth) {
  if (!json.is_object()) return Error(kCode, "row field is not a json object");
  ASSIGN_OR_RAISE(auto name, TextMember(json, "name", kCode));
  if (!name) return Error(kCode, "row field lacks its name");
  ASSIGN_OR_RAISE(auto type, Child(json, "field_type", depth));
  ASSIGN_OR_RAISE(auto description, TextMember(json, "description", kCode));
  ASSIGN_OR_RAISE(const auto id, IntMember(json, "field_id", kCode));
  return RowField{*std::move(name), std::move(type), std::move(description).value_or(""),
                  id.value_or(-1)};
}

Result<std::vector<RowField>> ReadFields(const Json& json, int depth) {
  const auto found = json.find("fields");
  if (found == json.end() || !found->is_array()) return Error(kCode, "row type lacks its fields");
  std::vector<RowField> fields;
  for (const Json& item : *found) {
    ASSIGN_OR_RAISE(RowField field, ReadField(item, depth));
    const bool repeated = std::ranges::find(fields, field.name, &RowField::name) != fields.end();
    if (repeated) return Error(kCode, "row type repeats a field field=", field.name);
    fields.push_back(std::move(field));
  }
  return fields;
}

Result<DataTypePtr> ReadKind(TypeKind kind, bool nullable, const Json& json, int depth) {
  switch (kind) {
    case TypeKind::kChar:
    case TypeKind::kBinary: {
      ASSIGN_OR_RAISE(const int32_t length, Number(json, "length", 1, INT32_MAX));
      return DataTypeBuilder(kind, nullable).Length(length).Build();
    }
    case TypeKind::kDecimal: {
      ASSIGN_OR_RAISE(const int32_t precision, Number(json, "precision", 1, 38));
      ASSIGN_OR_RAISE(const int32_t scale, Number(json, "scale", 0, precision));
      return DataType::Decimal(precision, scale, nullable);
    }
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz: {
      ASSIGN_OR_RAISE(const int32_t precision, Number(json, "precision", 0, 9));
      return DataTypeBuilder(kind, nullable).Precision(precision).Build();
    }
    case TypeKind::kArray: {
      ASSIGN_OR_RAISE(auto element, Child(json, "element_type", depth));
      return DataType::Array(std::move(element), nullable);
    }
    case TypeKind::kMap: {
      ASSIGN_OR_RAISE(auto key, Child(json, "key_type", depth));
      ASSIGN_OR_RAISE(auto value, Child(json, "value_type", depth));
      return DataType::Map(std::move(key), std::move(value), nullable);
    }
    case TypeKind::kRow: {
      ASSIGN_OR_RAISE(auto fields, ReadFields(json, depth));
      return DataType::Row(std::move(fields), nullable);
    }
    default:
      return DataType::Of(kind, nullable);
  }
}

Result<DataTypePtr> ReadType(const Json& json, int depth) {
  if (depth > kDepthMax) return Error(kCode, "data type is nested too deep depth_max=", kDepthMax);
  if (!json.is_object()) return Error(kCode, "data type is not a json object");
  ASSIGN_OR_RAISE(const auto name, TextMember(json, "type", kCode));
  if (!name) return Error(kCode, "data type lacks its type");
  ASSIGN_OR_RAISE(const auto nullable, BoolMember(json, "nullable", kCode));
  const auto* known =
      std::ranges::find_if(kKindNames, [&](const KindName& kind) { return *name == kind.name; });
  if (known == std::end(kKindNames)) return Error(kCode, "unknown data type type=", *name);
  return ReadKind(known->kind, nullable.value_or(true), json, depth);
}

}  // namespace

Json TypeToJson(const DataType& type) {
  Json json;
  json["type"] = JsonNameOf(type.kind());
  if (!type.nullable()) json["nullable"] = false;
  switch (type.kind()) {
    case TypeKind::kChar:
    case TypeKind::kBinary:
      json["length"] = type.length();
      break;
    case TypeKind::kDecimal:
      json["precision"] = type.precision();
      json["scale"] = type.scale();
      break;
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      json["precision"] = type.precision();
      break;
    case TypeKind::kArray:
      json["element_type"] = TypeToJson(*type.element());
      break;
    case TypeKind::kMap:
      json["key_type"] = TypeToJson(*type.key());
      json["value_type"] = TypeToJson(*type.value());
      break;
    case TypeKind::kRow:
      json["fields"] = Json::array();
      for (const RowField& field : type.fields()) json["fields"].push_back(FieldToJson(field));
      break;
    default:
      break;
  }
  return json;
}

Result<DataTypePtr> TypeFromJson(const Json& json) { return ReadType(json, 0); }

}  // namespace sluice::types
