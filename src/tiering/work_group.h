#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>

#include "io/pool.h"

namespace sluice::tiering {

/// Pieces of work on a pool that one thread waits for.
///
/// Threads: Run and Wait from one thread, which is none of the pool's.
class WorkGroup {
 public:
  explicit WorkGroup(io::Pool& pool) : pool_(pool) {}
  ~WorkGroup() { Wait(); }

  /// Queue `work`, or do it here when the pool's queue is full.
  void Run(std::function<void()> work);
  void Wait();

 private:
  // Counts a piece of work as ended, however it ends: a simulated kill leaves by an exception.
  class Ending {
   public:
    explicit Ending(WorkGroup& group) : group_(group) {}
    ~Ending();

   private:
    WorkGroup& group_;
  };

  io::Pool& pool_;
  std::mutex mutex_;  // Guards running_.
  std::condition_variable ended_;
  size_t running_ = 0;
};

}  // namespace sluice::tiering
