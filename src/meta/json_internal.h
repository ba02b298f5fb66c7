#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace sluice::meta {

using Json = nlohmann::json;

/// A parsed object that names its document when something is missing. Nothing here throws.
class JsonDocument {
 public:
  /// Errors: kCorruptRecord when `text` is not a JSON object.
  static Result<JsonDocument> Parse(std::string_view text, std::string name);
  JsonDocument(Json value, std::string name) : value_(std::move(value)), name_(std::move(name)) {}

  Result<int64_t> Int(const char* key) const;
  Result<std::string> String(const char* key) const;
  Result<std::vector<int32_t>> Ints(const char* key) const;
  // Missing gives the fallback or an empty value; another type is an error.
  Result<std::string> StringOr(const char* key, std::string fallback) const;
  Result<std::vector<std::string>> Strings(const char* key) const;
  Result<std::map<std::string, std::string>> StringMap(const char* key) const;
  Result<std::vector<JsonDocument>> Objects(const char* key) const;

  bool Has(const char* key) const { return value_.contains(key); }
  const Json& value() const { return value_; }
  Status Broken(const char* key) const;

 private:
  Json value_;
  std::string name_;
};

/// Compact text; bytes that are not UTF-8 are replaced.
std::string Dump(const Json& value);

}  // namespace sluice::meta
