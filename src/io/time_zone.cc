#include "io/time_zone.h"

#include <arrow/vendored/datetime.h>

#include <charconv>
#include <exception>
#include <optional>

namespace sluice::io {

namespace {

namespace date = arrow_vendored::date;

constexpr int64_t kHoursMax = 18;

// "+8", "-08", "+08:00", "+0800"; nothing else.
std::optional<std::chrono::seconds> ParseOffset(std::string_view text) {
  if (text.size() < 2 || (text.front() != '+' && text.front() != '-')) return std::nullopt;
  const int64_t sign = text.front() == '-' ? -1 : 1;
  std::string digits(text.substr(1));
  if (const size_t colon = digits.find(':'); colon != std::string::npos) {
    if (colon == 0 || digits.size() != colon + 3) return std::nullopt;
    digits.erase(colon, 1);
  } else if (digits.size() <= 2) {
    digits += "00";
  }
  int64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, number);
  const bool good = error == std::errc() && at == end && digits.front() != '-' &&
                    digits.size() >= 3 && digits.size() <= 4 && number / 100 <= kHoursMax &&
                    number % 100 < 60;
  if (!good) return std::nullopt;
  return std::chrono::seconds(sign * (number / 100 * 3600 + number % 100 * 60));
}

// Loads the zone's file, so that no later look at it can fail.
const date::time_zone* Loaded(const date::time_zone* zone) {
  zone->get_info(std::chrono::sys_time<std::chrono::seconds>());
  return zone;
}

}  // namespace

TimeZone TimeZone::OfMachine() {
  TimeZone zone;
  try {
    zone.zone_ = Loaded(date::current_zone());
  } catch (const std::exception&) {
    return Utc();  // No database, or no such setting: what a machine without either shows.
  }
  return zone;
}

Result<TimeZone> TimeZone::Find(std::string_view name) {
  std::string_view rest = name;
  for (const std::string_view prefix : {"GMT", "UTC", "UT"}) {
    if (!rest.starts_with(prefix)) continue;
    rest.remove_prefix(prefix.size());
    break;
  }
  TimeZone zone;
  if (name == "Z" || (rest.empty() && !name.empty())) return zone;
  if (const auto offset = ParseOffset(rest)) {
    zone.fixed_ = *offset;
    return zone;
  }
  try {
    zone.zone_ = Loaded(date::locate_zone(name));
  } catch (const std::exception&) {
    return Status::Invalid("time zone is not known zone=", name);
  }
  return zone;
}

std::chrono::seconds TimeZone::OffsetAt(int64_t utc_ms) const {
  if (zone_ == nullptr) return fixed_;
  const auto* zone = static_cast<const date::time_zone*>(zone_);
  const auto instant = std::chrono::floor<std::chrono::seconds>(
      std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(utc_ms)));
  return zone->get_info(instant).offset;
}

}  // namespace sluice::io
