#include "tablet/saver.h"

#include "tablet/replica.h"

namespace sluice::tablet {
namespace {

constexpr std::chrono::seconds kSaveRetryDelay{1};

}  // namespace

void Saver::Changed(const Unsaved& before, const Unsaved& now) {
  // Unsigned sums wrap and come back.
  sum_.log_bytes += now.log_bytes - before.log_bytes;
  sum_.replay_bytes += now.replay_bytes - before.replay_bytes;
  sum_.key_bytes += now.key_bytes - before.key_bytes;
  key_bytes_.store(sum_.key_bytes, std::memory_order_relaxed);
  StartIfOver();
}

void Saver::SaveSoon(const std::shared_ptr<Replica>& replica) {
  const Unsaved& unsaved = replica->unsaved();
  if (std::max(unsaved.log_bytes, unsaved.replay_bytes) < options_.soon_bytes_min) return;
  soon_.push_back(replica);
  if (!running_ && !stopping_) io::Spawn(Run(this));
}

Status Saver::RefuseWhenFull() {
  if (sum_.key_bytes < options_.key_bytes_max) return Status::OK();
  StartIfOver();  // The puts that a failed move holds up try it again.
  return Error(ErrorCode::kStorageBackpressure,
               "write-back tables hold their share of the memory size_bytes=", sum_.key_bytes,
               " bytes_max=", options_.key_bytes_max);
}

void Saver::StartIfOver() {
  if (running_ || stopping_) return;
  const bool over = sum_.log_bytes > options_.log_bytes_max ||
                    sum_.replay_bytes > options_.replay_bytes_max ||
                    sum_.key_bytes > options_.key_bytes_max / 2;
  if (over && options_.loop->clock().Monotonic() >= retry_at_) io::Spawn(Run(this));
}

io::Task<void> Saver::Run(Saver* saver) {
  saver->running_ = true;
  for (;;) {
    Job job = saver->Next();
    if (job.replica == nullptr) break;
    if (co_await Save(std::move(job))) continue;
    saver->retry_at_ = saver->options_.loop->clock().Monotonic() + kSaveRetryDelay;
    break;
  }
  saver->running_ = false;
}

// False as well when nothing has changed: at once the same bucket would be next again.
io::Task<bool> Saver::Save(Job job) {
  bool saved = true;
  const Unsaved before = job.replica->unsaved();
  if (job.log) saved = co_await Replica::Checkpoint(job.replica);
  if (job.keys) saved = co_await Replica::MoveKeys(job.replica) && saved;
  const bool stuck = job.replica->unsaved() == before && before != Unsaved{};
  co_return saved && !stuck;
}

Saver::Job Saver::Next() {
  while (!stopping_ && !soon_.empty()) {
    const auto replica = soon_.front().lock();
    soon_.pop_front();
    if (replica != nullptr) return {replica, /*log=*/true, /*keys=*/true};
  }
  if (stopping_) return {};
  Job job;
  if (sum_.key_bytes > options_.key_bytes_max / 4 ||
      sum_.replay_bytes > options_.replay_bytes_max / 2) {
    job = LargestKeys();
  }
  if (job.replica == nullptr && sum_.log_bytes > options_.log_bytes_max / 2) job = LargestLog();
  return job;
}

Saver::Job Saver::LargestLog() const {
  Job job;
  uint64_t most = 0;
  for (const auto& replica : options_.replicas()) {
    const uint64_t bytes = replica->unsaved().log_bytes;
    if (bytes <= most || replica->checkpointing()) continue;
    most = bytes;
    job = {replica, /*log=*/true, /*keys=*/false};
  }
  return job;
}

// Memory first: puts are refused at its bound.
Saver::Job Saver::LargestKeys() const {
  const bool memory = sum_.key_bytes > options_.key_bytes_max / 4;
  Job job;
  uint64_t most = 0;
  for (const auto& replica : options_.replicas()) {
    const uint64_t bytes = memory ? replica->unsaved().key_bytes : replica->unsaved().replay_bytes;
    if (bytes <= most || replica->moving_keys()) continue;
    most = bytes;
    job = {replica, /*log=*/false, /*keys=*/true};
  }
  return job;
}

}  // namespace sluice::tablet
