#include "app/memory_return.h"

#include <atomic>
#include <chrono>
#include <memory>

#include "app/machine.h"

namespace sluice::app {
namespace {

constexpr std::chrono::milliseconds kReturnInterval{5000};
constexpr std::chrono::milliseconds kQuietCpu{500};  // In an interval, all threads together.
constexpr uint64_t kWorthwhileBytes = 8 << 20;

struct MemoryReturner : std::enable_shared_from_this<MemoryReturner> {
  io::Loop* loop;
  io::Pool* pool;
  std::atomic<bool> looking{false};
  // Used by the look under way alone.
  std::chrono::nanoseconds cpu_before{0};
  uint64_t free_before = 0;  // What is free in the heap, but with the system already.

  void Arm() {
    loop->After(kReturnInterval, [self = shared_from_this()] {
      if (!self->looking.exchange(true)) {
        const bool posted = self->pool->TryPost([self] {
          self->Look();
          self->looking = false;
        });
        if (!posted) self->looking = false;
      }
      self->Arm();
    });
  }

  void Look() {
    const std::chrono::nanoseconds cpu = ProcessCpuTime();
    const bool quiet = cpu - std::exchange(cpu_before, cpu) < kQuietCpu;
    if (!quiet || FreeHeapBytes() < free_before + kWorthwhileBytes) return;
    ReturnFreeHeap();
    free_before = FreeHeapBytes();
  }
};

}  // namespace

void StartMemoryReturn(io::Loop& loop, io::Pool& pool) {
  auto returner = std::make_shared<MemoryReturner>();
  returner->loop = &loop;
  returner->pool = &pool;
  loop.Post([returner] { returner->Arm(); });
}

}  // namespace sluice::app
