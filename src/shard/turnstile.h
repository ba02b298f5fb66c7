#pragma once
#include <deque>
#include <utility>

#include "io/task.h"

namespace sluice::shard {

/// Lets one coroutine at a time through, in order of arrival.
///
/// Threads: confined to one loop. Lifetime: outlives its turns.
class Turnstile {
 public:
  /// Being inside; leaving is its destruction.
  class Turn {
   public:
    explicit Turn(Turnstile* owner) : owner_(owner) {}
    Turn(Turn&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (owner_ != nullptr) owner_->Leave();
    }

   private:
    Turnstile* owner_;
  };

  io::Task<Turn> Enter(io::Loop& loop) {
    if (busy_) {
      io::Completion<bool> turn(loop);
      waiting_.push_back(turn);
      co_await turn;  // Whoever leaves hands its turn over, so busy_ stays set.
    }
    busy_ = true;
    co_return Turn(this);
  }
  /// Whether somebody is inside, or about to be.
  bool busy() const { return busy_; }

 private:
  void Leave() {
    if (waiting_.empty()) {
      busy_ = false;
      return;
    }
    const io::Completion<bool> next = waiting_.front();
    waiting_.pop_front();
    next.Set(true);
  }

  bool busy_ = false;
  std::deque<io::Completion<bool>> waiting_;
};

}  // namespace sluice::shard
