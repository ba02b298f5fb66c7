#include "kv/flusher.h"

#include <algorithm>

#include "base/check.h"
#include "io/crash_point.h"

namespace sluice::kv {
namespace {

// The newest version of each key of the layers, in key order. Views into the layers.
std::vector<KeyStore::Change> NewestOf(const Flusher::Layers& layers) {
  std::vector<KeyStore::Change> changes;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {  // Newest first.
    for (const auto& [key, version] : (*layer)->layer.versions()) {
      changes.push_back(KeyStore::Change{key, version});
    }
  }
  if (layers.size() > 1) {
    std::ranges::stable_sort(changes, {},
                             &KeyStore::Change::key);  // Stable: the newest of a key stays first.
    const auto repeats = std::ranges::unique(changes, {}, &KeyStore::Change::key);
    changes.erase(repeats.begin(), repeats.end());
  }
  return changes;
}

Status Move(KeyStore& store, const Flusher::BeforeFlush& before_flush,
            const Flusher::Layers& layers, Applied upto) {
  // The store must never be ahead of what the log keeps after a power loss.
  if (before_flush) RETURN_NOT_OK(before_flush(upto.log_offset));
  CRASH_POINT("kv.before-store-write");
  RETURN_NOT_OK(store.Write(NewestOf(layers), upto));
  CRASH_POINT("kv.after-store-write");
  return Status::OK();
}

}  // namespace

Flusher::Flusher(std::shared_ptr<KeyStore> store, io::Pool& pool, io::Loop& loop,
                 BeforeFlush before_flush)
    : store_(std::move(store)), pool_(pool), loop_(loop), before_flush_(std::move(before_flush)) {}

bool Flusher::Start(Layers layers, std::function<void(Status)> done) {
  CHECK(!running_ && !layers.empty());
  {
    const std::lock_guard lock(work_->mutex);
    work_->busy = true;
  }
  running_ = true;
  auto tell = [this, alive = std::weak_ptr<char>(alive_), done = std::move(done)](Status status) {
    if (alive.expired()) return;
    running_ = false;
    done(std::move(status));
  };
  const bool posted =
      pool_.TryPost([work = work_, store = store_, before = before_flush_,
                     layers = std::move(layers), loop = &loop_, tell = std::move(tell)]() mutable {
        Status status = Move(*store, before, layers, layers.back()->upto);
        layers.clear();
        store.reset();
        loop->Post([tell, status] { tell(status); });
        const std::lock_guard lock(work->mutex);
        work->busy = false;
        work->ended.notify_all();
      });
  if (!posted) {
    running_ = false;
    const std::lock_guard lock(work_->mutex);
    work_->busy = false;
  }
  return posted;
}

Status Flusher::FlushNow(const Layers& layers, Applied upto) {
  DCHECK(!running_);
  return Move(*store_, before_flush_, layers, upto);
}

void Flusher::Wait() {
  std::unique_lock lock(work_->mutex);
  work_->ended.wait(lock, [this] { return !work_->busy; });
}

}  // namespace sluice::kv
