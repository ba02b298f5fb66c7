#pragma once
#include <cstdint>

namespace sluice {

/// Quotient of a positive divisor, rounded down: times before 1970 belong to the unit they lie in.
constexpr int64_t FloorDiv(int64_t value, int64_t divisor) {
  return value / divisor - (value % divisor < 0 ? 1 : 0);
}

/// What FloorDiv leaves: 0 or above.
constexpr int64_t FloorMod(int64_t value, int64_t divisor) {
  return value % divisor + (value % divisor < 0 ? divisor : 0);
}

}  // namespace sluice
