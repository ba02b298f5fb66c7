#pragma once
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace sluice::app {

/// Text from outside as a terminal may show it: what would steer the terminal, or turn the writing
/// around, is written out. Control characters become \n, \t, \r, \x1b or \u009b, bytes that are no
/// UTF-8 \xff, marks of writing direction \u202e; all else stays as it is. Text longer than
/// `bytes_max` is cut, with "…" behind it.
std::string VisibleText(std::string_view text,
                        size_t bytes_max = std::numeric_limits<size_t>::max());

/// The same, with ends of lines kept.
std::string VisibleLines(std::string_view text);

}  // namespace sluice::app
