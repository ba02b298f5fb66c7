#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "types/civil_date.h"

// Values as text and back, in the forms that Flink inherits from Java.
namespace sluice::sql {

/// Double.toString: shortest digits that read back; "1.0E10", "1.0E-7", "0.1", "NaN", "Infinity".
std::string JavaText(double value);
std::string JavaText(float value);

/// "2025-03-31 13:41:00.120": `digits` of the fraction (0–9) of a time in nanoseconds split as
/// seconds and the rest.
std::string TimestampText(int64_t seconds, int32_t nanos, int32_t digits);
/// "2025-03-31"; `days` since 1970-01-01.
std::string DateText(int64_t days);
using types::TimeText;

struct Instant {
  int64_t seconds = 0;
  int32_t nanos = 0;
  int fraction_digits = 0;  ///< Digits that the text had.
};
/// Flink's text of a TIMESTAMP: "yyyy-M-d" alone or with " HH:mm:ss[.f…]" of up to nine digits;
/// nothing else.
std::optional<Instant> ParseTimestamp(std::string_view text);
/// "yyyy-M-d"; days since 1970-01-01.
std::optional<int64_t> ParseDate(std::string_view text);
/// "HH:mm:ss[.f…]", "HH:mm"; nanoseconds of the day.
std::optional<int64_t> ParseTime(std::string_view text);

/// A whole number as Flink casts text: blanks around, a sign, digits, and a fraction that is cut
/// off.
std::optional<int64_t> ParseInteger(std::string_view text);

/// Write or read a time with a Java pattern: y M d H h m s S a E, quoted text, anything else as it
/// stands.
std::optional<std::string> FormatPattern(std::string_view pattern, Instant at);
std::optional<Instant> ParsePattern(std::string_view pattern, std::string_view text);

}  // namespace sluice::sql
