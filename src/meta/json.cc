#include "base/json_text.h"
#include "meta/json_internal.h"

namespace sluice::meta {

Result<JsonDocument> JsonDocument::Parse(std::string_view text, std::string name) {
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) return Corrupt("not a JSON object document=", name);
  return JsonDocument(std::move(value), std::move(name));
}

Status JsonDocument::Broken(const char* key) const {
  return Corrupt("missing or wrong value document=", name_, " key=", key);
}

Result<int64_t> JsonDocument::Int(const char* key) const {
  if (!Has(key) || !value_[key].is_number_integer()) return Broken(key);
  return value_[key].get<int64_t>();
}

Result<std::string> JsonDocument::String(const char* key) const {
  if (!Has(key) || !value_[key].is_string()) return Broken(key);
  return value_[key].get<std::string>();
}

Result<std::vector<int32_t>> JsonDocument::Ints(const char* key) const {
  if (!Has(key) || !value_[key].is_array()) return Broken(key);
  std::vector<int32_t> numbers;
  for (const Json& number : value_[key]) {
    if (!number.is_number_integer()) return Broken(key);
    numbers.push_back(number.get<int32_t>());
  }
  return numbers;
}

Result<std::string> JsonDocument::StringOr(const char* key, std::string fallback) const {
  return Has(key) ? String(key) : Result<std::string>(std::move(fallback));
}

Result<std::vector<std::string>> JsonDocument::Strings(const char* key) const {
  std::vector<std::string> texts;
  if (!Has(key)) return texts;
  if (!value_[key].is_array()) return Broken(key);
  for (const Json& text : value_[key]) {
    if (!text.is_string()) return Broken(key);
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

Result<std::map<std::string, std::string>> JsonDocument::StringMap(const char* key) const {
  std::map<std::string, std::string> pairs;
  if (!Has(key)) return pairs;
  if (!value_[key].is_object()) return Broken(key);
  for (const auto& [name, text] : value_[key].items()) {
    if (!text.is_string()) return Broken(key);
    pairs[name] = text.get<std::string>();
  }
  return pairs;
}

Result<std::vector<JsonDocument>> JsonDocument::Objects(const char* key) const {
  std::vector<JsonDocument> documents;
  if (!Has(key)) return documents;
  if (!value_[key].is_array()) return Broken(key);
  for (const Json& object : value_[key]) {
    if (!object.is_object()) return Broken(key);
    documents.emplace_back(object, name_ + "." + key);
  }
  return documents;
}

std::string Dump(const Json& value) { return JsonText(value); }

}  // namespace sluice::meta
