#include "io/clock.h"

namespace sluice::io {
namespace {

class MachineClock : public Clock {
 public:
  int64_t NowMs() const override {
    using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::system_clock;
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  }
  std::chrono::nanoseconds Monotonic() const override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
};

}  // namespace

Clock& SystemClock() {
  static MachineClock clock;
  return clock;
}

}  // namespace sluice::io
