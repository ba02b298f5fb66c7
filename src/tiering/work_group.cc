#include "tiering/work_group.h"

#include <utility>

namespace sluice::tiering {

WorkGroup::Ending::~Ending() {
  const std::lock_guard lock(group_.mutex_);
  --group_.running_;
  group_.ended_.notify_all();  // Under the lock: the group may be gone right after it.
}

void WorkGroup::Run(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    ++running_;
  }
  const auto run = [this, work = std::move(work)] {
    const Ending ending(*this);
    work();
  };
  if (!pool_.TryPost(run)) run();
}

void WorkGroup::Wait() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return running_ == 0; });
}

}  // namespace sluice::tiering
