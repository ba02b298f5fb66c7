#include <algorithm>

#include "base/check.h"
#include "io/crash_point.h"
#include "log/file_cache.h"
#include "log/log.h"
#include "log/log_state.h"
#include "log/recovery_internal.h"
#include "log/segment.h"
#include "log/writer_states.h"

// What makes the log durable, and what cuts it.

namespace sluice::log {

void Log::MarkDirty(int64_t base_offset) {
  UnmarkDirty(base_offset);
  dirty_.push_back({base_offset, ++marks_});
}

void Log::UnmarkDirty(int64_t base_offset) {
  std::erase_if(dirty_, [&](const Dirty& dirty) { return dirty.base_offset == base_offset; });
}

Result<Log::PendingFlush> Log::BeginFlush(FlushKind kind) {
  RETURN_NOT_OK(Usable());
  PendingFlush flush;
  flush.file_system_ = &file_system_;
  flush.kind_ = kind;
  flush.offset_ = end_offset_;
  flush.newest_segment_ = segments_.back()->base_offset();
  flush.truncations_ = truncations_;
  flush.written_bytes_ = written_bytes_;
  flush.folder_ = folder_;
  flush.marks_ = marks_;
  const bool synced = kind == FlushKind::kBetweenSyncs;
  flush.names_ = !names_durable_ && !synced;
  flush.path_ = !path_durable_ && !synced;
  if (synced && NeverUsed()) return flush;
  for (const auto& [base_offset, mark] : dirty_) {
    if (synced) break;
    const Segment& segment = *segments_[SegmentIndexOf(base_offset)];
    ASSIGN_OR_RAISE(auto log_file, segment.LogFile());
    flush.files_.push_back(std::move(log_file));
    if (kind == FlushKind::kData) continue;
    ASSIGN_OR_RAISE(auto index_file, segment.OffsetIndexFile());
    flush.files_.push_back(std::move(index_file));
    ASSIGN_OR_RAISE(auto time_file, segment.TimeIndexFile());
    flush.files_.push_back(std::move(time_file));
  }
  if (kind != FlushKind::kData && (snapshots_.empty() || snapshots_.back() != end_offset_)) {
    flush.snapshot_path_ = SegmentPath(folder_, end_offset_, kWriterSnapshotSuffix);
    flush.snapshot_ = writers_->ToJson();
  }
  return flush;
}

Status Log::PendingFlush::Run() const {
  for (const auto& file : files_) RETURN_NOT_OK(file->Sync());
  if (names_) RETURN_NOT_OK(file_system_->SyncFolder(folder_));
  if (path_) RETURN_NOT_OK(file_system_->SyncPath(folder_));
  CRASH_POINT("log.before-writer-snapshot");
  // The snapshot says that all below it is durable, and the way to it; so it comes last.
  if (snapshot_path_.empty()) return Status::OK();
  if (kind_ != FlushKind::kBetweenSyncs)
    return file_system_->ReplaceFile(snapshot_path_, snapshot_);
  // Half of one is no JSON: recovery takes the one before, which is kept.
  ASSIGN_OR_RAISE(const auto file,
                  file_system_->Open(snapshot_path_, io::FileSystem::Mode::kCreate));
  RETURN_NOT_OK(file->Truncate(0));
  return file->Append(snapshot_);
}

Status Log::FinishFlush(const PendingFlush& flush, const Status& ran) {
  if (!ran.ok()) {
    broken_ = true;
    return Error(ErrorCode::kLogStorage, "flush failed folder=", folder_,
                 " reason=", ran.message());
  }
  CHECK(flush.truncations_ == truncations_);
  synced_offset_ = std::max(synced_offset_, flush.offset_);
  if (flush.newest_segment_ == segments_.back()->base_offset()) names_durable_ = true;
  path_durable_ = true;
  if (flush.kind_ == FlushKind::kData) return Status::OK();
  recovery_point_ = std::max(recovery_point_, flush.offset_);
  saved_bytes_ = std::max(saved_bytes_, flush.written_bytes_);
  // One that was written to since, if only sealed, stays.
  std::erase_if(dirty_, [&](const Dirty& dirty) { return dirty.mark <= flush.marks_; });
  if (!flush.snapshot_path_.empty()) snapshots_.push_back(flush.offset_);
  return flush.kind_ == FlushKind::kCheckpoint ? RemoveSnapshots(0, flush.offset_) : Status::OK();
}

Status Log::Flush(FlushKind kind) {
  ASSIGN_OR_RAISE(const PendingFlush flush, BeginFlush(kind));
  return FinishFlush(flush, flush.Run());
}

bool Log::NeverUsed() const { return end_offset_ == 0 && truncations_ == 0; }

bool Log::IsSaved() const {
  // Of thousands of buckets most are idle, and a checkpoint costs several syncs.
  const bool checkpointed = dirty_.empty() && recovery_point_ == end_offset_ &&
                            !snapshots_.empty() && snapshots_.back() == end_offset_;
  return !broken_ && path_durable_ && (NeverUsed() || checkpointed);
}

Status Log::Close() { return IsSaved() ? Status::OK() : Flush(FlushKind::kCheckpoint); }

Status Log::RemoveSnapshots(int64_t from, int64_t to) {
  for (const int64_t offset : snapshots_) {
    if (offset < from || offset >= to) continue;
    const Status removed = file_system_.Remove(SegmentPath(folder_, offset, kWriterSnapshotSuffix));
    if (!removed.ok() && !io::IsNotFound(removed)) return removed;
  }
  std::erase_if(snapshots_, [&](int64_t offset) { return offset >= from && offset < to; });
  return Status::OK();
}

Status Log::WriteSnapshot(int64_t offset, const WriterStates& writers) {
  RETURN_NOT_OK(file_system_.ReplaceFile(SegmentPath(folder_, offset, kWriterSnapshotSuffix),
                                         writers.ToJson()));
  if (std::ranges::find(snapshots_, offset) == snapshots_.end()) snapshots_.push_back(offset);
  std::ranges::sort(snapshots_);
  return Status::OK();
}

// What the log would remember if it ended at `offset`, a batch boundary.
Result<WriterStates> Log::WritersAt(int64_t offset) {
  WriterStates writers;
  int64_t from = start_offset();
  for (const int64_t snapshot : snapshots_) {
    if (snapshot > offset) continue;
    ASSIGN_OR_RAISE(const std::string json,
                    file_system_.ReadFile(SegmentPath(folder_, snapshot, kWriterSnapshotSuffix)));
    ASSIGN_OR_RAISE(writers, WriterStates::FromJson(json));
    from = std::max(from, snapshot);
  }
  while (from < offset) {
    const size_t index = SegmentIndexOf(from);
    const int64_t end = std::min(EndOfSegment(index), offset);
    ASSIGN_OR_RAISE(Segment * segment, Loaded(index));
    ASSIGN_OR_RAISE(BatchScan scan,
                    segment->ScanFrom(segment->offsets().Floor(from), BatchScan::kRecoveryBytes));
    while (scan.next_offset() < end) {
      ASSIGN_OR_RAISE(const auto batch, scan.Next());
      if (!batch)
        return Corrupt("log file ends early file=", segment->log_path(),
                       " offset=", scan.next_offset());
      if (batch->header.base_offset >= from) writers.Add(batch->header);
    }
    from = end;
  }
  return writers;
}

Status Log::CutAt(int64_t offset) {
  const size_t index = SegmentIndexOf(offset);
  if (index + 1 < segments_.size()) {
    RETURN_NOT_OK(RemoveSegments(index + 1, segments_.size()));
    // Else a power loss could bring their files back where new segments of the same names were
    // started.
    RETURN_NOT_OK(file_system_.SyncFolder(folder_));
  }
  ASSIGN_OR_RAISE(Segment * segment, Loaded(index));
  std::erase(loaded_, segment->base_offset());
  ASSIGN_OR_RAISE(BatchScan scan, segment->ScanFrom(segment->offsets().Floor(offset)));
  while (scan.next_offset() < offset) {
    ASSIGN_OR_RAISE(const auto batch, scan.Next());
    if (!batch)
      return Corrupt("log file ends before its cut file=", segment->log_path(), " offset=", offset);
  }
  MarkDirty(segment->base_offset());
  names_durable_ = false;
  return segment->Truncate(scan.position_bytes(), offset);
}

Status Log::TruncateTo(int64_t offset) {
  RETURN_NOT_OK(Usable());
  CHECK(!deleting_);
  if (offset < start_offset()) {
    return Error(ErrorCode::kLogOffsetOutOfRange, "cut lies before the log offset=", offset,
                 " start=", start_offset());
  }
  if (offset >= end_offset_) return Status::OK();
  ASSIGN_OR_RAISE(const BatchScan::Batch first_gone, BatchAt(offset));
  const int64_t cut = first_gone.header.base_offset;
  if (!snapshots_.empty() && snapshots_.back() > cut) {
    // The newest snapshot decides where recovery starts; it has to be at the cut before anything is
    // cut.
    ASSIGN_OR_RAISE(const WriterStates writers, WritersAt(cut));
    RETURN_NOT_OK(WriteSnapshot(cut, writers));
  }
  // What failed may be saved all the same: appended to, the log would be cut at its next opening.
  Status done = state_->BeginCut(cut);
  ++truncations_;
  if (done.ok()) done = FinishCut(cut);
  broken_ = !done.ok();
  return done;
}

// The second half of TruncateTo, which recovery repeats when it was interrupted.
Status Log::FinishCut(int64_t offset) {
  RETURN_NOT_OK(RemoveSnapshots(offset + 1, kCleanlyClosed));
  const int64_t cut = std::min(offset, end_offset_);
  int64_t largest_ms = -1;
  if (cut > start_offset()) {
    ASSIGN_OR_RAISE(const BatchScan::Batch last_kept, BatchAt(cut - 1));
    largest_ms = last_kept.header.commit_timestamp_ms;
  }
  ASSIGN_OR_RAISE(WriterStates writers, WritersAt(cut));
  RETURN_NOT_OK(CutAt(cut));
  RETURN_NOT_OK(state_->TruncateEpochs(cut));
  RETURN_NOT_OK(state_->EndCut());
  *writers_ = std::move(writers);
  end_offset_ = cut;
  largest_timestamp_ms_ = largest_ms;
  high_watermark_ = std::min(high_watermark_, cut);
  synced_offset_ = std::min(synced_offset_, cut);
  recovery_point_ = std::min(recovery_point_, cut);
  if (recovery_point_ == end_offset_) saved_bytes_ = written_bytes_;
  return Status::OK();
}

Status Log::TruncateFullyAndStartAt(int64_t offset) {
  RETURN_NOT_OK(Usable());
  CHECK(!deleting_);
  // What failed may be saved all the same.
  Status done = state_->BeginRestart(offset);
  ++truncations_;
  if (done.ok()) done = RestartAt(offset);
  broken_ = !done.ok();
  return done;
}

// The second half of TruncateFullyAndStartAt, which recovery repeats when it was interrupted.
Status Log::RestartAt(int64_t offset) {
  RETURN_NOT_OK(RemoveSegments(0, segments_.size()));
  end_offset_ = high_watermark_ = synced_offset_ = recovery_point_ = offset;
  saved_bytes_ = written_bytes_;
  largest_timestamp_ms_ = -1;
  const Status started = StartSegment(offset);
  // There is always a newest segment: this one is empty until the log is opened again.
  if (!started.ok()) segments_.push_back(std::make_unique<Segment>(*files_, folder_, offset, 0));
  RETURN_NOT_OK(started);
  RETURN_NOT_OK(RemoveSnapshots(0, kCleanlyClosed));
  writers_->Clear();
  // Without a snapshot a recovery point from before the restart would be believed; with one the
  // folder counts as durable.
  RETURN_NOT_OK(file_system_.SyncPath(folder_));
  path_durable_ = true;
  RETURN_NOT_OK(WriteSnapshot(offset, *writers_));
  RETURN_NOT_OK(state_->TruncateEpochs(offset));
  return state_->EndRestart();
}

}  // namespace sluice::log
