#pragma once
#include <string_view>

namespace sluice {

/// `text` without the spaces at its ends; other blanks stay.
constexpr std::string_view TrimSpaces(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace sluice
