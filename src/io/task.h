#pragma once
#include <atomic>
#include <condition_variable>
#include <coroutine>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "io/loop.h"

namespace sluice::io {

template <typename T>
class Task;

namespace internal {

// Where a task and the coroutine that awaits it meet: the second one to arrive goes on with the
// awaiter. A task that ends while it is being started returns into its awaiter, so a loop over
// tasks that never wait does not deepen the stack (GCC makes no tail call out of a coroutine
// without optimisation, so symmetric transfer would).
struct Meeting {
  std::coroutine_handle<> continuation_;
  std::atomic<bool> one_arrived_{false};
  bool ArriveSecond() { return one_arrived_.exchange(true, std::memory_order_acq_rel); }
};

struct FinalAwaiter {
  bool await_ready() noexcept { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> done) noexcept {
    const std::coroutine_handle<> continuation = done.promise().continuation_;
    if (done.promise().ArriveSecond()) continuation.resume();  // May destroy the frame of `done`.
  }
  void await_resume() noexcept {}
};

template <typename T>
struct TaskPromise : Meeting {
  Task<T> get_return_object();
  std::suspend_always initial_suspend() noexcept { return {}; }
  FinalAwaiter final_suspend() noexcept { return {}; }
  template <typename U>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }
  void unhandled_exception() noexcept { CHECK(false && "exception left a coroutine"); }
  std::optional<T> value_;
};

template <>
struct TaskPromise<void> : Meeting {
  Task<void> get_return_object();
  std::suspend_always initial_suspend() noexcept { return {}; }
  FinalAwaiter final_suspend() noexcept { return {}; }
  void return_void() {}
  void unhandled_exception() noexcept { CHECK(false && "exception left a coroutine"); }
};

}  // namespace internal

/// A coroutine that starts when it is awaited (or spawned) and gives one T. It runs on the thread
/// that resumes it: the awaitables of this module resume on the loop where they were awaited.
///
/// Write coroutines as functions with arguments by value; after each co_await check again what you
/// had learned.
template <typename T>
class [[nodiscard]] Task {
 public:
  using promise_type = internal::TaskPromise<T>;
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> caller) noexcept {
    handle_.promise().continuation_ = caller;
    handle_.resume();
    return !handle_.promise().ArriveSecond();  // From here on another thread may run `caller`, and
                                               // this may be gone.
  }
  T await_resume() {
    if constexpr (!std::is_void_v<T>) return std::move(*handle_.promise().value_);
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

namespace internal {
template <typename T>
Task<T> TaskPromise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<TaskPromise<T>>::from_promise(*this));
}
inline Task<void> TaskPromise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<TaskPromise<void>>::from_promise(*this));
}

// Owns itself: starts at once and frees its frame when it ends.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() noexcept { CHECK(false && "exception left a coroutine"); }
  };
};
}  // namespace internal

/// Start a task now, on this thread, and let it run to its end by itself.
inline void Spawn(Task<void> task) {
  [](Task<void> owned) -> internal::Detached { co_await owned; }(std::move(task));
}

/// One value that arrives once, waited for by at most one coroutine.
///
/// Set may be called from any thread, once; the waiter goes on on `loop` (the loop of its own
/// thread). Lifetime: copies share one state.
template <typename T>
class Completion {
 public:
  explicit Completion(Loop& loop) : state_(std::make_shared<State>(loop)) {}

  /// False when a value was there already; then nothing changes.
  bool Set(T value) const {
    std::coroutine_handle<> waiter;
    {
      const std::lock_guard lock(state_->mutex);
      if (state_->value.has_value() || state_->taken) return false;
      state_->value.emplace(std::move(value));
      waiter = std::exchange(state_->waiter, nullptr);
    }
    if (waiter) state_->loop.Post([waiter] { waiter.resume(); });
    return true;
  }

  bool await_ready() const {
    const std::lock_guard lock(state_->mutex);
    return state_->value.has_value();
  }
  bool await_suspend(std::coroutine_handle<> caller) const {
    const std::lock_guard lock(state_->mutex);
    if (state_->value.has_value()) return false;
    state_->waiter = caller;
    return true;
  }
  T await_resume() const {
    const std::lock_guard lock(state_->mutex);
    state_->taken = true;
    return std::move(*std::exchange(state_->value, std::nullopt));
  }

 private:
  struct State {
    explicit State(Loop& l) : loop(l) {}
    Loop& loop;
    std::mutex mutex;  // Guards what follows.
    std::optional<T> value;
    bool taken = false;
    std::coroutine_handle<> waiter;
  };
  std::shared_ptr<State> state_;
};

/// co_await SwitchTo(loop): go on on that loop's thread.
class SwitchTo {
 public:
  explicit SwitchTo(Loop& loop) : loop_(loop) {}
  bool await_ready() const { return loop_.IsCurrent(); }
  void await_suspend(std::coroutine_handle<> caller) const {
    loop_.Post([caller] { caller.resume(); });
  }
  void await_resume() const {}

 private:
  Loop& loop_;
};

/// co_await Sleep(loop, 5ms), on `loop`'s own thread.
class Sleep {
 public:
  Sleep(Loop& loop, std::chrono::milliseconds delay) : loop_(loop), delay_(delay) {}
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> caller) const {
    loop_.After(delay_, [caller] { caller.resume(); });
  }
  void await_resume() const {}

 private:
  Loop& loop_;
  std::chrono::milliseconds delay_;
};

/// Run a task on `loop` and block this thread until it and its frame are gone. Never call it on a
/// loop's own thread.
template <typename T>
T SyncWait(Loop& loop, Task<T> task) {
  CHECK(!loop.IsCurrent());
  struct Shared {
    std::mutex mutex;  // Guards the value.
    std::condition_variable done;
    std::optional<T> value;
  };
  auto shared = std::make_shared<Shared>();
  loop.Post([shared, owned = std::make_shared<Task<T>>(std::move(task))]() mutable {
    Spawn([](std::shared_ptr<Shared> out, std::shared_ptr<Task<T>> work) -> Task<void> {
      std::optional<T> value;
      {
        // Its frame goes before the waiting thread goes on, which may destroy what the task's
        // arguments refer to.
        Task<T> running(std::move(*work));
        value.emplace(co_await running);
      }
      const std::lock_guard lock(out->mutex);
      out->value = std::move(value);
      out->done.notify_all();
    }(shared, std::move(owned)));
  });
  loop.RunUntil([&] { return shared->value.has_value(); });
  std::unique_lock lock(shared->mutex);
  shared->done.wait(lock, [&] { return shared->value.has_value(); });
  return std::move(*shared->value);
}

inline void SyncWait(Loop& loop, Task<void> task) {
  (void)SyncWait(loop, [](Task<void> running) -> Task<bool> {
    co_await running;
    co_return true;
  }(std::move(task)));
}

}  // namespace sluice::io
