#include "sql/java_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "types/finite_text.h"

namespace sluice::sql {

namespace {

constexpr int64_t kSecondsPerDay = 86400;
constexpr int64_t kNanosPerSecond = 1000000000;

template <typename Float>
std::string FloatText(Float value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return types::FiniteText(value);
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() <= ' ' && text.front() >= 0) text.remove_prefix(1);
  while (!text.empty() && text.back() <= ' ' && text.back() >= 0) text.remove_suffix(1);
  return text;
}

// Takes 1 to `most` digits off the front.
std::optional<int64_t> TakeNumber(std::string_view* text, size_t most) {
  size_t count = 0;
  int64_t value = 0;
  while (count < most && count < text->size() && IsDigit((*text)[count]))
    value = value * 10 + ((*text)[count++] - '0');
  if (count == 0) return std::nullopt;
  text->remove_prefix(count);
  return value;
}

bool TakeChar(std::string_view* text, char c) {
  if (text->empty() || text->front() != c) return false;
  text->remove_prefix(1);
  return true;
}

std::optional<int64_t> TakeDate(std::string_view* text) {
  const auto year = TakeNumber(text, 4);
  if (!year || !TakeChar(text, '-')) return std::nullopt;
  const auto month = TakeNumber(text, 2);
  if (!month || *month < 1 || *month > 12 || !TakeChar(text, '-')) return std::nullopt;
  const auto day = TakeNumber(text, 2);
  if (!day || *day < 1 || *day > types::DaysInMonth(*year, static_cast<int>(*month)))
    return std::nullopt;
  return types::DaysOf({*year, static_cast<int>(*month), static_cast<int>(*day)});
}

struct TimeOfDay {
  int64_t seconds = 0;
  int32_t nanos = 0;
  int fraction_digits = 0;
};

std::optional<TimeOfDay> TakeTime(std::string_view* text, bool seconds_needed) {
  TimeOfDay time;
  const auto hour = TakeNumber(text, 2);
  if (!hour || *hour > 23 || !TakeChar(text, ':')) return std::nullopt;
  const auto minute = TakeNumber(text, 2);
  if (!minute || *minute > 59) return std::nullopt;
  time.seconds = *hour * 3600 + *minute * 60;
  if (!TakeChar(text, ':')) return seconds_needed ? std::nullopt : std::optional(time);
  const auto second = TakeNumber(text, 2);
  if (!second || *second > 59) return std::nullopt;
  time.seconds += *second;
  if (!TakeChar(text, '.')) return time;
  int64_t scale = kNanosPerSecond;
  while (time.fraction_digits < 9 && !text->empty() && IsDigit(text->front())) {
    scale /= 10;
    time.nanos += static_cast<int32_t>((text->front() - '0') * scale);
    text->remove_prefix(1);
    ++time.fraction_digits;
  }
  return time.fraction_digits == 0 ? std::nullopt : std::optional(time);
}

}  // namespace

std::string JavaText(double value) { return FloatText(value); }
std::string JavaText(float value) { return FloatText(value); }

// Four digits behind the sign, as Java's LocalDate has them.
std::string DateText(int64_t days) {
  std::string text = types::DateText(days);
  if (text.front() == '-') text.insert(1, text.find('-', 1) < 5 ? 5 - text.find('-', 1) : 0, '0');
  return text;
}

std::string TimestampText(int64_t seconds, int32_t nanos, int32_t digits) {
  const int64_t second_of_day = (seconds % kSecondsPerDay + kSecondsPerDay) % kSecondsPerDay;
  const int64_t days = (seconds - second_of_day) / kSecondsPerDay;
  return DateText(days) + " " + TimeText(second_of_day * kNanosPerSecond + nanos, digits);
}

std::optional<Instant> ParseTimestamp(std::string_view text) {
  text = Trim(text);
  const auto days = TakeDate(&text);
  if (!days) return std::nullopt;
  Instant instant{.seconds = *days * kSecondsPerDay};
  if (text.empty()) return instant;
  if (!TakeChar(&text, ' ')) return std::nullopt;
  const auto time = TakeTime(&text, /*seconds_needed=*/true);
  if (!time || !text.empty()) return std::nullopt;
  instant.seconds += time->seconds;
  instant.nanos = time->nanos;
  instant.fraction_digits = time->fraction_digits;
  return instant;
}

