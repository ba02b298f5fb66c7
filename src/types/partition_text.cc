#include <arrow/array/array_base.h>
#include <arrow/array/util.h>
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <utility>

#include "base/bytes.h"
#include "base/floor_div.h"
#include "types/civil_date.h"
#include "types/column_sink_internal.h"
#include "types/column_view_internal.h"
#include "types/finite_text.h"
#include "types/row.h"

namespace sluice::types {
namespace {

constexpr int64_t kDayMs = 86400000;
constexpr size_t kYearDigitsMax = 7;

Status BadText(const DataType& type, std::string_view text) {
  return Error(ErrorCode::kPartitionSpecInvalid,
               "partition value does not fit its type type=", type.ToString(), " value=", text);
}

/// `millis` of a day as HH-mm-ss.
std::string ClockText(int64_t millis) {
  return fmt::format("{:02}-{:02}-{:02}", millis / 3600000, millis / 60000 % 60,
                     millis / 1000 % 60);
}

std::string TimestampText(TimePair time) {
  const int64_t days = FloorDiv(time.ms, kDayMs);
  const int64_t of_day = time.ms - days * kDayMs;
  std::string fraction = fmt::format("{:09}", of_day % 1000 * 1000000 + time.nanos);
  fraction.resize(fraction.find_last_not_of('0') + 1);
  return DateText(days) + "-" + ClockText(of_day) + "_" + fraction;
}

template <typename T>
std::string FloatText(T value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Inf" : "-Inf";
  std::string text = FiniteText(value);
  std::ranges::replace(text, '.', '_');
  return text;
}

template <typename To, typename From>
To BitsAs(From bits) {
  static_assert(sizeof(To) == sizeof(From));
  To value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

}  // namespace

Result<std::string> PartitionText(const DataType& type, const arrow::Array& array, int64_t row) {
  ASSIGN_OR_RAISE(const ColumnView view, ColumnView::Make(type, *array.data()));
  if (view.IsNull(row))
    return Error(ErrorCode::kPartitionSpecInvalid,
                 "partition value is null type=", type.ToString());
  switch (type.kind()) {
    case TypeKind::kChar:
    case TypeKind::kString:
      return std::string(view.Bytes(row));
    case TypeKind::kBinary:
    case TypeKind::kBytes:
      return ToHex(view.Bytes(row));
    case TypeKind::kBoolean:
      return std::string(view.Bits(row) != 0 ? "true" : "false");
    case TypeKind::kTinyInt:
    case TypeKind::kSmallInt:
    case TypeKind::kInteger:
    case TypeKind::kBigInt:
      return std::to_string(static_cast<int64_t>(view.Bits(row)));
    case TypeKind::kFloat:
      return FloatText(BitsAs<float>(static_cast<uint32_t>(view.Bits(row))));
    case TypeKind::kDouble:
      return FloatText(BitsAs<double>(view.Bits(row)));
    case TypeKind::kDate:
      return DateText(static_cast<int64_t>(view.Bits(row)));
    case TypeKind::kTime: {
      const auto ms = static_cast<int64_t>(view.Bits(row));
      return ClockText(ms) + fmt::format("_{:03}", ms % 1000);
    }
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      return TimestampText(view.Time(row));
    default:
      return Error(ErrorCode::kInvalidTable,
                   "type cannot be a partition column type=", type.ToString());
  }
}

namespace {

/// Numbers between the fixed separators of `pattern`, where '0' stands for a digit; nothing may
/// follow.
bool TakeDigits(std::string_view* text, size_t count, int64_t* value) {
  if (text->size() < count) return false;
  const auto [end, error] = std::from_chars(text->data(), text->data() + count, *value);
  if (error != std::errc() || end != text->data() + count || (*text)[0] == '-') return false;
  text->remove_prefix(count);
  return true;
}

bool TakeChar(std::string_view* text, char c) {
  if (text->empty() || text->front() != c) return false;
  text->remove_prefix(1);
  return true;
}

// Also years of other than four digits, which rows may have.
bool TakeDate(std::string_view* text, int64_t* days) {
  const std::string_view whole = *text;
  const bool negative = TakeChar(text, '-');
  CivilDate date;
  int64_t month = 0;
  int64_t day = 0;
  const size_t digits = std::min(text->find('-'), text->size());
  if (digits > kYearDigitsMax || !TakeDigits(text, digits, &date.year) || !TakeChar(text, '-') ||
      !TakeDigits(text, 2, &month) || !TakeChar(text, '-') || !TakeDigits(text, 2, &day)) {
    return false;
  }
  if (negative) date.year = -date.year;
  date.month = static_cast<int>(month);
  date.day = static_cast<int>(day);
  if (month < 1 || month > 12 || day < 1 || day > DaysInMonth(date.year, date.month)) return false;
  *days = DaysOf(date);
  // A date has one text.
  return std::in_range<int32_t>(*days) &&
         DateText(*days) == whole.substr(0, whole.size() - text->size());
}

bool TakeClock(std::string_view* text, int64_t* ms) {
  int64_t hours = 0;
  int64_t minutes = 0;
  int64_t seconds = 0;
  if (!TakeDigits(text, 2, &hours) || !TakeChar(text, '-') || !TakeDigits(text, 2, &minutes) ||
      !TakeChar(text, '-') || !TakeDigits(text, 2, &seconds)) {
    return false;
  }
  *ms = ((hours * 60 + minutes) * 60 + seconds) * 1000;
  return hours < 24 && minutes < 60 && seconds < 60;
}

bool ParseTime(std::string_view text, int64_t* ms) {
  int64_t millis = 0;
  if (!TakeClock(&text, ms) || !TakeChar(&text, '_') || !TakeDigits(&text, 3, &millis))
    return false;
  *ms += millis;
  return text.empty();
}

bool ParseTimestamp(std::string_view text, TimePair* time) {
  int64_t days = 0;
  int64_t of_day = 0;
  if (!TakeDate(&text, &days) || !TakeChar(&text, '-') || !TakeClock(&text, &of_day) ||
      !TakeChar(&text, '_'))
    return false;
  if (text.size() > 9) return false;
  std::string digits(text);
  digits.append(9 - digits.size(), '0');
  std::string_view fraction = digits;
  int64_t nanos = 0;
  if (!TakeDigits(&fraction, 9, &nanos)) return false;
  *time = {days * kDayMs + of_day + nanos / 1000000, static_cast<int32_t>(nanos % 1000000)};
  return true;
}

template <typename T>
bool ParseWhole(std::string_view text, T* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

template <typename T>
bool ParseFloat(std::string_view text, T* value) {
  std::string plain(text);
  std::ranges::replace(plain, '_', '.');
  return ParseWhole(std::string_view(plain), value);
}

bool ParseHex(std::string_view text, std::string* bytes) {
  if (text.size() % 2 != 0) return false;
  for (size_t at = 0; at < text.size(); at += 2) {
    uint8_t byte = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + 2, byte, 16);
    if (error != std::errc() || end != text.data() + at + 2) return false;
    bytes->push_back(static_cast<char>(byte));
  }
  return true;
}

template <typename T>
bool AppendNumber(std::string_view text, ColumnSink* sink) {
  T value = 0;
  if (!ParseWhole(text, &value)) return false;
  sink->AppendBits(static_cast<uint64_t>(int64_t{value}));
  return true;
}

template <typename T, typename Bits>
bool AppendFloat(std::string_view text, ColumnSink* sink) {
  T value = 0;
  if (!ParseFloat(text, &value)) return false;
  sink->AppendBits(BitsAs<Bits>(value));
  return true;
}

bool AppendText(const DataType& type, std::string_view text, ColumnSink* sink) {
  switch (type.kind()) {
    case TypeKind::kChar:
    case TypeKind::kString:
      return sink->AppendBytes(text).ok();
    case TypeKind::kBinary:
    case TypeKind::kBytes: {
      std::string bytes;
      return ParseHex(text, &bytes) && sink->AppendBytes(bytes).ok();
    }
    case TypeKind::kBoolean:
      sink->AppendBits(text == "true" ? 1 : 0);
      return text == "true" || text == "false";
    case TypeKind::kTinyInt:
      return AppendNumber<int8_t>(text, sink);
    case TypeKind::kSmallInt:
      return AppendNumber<int16_t>(text, sink);
    case TypeKind::kInteger:
      return AppendNumber<int32_t>(text, sink);
    case TypeKind::kBigInt:
      return AppendNumber<int64_t>(text, sink);
    case TypeKind::kFloat:
      return AppendFloat<float, uint32_t>(text, sink);
    case TypeKind::kDouble:
      return AppendFloat<double, uint64_t>(text, sink);
    case TypeKind::kDate: {
      int64_t days = 0;
      const bool good = TakeDate(&text, &days) && text.empty();
      sink->AppendBits(static_cast<uint64_t>(days));
      return good;
    }
    case TypeKind::kTime: {
      int64_t ms = 0;
      const bool good = ParseTime(text, &ms);
      sink->AppendBits(static_cast<uint64_t>(ms));
      return good;
    }
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz: {
      TimePair time{};
      if (!ParseTimestamp(text, &time)) return false;
      if (sink->layout().shape == Shape::kTimePair) return sink->AppendTime(time).ok();
      sink->AppendBits(static_cast<uint64_t>(time.ms));
      return true;
    }
    default:
      return false;
  }
}

}  // namespace

Result<std::shared_ptr<arrow::Array>> PartitionValue(const DataType& type, std::string_view text) {
  ColumnSink sink(std::make_shared<const DataType>(type));
  if (!AppendText(type, text, &sink)) return BadText(type, text);
  ASSIGN_OR_RAISE(auto data, sink.Finish());
  return arrow::MakeArray(std::move(data));
}

}  // namespace sluice::types
