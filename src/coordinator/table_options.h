#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "types/schema.h"

namespace sluice::coordinator {

/// One `table.*` option that the server knows. Source: ConfigOptions of the Java side.
struct TableOption {
  enum class Kind { kBoolean, kInteger, kDuration, kChoice, kText };
  std::string_view key;
  Kind kind;
  bool alterable;
  std::vector<std::string_view>
      choices;  ///< kChoice: upper case; values are read case-insensitively.
};

/// The option with this key, null when the server does not know it.
const TableOption* FindTableOption(std::string_view key);

/// Whether `value` can be read as the option's kind. Errors: kInvalidConfig.
Status CheckTableOption(const TableOption& option, const std::string& value);

}  // namespace sluice::coordinator
