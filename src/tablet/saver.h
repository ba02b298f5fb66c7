#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/error.h"
#include "io/task.h"

namespace sluice::tablet {

class Replica;

/// What of a bucket is not saved yet, in bytes.
struct Unsaved {
  uint64_t log_bytes = 0;  ///< Of its log past the last checkpoint: a restart checks them.
  uint64_t replay_bytes =
      0;                   ///< Of its changelog that the key store lacks: a restart replays them.
  uint64_t key_bytes = 0;  ///< Memory of its write-back table.
  bool operator==(const Unsaved&) const = default;
};

/// Keeps bounded what the buckets of one shard have not saved, so that a restart after a kill reads
/// a bounded number of bytes whatever came before, and write-back tables keep to their memory.
///
/// Above a bound (for memory: half of it) the bucket with the most is saved, one after another,
/// until half as much is left. Threads: confined to the shard's loop, key_bytes() apart; the work
/// runs on the pools of the replicas.
class Saver {
 public:
  using Replicas = std::function<std::vector<std::shared_ptr<Replica>>()>;
  struct Options {
    uint64_t log_bytes_max = 0;
    uint64_t replay_bytes_max = 0;
    uint64_t key_bytes_max = 0;
    uint64_t soon_bytes_min = 0;  ///< SaveSoon leaves less than this alone.
    io::Loop* loop = nullptr;
    Replicas replicas;  ///< All buckets of the shard.
  };
  explicit Saver(Options options) : options_(std::move(options)) {}

  /// A bucket has another amount unsaved than before.
  void Changed(const Unsaved& before, const Unsaved& now);
  /// Save a bucket that a restart had to read much of, so that the next one does not read it again.
  void SaveSoon(const std::shared_ptr<Replica>& replica);
  /// Errors: kStorageBackpressure while the write-back tables of the shard hold all they may.
  Status RefuseWhenFull();

  /// Begin nothing new; running() turns false soon.
  void Stop() { stopping_ = true; }
  bool running() const { return running_; }
  /// Of all buckets of the shard. Threads: any.
  uint64_t key_bytes() const { return key_bytes_.load(std::memory_order_relaxed); }

  /// An opening had to read what nobody had saved: bytes of a log to check, of a changelog to
  /// replay.
  void NoteRead(uint64_t scanned_bytes, uint64_t replayed_bytes) {
    scanned_bytes_ += scanned_bytes;
    replayed_bytes_ += replayed_bytes;
  }
  /// Of all openings so far. Threads: any.
  uint64_t scanned_bytes() const { return scanned_bytes_; }
  uint64_t replayed_bytes() const { return replayed_bytes_; }

 private:
  struct Job {
    std::shared_ptr<Replica> replica;
    bool log = false;
    bool keys = false;
  };
  void StartIfOver();
  Job Next();
  Job LargestLog() const;
  Job LargestKeys() const;
  static io::Task<void> Run(Saver* saver);
  static io::Task<bool> Save(Job job);

  const Options options_;
  Unsaved sum_;
  std::atomic<uint64_t> key_bytes_{0};
  std::atomic<uint64_t> scanned_bytes_{0};
  std::atomic<uint64_t> replayed_bytes_{0};
  std::deque<std::weak_ptr<Replica>> soon_;
  bool running_ = false;
  bool stopping_ = false;
  std::chrono::nanoseconds retry_at_{0};  // After a failure, on the loop's monotonic clock.
};

}  // namespace sluice::tablet
