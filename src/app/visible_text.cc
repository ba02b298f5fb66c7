#include "app/visible_text.h"

#include <cstdint>

namespace sluice::app {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

std::string Hex(uint32_t value, int digits) {
  std::string text;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    text += kHexDigits[value >> shift & 15];
  return text;
}

/// A character of UTF-8; `size` 0 when the bytes are none.
struct Character {
  uint32_t code = 0;
  size_t size = 0;
};

Character FirstOf(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  if (lead < 0x80) return {lead, 1};
  const size_t size = lead >= 0xf0 && lead < 0xf5   ? 4
                      : lead >= 0xe0 && lead < 0xf0 ? 3
                      : lead >= 0xc2 && lead < 0xe0 ? 2
                                                    : 0;
  if (size == 0 || text.size() < size) return {};
  uint32_t code = lead & (0xffU >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    const auto next = static_cast<uint8_t>(text[i]);
    if ((next & 0xc0) != 0x80) return {};
    code = code << 6 | (next & 0x3fU);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // Longer forms are not allowed.
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kLeast[size] || code > 0x10ffff || surrogate) return {};
  return {code, size};
}

// Overrides and isolates of the bidirectional algorithm, and the two ends of lines beyond ASCII.
bool TurnsWriting(uint32_t code) {
  return (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
         code == 0x200e || code == 0x200f || code == 0x061c || code == 0x2028 || code == 0x2029;
}

void AppendControl(uint32_t code, std::string* out) {
  if (code == '\n') {
    *out += "\\n";
  } else if (code == '\t') {
    *out += "\\t";
  } else if (code == '\r') {
    *out += "\\r";
  } else if (code < 0x80) {
    *out += "\\x" + Hex(code, 2);
  } else {
    *out += "\\u" + Hex(code, 4);
  }
}

std::string Visible(std::string_view text, size_t bytes_max, bool keep_lines) {
  std::string out;
  while (!text.empty()) {
    if (out.size() >= bytes_max) return out + "…";
    const Character character = FirstOf(text);
    if (character.size == 0) {
      out += "\\x" + Hex(static_cast<uint8_t>(text[0]), 2);
      text.remove_prefix(1);
      continue;
    }
    const uint32_t code = character.code;
    const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0) || TurnsWriting(code);
    if (control && !(keep_lines && code == '\n')) {
      AppendControl(code, &out);
    } else {
      out += text.substr(0, character.size);
    }
    text.remove_prefix(character.size);
  }
  return out;
}

}  // namespace

std::string VisibleText(std::string_view text, size_t bytes_max) {
  return Visible(text, bytes_max, /*keep_lines=*/false);
}

std::string VisibleLines(std::string_view text) {
  return Visible(text, std::numeric_limits<size_t>::max(), /*keep_lines=*/true);
}

}  // namespace sluice::app
