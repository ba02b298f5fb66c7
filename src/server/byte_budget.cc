#include "server/byte_budget.h"

#include <deque>
#include <mutex>

namespace sluice::server {

struct ByteBudget::Grant::State {
  struct Waiter {
    uint64_t size_bytes;
    io::Completion<bool> granted;
  };

  bool Fits(uint64_t size_bytes) const { return used == 0 || used + size_bytes <= total; }

  // Takes bytes off, and grants those at the head of the line that now fit.
  void GiveBack(uint64_t size_bytes) {
    std::vector<io::Completion<bool>> granted;
    {
      const std::lock_guard lock(mutex);
      used -= size_bytes;
      while (!line.empty() && Fits(line.front().size_bytes)) {
        used += line.front().size_bytes;
        granted.push_back(line.front().granted);
        line.pop_front();
      }
    }
    for (const auto& waiter : granted) waiter.Set(true);
  }

  explicit State(uint64_t total_bytes) : total(total_bytes) {}
  const uint64_t total;
  std::mutex mutex;  // Guards what follows.
  uint64_t used = 0;
  std::deque<Waiter> line;
};

ByteBudget::Grant::Grant(Grant&& other) noexcept
    : state_(std::move(other.state_)), size_bytes_(std::exchange(other.size_bytes_, 0)) {}

ByteBudget::Grant& ByteBudget::Grant::operator=(Grant&& other) noexcept {
  std::swap(state_, other.state_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

ByteBudget::Grant::~Grant() {
  if (state_ != nullptr) state_->GiveBack(size_bytes_);
}

ByteBudget::ByteBudget(uint64_t total_bytes)
    : state_(std::make_shared<Grant::State>(total_bytes)) {}

io::Task<ByteBudget::Grant> ByteBudget::Take(io::Loop& loop, uint64_t size_bytes) {
  const std::shared_ptr<Grant::State> state = state_;
  io::Completion<bool> granted(loop);
  bool must_wait = false;
  {
    const std::lock_guard lock(state->mutex);
    must_wait = !state->line.empty() || !state->Fits(size_bytes);
    if (must_wait) {
      state->line.push_back({size_bytes, granted});
    } else {
      state->used += size_bytes;
    }
  }
  if (must_wait) co_await granted;
  co_return Grant(state, size_bytes);
}

uint64_t ByteBudget::used_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->used;
}

uint64_t ByteBudget::total_bytes() const { return state_->total; }

size_t ByteBudget::waiting() const {
  const std::lock_guard lock(state_->mutex);
  return state_->line.size();
}

}  // namespace sluice::server
