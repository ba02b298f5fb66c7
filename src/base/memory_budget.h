#pragma once
#include <atomic>
#include <cstdint>
#include <utility>

namespace sluice {

/// Bytes that several holders may have in memory, all together.
///
/// Nobody waits for it: whoever finds it used up refuses, or finishes with what he has and frees
/// his part. What is held is counted also beyond the limit. Threads: any.
class MemoryBudget {
 public:
  explicit MemoryBudget(int64_t bytes_max) : bytes_max_(bytes_max) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  int64_t bytes_max() const { return bytes_max_; }
  int64_t used_bytes() const { return used_bytes_; }
  /// The most that was ever held.
  int64_t most_bytes() const { return most_bytes_; }

  /// What one holder has; given back when it goes. Threads: one at a time.
  class Part {
   public:
    Part() = default;  ///< Of no budget: holds nothing.
    explicit Part(MemoryBudget& budget) : budget_(&budget) {}
    ~Part() { Release(); }
    Part(Part&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    Part& operator=(Part&& other) noexcept {
      if (this == &other) return *this;
      Release();
      budget_ = std::exchange(other.budget_, nullptr);
      bytes_ = std::exchange(other.bytes_, 0);
      return *this;
    }

    /// Say how much is held now. False when all parts together are beyond the limit.
    bool Hold(int64_t bytes) {
      const int64_t more = bytes - std::exchange(bytes_, bytes);
      const int64_t used = budget_->used_bytes_.fetch_add(more) + more;
      budget_->Note(used);
      return used <= budget_->bytes_max_;
    }
    bool Grow(int64_t bytes) { return Hold(bytes_ + bytes); }
    int64_t bytes() const { return bytes_; }
    int64_t bytes_max() const { return budget_->bytes_max_; }

   private:
    void Release() {
      if (budget_ != nullptr) budget_->used_bytes_ -= std::exchange(bytes_, 0);
    }
    MemoryBudget* budget_ = nullptr;
    int64_t bytes_ = 0;
  };

 private:
  void Note(int64_t used) {
    int64_t most = most_bytes_;
    while (most < used && !most_bytes_.compare_exchange_weak(most, used)) {
    }
  }

  const int64_t bytes_max_;
  std::atomic<int64_t> used_bytes_ = 0;
  std::atomic<int64_t> most_bytes_ = 0;
};

}  // namespace sluice
