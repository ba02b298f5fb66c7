#include "types/byte_size.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <string>

#include "base/text.h"

namespace sluice::types {
namespace {

struct SizeUnit {
  std::string_view name;
  int shift;
};
constexpr SizeUnit kSizeUnits[] = {
    {"", 0},           {"b", 0},  {"byte", 0}, {"bytes", 0},      {"k", 10}, {"kb", 10},
    {"kibibytes", 10}, {"m", 20}, {"mb", 20},  {"mebibytes", 20}, {"g", 30}, {"gb", 30},
    {"gibibytes", 30}, {"t", 40}, {"tb", 40},  {"tebibytes", 40},
};

bool IsBlank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

Result<int64_t> ParseByteSize(std::string_view text) {
  const std::string_view trimmed = Trimmed(text);
  const char* const end = trimmed.data() + trimmed.size();
  int64_t number = 0;
  const auto parsed = std::from_chars(trimmed.data(), end, number);
  if (parsed.ec != std::errc() || number < 0) {
    return Error(ErrorCode::kInvalidConfig, "not a number with a unit value=", text);
  }
  const std::string name =
      LowerCase(Trimmed(std::string_view(parsed.ptr, static_cast<size_t>(end - parsed.ptr))));
  const auto unit = std::ranges::find(kSizeUnits, std::string_view(name), &SizeUnit::name);
  if (unit == std::end(kSizeUnits) || number > std::numeric_limits<int64_t>::max() >> unit->shift) {
    return Error(ErrorCode::kInvalidConfig, "unknown unit or too large value=", text);
  }
  return number << unit->shift;
}

}  // namespace sluice::types
