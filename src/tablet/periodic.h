#pragma once
#include <chrono>
#include <functional>
#include <memory>

#include "io/loop.h"

namespace sluice::tablet {

/// Runs a function again and again on a loop until it is stopped.
///
/// Threads: confined to the loop.
class Periodic : public std::enable_shared_from_this<Periodic> {
 public:
  using Interval = std::function<std::chrono::milliseconds()>;

  static std::shared_ptr<Periodic> Start(io::Loop& loop, std::chrono::milliseconds interval,
                                         std::function<void()> run) {
    return StartChanging(loop, [interval] { return interval; }, std::move(run));
  }
  /// `interval` is asked for before each wait, as long as it is not stopped.
  static std::shared_ptr<Periodic> StartChanging(io::Loop& loop, Interval interval,
                                                 std::function<void()> run) {
    std::shared_ptr<Periodic> periodic(new Periodic(loop, std::move(interval), std::move(run)));
    periodic->Arm();
    return periodic;
  }
  void Stop() {
    run_ = nullptr;
    loop_.Cancel(timer_);
  }

 private:
  Periodic(io::Loop& loop, Interval interval, std::function<void()> run)
      : loop_(loop), interval_(std::move(interval)), run_(std::move(run)) {}
  void Arm() {
    timer_ = loop_.After(interval_(), [self = shared_from_this()] {
      if (self->run_ == nullptr) return;
      self->run_();
      if (self->run_ != nullptr) self->Arm();
    });
  }

  io::Loop& loop_;
  const Interval interval_;
  std::function<void()> run_;  // Null once stopped.
  io::Loop::TimerId timer_ = 0;
};

}  // namespace sluice::tablet
