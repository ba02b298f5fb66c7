#pragma once
// A loop and a pool that the tests of this module turn by hand.
#include <chrono>
#include <deque>
#include <functional>
#include <mutex>
#include <string>

#include "io/loop.h"
#include "io/pool.h"

namespace sluice::kv {

/// A loop that runs what was posted when the test says so.
class ManualLoop : public io::Loop, private io::Clock {
 public:
  void Post(Callback callback) override {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(callback));
  }
  TimerId After(std::chrono::milliseconds, Callback) override { return 0; }
  void Cancel(TimerId) override {}
  bool IsCurrent() const override { return true; }
  io::Clock& clock() override { return *this; }

  void RunPosted() {
    for (;;) {
      Callback next;
      {
        const std::lock_guard lock(mutex_);
        if (posted_.empty()) return;
        next = std::move(posted_.front());
        posted_.pop_front();
      }
      next();
    }
  }
  std::chrono::nanoseconds now{std::chrono::hours(1)};

 private:
  int64_t NowMs() const override { return 0; }
  std::chrono::nanoseconds Monotonic() const override { return now; }
  std::mutex mutex_;
  std::deque<Callback> posted_;
};

/// A pool whose work waits until the test runs it.
class ManualPool : public io::Pool {
 public:
  [[nodiscard]] bool TryPost(std::function<void()> work) override {
    if (full) return false;
    queued_.push_back(std::move(work));
    return true;
  }
  size_t queued() const override { return queued_.size(); }
  const std::string& name() const override { return name_; }
  void RunAll() {
    while (!queued_.empty()) {
      auto work = std::move(queued_.front());
      queued_.pop_front();
      work();
    }
  }
  ~ManualPool() override { RunAll(); }
  bool full = false;

 private:
  std::deque<std::function<void()>> queued_;
  std::string name_ = "manual";
};

}  // namespace sluice::kv
