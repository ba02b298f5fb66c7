#pragma once
#include <nlohmann/json.hpp>

#include "types/data_type.h"

// Private to the module: how types read and write JSON, shared with the schema documents.
namespace sluice::types {

/// Keys stay in the order in which they were written, as the Java side writes them.
using Json = nlohmann::ordered_json;

/// Makes types field by field.
struct DataTypeBuilder {
  DataType type;

  explicit DataTypeBuilder(TypeKind kind, bool nullable) {
    type.kind_ = kind;
    type.nullable_ = nullable;
  }
  explicit DataTypeBuilder(const DataType& copied) : type(copied) {}
  DataTypeBuilder& Length(int32_t length) { return type.length_ = length, *this; }
  DataTypeBuilder& Precision(int32_t precision) { return type.precision_ = precision, *this; }
  DataTypeBuilder& Scale(int32_t scale) { return type.scale_ = scale, *this; }
  DataTypeBuilder& Nullable(bool nullable) { return type.nullable_ = nullable, *this; }
  DataTypeBuilder& Child(DataTypePtr child) {
    return type.children_.push_back(std::move(child)), *this;
  }
  DataTypeBuilder& Children(std::vector<DataTypePtr> children) {
    return type.children_ = std::move(children), *this;
  }
  DataTypeBuilder& Fields(std::vector<RowField> fields) {
    return type.fields_ = std::move(fields), *this;
  }
  DataTypePtr Build() { return std::make_shared<const DataType>(std::move(type)); }

  static const std::vector<DataTypePtr>& ChildrenOf(const DataType& type) { return type.children_; }
};

Json TypeToJson(const DataType& type);
/// Errors: kInvalidTable, naming what is wrong.
Result<DataTypePtr> TypeFromJson(const Json& json);

/// Parse a document. Errors: `code`, when `text` is not a JSON object.
Result<Json> ParseObject(std::string_view text, ErrorCode code, std::string_view what);

// Members of an object; a missing or null member gives nullopt, one of another JSON type an error
// of `code`.
Result<std::optional<std::string>> TextMember(const Json& object, const char* key, ErrorCode code);
Result<std::optional<int32_t>> IntMember(const Json& object, const char* key, ErrorCode code);
Result<std::optional<bool>> BoolMember(const Json& object, const char* key, ErrorCode code);
Result<std::optional<std::vector<std::string>>> TextsMember(const Json& object, const char* key,
                                                            ErrorCode code);
Result<std::map<std::string, std::string>> PropertiesMember(const Json& object, const char* key,
                                                            ErrorCode code);

/// The JSON text; bytes that are not UTF-8 are replaced.
std::string Dump(const Json& json);

}  // namespace sluice::types
