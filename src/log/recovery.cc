#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "log/file_cache.h"
#include "log/log_state.h"
#include "log/recovery_internal.h"
#include "log/segment.h"
#include "log/writer_states.h"

namespace sluice::log {

Status Recovery::Run() {
  RETURN_NOT_OK(MakeFolder());
  ASSIGN_OR_RAISE(LogState state, LogState::Load(log_.file_system_, log_.folder_));
  log_.state_ = std::make_unique<LogState>(std::move(state));
  RETURN_NOT_OK(TakeStock());
  if (log_.state_->restarting()) return log_.RestartAt(log_.state_->start_offset());
  RETURN_NOT_OK(DropSegmentsBelowStart());
  if (log_.segments_.empty()) RETURN_NOT_OK(log_.StartSegment(log_.state_->start_offset()));
  const auto cutting_at = log_.state_->cutting_at();
  if (cutting_at.has_value()) {
    RETURN_NOT_OK(log_.RemoveSnapshots(*cutting_at + 1, Log::kCleanlyClosed));
  }
  RETURN_NOT_OK(LoadSnapshot());
  RETURN_NOT_OK(Scan());

  log_.end_offset_ = end_;
  log_.high_watermark_ = log_.start_offset();
  log_.synced_offset_ = log_.recovery_point_ = std::min(trusted_, end_);
  log_.written_bytes_ = log_.scanned_bytes_;
  if (log_.largest_timestamp_ms_ < 0 && log_.segments_.size() > 1) {
    // The newest segment is empty, and nothing before it had to be looked at.
    ASSIGN_OR_RAISE(log_.largest_timestamp_ms_, log_.LargestTimestampOf(log_.segments_.size() - 2));
  }
  if (cutting_at.has_value()) RETURN_NOT_OK(log_.FinishCut(*cutting_at));
  return log_.state_->BoundEpochs(log_.end_offset_);
}

// A folder that is there may be one whose names a process that was killed did not sync: the first
// flush does it, not the opening of thousands of logs.
Status Recovery::MakeFolder() {
  ASSIGN_OR_RAISE(const bool exists, log_.file_system_.Exists(log_.folder_));
  // Close does not pass over a log without it.
  log_.path_durable_ = exists && recovery_point_ == Log::kCleanlyClosed;
  if (exists) return Status::OK();
  RETURN_NOT_OK(log_.file_system_.MakeFolders(log_.folder_));
  log_.path_durable_ = true;
  return Status::OK();
}

Status Recovery::TakeStock() {
  ASSIGN_OR_RAISE(const auto entries, log_.file_system_.List(log_.folder_));
  for (const auto& entry : entries) {
    if (const auto base = OffsetInName(entry.name, kLogSuffix)) {
      log_.segments_.push_back(
          std::make_unique<Segment>(*log_.files_, log_.folder_, *base, entry.size_bytes));
    } else if (const auto offset = OffsetInName(entry.name, kWriterSnapshotSuffix)) {
      log_.snapshots_.push_back(*offset);
    } else if (entry.name.ends_with(".tmp") || entry.name.ends_with(".deleted")) {
      RETURN_NOT_OK(log_.file_system_.Remove(io::JoinPath(log_.folder_, entry.name)));
    }
  }
  return Status::OK();
}

// Finish a deletion of old segments that was interrupted.
Status Recovery::DropSegmentsBelowStart() {
  const auto first_kept =
      std::ranges::lower_bound(log_.segments_, log_.state_->start_offset(), {},
                               [](const auto& segment) { return segment->base_offset(); });
  return log_.RemoveSegments(0, static_cast<size_t>(first_kept - log_.segments_.begin()));
}

// Take the newest writer snapshot that can be read; what lies below it was durable when it was
// written.
Status Recovery::LoadSnapshot() {
  const int64_t start = log_.start_offset();
  while (!log_.snapshots_.empty() && !has_snapshot_) {
    const std::string path =
        SegmentPath(log_.folder_, log_.snapshots_.back(), kWriterSnapshotSuffix);
    ASSIGN_OR_RAISE(const std::string json, log_.file_system_.ReadFile(path));
    auto writers = WriterStates::FromJson(json);
    if (writers.ok()) {
      *log_.writers_ = std::move(*writers);
      has_snapshot_ = true;
      log_.path_durable_ = true;
      continue;
    }
    LogWarn("writer snapshot is dropped file={}: {}", path, writers.status().message());
    RETURN_NOT_OK(log_.file_system_.Remove(path));
    log_.snapshots_.pop_back();
  }
  from_ = has_snapshot_ ? std::max(log_.snapshots_.back(), start) : start;
  trusted_ = has_snapshot_ ? from_ : std::max(recovery_point_, start);
  return Status::OK();
}

Status Recovery::Scan() {
  const size_t first = log_.SegmentIndexOf(from_);
  for (size_t i = first; i < log_.segments_.size() && !cut_; ++i) {
    RETURN_NOT_OK(ScanSegment(i));
    if (cut_ || i + 1 == log_.segments_.size() || end_ == log_.segments_[i + 1]->base_offset())
      continue;
    RETURN_NOT_OK(Damaged(i, log_.segments_[i]->size_bytes(), end_,
                          Corrupt("log file ends before its next segment starts file=",
                                  log_.segments_[i]->log_path(), " offset=", end_)));
  }
  if (end_ < trusted_ && trusted_ != Log::kCleanlyClosed) {
    return Corrupt("log ends below its recovery point file=", log_.segments_.back()->log_path(),
                   " offset=", end_, " recovery_point=", trusted_);
  }
  if (end_ == trusted_) return Status::OK();
  for (size_t i = first; i < log_.segments_.size(); ++i)
    log_.MarkDirty(log_.segments_[i]->base_offset());
  return Status::OK();
}

// A scan from the last index entry at or below what is known; index entries above what is trusted
// go.
Result<BatchScan> Recovery::StartScan(size_t index) {
  Segment& segment = *log_.segments_[index];
  const Status loaded = segment.Load();
  if (CodeOf(loaded) == ErrorCode::kCorruptRecord) {
    LogInfo("indexes are built anew: {}", loaded.message());
    RETURN_NOT_OK(segment.Rebuild(log_.options_.index_interval_bytes, trusted_, /*closed=*/false));
  } else {
    RETURN_NOT_OK(loaded);
  }
  RETURN_NOT_OK(segment.TruncateIndexes(trusted_));
  const Status times = segment.CheckLastTime();
  if (CodeOf(times) == ErrorCode::kCorruptRecord) {
    LogInfo("indexes are built anew: {}", times.message());
    RETURN_NOT_OK(segment.Rebuild(log_.options_.index_interval_bytes, trusted_, /*closed=*/false));
  } else {
    RETURN_NOT_OK(times);
  }
  return segment.ScanFrom(segment.offsets().Floor(from_), BatchScan::kRecoveryBytes);
}

Status Recovery::ScanSegment(size_t index) {
  Segment& segment = *log_.segments_[index];
  ASSIGN_OR_RAISE(BatchScan scan, StartScan(index));
  while (true) {
    const int64_t offset = scan.next_offset();
    const uint64_t position = scan.position_bytes();
    const auto batch = scan.Next();
    if (CodeOf(batch.status()) == ErrorCode::kCorruptRecord) {
      end_ = offset;
      return Damaged(index, position, offset, batch.status());
    }
    RETURN_NOT_OK(batch);
    if (!batch->has_value()) break;
    if (offset >= trusted_) {
      log_.scanned_bytes_ += (*batch)->header.size_bytes();
      ASSIGN_OR_RAISE(const bool whole, scan.IsWhole(**batch));
      if (!whole) {
        end_ = offset;
        return Damaged(index, position, offset,
                       Corrupt("log batch has a wrong crc file=", segment.log_path(),
                               " position=", position, " offset=", offset));
      }
    }
    const wire::LogBatchHeader& header = (*batch)->header;
    RETURN_NOT_OK(segment.Index(header, position, log_.options_.index_interval_bytes));
    if (offset >= from_) log_.writers_->Add(header);
    log_.largest_timestamp_ms_ = header.commit_timestamp_ms;
  }
  end_ = scan.next_offset();
  const bool closed = index + 1 < log_.segments_.size();
  if (!closed) return Status::OK();
  RETURN_NOT_OK(segment.Seal());
  return log_.Loaded(index).status();
}

// Cut a torn tail; damage in what was durable is for a person to see.
Status Recovery::Damaged(size_t index, uint64_t position_bytes, int64_t offset,
                         const Status& reason) {
  if (offset < trusted_) return reason;
  Segment& segment = *log_.segments_[index];
  const size_t behind = log_.segments_.size() - index - 1;
  if (behind > 0) {
    LogWarn("log is cut in the middle file={} offset={} segments_lost={}: {}", segment.log_path(),
            offset, behind, reason.message());
  } else {
    LogInfo("log tail is cut file={} offset={} bytes={}: {}", segment.log_path(), offset,
            segment.size_bytes() - position_bytes, reason.message());
  }
  cut_ = true;
  RETURN_NOT_OK(log_.RemoveSegments(index + 1, log_.segments_.size()));
  std::erase(log_.loaded_, segment.base_offset());
  RETURN_NOT_OK(segment.Truncate(position_bytes, offset));
  return log_.file_system_.SyncFolder(log_.folder_);
}

}  // namespace sluice::log
