#include "lake/paimon/snapshot_pins.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"

namespace sluice::lake::paimon {

SnapshotPins::SnapshotPins(io::FileSystem& files, io::Clock& clock, io::Random& random,
                           const TablePaths& paths)
    : files_(files),
      clock_(clock),
      paths_(paths),
      snapshots_(files, paths),
      session_(files, random, paths) {}

SnapshotPins::~SnapshotPins() {
  LogIfError(Remove(), "release of a lake snapshot");
  LogIfError(RemoveLeft(), "release of a lake snapshot");
}

// The file may be gone with its folder, or have been removed by hand.
bool SnapshotPins::IsRecorded(int64_t snapshot_id) const {
  if (consumer_.empty() || recorded_ > snapshot_id) return false;
  return files_.Exists(paths_.Consumer(consumer_)).ValueOr(false);
}

Status SnapshotPins::Take(int64_t snapshot_id) {
  const std::lock_guard lock(mutex_);
  const auto oldest = used_.empty() ? snapshot_id : std::min(snapshot_id, *used_.begin());
  if (!IsRecorded(snapshot_id)) {
    RETURN_NOT_OK(Record(oldest));
  } else if (recorded_ < oldest && clock_.Monotonic() - followed_at_ >= kRenewal) {
    const Status followed = Record(oldest);
    if (!followed.ok()) LogDebug("pin of lake snapshots stays as it is: {}", followed.message());
  }
  // An expiry that looked before the file was there may have taken the snapshot.
  RETURN_NOT_OK(snapshots_.Read(snapshot_id));
  used_.insert(snapshot_id);
  if (recorded_ == oldest) followed_at_ = clock_.Monotonic();
  return Status::OK();
}

void SnapshotPins::Release(int64_t snapshot_id) {
  const std::lock_guard lock(mutex_);
  const auto at = used_.find(snapshot_id);
  CHECK(at != used_.end());
  used_.erase(at);
}

Status SnapshotPins::Renew(std::chrono::nanoseconds age) {
  const std::lock_guard lock(mutex_);
  const Status removed = RemoveLeft();
  RETURN_NOT_OK(Follow(age));
  return removed;
}

Status SnapshotPins::Follow(std::chrono::nanoseconds age) {
  if (consumer_.empty() || clock_.Monotonic() - followed_at_ < age) return Status::OK();
  if (used_.empty()) return Remove();
  return recorded_ == *used_.begin() ? Status::OK() : Record(*used_.begin());
}

bool SnapshotPins::idle() const {
  const std::lock_guard lock(mutex_);
  return used_.empty() && consumer_.empty() && left_.empty();
}

Status SnapshotPins::Record(int64_t snapshot_id) {
  RETURN_NOT_OK(session_.Begin());
  const std::string consumer = session_.NewName();
  const Status put = snapshots_.PutConsumer(consumer, snapshot_id, session_);
  // What stays when this fails is of a session that stays on record: a sweep removes it later.
  std::string former = put.ok() ? std::exchange(consumer_, consumer) : consumer;
  if (put.ok()) {
    recorded_ = snapshot_id;
    followed_at_ = clock_.Monotonic();
  }
  if (former.empty()) return put;
  const Status removed = snapshots_.RemoveConsumer(former);
  if (!removed.ok()) {
    LogDebug("former pin of lake snapshots stays for now: {}", removed.message());
    left_.push_back({.consumer = std::move(former), .whole = put.ok()});
  } else if (put.ok()) {
    session_.Settle();
  }
  return put;
}

Status SnapshotPins::Remove() {
  if (consumer_.empty()) return Status::OK();
  RETURN_NOT_OK(snapshots_.RemoveConsumer(consumer_));
  session_.Settle();
  consumer_.clear();
  return Status::OK();
}

Status SnapshotPins::RemoveLeft() {
  Status first;
  std::erase_if(left_, [&](const Left& left) {
    const Status removed = snapshots_.RemoveConsumer(left.consumer);
    if (first.ok()) first = removed;
    if (removed.ok() && left.whole) session_.Settle();
    return removed.ok();
  });
  return first;
}

}  // namespace sluice::lake::paimon
