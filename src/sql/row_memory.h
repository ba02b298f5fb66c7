#pragma once
#include <atomic>
#include <cstdint>
#include <utility>

namespace sluice::sql {

/// Bytes of rows that statements may hold outside of the engine, all together: the newest rows of
/// keys that logs have and lakes lack. The engine, which counts and spills its own, does not see
/// them; what does not fit here is refused.
///
/// Threads: any.
class RowMemory {
 public:
  explicit RowMemory(int64_t bytes_max) : bytes_max_(bytes_max) {}
  RowMemory(const RowMemory&) = delete;
  RowMemory& operator=(const RowMemory&) = delete;

  int64_t bytes_max() const { return bytes_max_; }
  int64_t used_bytes() const { return used_bytes_; }

  /// One holder's part, given back when it goes. Threads: one at a time.
  class Part {
   public:
    Part() = default;
    explicit Part(RowMemory& memory) : memory_(&memory) {}
    ~Part() { Release(); }
    Part(Part&& other) noexcept { *this = std::move(other); }
    Part& operator=(Part&& other) noexcept {
      Release();
      memory_ = std::exchange(other.memory_, nullptr);
      bytes_ = std::exchange(other.bytes_, 0);
      return *this;
    }

    /// Hold that much more. False when all parts together are then beyond the limit.
    bool Grow(int64_t bytes) {
      bytes_ += bytes;
      return (memory_->used_bytes_ += bytes) <= memory_->bytes_max_;
    }
    int64_t bytes_max() const { return memory_->bytes_max_; }

   private:
    void Release() {
      if (memory_ != nullptr) memory_->used_bytes_ -= std::exchange(bytes_, 0);
    }
    RowMemory* memory_ = nullptr;
    int64_t bytes_ = 0;
  };

 private:
  const int64_t bytes_max_;
  std::atomic<int64_t> used_bytes_ = 0;
};

}  // namespace sluice::sql
