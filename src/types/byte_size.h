#pragma once
#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace sluice::types {

/// Bytes of a setting like "128 mb", "1g" or "4096" (bytes), in any case; units are powers of 1024.
/// Errors: kInvalidConfig, also for what 63 bits do not hold.
Result<int64_t> ParseByteSize(std::string_view text);

}  // namespace sluice::types