std::optional<int64_t> ParseDate(std::string_view text) {
  text = Trim(text);
  const auto days = TakeDate(&text);
  return text.empty() ? days : std::nullopt;
}

std::optional<int64_t> ParseTime(std::string_view text) {
  text = Trim(text);
  const auto time = TakeTime(&text, /*seconds_needed=*/false);
  if (!time || !text.empty()) return std::nullopt;
  return time->seconds * kNanosPerSecond + time->nanos;
}

std::optional<int64_t> ParseInteger(std::string_view text) {
  text = Trim(text);
  const bool negative = TakeChar(&text, '-');
  if (!negative) TakeChar(&text, '+');
  const size_t point = text.find('.');
  const std::string_view fraction = point == std::string_view::npos ? "" : text.substr(point + 1);
  const std::string_view whole = text.substr(0, point);
  if (whole.empty() && fraction.empty()) return std::nullopt;
  for (const char c : fraction) {
    if (!IsDigit(c)) return std::nullopt;
  }
  int64_t value = 0;
  for (const char c : whole) {
    if (!IsDigit(c) || __builtin_mul_overflow(value, int64_t{10}, &value) ||
        __builtin_add_overflow(value, negative ? -(c - '0') : c - '0', &value)) {
      return std::nullopt;
    }
  }
  return value;
}

// --- patterns ---

namespace {

constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};
constexpr std::array<std::string_view, 7> kDays = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                                   "Friday", "Saturday", "Sunday"};

// The next piece of a pattern: a run of one letter, or literal text (letter = 0).
struct PatternPiece {
  char letter = 0;
  size_t count = 0;
  std::string literal;
};

PatternPiece NextPiece(std::string_view* pattern) {
  PatternPiece piece;
  const char c = pattern->front();
  if (c == '\'') {
    pattern->remove_prefix(1);
    if (TakeChar(pattern, '\'')) {
      piece.literal = "'";
      return piece;
    }
    while (!pattern->empty()) {
      const char next = pattern->front();
      pattern->remove_prefix(1);
      if (next != '\'') {
        piece.literal.push_back(next);
      } else if (!TakeChar(pattern, '\'')) {
        break;
      } else {
        piece.literal.push_back('\'');
      }
    }
    return piece;
  }
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
    piece.letter = c;
    while (TakeChar(pattern, c)) ++piece.count;
    return piece;
  }
  piece.literal = std::string(1, c);
  pattern->remove_prefix(1);
  return piece;
}

struct Fields {
  int64_t year = 1970;
  int month = 1;
  int day = 1;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int32_t nanos = 0;
  int fraction_digits = 0;
  int weekday = 0;  // Monday = 0.
  bool afternoon = false;
  bool half_day = false;
};

std::string Padded(int64_t value, size_t width) { return fmt::format("{:0{}}", value, width); }

std::optional<std::string> FormatPiece(const PatternPiece& piece, const Fields& f) {
  switch (piece.letter) {
    case 'y':
    case 'u':
      return piece.count == 2 ? Padded(f.year % 100, 2) : Padded(f.year, piece.count);
    case 'M':
      if (piece.count == 3)
        return std::string(kMonths[static_cast<size_t>(f.month - 1)].substr(0, 3));
      if (piece.count == 4) return std::string(kMonths[static_cast<size_t>(f.month - 1)]);
      return Padded(f.month, piece.count);
    case 'd':
      return Padded(f.day, piece.count);
    case 'H':
      return Padded(f.hour, piece.count);
    case 'h':
      return Padded((f.hour + 11) % 12 + 1, piece.count);
    case 'm':
      return Padded(f.minute, piece.count);
    case 's':
      return Padded(f.second, piece.count);
    case 'S':
      return fmt::format("{:09}", f.nanos).substr(0, std::min<size_t>(piece.count, 9));
    case 'a':
      return std::string(f.hour < 12 ? "AM" : "PM");
    case 'E':
      return std::string(piece.count < 4 ? kDays[static_cast<size_t>(f.weekday)].substr(0, 3)
                                         : kDays[static_cast<size_t>(f.weekday)]);
    default:
      return std::nullopt;
  }
}

