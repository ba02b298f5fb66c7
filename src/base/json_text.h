#pragma once
#include <string>

namespace sluice {

/// JSON as text, for any of nlohmann's types: what is not UTF-8 in it is replaced, where `dump`
/// alone would throw. `indent` -1 = on one line.
template <typename Json>
std::string JsonText(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sluice
