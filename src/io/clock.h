#pragma once
#include <chrono>
#include <cstdint>

namespace sluice::io {

/// Time as the code sees it. Nothing outside `io` reads the system's clock.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Wall clock, milliseconds since 1970-01-01 UTC.
  virtual int64_t NowMs() const = 0;
  /// Never goes back; its zero means nothing.
  virtual std::chrono::nanoseconds Monotonic() const = 0;
};

/// The machine's clock.
Clock& SystemClock();

}  // namespace sluice::io
