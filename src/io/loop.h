#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "io/clock.h"

namespace sluice::io {

/// One thread's event loop: callbacks run one after another, each to its end. Shards and listeners
/// live on one.
///
/// Threads: Post may be called from anywhere; the rest from the loop's own thread.
class Loop {
 public:
  using Callback = std::function<void()>;
  using TimerId = uint64_t;

  virtual ~Loop() = default;
  /// Run `callback` soon, after those posted before it.
  virtual void Post(Callback callback) = 0;
  /// A longer delay is as this one: time points count nanoseconds, and must not overflow.
  static constexpr std::chrono::hours kDelayMax{24 * 36'500};
  /// Run `callback` once `delay` has passed; at once, if it is not positive.
  virtual TimerId After(std::chrono::milliseconds delay, Callback callback) = 0;
  /// Forget a timer; fine when it has run.
  virtual void Cancel(TimerId timer) = 0;
  virtual bool IsCurrent() const = 0;
  virtual Clock& clock() = 0;
  /// Simulation, where whoever waits must turn the world: run its loops until `done()`. Nothing on
  /// a loop that has a thread of its own.
  virtual void RunUntil(const std::function<bool()>& done) { (void)done; }
};

/// Loops with a thread each, named `name`-0, -1, …; they run until the object goes.
/// Stopping runs what is posted and not yet started, then joins.
class LoopThreads {
 public:
  static std::unique_ptr<LoopThreads> Start(const std::string& name, size_t count);
  virtual ~LoopThreads() = default;
  virtual size_t size() const = 0;
  virtual Loop& at(size_t index) = 0;
  /// Longest time that one callback ran since the last call, over all loops.
  virtual std::chrono::microseconds TakeLongestPause() = 0;
};

}  // namespace sluice::io
