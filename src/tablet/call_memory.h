#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/memory_budget.h"
#include "io/payload.h"

namespace sluice::tablet {

/// What one call holds in memory beside its request: the entries of a large request while it runs,
/// the values of a large answer until they are sent.
///
/// Little is not counted, so that small calls pay nothing. Threads: any.
class CallMemory {
 public:
  static constexpr size_t kUncountedBytes = 64 << 10;

  explicit CallMemory(std::shared_ptr<MemoryBudget> budget)
      : budget_(std::move(budget)), part_(*budget_) {}

  /// Say that `size_bytes` more are held. One call alone may hold any size.
  /// Errors: kStorageBackpressure when all calls together hold too much.
  Status Grow(size_t size_bytes) {
    const auto more = static_cast<int64_t>(size_bytes);
    if (IsLittle(bytes_.fetch_add(more) + more)) return Status::OK();
    const std::lock_guard lock(mutex_);
    const bool has_room = part_.Hold(bytes_);
    if (has_room || budget_->used_bytes() == part_.bytes()) return Status::OK();
    return Error(ErrorCode::kStorageBackpressure,
                 "calls hold too much memory used_bytes=", budget_->used_bytes(),
                 " bytes_max=", budget_->bytes_max());
  }

  /// Let it count until `answer` was sent.
  static void KeepWith(io::Payload* answer, std::shared_ptr<const CallMemory> memory) {
    if (!IsLittle(memory->bytes_)) answer->Keep(std::move(memory));
  }

 private:
  static bool IsLittle(int64_t size_bytes) {
    return size_bytes <= static_cast<int64_t>(kUncountedBytes);
  }

  const std::shared_ptr<MemoryBudget> budget_;
  std::atomic<int64_t> bytes_ = 0;
  std::mutex mutex_;  // Guards what follows.
  MemoryBudget::Part part_;
};
using CallMemoryPtr = std::shared_ptr<CallMemory>;

}  // namespace sluice::tablet
