#pragma once
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "io/task.h"

namespace sluice::io {

/// Threads for work that may block: fsync, the object store, RocksDB misses, Parquet, DuckDB.
class Pool {
 public:
  struct Options {
    std::string name;
    size_t threads = 1;
    size_t queue_max = 4096;  ///< Waiting pieces of work; more are refused.
    int nice = 0;             ///< Added to the threads' nice value.
  };
  static std::unique_ptr<Pool> Start(Options options);
  /// A pool that runs work at once on the caller's thread, for simulation and unit tests.
  static std::unique_ptr<Pool> Inline();

  /// Finishes what is queued, then joins.
  virtual ~Pool() = default;
  /// Queue `work`; false when the queue is full.
  [[nodiscard]] virtual bool TryPost(std::function<void()> work) = 0;
  virtual size_t queued() const = 0;

  /// Run `work`, which returns Status or Result<T>, on the pool; the awaiting coroutine goes on on
  /// `loop`. Errors: kStorage (retriable) when the queue is full. Name a lambda with captures
  /// before the call and move it in: GCC 12 destroys such a temporary twice.
  template <typename Work, typename R = std::invoke_result_t<Work>>
  Task<R> Run(Loop& loop, Work work) {
    Completion<R> done(loop);
    if (!TryPost([done, work = std::move(work)]() mutable { done.Set(work()); })) {
      co_return Error(ErrorCode::kStorage, "work queue is full pool=", name());
    }
    co_return co_await done;
  }
  virtual const std::string& name() const = 0;
};

}  // namespace sluice::io
