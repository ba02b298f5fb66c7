#include "io/sim/sim_world.h"

#include <algorithm>

#include "base/check.h"

namespace sluice::io {
namespace {
constexpr uint64_t kCallbackNsMax =
    20'000;  // A callback takes time, so that loops that poll get somewhere.
}  // namespace

int64_t SimClock::NowMs() const {
  return kStartMs + skew_.count() +
         std::chrono::duration_cast<std::chrono::milliseconds>(now_).count();
}

/// One loop of a simulated world.
class SimLoop : public Loop {
 public:
  SimLoop(SimWorld* world, std::shared_ptr<SimWorld::Actor> actor)
      : world_(*world), actor_(std::move(actor)) {}

  void Post(Callback callback) override { actor_->ready.push_back(std::move(callback)); }
  TimerId After(std::chrono::milliseconds delay, Callback callback) override {
    CHECK(IsCurrent());
    const auto bounded = std::min<std::chrono::milliseconds>(delay, kDelayMax);
    return world_.AddTimer(actor_.get(), bounded, std::move(callback));
  }
  void Cancel(TimerId timer) override { world_.CancelTimer(timer); }
  bool IsCurrent() const override { return world_.current_ == actor_.get(); }
  Clock& clock() override { return world_.clock_; }
  void RunUntil(const std::function<bool()>& done) override { world_.RunUntil(done); }
  SimWorld::Actor* actor() { return actor_.get(); }

 private:
  SimWorld& world_;
  const std::shared_ptr<SimWorld::Actor> actor_;
};

/// One pool of a simulated world.
class SimPool : public Pool {
 public:
  SimPool(SimWorld* world, Options options) : world_(*world), options_(std::move(options)) {
    actor_->width = options_.threads;
    world_.actors_.push_back(actor_);
  }
  ~SimPool() override {
    world_.RunUntil([this] { return actor_->ready.empty() && actor_->running == 0; });
    std::erase(world_.actors_, actor_);
  }
  bool TryPost(std::function<void()> work) override {
    if (actor_->ready.size() >= options_.queue_max) return false;
    actor_->ready.push_back(std::move(work));
    return true;
  }
  size_t queued() const override { return actor_->ready.size(); }
  const std::string& name() const override { return options_.name; }

 private:
  SimWorld& world_;
  const Options options_;
  const std::shared_ptr<SimWorld::Actor> actor_ = std::make_shared<SimWorld::Actor>();
};

SimWorld::SimWorld(uint64_t seed) : random_(seed) {}

SimWorld::~SimWorld() = default;

Loop& SimWorld::NewLoop() {
  actors_.push_back(std::make_shared<Actor>());
  loops_.push_back(std::make_unique<SimLoop>(this, actors_.back()));
  return *loops_.back();
}

std::unique_ptr<Pool> SimWorld::NewPool(Pool::Options options) {
  return std::make_unique<SimPool>(this, std::move(options));
}

bool SimWorld::RunOne() {
  CollectDueTimers();
  Actor* actor = PickReady();
  if (actor == nullptr) {
    if (timers_.empty()) return false;
    clock_.Advance(timers_.begin()->first - clock_.Monotonic());
    CollectDueTimers();
    actor = PickReady();
    if (actor == nullptr) return true;  // The timer's loop is waiting inside SyncWait.
  }
  const Loop::Callback callback = std::move(actor->ready.front());
  actor->ready.pop_front();
  Actor* const outer = std::exchange(current_, actor);
  ++actor->running;
  callback();
  --actor->running;
  current_ = outer;
  clock_.Advance(std::chrono::nanoseconds(random_.Below(kCallbackNsMax)));
  return true;
}

void SimWorld::RunUntilIdle() {
  while (RunOne()) {
  }
}

void SimWorld::RunFor(std::chrono::milliseconds span) {
  bool over = false;
  if (actors_.empty()) return clock_.Advance(span);
  const auto timer = AddTimer(actors_.front().get(), span, [&over] { over = true; });
  RunUntil([&over] { return over; });
  CancelTimer(timer);
}

void SimWorld::RunUntil(const std::function<bool()>& done) {
  while (!done()) {
    const bool something_ran = RunOne();
    CHECK(something_ran || done());  // The world stands still: what is waited for can never come.
  }
}

Loop::TimerId SimWorld::Schedule(Loop& loop, std::chrono::nanoseconds delay,
                                 Loop::Callback callback) {
  auto* const sim_loop = dynamic_cast<SimLoop*>(&loop);
  CHECK(sim_loop != nullptr);
  return AddTimer(sim_loop->actor(), delay, std::move(callback));
}

Loop::TimerId SimWorld::AddTimer(Actor* actor, std::chrono::nanoseconds delay,
                                 Loop::Callback callback) {
  const Loop::TimerId id = next_timer_++;
  timers_.emplace(clock_.Monotonic() + delay, Timer{actor, id, std::move(callback)});
  return id;
}

void SimWorld::CancelTimer(Loop::TimerId id) {
  std::erase_if(timers_, [id](const auto& entry) { return entry.second.id == id; });
}

void SimWorld::CollectDueTimers() {
  while (!timers_.empty() && timers_.begin()->first <= clock_.Monotonic()) {
    Timer& timer = timers_.begin()->second;
    timer.actor->ready.push_back(std::move(timer.callback));
    timers_.erase(timers_.begin());
  }
}

SimWorld::Actor* SimWorld::PickReady() {
  std::vector<Actor*> ready;
  for (const auto& actor : actors_) {
    if (!actor->ready.empty() && actor->running < actor->width) ready.push_back(actor.get());
  }
  return ready.empty() ? nullptr : ready[random_.Below(ready.size())];
}

}  // namespace sluice::io
