#include "lake/paimon/schema_json.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace sluice::lake::paimon {
namespace {

using Json = nlohmann::ordered_json;
using types::DataType;
using types::DataTypePtr;
using types::TypeKind;

constexpr int kSchemaVersion = 3;
constexpr int kTypeDepthMax = 64;

Json TypeToJson(const DataType& type);

Json FieldToJson(int32_t id, const std::string& name, const DataType& type,
                 const std::string& description) {
  Json json{{"id", id}, {"name", name}, {"type", TypeToJson(type)}};
  if (!description.empty()) json["description"] = description;
  return json;
}

Json TypeToJson(const DataType& type) {
  const std::string suffix = type.nullable() ? "" : " NOT NULL";
  switch (type.kind()) {
    case TypeKind::kArray:
      return Json{{"type", "ARRAY" + suffix}, {"element", TypeToJson(*type.element())}};
    case TypeKind::kMap:
      return Json{{"type", "MAP" + suffix},
                  {"key", TypeToJson(*type.key())},
                  {"value", TypeToJson(*type.value())}};
    case TypeKind::kRow: {
      Json fields = Json::array();
      for (const types::RowField& field : type.fields()) {
        fields.push_back(FieldToJson(field.field_id, field.name, *field.type, field.description));
      }
      return Json{{"type", "ROW" + suffix}, {"fields", std::move(fields)}};
    }
    default:
      return TypeText(type) + suffix;
  }
}

Result<DataTypePtr> TypeFromJson(const Json& json, int depth);

Result<std::vector<types::RowField>> FieldsFromJson(const Json& json, int depth) {
  if (!json.is_array()) return Corrupt("schema fields are not a list");
  std::vector<types::RowField> fields;
  for (const Json& item : json) {
    if (!item.is_object() || !item.contains("id") || !item["id"].is_number_integer() ||
        !item.contains("name") || !item["name"].is_string() || !item.contains("type")) {
      return Corrupt("schema field without id, name or type");
    }
    types::RowField field;
    field.name = item["name"].get<std::string>();
    field.field_id = item["id"].get<int32_t>();
    if (item.contains("description") && item["description"].is_string())
      field.description = item["description"];
    ASSIGN_OR_RAISE(field.type, TypeFromJson(item["type"], depth));
    fields.push_back(std::move(field));
  }
  return fields;
}

Result<DataTypePtr> ConstructedFromJson(const Json& json, int depth) {
  const std::string text = json["type"].get<std::string>();
  const bool nullable = text.find("NOT NULL") == std::string::npos;
  const auto child = [&](const char* key) -> Result<DataTypePtr> {
    if (!json.contains(key)) return Corrupt("schema type without ", key, " type=", text);
    return TypeFromJson(json[key], depth + 1);
  };
  if (text.starts_with("ARRAY")) {
    ASSIGN_OR_RAISE(auto element, child("element"));
    return DataType::Array(std::move(element), nullable);
  }
  if (text.starts_with("MAP")) {
    ASSIGN_OR_RAISE(auto key, child("key"));
    ASSIGN_OR_RAISE(auto value, child("value"));
    return DataType::Map(std::move(key), std::move(value), nullable);
  }
  if (text.starts_with("MULTISET")) {
    ASSIGN_OR_RAISE(auto element, child("element"));
    return DataType::Map(std::move(element), DataType::Of(TypeKind::kInteger, false), nullable);
  }
  if (text.starts_with("ROW")) {
    if (!json.contains("fields")) return Corrupt("schema row type without fields");
    ASSIGN_OR_RAISE(auto fields, FieldsFromJson(json["fields"], depth + 1));
    return DataType::Row(std::move(fields), nullable);
  }
  return Error(ErrorCode::kInvalidTable, "lake column type is not supported, type=", text);
}

Result<DataTypePtr> TypeFromJson(const Json& json, int depth) {
  if (depth > kTypeDepthMax) return Corrupt("schema type is nested too deeply");
  if (json.is_string()) return ParseTypeText(json.get<std::string>());
  if (!json.is_object() || !json.contains("type") || !json["type"].is_string())
    return Corrupt("schema type has no text");
  return ConstructedFromJson(json, depth);
}

Result<std::vector<std::string>> StringsOf(const Json& document, const char* key) {
  if (!document.contains(key) || !document[key].is_array()) return Corrupt("schema without ", key);
  std::vector<std::string> strings;
  for (const Json& item : document[key]) {
    if (!item.is_string()) return Corrupt("schema list holds something else than names, key=", key);
    strings.push_back(item.get<std::string>());
  }
  return strings;
}

Result<Json> ParseDocument(std::string_view json) {
  Json document = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return Corrupt("schema file is not a json object");
  for (const char* key : {"id", "highestFieldId"}) {
    if (!document.contains(key) || !document[key].is_number_integer())
      return Corrupt("schema without ", key);
  }
  for (const char* key : {"fields", "options"}) {
    if (!document.contains(key)) return Corrupt("schema without ", key);
  }
  if (!document["options"].is_object() || !document["fields"].is_array())
    return Corrupt("schema with odd fields or options");
  return document;
}

// "TIMESTAMP(3) WITH LOCAL TIME ZONE" taken apart.
struct TypeWords {
  std::string base;              // "TIMESTAMP"
  std::vector<int32_t> numbers;  // {3}
  std::string rest;              // "WITH LOCAL TIME ZONE"
  bool nullable = true;
  bool ok = true;
  int32_t Number(size_t i, int32_t fallback) const {
    return i < numbers.size() ? numbers[i] : fallback;
  }
};

std::string Trim(std::string_view text) {
  const size_t from = text.find_first_not_of(' ');
  if (from == std::string_view::npos) return "";
  return std::string(text.substr(from, text.find_last_not_of(' ') - from + 1));
}

bool StripSuffix(std::string* text, std::string_view suffix) {
  if (!text->ends_with(suffix)) return false;
  *text = Trim(std::string_view(*text).substr(0, text->size() - suffix.size()));
  return true;
}

std::vector<int32_t> NumbersIn(std::string_view list, bool* ok) {
  std::vector<int32_t> numbers;
  while (!list.empty()) {
    const size_t comma = list.find(',');
    const std::string item = Trim(list.substr(0, comma));
    int32_t number = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), number);
    *ok = *ok && error == std::errc() && end == item.data() + item.size();
    numbers.push_back(number);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  return numbers;
}

