#pragma once
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace sluice::tiering {

/// A door that holds every thread that comes to it until it is opened, and counts them.
class Door {
 public:
  void Pass() {
    std::unique_lock lock(mutex_);
    most_ = std::max(most_, ++inside_);
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --inside_;
  }
  /// Wait until so many are held at a time; false after a minute.
  bool AwaitInside(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return inside_ >= count; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  /// Most that were there at a time.
  size_t most() {
    const std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  size_t inside_ = 0;
  size_t most_ = 0;
  bool open_ = false;
};

}  // namespace sluice::tiering
