#pragma once
#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace sluice::types {

/// Milliseconds of a table option like "5s", "30 min", "7 d" or "250" (milliseconds). May be
/// negative. Parts of a millisecond are cut off. Errors: kInvalidConfig.
Result<int64_t> ParseDurationMs(std::string_view text);

}  // namespace sluice::types