bool ParsePiece(const PatternPiece& piece, std::string_view* text, Fields* f) {
  const size_t most = piece.count == 1 ? 2 : piece.count;
  const auto take = [text](size_t digits, int* out) {
    const auto value = TakeNumber(text, digits);
    if (value) *out = static_cast<int>(*value);
    return value.has_value();
  };
  switch (piece.letter) {
    case 'y':
    case 'u': {
      int year = 0;
      if (!take(piece.count == 2 ? 2 : 4, &year)) return false;
      f->year = piece.count == 2 ? 2000 + year : year;
      return true;
    }
    case 'M':
      if (piece.count < 3) return take(most, &f->month);
      for (size_t i = 0; i < kMonths.size(); ++i) {
        const std::string_view name = piece.count == 3 ? kMonths[i].substr(0, 3) : kMonths[i];
        if (text->starts_with(name)) {
          text->remove_prefix(name.size());
          f->month = static_cast<int>(i) + 1;
          return true;
        }
      }
      return false;
    case 'd':
      return take(most, &f->day);
    case 'H':
      return take(most, &f->hour);
    case 'h':
      f->half_day = true;
      return take(most, &f->hour);
    case 'm':
      return take(most, &f->minute);
    case 's':
      return take(most, &f->second);
    case 'S': {
      const size_t before = text->size();
      const auto value = TakeNumber(text, std::min<size_t>(piece.count, 9));
      if (!value || before - text->size() != piece.count) return false;
      f->nanos = static_cast<int32_t>(*value);
      for (size_t i = piece.count; i < 9; ++i) f->nanos *= 10;
      f->fraction_digits = static_cast<int>(piece.count);
      return true;
    }
    case 'a':
      f->afternoon = text->starts_with("PM") || text->starts_with("pm");
      if (!f->afternoon && !text->starts_with("AM") && !text->starts_with("am")) return false;
      text->remove_prefix(2);
      f->half_day = true;
      return true;
    default:
      return false;
  }
}

}  // namespace

std::optional<std::string> FormatPattern(std::string_view pattern, Instant at) {
  Fields f;
  const int64_t second_of_day = (at.seconds % kSecondsPerDay + kSecondsPerDay) % kSecondsPerDay;
  const int64_t days = (at.seconds - second_of_day) / kSecondsPerDay;
  const types::CivilDate date = types::CivilDateOf(days);
  f.year = date.year;
  f.month = date.month;
  f.day = date.day;
  f.hour = static_cast<int>(second_of_day / 3600);
  f.minute = static_cast<int>(second_of_day / 60 % 60);
  f.second = static_cast<int>(second_of_day % 60);
  f.nanos = at.nanos;
  f.weekday = static_cast<int>(((days + 3) % 7 + 7) % 7);  // 1970-01-01 was a Thursday.
  std::string text;
  while (!pattern.empty()) {
    const PatternPiece piece = NextPiece(&pattern);
    const auto part = piece.letter == 0 ? std::optional(piece.literal) : FormatPiece(piece, f);
    if (!part) return std::nullopt;
    text += *part;
  }
  return text;
}

std::optional<Instant> ParsePattern(std::string_view pattern, std::string_view text) {
  Fields f;
  while (!pattern.empty()) {
    const PatternPiece piece = NextPiece(&pattern);
    if (piece.letter != 0) {
      if (!ParsePiece(piece, &text, &f)) return std::nullopt;
    } else if (text.starts_with(piece.literal)) {
      text.remove_prefix(piece.literal.size());
    } else {
      return std::nullopt;
    }
  }
  if (f.half_day) f.hour = f.hour % 12 + (f.afternoon ? 12 : 0);
  if (!text.empty() || f.month < 1 || f.month > 12 || f.day < 1 ||
      f.day > types::DaysInMonth(f.year, f.month) || f.hour > 23 || f.minute > 59 ||
      f.second > 59) {
    return std::nullopt;
  }
  return Instant{types::DaysOf({f.year, f.month, f.day}) * kSecondsPerDay + f.hour * 3600 +
                     f.minute * 60 + f.second,
                 f.nanos, f.fraction_digits};
}

}  // namespace sluice::sql