TypeWords SplitType(std::string_view text) {
  std::string upper = Trim(text);
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  TypeWords words;
  words.nullable = !StripSuffix(&upper, " NOT NULL");
  StripSuffix(&upper, " NULL");
  const size_t open = upper.find('(');
  if (open == std::string::npos) {
    const size_t with = upper.find(" WITH");
    words.base = Trim(std::string_view(upper).substr(0, with));
    if (with != std::string::npos) words.rest = Trim(std::string_view(upper).substr(with));
    return words;
  }
  const size_t close = upper.find(')', open);
  words.ok = close != std::string::npos;
  if (!words.ok) return words;
  words.base = Trim(std::string_view(upper).substr(0, open));
  words.numbers = NumbersIn(std::string_view(upper).substr(open + 1, close - open - 1), &words.ok);
  words.rest = Trim(std::string_view(upper).substr(close + 1));
  return words;
}

DataTypePtr ScalarOf(const TypeWords& words) {
  static const std::map<std::string, TypeKind, std::less<>> kPlain = {
      {"BOOLEAN", TypeKind::kBoolean},
      {"TINYINT", TypeKind::kTinyInt},
      {"SMALLINT", TypeKind::kSmallInt},
      {"INT", TypeKind::kInteger},
      {"INTEGER", TypeKind::kInteger},
      {"BIGINT", TypeKind::kBigInt},
      {"FLOAT", TypeKind::kFloat},
      {"DOUBLE", TypeKind::kDouble},
      {"DOUBLE PRECISION", TypeKind::kDouble},
      {"DATE", TypeKind::kDate},
      {"STRING", TypeKind::kString},
      {"VARCHAR", TypeKind::kString},
      {"BYTES", TypeKind::kBytes},
      {"VARBINARY", TypeKind::kBytes}};
  const bool nullable = words.nullable;
  if (const auto plain = kPlain.find(words.base); plain != kPlain.end())
    return DataType::Of(plain->second, nullable);
  if (words.base == "CHAR") return DataType::Char(words.Number(0, 1), nullable);
  if (words.base == "BINARY") return DataType::Binary(words.Number(0, 1), nullable);
  if (words.base == "DECIMAL" || words.base == "NUMERIC" || words.base == "DEC") {
    return DataType::Decimal(words.Number(0, 10), words.Number(1, 0), nullable);
  }
  if (words.base == "TIME") return DataType::Time(words.Number(0, 0), nullable);
  if (words.base == "TIMESTAMP_LTZ") return DataType::TimestampLtz(words.Number(0, 6), nullable);
  if (words.base == "TIMESTAMP" && words.rest == "WITH LOCAL TIME ZONE") {
    return DataType::TimestampLtz(words.Number(0, 6), nullable);
  }
  if (words.base == "TIMESTAMP" && (words.rest.empty() || words.rest == "WITHOUT TIME ZONE")) {
    return DataType::Timestamp(words.Number(0, 6), nullable);
  }
  return nullptr;
}

}  // namespace

std::string TypeText(const DataType& type) {
  const auto with = [](const char* name, int32_t number) {
    return std::string(name) + "(" + std::to_string(number) + ")";
  };
  switch (type.kind()) {
    case TypeKind::kChar:
      return with("CHAR", type.length());
    case TypeKind::kBinary:
      return with("BINARY", type.length());
    case TypeKind::kDecimal:
      return "DECIMAL(" + std::to_string(type.precision()) + ", " + std::to_string(type.scale()) +
             ")";
    case TypeKind::kTime:
      return with("TIME", type.precision());
    case TypeKind::kTimestamp:
      return with("TIMESTAMP", type.precision());
    case TypeKind::kTimestampLtz:
      return with("TIMESTAMP", type.precision()) + " WITH LOCAL TIME ZONE";
    case TypeKind::kInteger:
      return "INT";
    default:
      return type.WithNullable(true)->ToString();
  }
}

