#include "io/pool.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "io/thread_internal.h"

namespace sluice::io {
namespace {

class ThreadPool : public Pool {
 public:
  explicit ThreadPool(Options options) : options_(std::move(options)) {
    threads_.reserve(options_.threads);
    for (size_t i = 0; i < options_.threads; ++i) {
      threads_.emplace_back([this, i] { RunThread(i); });
    }
  }

  ~ThreadPool() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  bool TryPost(std::function<void()> work) override {
    {
      const std::lock_guard lock(mutex_);
      if (queue_.size() >= options_.queue_max) return false;
      queue_.push_back(std::move(work));
    }
    changed_.notify_one();
    return true;
  }

  size_t queued() const override {
    const std::lock_guard lock(mutex_);
    return queue_.size();
  }

  const std::string& name() const override { return options_.name; }

 private:
  void RunThread(size_t index) {
    internal::NameThread(options_.name + "-" + std::to_string(index));
    // Linux keeps a nice value per thread; failure to lower one's own priority harms nobody.
    if (options_.nice != 0) {
      const auto self = static_cast<id_t>(::syscall(SYS_gettid));
      (void)::setpriority(PRIO_PROCESS, self, ::getpriority(PRIO_PROCESS, self) + options_.nice);
    }
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;  // Stopping, and nothing is left to do.
      std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      work();
      work = nullptr;  // What it holds goes before the lock is taken again.
      lock.lock();
    }
  }

  const Options options_;
  mutable std::mutex mutex_;  // Guards what follows but the threads.
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

class InlinePool : public Pool {
 public:
  bool TryPost(std::function<void()> work) override {
    work();
    return true;
  }
  size_t queued() const override { return 0; }
  const std::string& name() const override { return name_; }

 private:
  const std::string name_ = "inline";
};

}  // namespace

std::unique_ptr<Pool> Pool::Start(Options options) {
  CHECK(options.threads > 0 && options.queue_max > 0);
  return std::make_unique<ThreadPool>(std::move(options));
}

std::unique_ptr<Pool> Pool::Inline() { return std::make_unique<InlinePool>(); }

}  // namespace sluice::io
