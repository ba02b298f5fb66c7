#pragma once
#include <atomic>
#include <cstdint>

namespace sluice::tiering {

/// Bytes of decoded rows that tiering may hold, over all rounds and buckets: the tiering share of
/// `server.memory.limit`.
///
/// Nobody waits for it. Who finds it used up finishes with what he has, which frees his part; each
/// bucket may take one read of the log whatever the others hold, so that every round gets on.
/// Threads: any.
class RowBudget {
 public:
  explicit RowBudget(int64_t bytes_max) : bytes_max_(bytes_max) {}
  RowBudget(const RowBudget&) = delete;
  RowBudget& operator=(const RowBudget&) = delete;

  int64_t bytes_max() const { return bytes_max_; }
  int64_t used_bytes() const { return used_bytes_; }

  /// The part of one bucket; given back when it goes. Threads: one at a time.
  class Part {
   public:
    explicit Part(RowBudget& budget) : budget_(budget) {}
    ~Part() { Hold(0); }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

    /// Say how much is held now. False when all parts together are at the limit or beyond.
    bool Hold(int64_t bytes);

   private:
    RowBudget& budget_;
    int64_t bytes_ = 0;
  };

 private:
  const int64_t bytes_max_;
  std::atomic<int64_t> used_bytes_ = 0;
};

}  // namespace sluice::tiering
