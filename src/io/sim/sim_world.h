#pragma once
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/clock.h"
#include "io/loop.h"
#include "io/pool.h"
#include "io/random.h"

namespace sluice::io {

/// Time that moves only when told to.
class SimClock : public Clock {
 public:
  static constexpr int64_t kStartMs = 1'700'000'000'000;
  int64_t NowMs() const override;
  std::chrono::nanoseconds Monotonic() const override { return now_; }
  void Advance(std::chrono::nanoseconds by) { now_ += by; }
  /// Let the wall clock, not the monotonic one, be wrong by `skew`.
  void SetSkew(std::chrono::milliseconds skew) { skew_ = skew; }

 private:
  std::chrono::nanoseconds now_{0};
  std::chrono::milliseconds skew_{0};
};

/// Loops and pools of one or several simulated nodes, all turned by the calling thread in virtual
/// time.
///
/// Which of the loops that have work runs next follows from the seed alone; within a loop the order
/// of Post holds. SyncWait from outside, or from a pool's work, turns the world until its task
/// ends. Threads: one. Lifetime: outlives what runs on its loops.
class SimWorld {
 public:
  explicit SimWorld(uint64_t seed);
  ~SimWorld();
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;

  /// A loop that lives as long as the world.
  Loop& NewLoop();
  /// A pool whose work runs later, between the callbacks of loops. Its name and queue bound count,
  /// its threads are how much of its work may be waiting in SyncWait at once.
  std::unique_ptr<Pool> NewPool(Pool::Options options);
  SimClock& clock() { return clock_; }
  Random& random() { return random_; }

  /// Run one callback, moving time forward when nothing is ready; false when nothing is left to run
  /// at all.
  bool RunOne();
  void RunUntilIdle();
  void RunFor(std::chrono::milliseconds span);
  /// Errors: stops the process when nothing is left to run, so that `done` can never hold.
  void RunUntil(const std::function<bool()>& done);
  /// Run `callback` on `loop`, which is one of this world's, after `delay`; callable from any of
  /// its loops.
  Loop::TimerId Schedule(Loop& loop, std::chrono::nanoseconds delay, Loop::Callback callback);

 private:
  friend class SimLoop;
  friend class SimPool;
  // What takes turns: a loop, or a pool.
  struct Actor {
    std::deque<Loop::Callback> ready;
    size_t running = 0;  // More than 0 while its callback waits inside SyncWait.
    size_t width = 1;
  };
  struct Timer {
    Actor* actor;
    Loop::TimerId id;
    Loop::Callback callback;
  };

  Loop::TimerId AddTimer(Actor* actor, std::chrono::nanoseconds delay, Loop::Callback callback);
  void CancelTimer(Loop::TimerId id);
  void CollectDueTimers();
  Actor* PickReady();

  SimClock clock_;
  SeededRandom random_;
  std::vector<std::unique_ptr<Loop>> loops_;
  std::vector<std::shared_ptr<Actor>> actors_;
  std::multimap<std::chrono::nanoseconds, Timer> timers_;  // Equal times keep their order.
  Loop::TimerId next_timer_ = 1;
  Actor* current_ = nullptr;  // Whose callback runs now.
};

}  // namespace sluice::io
