#include "shard/shards.h"

#include "base/check.h"

namespace sluice::shard {

Shards::Shards(Options options) : mailbox_bytes_max_(options.mailbox_bytes_max) {
  CHECK(!options.loops.empty());
  for (io::Loop* loop : options.loops) {
    mailboxes_.push_back(std::make_unique<Mailbox>());
    mailboxes_.back()->loop = loop;
  }
}

size_t Shards::current() const {
  size_t shard = 0;
  while (shard < size() && !loop(shard).IsCurrent()) ++shard;
  return shard;
}

bool Shards::TryPost(size_t shard, size_t size_bytes, io::Loop::Callback work) {
  Mailbox& mailbox = *mailboxes_[shard];
  const size_t before = mailbox.bytes.fetch_add(size_bytes, std::memory_order_relaxed);
  // An empty mailbox takes work of any size, else a large request could never run.
  if (before > 0 && before + size_bytes > mailbox_bytes_max_) {
    mailbox.bytes.fetch_sub(size_bytes, std::memory_order_relaxed);
    return false;
  }
  mailbox.loop->Post([&mailbox, size_bytes, work = std::move(work)] {
    work();
    mailbox.bytes.fetch_sub(size_bytes, std::memory_order_relaxed);
  });
  return true;
}

}  // namespace sluice::shard
