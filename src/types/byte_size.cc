#include "types/byte_size.h"

#include <charconv>
#include <limits>
#include <string>

namespace sluice::types {
namespace {

struct SizeUnit {
  std::string_view names;  // Separated and surrounded by blanks.
  int64_t bytes;
};
constexpr SizeUnit kSizeUnits[] = {
    {"  b byte bytes ", 1},
    {" k kb kibibytes ", int64_t{1} << 10},
    {" m mb mebibytes ", int64_t{1} << 20},
    {" g gb gibibytes ", int64_t{1} << 30},
    {" t tb tebibytes ", int64_t{1} << 40},
};

// The words of a text without its blanks, in lower case.
std::string Squeezed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (!std::isspace(static_cast<unsigned char>(c)))
      out.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  }
  return out;
}

}  // namespace

Result<int64_t> ParseByteSize(std::string_view text) {
  const std::string squeezed = Squeezed(text);
  const char* const end = squeezed.data() + squeezed.size();
  int64_t number = 0;
  const auto parsed = std::from_chars(squeezed.data(), end, number);
  if (parsed.ec != std::errc() || number < 0) {
    return Error(ErrorCode::kInvalidConfig, "not a number with a unit value=", text);
  }
  const std::string word = " " + std::string(parsed.ptr, end) + " ";
  for (const SizeUnit& unit : kSizeUnits) {
    if (unit.names.find(word) == std::string_view::npos) continue;
    if (number > std::numeric_limits<int64_t>::max() / unit.bytes) break;
    return number * unit.bytes;
  }
  return Error(ErrorCode::kInvalidConfig, "unknown unit or too large value=", text);
}

}  // namespace sluice::types
