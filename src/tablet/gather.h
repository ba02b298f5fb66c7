#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "io/task.h"

namespace sluice::tablet {

/// Answers of several shards to one call, waited for by the call on its own loop.
///
/// Each slot is set exactly once, by any thread. Lifetime: copies share one state.
template <typename T>
class Gather {
 public:
  Gather(io::Loop& loop, size_t count) : state_(std::make_shared<State>(loop, count)) {
    if (count == 0) state_->done.Set(true);
  }

  void Set(size_t slot, T value) const {
    CHECK(!state_->slots[slot].has_value());
    state_->slots[slot].emplace(std::move(value));
    // The last one sees what all others wrote.
    if (state_->missing.fetch_sub(1, std::memory_order_acq_rel) == 1) state_->done.Set(true);
  }

  /// All answers, in the order of the slots. Called once, on the loop.
  io::Task<std::vector<T>> Take() const { return TakeFrom(state_); }

 private:
  struct State {
    State(io::Loop& loop, size_t count) : slots(count), missing(count), done(loop) {}
    std::vector<std::optional<T>> slots;
    std::atomic<size_t> missing;
    io::Completion<bool> done;
  };

  static io::Task<std::vector<T>> TakeFrom(std::shared_ptr<State> state) {
    co_await state->done;
    std::vector<T> values;
    values.reserve(state->slots.size());
    for (auto& slot : state->slots) values.push_back(std::move(*slot));
    co_return values;
  }

  std::shared_ptr<State> state_;
};

}  // namespace sluice::tablet
