#include "types/finite_text.h"

#include <charconv>
#include <cmath>
#include <string_view>

namespace sluice::types {
namespace {

template <typename T>
std::string TextOf(T value) {
  char raw[64];
  auto end = std::to_chars(raw, raw + sizeof(raw), value, std::chars_format::scientific).ptr;
  // Java shows two digits at least, and of two digits the nearest: 4.9E-324, not 5.0E-324.
  if (std::string_view(raw, static_cast<size_t>(end - raw)).find('.') == std::string_view::npos)
    end = std::to_chars(raw, raw + sizeof(raw), value, std::chars_format::scientific, 1).ptr;
  const std::string_view text(raw, static_cast<size_t>(end - raw));
  const size_t exponent_at = text.find('e');
  int exponent = 0;
  const char* digits_of_exponent =
      text.data() + exponent_at + (text[exponent_at + 1] == '+' ? 2 : 1);
  std::from_chars(digits_of_exponent, end, exponent);
  std::string digits;
  for (const char c : text.substr(0, exponent_at)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  if (digits.size() == 2 && digits.back() == '0') digits.pop_back();
  const std::string sign = std::signbit(value) ? "-" : "";
  if (value == 0) return sign + "0.0";
  if (exponent >= 7 || exponent < -3) {
    return sign + digits.substr(0, 1) + "." + (digits.size() > 1 ? digits.substr(1) : "0") + "E" +
           std::to_string(exponent);
  }
  if (exponent < 0)
    return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) digits.append(whole + 1 - digits.size(), '0');
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

}  // namespace

std::string FiniteText(double value) { return TextOf(value); }
std::string FiniteText(float value) { return TextOf(value); }

}  // namespace sluice::types
