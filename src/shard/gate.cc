#include "shard/gate.h"

#include <mutex>

namespace sluice::shard {

struct Gate::Pass::State {
  std::mutex mutex;  // Guards what follows; the critical sections are a few instructions.
  size_t inside = 0;
  bool closed = false;
  std::optional<io::Completion<bool>> empty;  // Set by whoever waits for the last pass.
};

Gate::Pass::~Pass() {
  if (state_ == nullptr) return;
  std::optional<io::Completion<bool>> empty;
  {
    const std::lock_guard lock(state_->mutex);
    if (--state_->inside == 0) empty.swap(state_->empty);
  }
  if (empty.has_value()) empty->Set(true);
}

Gate::Pass& Gate::Pass::operator=(Pass&& other) noexcept {
  const Pass left = std::move(*this);
  state_ = std::move(other.state_);
  return *this;
}

Gate::Gate() : state_(std::make_shared<Pass::State>()) {}

std::optional<Gate::Pass> Gate::Enter() {
  const std::lock_guard lock(state_->mutex);
  if (state_->closed) return std::nullopt;
  ++state_->inside;
  return Pass(state_);
}

void Gate::Close() {
  const std::lock_guard lock(state_->mutex);
  state_->closed = true;
}

io::Task<void> Gate::CloseAndWait(io::Loop& loop) {
  io::Completion<bool> empty(loop);
  {
    const std::lock_guard lock(state_->mutex);
    state_->closed = true;
    if (state_->inside == 0) co_return;
    CHECK(!state_->empty.has_value());
    state_->empty = empty;
  }
  co_await empty;
}

bool Gate::closed() const {
  const std::lock_guard lock(state_->mutex);
  return state_->closed;
}

size_t Gate::inside() const {
  const std::lock_guard lock(state_->mutex);
  return state_->inside;
}

}  // namespace sluice::shard
