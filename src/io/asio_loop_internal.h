#pragma once
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <unordered_map>

#include "io/loop.h"

namespace sluice::io::internal {

/// A Loop over one io_context. Included by the .cc files of `io` that know Asio, by nothing else.
class AsioLoop : public Loop {
 public:
  void Post(Callback callback) override;
  TimerId After(std::chrono::milliseconds delay, Callback callback) override;
  void Cancel(TimerId timer) override;
  bool IsCurrent() const override;
  Clock& clock() override { return SystemClock(); }

  boost::asio::io_context& context() { return context_; }
  /// Run callbacks on this thread until Stop, then what had been posted by then.
  void Run();
  /// Let Run return once it has run what is posted now.
  void Stop();
  /// Call `callback` and take its time; every callback of Asio goes through here.
  template <typename F>
  void RunTimed(F&& callback) {
    const auto start = std::chrono::steady_clock::now();
    callback();
    NotePause(std::chrono::steady_clock::now() - start);
  }
  std::chrono::nanoseconds TakeLongestPause() {
    return std::chrono::nanoseconds(longest_pause_ns_.exchange(0, std::memory_order_relaxed));
  }

 private:
  void NotePause(std::chrono::nanoseconds pause) {
    // Only this loop's thread raises it, so a lost race with TakeLongestPause costs one sample.
    if (pause.count() > longest_pause_ns_.load(std::memory_order_relaxed)) {
      longest_pause_ns_.store(pause.count(), std::memory_order_relaxed);
    }
  }

  boost::asio::io_context context_{1};
  std::unordered_map<TimerId, boost::asio::steady_timer> timers_;
  TimerId next_timer_ = 1;
  std::atomic<int64_t> longest_pause_ns_{0};
};

}  // namespace sluice::io::internal
