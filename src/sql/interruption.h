#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "io/task.h"

namespace sluice::sql {

/// Ends what a session waits for, from another thread.
///
/// Raised, it ends every wait under way and refuses later ones until it is cleared.
/// Threads: any.
class Interruption {
 public:
  /// `why` is what the waits return. A second reason changes nothing.
  void Raise(Status why) {
    CHECK(!why.ok());
    const std::lock_guard lock(core_->mutex);
    if (core_->why.ok()) core_->why = std::move(why);
    core_->changed.notify_all();
  }
  void Clear() {
    const std::lock_guard lock(core_->mutex);
    core_->why = Status::OK();
  }
  /// The reason, OK while not raised.
  Status status() const {
    const std::lock_guard lock(core_->mutex);
    return core_->why;
  }

  /// As io::SyncWait, for a task that gives a Status or a Result, but an interruption ends the
  /// wait. The task then runs to its end by itself and its value is dropped on `loop`: its
  /// arguments must keep alive what they use.
  template <typename R>
  R Wait(io::Loop& loop, io::Task<R> task) {
    CHECK(!loop.IsCurrent());
    RETURN_NOT_OK(status());
    auto answer = std::make_shared<Answer<R>>(core_);
    loop.Post([answer, owned = std::make_shared<io::Task<R>>(std::move(task))] {
      io::Spawn(Deliver<R>(answer, owned));
    });
    const auto ended = [&answer] { return answer->value.has_value() || !answer->core->why.ok(); };
    loop.RunUntil([&] {
      const std::lock_guard lock(answer->core->mutex);
      return ended();
    });
    std::unique_lock lock(core_->mutex);
    core_->changed.wait(lock, ended);
    if (!answer->value.has_value()) return core_->why;
    return std::move(*answer->value);
  }

 private:
  struct Core {
    std::mutex mutex;  // Guards the reason and the values of all answers.
    std::condition_variable changed;
    Status why;
  };
  template <typename R>
  struct Answer {
    explicit Answer(std::shared_ptr<Core> c) : core(std::move(c)) {}
    std::shared_ptr<Core> core;
    std::optional<R> value;
  };

  template <typename R>
  static io::Task<void> Deliver(std::shared_ptr<Answer<R>> answer,
                                std::shared_ptr<io::Task<R>> task) {
    std::optional<R> value;
    {
      // Its frame goes before the waiting thread goes on.
      io::Task<R> running(std::move(*task));
      value.emplace(co_await running);
    }
    const std::lock_guard lock(answer->core->mutex);
    answer->value = std::move(value);
    answer->core->changed.notify_all();
  }

  std::shared_ptr<Core> core_ = std::make_shared<Core>();
};

}  // namespace sluice::sql
