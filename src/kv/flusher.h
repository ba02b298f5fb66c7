#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "io/loop.h"
#include "io/pool.h"
#include "kv/key_store.h"
#include "kv/write_back.h"

namespace sluice::kv {

/// Moves frozen layers of one bucket to its store on a pool, one move at a time: the newest version
/// of each key, once.
///
/// Threads: called on the bucket's shard; the move itself runs on the pool.
class Flusher {
 public:
  using Layers = std::vector<std::shared_ptr<const Frozen>>;  ///< Oldest first.
  using BeforeFlush = std::function<Status(int64_t log_offset)>;

  Flusher(std::shared_ptr<KeyStore> store, io::Pool& pool, io::Loop& loop,
          BeforeFlush before_flush);
  ~Flusher() { Wait(); }

  /// Start moving; `done` runs on the loop. False when the pool is full. Nothing may be running.
  bool Start(Layers layers, std::function<void(Status)> done);
  /// Move on this thread. Nothing may be running.
  Status FlushNow(const Layers& layers, Applied upto);
  bool running() const { return running_; }

 private:
  // Block until the pool has finished the move; its `done` never runs then.
  void Wait();

  // Shared with the pool's work.
  struct Work {
    std::mutex mutex;
    std::condition_variable ended;
    bool busy = false;
  };

  std::shared_ptr<KeyStore> store_;
  io::Pool& pool_;
  io::Loop& loop_;
  BeforeFlush before_flush_;
  std::shared_ptr<Work> work_ = std::make_shared<Work>();
  bool running_ = false;  // As the shard knows it.
  std::shared_ptr<char> alive_ =
      std::make_shared<char>();  // Expires with this object: a late callback sees it.
};

}  // namespace sluice::kv
