#include "sql/scalar_functions.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/floor_div.h"
#include "sql/java_text.h"
#include "sql/lexer.h"
#include "sql/scalar_register_internal.h"

namespace sluice::sql {

namespace {

// --- numbers ---

Outcome<int64_t> IntegerDivide(int64_t a, int64_t b) {
  if (b == 0) return Status::ExecutionError("division by zero");
  if (a == INT64_MIN && b == -1)
    return Status::ExecutionError("number is out of range, operation=", a, " / ", b,
                                  " type=BIGINT");
  return a / b;
}
Outcome<int64_t> IntegerModulo(int64_t a, int64_t b) {
  if (b == 0) return Status::ExecutionError("division by zero");
  return b == -1 ? 0 : a % b;
}
// To the nearest multiple of a power of ten when `digits` is negative, halves away from zero.
Outcome<int64_t> RoundInteger(int64_t value, int32_t digits) {
  constexpr int32_t kDigitsMost = 19;
  if (digits >= 0) return value;
  if (digits < -kDigitsMost) return 0;
  __int128 step = 1;
  for (int32_t i = 0; i < -digits; ++i) step *= 10;
  const __int128 half = value < 0 ? -step / 2 : step / 2;
  const __int128 rounded = (value + half) / step * step;
  if (rounded > INT64_MAX || rounded < INT64_MIN)
    return Status::ExecutionError("number is out of range, operation=ROUND(", value, ", ", digits,
                                  ") type=BIGINT");
  return static_cast<int64_t>(rounded);
}
// As Java's Math: NaN or infinite where there is no value.
Outcome<double> SquareRoot(double value) { return std::sqrt(value); }
Outcome<double> NaturalLogarithm(double value) { return std::log(value); }
Outcome<double> DecimalLogarithm(double value) { return std::log10(value); }
Outcome<double> Sine(double value) { return std::sin(value); }
Outcome<double> Cosine(double value) { return std::cos(value); }
Outcome<double> Tangent(double value) { return std::tan(value); }
Outcome<double> Cotangent(double value) { return 1 / std::tan(value); }
Outcome<double> ArcSine(double value) { return std::asin(value); }
Outcome<double> ArcCosine(double value) { return std::acos(value); }
Outcome<std::string> DoubleText(double value) { return JavaText(value); }
Outcome<std::string> SingleText(float value) { return JavaText(value); }
Outcome<int64_t> TextToInteger(std::string_view text) {
  const auto value = ParseInteger(text);
  if (!value) return Status::ExecutionError("text is not a whole number, text='", Shown(text), "'");
  return value;
}
Outcome<int64_t> TryTextToInteger(std::string_view text) { return ParseInteger(text); }

// Decimal digits of the shortest text of `value` cut behind `digits` of the fraction, half up or
// toward zero: what Java's BigDecimal.valueOf gives. NaN and infinities stay.
double CutDecimal(double value, int32_t digits, bool half_up) {
  if (!std::isfinite(value) || value == 0) return value;
  std::array<char, 64> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(),
                                          std::abs(value), std::chars_format::scientific);
  const std::string_view form(buffer.data(), static_cast<size_t>(end - buffer.data()));
  const size_t mark = form.find('e');
  std::string kept(form.substr(0, 1));
  if (mark > 1) kept += form.substr(2, mark - 2);
  int64_t exponent = std::atoll(std::string(form.substr(mark + 1)).c_str());
  const int64_t count = exponent + 1 + digits;
  if (count >= static_cast<int64_t>(kept.size())) return value;
  if (count < 0) return 0;
  const bool up = half_up && kept[static_cast<size_t>(count)] >= '5';
  kept.resize(static_cast<size_t>(count));
  if (up) {
    size_t at = kept.size();
    while (at > 0 && kept[at - 1] == '9') kept[--at] = '0';
    if (at > 0) {
      ++kept[at - 1];
    } else {
      kept.insert(0, "1");
      ++exponent;
    }
  }
  if (kept.empty()) return 0;
  const std::string text =
      kept.substr(0, 1) + "." + kept.substr(1) + "e" + std::to_string(exponent);
  double cut = 0;
  std::from_chars(text.data(), text.data() + text.size(), cut);
  return value < 0 && cut != 0 ? -cut : cut;
}
Outcome<double> RoundDouble(double value, int32_t digits) {
  return CutDecimal(value, digits, true);
}
Outcome<double> TruncateDouble(double value, int32_t digits) {
  return CutDecimal(value, digits, false);
}

// --- times ---

Instant Split(Micros at) {
  const int64_t seconds = FloorDiv(at.value, 1000000);
  return {seconds, static_cast<int32_t>((at.value - seconds * 1000000) * 1000)};
}
Instant Split(Nanos at) {
  const int64_t seconds = FloorDiv(at.value, 1000000000);
  return {seconds, static_cast<int32_t>(at.value - seconds * 1000000000)};
}
Micros ToMicros(const Instant& at) { return {at.seconds * 1000000 + at.nanos / 1000}; }

// Nullopt outside the years that 64 bits of nanoseconds hold; the engine keeps the last values for
// its infinities.
std::optional<Nanos> ToNanos(const Instant& at) {
  Nanos result{};
  if (__builtin_mul_overflow(at.seconds, int64_t{1000000000}, &result.value) ||
      __builtin_add_overflow(result.value, int64_t{at.nanos}, &result.value)) {
    return std::nullopt;
  }
  if (result.value == INT64_MAX || result.value <= -INT64_MAX) return std::nullopt;
  return result;
}

Status NotInNanos(const Instant& at, std::string_view column) {
  return Status::ExecutionError(
      "timestamp is outside what 7 to 9 digits of a second can hold, value=",
      TimestampText(at.seconds, at.nanos, 9), column.empty() ? "" : " column=", column,
      " first=1677-09-21 00:12:43.145224194 last=2262-04-11 23:47:16.854775806");
}

int64_t Power(int32_t exponent) {
  int64_t power = 1;
  while (exponent-- > 0) power *= 10;
  return power;
}

template <typename Time>
Outcome<std::string> TimeToText(Time at, int32_t digits) {
  const Instant instant = Split(at);
  return TimestampText(instant.seconds, instant.nanos, digits);
}
Outcome<Micros> CutMicros(Micros at, int32_t digits) {
  const int64_t step = digits >= 6 ? 1 : Power(6 - digits);
  return Micros{FloorDiv(at.value, step) * step};
}
Outcome<Nanos> CutNanos(Nanos at, int32_t digits) {
  const int64_t step = Power(9 - digits);
  return Nanos{FloorDiv(at.value, step) * step};
}
Outcome<Micros> NanosToMicros(Nanos at) { return Micros{FloorDiv(at.value, 1000)}; }
// `column`: whose value it becomes, for messages; may be empty.
Outcome<Nanos> MicrosToNanos(Micros at, std::string_view column) {
  const auto nanos = ToNanos(Split(at));
  if (!nanos) return NotInNanos(Split(at), column);
  return nanos;
}
Outcome<Nanos> TryMicrosToNanos(Micros at, std::string_view) { return ToNanos(Split(at)); }

Status BadTimestamp(std::string_view text) {
  return Status::ExecutionError("text is not a timestamp, text='", Shown(text),
                                "' form='yyyy-MM-dd HH:mm:ss[.f]'");
}
// The text of a date for the engine to read. It also knows 'epoch', 'infinity' and years BC.
Outcome<std::string_view> TryDateText(std::string_view text) {
  constexpr std::string_view kOfDates = "0123456789-:.+T ";
  if (text.find_first_not_of(kOfDates) != std::string_view::npos) return std::nullopt;
  return text;
}
Outcome<std::string_view> DateOnlyText(std::string_view text) {
  ASSIGN_OR_RAISE(const auto date, TryDateText(text));
  if (!date)
    return Status::ExecutionError("text is not a date, text='", Shown(text), "' form=yyyy-MM-dd");
  return date;
}
Outcome<Micros> TextToMicros(std::string_view text) {
  const auto at = ParseTimestamp(text);
  if (!at) return BadTimestamp(text);
  return ToMicros(*at);
}
Outcome<Micros> TryTextToMicros(std::string_view text) {
  const auto at = ParseTimestamp(text);
  return at ? std::optional(ToMicros(*at)) : std::nullopt;
}
Outcome<Nanos> TextToNanos(std::string_view text, std::string_view column) {
  const auto at = ParseTimestamp(text);
  if (!at) return BadTimestamp(text);
  const auto nanos = ToNanos(*at);
  if (!nanos) return NotInNanos(*at, column);
  return nanos;
}
Outcome<Nanos> TryTextToNanos(std::string_view text, std::string_view) {
  const auto at = ParseTimestamp(text);
  return at ? ToNanos(*at) : std::nullopt;
}
Outcome<std::string> FormatTime(Micros at, std::string_view pattern) {
  const auto text = FormatPattern(pattern, Split(at));
  if (!text)
    return Status::ExecutionError("time pattern is not supported, pattern='", Shown(pattern), "'");
  return text;
}
Outcome<Micros> ParseTimePattern(std::string_view text, std::string_view pattern) {
  const auto at = ParsePattern(pattern, text);
  return at ? std::optional(ToMicros(*at)) : std::nullopt;
}

}  // namespace

