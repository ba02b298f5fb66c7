#include "types/duration.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>

#include "base/text.h"

namespace sluice::types {
namespace {

struct DurationUnit {
  std::string_view name;
  double ms;
};
constexpr DurationUnit kUnits[] = {
    {"", 1},
    {"ms", 1},
    {"milli", 1},
    {"millis", 1},
    {"millisecond", 1},
    {"milliseconds", 1},
    {"s", 1e3},
    {"sec", 1e3},
    {"secs", 1e3},
    {"second", 1e3},
    {"seconds", 1e3},
    {"min", 6e4},
    {"m", 6e4},
    {"minute", 6e4},
    {"minutes", 6e4},
    {"h", 3.6e6},
    {"hour", 3.6e6},
    {"hours", 3.6e6},
    {"d", 8.64e7},
    {"day", 8.64e7},
    {"days", 8.64e7},
    {"ns", 1e-6},
    {"nano", 1e-6},
    {"nanos", 1e-6},
    {"nanosecond", 1e-6},
    {"nanoseconds", 1e-6},
    {"us", 1e-3},
    {"µs", 1e-3},
    {"micro", 1e-3},
    {"micros", 1e-3},
    {"microsecond", 1e-3},
    {"microseconds", 1e-3},
};

}  // namespace

Result<int64_t> ParseDurationMs(std::string_view text) {
  const std::string_view trimmed = TrimBlanks(text);
  int64_t number = 0;
  const auto [end, error] =
      std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), number);
  if (error != std::errc()) return Error(ErrorCode::kInvalidConfig, "not a duration value=", text);
  const std::string unit = LowerCase(TrimBlanks(trimmed.substr(end - trimmed.data())));
  const auto found = std::ranges::find(kUnits, std::string_view(unit), &DurationUnit::name);
  if (found == std::end(kUnits))
    return Error(ErrorCode::kInvalidConfig, "unknown time unit value=", text);
  const double ms = static_cast<double>(number) * found->ms;
  if (ms > 9e18 || ms < -9e18)
    return Error(ErrorCode::kInvalidConfig, "duration is out of range value=", text);
  return found->ms >= 1 ? number * static_cast<int64_t>(found->ms) : static_cast<int64_t>(ms);
}

}  // namespace sluice::types
