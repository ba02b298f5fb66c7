#pragma once
#include <algorithm>
#include <memory>
#include <utility>

#include "base/memory_budget.h"

namespace sluice::sql {

/// What one scan may have in memory of rows that it has read and the engine has not taken: a share
/// of what all scans together may, smaller the more of it is in use. It is never refused, so that
/// every statement goes on: with everything in use it is the least with which a scan is not slow.
///
/// Threads: one at a time. Lifetime: that of the reader.
class ScanShare {
 public:
  static constexpr int64_t kBatchBytesMin = 256 << 10;
  static constexpr int64_t kBatchBytesMax = int64_t{16} << 20;

  explicit ScanShare(std::shared_ptr<MemoryBudget> passing)
      : passing_(std::move(passing)),
        batch_bytes_(std::clamp(
            (passing_->bytes_max() - passing_->used_bytes()) / (kSharesMin * kBatchesHeld),
            kBatchBytesMin, kBatchBytesMax)),
        held_(*passing_) {
    Took(0);
  }

  /// For what is read at once: of the log a fetch, of files a batch. A row may be larger.
  int64_t batch_bytes() const { return batch_bytes_; }
  /// Say what the rows that were read last hold.
  void Took(int64_t bytes) {
    held_.Hold((kBatchesHeld - 1) * batch_bytes_ + std::max(bytes, batch_bytes_));
  }

 private:
  static constexpr int64_t kSharesMin = 8;  // The first scan takes an eighth of all, and so on.
  // What was read, what is being read (a fetch, or pages of a file), what it is made of.
  static constexpr int64_t kBatchesHeld = 3;

  const std::shared_ptr<MemoryBudget> passing_;
  const int64_t batch_bytes_;
  MemoryBudget::Part held_;
};

}  // namespace sluice::sql
