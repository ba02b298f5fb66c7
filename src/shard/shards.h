#pragma once
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "io/loop.h"

namespace sluice::shard {

/// The loops that own buckets, one per core, each with a mailbox bounded in bytes.
///
/// Threads: any may post. Lifetime: the loops outlive it; it outlives all that it posted, so stop
/// the loops (or close the gates of those who post) first.
class Shards {
 public:
  struct Options {
    std::vector<io::Loop*> loops;
    size_t mailbox_bytes_max = 64 << 20;  ///< Of one shard: requests that wait for it.
  };
  explicit Shards(Options options);

  size_t size() const { return mailboxes_.size(); }
  io::Loop& loop(size_t shard) const { return *mailboxes_[shard]->loop; }
  /// Index of the shard on whose loop this thread runs; size() on any other thread.
  size_t current() const;

  /// Run `work` on a shard, after what was posted to it before. `size_bytes`, what the work holds
  /// in memory, counts until it has run. False when the mailbox is full: the caller answers with a
  /// retriable error.
  [[nodiscard]] bool TryPost(size_t shard, size_t size_bytes, io::Loop::Callback work);
  /// As TryPost for answers and messages of servers, which are few and small and must arrive: never
  /// refused. A client's requests go by TryPost, however small.
  void Post(size_t shard, io::Loop::Callback work) { loop(shard).Post(std::move(work)); }
  size_t mailbox_bytes(size_t shard) const {
    return mailboxes_[shard]->bytes.load(std::memory_order_relaxed);
  }

 private:
  struct Mailbox {
    io::Loop* loop;
    std::atomic<size_t> bytes{0};
  };
  size_t mailbox_bytes_max_;
  std::vector<std::unique_ptr<Mailbox>> mailboxes_;
};

}  // namespace sluice::shard
