#pragma once
#include <cstdint>
#include <string>

namespace sluice::types {

/// A date of the proleptic Gregorian calendar. Any year: a DATE has those from -5877641 to 5881580.
struct CivilDate {
  int64_t year = 1970;
  int month = 1;
  int day = 1;
  bool operator==(const CivilDate&) const = default;
};

/// Days are counted from 1970-01-01.
CivilDate CivilDateOf(int64_t days);
int64_t DaysOf(const CivilDate& date);  ///< The month is one.
int DaysInMonth(int64_t year, int month);

/// "2025-03-31"; the year has four places at least, its sign being one of them.
std::string DateText(int64_t days);
/// "13:41:00", and "." with as many `digits` (0–9) of the fraction as are asked for.
std::string TimeText(int64_t nanos_of_day, int32_t digits);

}  // namespace sluice::types
