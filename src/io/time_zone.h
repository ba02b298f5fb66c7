#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace sluice::io {

/// What clocks on a wall show: a zone of the machine's time zone database, or a fixed offset.
///
/// Threads: any.
class TimeZone {
 public:
  static TimeZone Utc() { return {}; }
  /// The machine's own; UTC when that cannot be told.
  static TimeZone OfMachine();
  /// "Europe/Paris", "UTC", "GMT+8", "+05:30". Errors: Invalid for a zone that is not known.
  static Result<TimeZone> Find(std::string_view name);

  /// Local time minus UTC at an instant, milliseconds since 1970 UTC.
  std::chrono::seconds OffsetAt(int64_t utc_ms) const;

 private:
  const void* zone_ = nullptr;  // Of the database, which is never unloaded; null: fixed_ counts.
  std::chrono::seconds fixed_{0};
};

}  // namespace sluice::io