Status RegisterScalarFunctions(const Api& api, duckdb::Connection connection) {
  SLUICE_REGISTER("flink_integer_divide", IntegerDivide);
  SLUICE_REGISTER("flink_integer_modulo", IntegerModulo);
  SLUICE_REGISTER("flink_round_integer", RoundInteger);
  SLUICE_REGISTER("flink_sqrt", SquareRoot);
  SLUICE_REGISTER("flink_ln", NaturalLogarithm);
  SLUICE_REGISTER("flink_log10", DecimalLogarithm);
  SLUICE_REGISTER("flink_sin", Sine);
  SLUICE_REGISTER("flink_cos", Cosine);
  SLUICE_REGISTER("flink_tan", Tangent);
  SLUICE_REGISTER("flink_cot", Cotangent);
  SLUICE_REGISTER("flink_asin", ArcSine);
  SLUICE_REGISTER("flink_acos", ArcCosine);
  SLUICE_REGISTER("flink_round", RoundDouble);
  SLUICE_REGISTER("flink_truncate", TruncateDouble);
  SLUICE_REGISTER("flink_double_text", DoubleText);
  SLUICE_REGISTER("flink_float_text", SingleText);
  SLUICE_REGISTER("flink_text_to_integer", TextToInteger);
  SLUICE_REGISTER("flink_try_text_to_integer", TryTextToInteger);
  SLUICE_REGISTER("flink_timestamp_text", TimeToText<Micros>);
  SLUICE_REGISTER("flink_timestamp_ns_text", TimeToText<Nanos>);
  SLUICE_REGISTER("flink_cut", CutMicros);
  SLUICE_REGISTER("flink_cut_ns", CutNanos);
  SLUICE_REGISTER("flink_ns_to_us", NanosToMicros);
  SLUICE_REGISTER("flink_us_to_ns", MicrosToNanos);
  SLUICE_REGISTER("flink_try_us_to_ns", TryMicrosToNanos);
  SLUICE_REGISTER("flink_date_text", DateOnlyText);
  SLUICE_REGISTER("flink_try_date_text", TryDateText);
  SLUICE_REGISTER("flink_text_to_timestamp", TextToMicros);
  SLUICE_REGISTER("flink_try_text_to_timestamp", TryTextToMicros);
  SLUICE_REGISTER("flink_text_to_timestamp_ns", TextToNanos);
  SLUICE_REGISTER("flink_try_text_to_timestamp_ns", TryTextToNanos);
  SLUICE_REGISTER("flink_date_format", FormatTime);
  SLUICE_REGISTER("flink_parse_pattern", ParseTimePattern);
  return RegisterTextFunctions(api, connection);
}

}  // namespace sluice::sql