Result<DataTypePtr> ParseTypeText(std::string_view text) {
  const TypeWords words = SplitType(text);
  DataTypePtr type = words.ok ? ScalarOf(words) : nullptr;
  if (type == nullptr)
    return Error(ErrorCode::kInvalidTable, "lake column type is not supported, type=", text);
  return type;
}

DataTypePtr AssignNestedIds(const DataTypePtr& type, int32_t* highest) {
  switch (type->kind()) {
    case TypeKind::kArray:
      return DataType::Array(AssignNestedIds(type->element(), highest), type->nullable());
    case TypeKind::kMap: {
      DataTypePtr key = AssignNestedIds(type->key(), highest);
      DataTypePtr value = AssignNestedIds(type->value(), highest);
      return DataType::Map(std::move(key), std::move(value), type->nullable());
    }
    case TypeKind::kRow: {
      std::vector<types::RowField> fields = type->fields();
      for (types::RowField& field : fields) {
        field.type = AssignNestedIds(field.type, highest);
        field.field_id = ++*highest;
      }
      return DataType::Row(std::move(fields), type->nullable());
    }
    default:
      return type;
  }
}

void AssignIds(std::vector<types::Column>* columns, int32_t* highest) {
  for (types::Column& column : *columns) {
    column.id = ++*highest;
    column.type = AssignNestedIds(column.type, highest);
  }
}

Result<LakeSchema> ParseSchema(std::string_view json) {
  ASSIGN_OR_RAISE(const Json document, ParseDocument(json));
  LakeSchema schema;
  schema.id = document["id"].get<int64_t>();
  schema.highest_field_id = document["highestFieldId"].get<int32_t>();
  ASSIGN_OR_RAISE(auto fields, FieldsFromJson(document["fields"], 0));
  for (types::RowField& field : fields) {
    schema.columns.push_back({std::move(field.name), std::move(field.type),
                              std::move(field.description), field.field_id});
  }
  ASSIGN_OR_RAISE(schema.partition_keys, StringsOf(document, "partitionKeys"));
  ASSIGN_OR_RAISE(schema.primary_keys, StringsOf(document, "primaryKeys"));
  for (const std::vector<std::string>* keys : {&schema.partition_keys, &schema.primary_keys}) {
    for (const std::string& key : *keys) {
      if (schema.IndexOf(key) < 0) return Corrupt("schema key is not a column, key=", key);
    }
  }
  for (const auto& [key, value] : document["options"].items()) {
    if (!value.is_string()) return Corrupt("schema option is not a string, option=", key);
    schema.options[key] = value.get<std::string>();
  }
  if (document.contains("comment") && document["comment"].is_string())
    schema.comment = document["comment"];
  if (document.contains("timeMillis") && document["timeMillis"].is_number())
    schema.time_ms = document["timeMillis"];
  return schema;
}

std::string SchemaToJson(const LakeSchema& schema) {
  Json fields = Json::array();
  for (const types::Column& column : schema.columns) {
    fields.push_back(FieldToJson(column.id, column.name, *column.type, column.comment));
  }
  Json document{{"version", kSchemaVersion},
                {"id", schema.id},
                {"fields", std::move(fields)},
                {"highestFieldId", schema.highest_field_id},
                {"partitionKeys", schema.partition_keys},
                {"primaryKeys", schema.primary_keys},
                {"options", schema.options},
                {"comment", schema.comment},
                {"timeMillis", schema.time_ms}};
  if (schema.options.empty()) document["options"] = Json::object();
  return JsonText(document, 2);
}

Result<std::string> EditSchemaJson(std::string_view json, const SchemaEdit& edit) {
  ASSIGN_OR_RAISE(Json document, ParseDocument(json));
  auto highest = document["highestFieldId"].get<int32_t>();
  std::vector<types::Column> added = edit.added;
  AssignIds(&added, &highest);
  Json& fields = document["fields"];
  size_t at = 0;
  while (at < fields.size() && fields[at].value("name", "") != kBucketColumn) ++at;
  for (const types::Column& column : added) {
    const auto place = fields.begin() + static_cast<std::ptrdiff_t>(at++);
    fields.insert(place, FieldToJson(column.id, column.name, *column.type, column.comment));
  }
  for (const auto& [key, value] : edit.set_options) document["options"][key] = value;
  for (const std::string& key : edit.reset_options) document["options"].erase(key);
  document["id"] = edit.id;
  document["highestFieldId"] = highest;
  document["timeMillis"] = edit.time_ms;
  return JsonText(document, 2);
}

Result<std::string> RestoreSchemaJson(std::string_view before, std::string_view latest, int64_t id,
                                      int64_t time_ms) {
  ASSIGN_OR_RAISE(Json document, ParseDocument(before));
  ASSIGN_OR_RAISE(const Json newest, ParseDocument(latest));
  document["id"] = id;
  document["highestFieldId"] = newest["highestFieldId"];
  document["timeMillis"] = time_ms;
  return JsonText(document, 2);
}

}  // namespace sluice::lake::paimon
