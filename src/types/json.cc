#include <limits>
#include <map>

#include "base/json_text.h"
#include "types/data_type_internal.h"

namespace sluice::types {
namespace {

const Json* Member(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

Status WrongMember(ErrorCode code, const char* key, const char* expected) {
  return Error(code, "json member has another type member=", key, " expected=", expected);
}

}  // namespace

Result<Json> ParseObject(std::string_view text, ErrorCode code, std::string_view what) {
  Json json = Json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Error(code, "document is not json document=", what);
  if (!json.is_object()) return Error(code, "document is not a json object document=", what);
  return json;
}

Result<std::optional<std::string>> TextMember(const Json& object, const char* key, ErrorCode code) {
  const Json* member = Member(object, key);
  if (member == nullptr) return std::optional<std::string>();
  if (!member->is_string()) return WrongMember(code, key, "text");
  return std::optional<std::string>(*member->get_ptr<const std::string*>());
}

Result<std::optional<int32_t>> IntMember(const Json& object, const char* key, ErrorCode code) {
  const Json* member = Member(object, key);
  if (member == nullptr) return std::optional<int32_t>();
  // Json keeps a number beyond int64 as unsigned or floating, so the check of the range below sees
  // it.
  if (!member->is_number_integer()) return WrongMember(code, key, "integer");
  const auto value = member->get<double>();
  if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max()) {
    return WrongMember(code, key, "32-bit integer");
  }
  return std::optional<int32_t>(static_cast<int32_t>(value));
}

Result<std::optional<bool>> BoolMember(const Json& object, const char* key, ErrorCode code) {
  const Json* member = Member(object, key);
  if (member == nullptr) return std::optional<bool>();
  if (!member->is_boolean()) return WrongMember(code, key, "boolean");
  return std::optional<bool>(member->get<bool>());
}

Result<std::optional<std::vector<std::string>>> TextsMember(const Json& object, const char* key,
                                                            ErrorCode code) {
  const Json* member = Member(object, key);
  if (member == nullptr) return std::optional<std::vector<std::string>>();
  if (!member->is_array()) return WrongMember(code, key, "array of text");
  std::vector<std::string> texts;
  for (const Json& item : *member) {
    if (!item.is_string()) return WrongMember(code, key, "array of text");
    texts.push_back(*item.get_ptr<const std::string*>());
  }
  return std::optional(std::move(texts));
}

Result<std::map<std::string, std::string>> PropertiesMember(const Json& object, const char* key,
                                                            ErrorCode code) {
  const Json* member = Member(object, key);
  std::map<std::string, std::string> properties;
  if (member == nullptr) return properties;
  if (!member->is_object()) return WrongMember(code, key, "object of text");
  for (const auto& [name, value] : member->items()) {
    if (!value.is_string()) return WrongMember(code, key, "object of text");
    properties[name] = *value.get_ptr<const std::string*>();
  }
  return properties;
}

std::string Dump(const Json& json) { return JsonText(json); }

}  // namespace sluice::types
