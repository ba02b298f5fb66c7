#include "app/pool_beat.h"

#include <atomic>
#include <memory>

namespace sluice::app {
namespace {

struct PoolBeat : std::enable_shared_from_this<PoolBeat> {
  io::Loop* loop;
  io::Pool* pool;
  std::chrono::milliseconds interval;
  std::function<void()> work;
  std::atomic<bool> running{false};

  void Arm() {
    loop->After(interval, [self = shared_from_this()] {
      self->Run();
      self->Arm();
    });
  }
  void Run() {
    if (running.exchange(true)) return;
    const bool posted = pool->TryPost([self = shared_from_this()] {
      self->work();
      self->running = false;
    });
    if (!posted) running = false;
  }
};

}  // namespace

void StartPoolBeat(io::Loop& loop, io::Pool& pool, std::chrono::milliseconds interval,
                   std::function<void()> work) {
  auto beat = std::make_shared<PoolBeat>();
  beat->loop = &loop;
  beat->pool = &pool;
  beat->interval = interval;
  beat->work = std::move(work);
  loop.Post([beat] { beat->Arm(); });
}

}  // namespace sluice::app
