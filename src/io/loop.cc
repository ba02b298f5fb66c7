#include "io/loop.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <thread>
#include <vector>

#include "base/check.h"
#include "io/asio_loop_internal.h"
#include "io/thread_internal.h"

namespace sluice::io {
namespace internal {
namespace {
thread_local const AsioLoop* current_loop = nullptr;
}  // namespace

void AsioLoop::Post(Callback callback) {
  boost::asio::post(context_, [this, callback = std::move(callback)] { RunTimed(callback); });
}

Loop::TimerId AsioLoop::After(std::chrono::milliseconds delay, Callback callback) {
  CHECK(IsCurrent());
  const TimerId id = next_timer_++;
  const std::chrono::milliseconds bounded = std::min<std::chrono::milliseconds>(delay, kDelayMax);
  auto& timer = timers_.try_emplace(id, context_, bounded).first->second;
  timer.async_wait(
      [this, id, callback = std::move(callback)](const boost::system::error_code& error) {
        // A timer that ran out just before it was cancelled comes without an error, but is no
        // longer in the table.
        if (error || timers_.erase(id) == 0) return;
        RunTimed(callback);
      });
  return id;
}

void AsioLoop::Cancel(TimerId timer) {
  CHECK(IsCurrent());
  timers_.erase(timer);
}

bool AsioLoop::IsCurrent() const { return current_loop == this; }

void AsioLoop::Run() {
  current_loop = this;
  const auto keep_running = boost::asio::make_work_guard(context_);
  context_.run();
  context_.restart();
  context_.poll();
  timers_.clear();
  current_loop = nullptr;
}

void AsioLoop::Stop() {
  boost::asio::post(context_, [this] { context_.stop(); });
}

}  // namespace internal

namespace {

class AsioLoopThreads : public LoopThreads {
 public:
  AsioLoopThreads(const std::string& name, size_t count) {
    for (size_t i = 0; i < count; ++i) loops_.push_back(std::make_unique<internal::AsioLoop>());
    for (size_t i = 0; i < count; ++i) {
      threads_.emplace_back([loop = loops_[i].get(), name = name + "-" + std::to_string(i)] {
        internal::NameThread(name);
        loop->Run();
      });
    }
  }

  ~AsioLoopThreads() override {
    for (const auto& loop : loops_) loop->Stop();
    for (std::thread& thread : threads_) thread.join();
  }

  size_t size() const override { return loops_.size(); }
  Loop& at(size_t index) override { return *loops_.at(index); }

  std::chrono::microseconds TakeLongestPause() override {
    std::chrono::nanoseconds longest{0};
    for (const auto& loop : loops_) longest = std::max(longest, loop->TakeLongestPause());
    return std::chrono::duration_cast<std::chrono::microseconds>(longest);
  }

 private:
  std::vector<std::unique_ptr<internal::AsioLoop>> loops_;  // Outlive the threads.
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<LoopThreads> LoopThreads::Start(const std::string& name, size_t count) {
  CHECK(count > 0);
  return std::make_unique<AsioLoopThreads>(name, count);
}

}  // namespace sluice::io
