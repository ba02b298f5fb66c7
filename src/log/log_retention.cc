#include <algorithm>

#include "base/check.h"
#include "log/log.h"
#include "log/log_state.h"
#include "log/memory_only_internal.h"
#include "log/segment.h"

// What makes the log shorter at its start.

namespace sluice::log {

Log::PendingDeletion::PendingDeletion(io::FileSystem& file_system, LogState& state,
                                      int64_t start_offset)
    : file_system_(&file_system), state_(&state), start_offset_(start_offset) {}
Log::PendingDeletion::PendingDeletion(PendingDeletion&&) noexcept = default;
Log::PendingDeletion& Log::PendingDeletion::operator=(PendingDeletion&&) noexcept = default;
Log::PendingDeletion::~PendingDeletion() = default;

Status Log::PendingDeletion::Run() {
  if (segments_.empty()) return Status::OK();
  // From here on a restart finishes the deletion, whichever names are gone by then.
  RETURN_NOT_OK(state_->SetStart(start_offset_));
  while (!segments_.empty()) {
    RETURN_NOT_OK(segments_.front()->Remove(*file_system_));
    segments_.erase(segments_.begin());
  }
  return Status::OK();
}

Result<Log::PendingDeletion> Log::BeginDeletion(const Retention& policy, Miss* miss) {
  RETURN_NOT_OK(Usable());
  CHECK(!deleting_);
  const MemoryOnly scope(this, miss);
  // A writer's last batch may go only once a snapshot remembers it, or the writer would be a
  // stranger after a restart.
  const int64_t limit = std::min({policy.floor_offset, high_watermark_, recovery_point_});
  if (policy.roll_active && end_offset_ <= limit &&
      largest_timestamp_ms_ < policy.delete_before_ms) {
    RETURN_NOT_OK(Roll());
  }
  const size_t most =
      segments_.size() - std::min(segments_.size(), std::max<size_t>(policy.segments_min, 1));
  size_t count = 0;
  for (; count < most && EndOfSegment(count) <= limit; ++count) {
    ASSIGN_OR_RAISE(const int64_t largest_ms, LargestTimestampOf(count));
    if (largest_ms >= policy.delete_before_ms) break;
  }
  PendingDeletion deletion(file_system_, *state_, segments_[count]->base_offset());
  const auto kept = segments_.begin() + static_cast<ptrdiff_t>(count);
  for (auto segment = segments_.begin(); segment != kept; ++segment) {
    std::erase(loaded_, (*segment)->base_offset());
    UnmarkDirty((*segment)->base_offset());
    deletion.segments_.push_back(std::move(*segment));
  }
  segments_.erase(segments_.begin(), kept);
  deleting_ = true;
  return deletion;
}

Status Log::FinishDeletion(PendingDeletion deletion, const Status& ran) {
  deleting_ = false;
  for (const auto& segment : deletion.segments_) segment->Unload();
  segments_.insert(segments_.begin(), std::make_move_iterator(deletion.segments_.begin()),
                   std::make_move_iterator(deletion.segments_.end()));
  return ran;
}

Result<size_t> Log::DeleteSegments(const Retention& policy) {
  ASSIGN_OR_RAISE(PendingDeletion deletion, BeginDeletion(policy));
  const size_t count = deletion.count();
  const Status ran = deletion.Run();
  RETURN_NOT_OK(FinishDeletion(std::move(deletion), ran));
  return count;
}

}  // namespace sluice::log
