#include "log/segment.h"

#include <fmt/format.h>

#include <charconv>

#include "base/check.h"
#include "base/log.h"

namespace sluice::log {

std::string SegmentPath(const std::string& folder, int64_t base_offset, std::string_view suffix) {
  return io::JoinPath(folder, fmt::format("{:020}{}", base_offset, suffix));
}

std::optional<int64_t> OffsetInName(std::string_view name, std::string_view suffix) {
  constexpr size_t kDigits = 20;
  if (name.size() != kDigits + suffix.size() || !name.ends_with(suffix)) return std::nullopt;
  int64_t offset = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + kDigits, offset);
  if (error != std::errc() || end != name.data() + kDigits) return std::nullopt;
  return offset;
}

Segment::Segment(FileCache& files, const std::string& folder, int64_t base_offset,
                 uint64_t size_bytes)
    : files_(files),
      base_offset_(base_offset),
      log_path_(SegmentPath(folder, base_offset, kLogSuffix)),
      index_path_(SegmentPath(folder, base_offset, kIndexSuffix)),
      time_index_path_(SegmentPath(folder, base_offset, kTimeIndexSuffix)),
      size_bytes_(size_bytes) {}

Status Segment::Load(Miss* miss) {
  if (loaded()) return Status::OK();
  ASSIGN_OR_RAISE(const auto index_file, OffsetIndexFile());
  ASSIGN_OR_RAISE(const auto time_file, TimeIndexFile());
  ASSIGN_OR_RAISE(const std::string index_image,
                  ReadOrMiss(index_file, 0, index_file->size_bytes(), miss));
  ASSIGN_OR_RAISE(const std::string time_image,
                  ReadOrMiss(time_file, 0, time_file->size_bytes(), miss));
  ASSIGN_OR_RAISE(OffsetIndex offsets, OffsetIndex::Parse(base_offset_, index_image));
  ASSIGN_OR_RAISE(TimeIndex times, TimeIndex::Parse(base_offset_, time_image));
  offsets_ = std::move(offsets);
  times_ = std::move(times);
  const Status checked = CheckLastEntry(miss);
  if (!checked.ok()) Unload();
  return checked;
}

Status Segment::CheckLastEntry(Miss* miss) {
  const OffsetIndex::Entry last = offsets_->Last();
  if (last.position_bytes == 0) return Status::OK();
  if (last.position_bytes >= size_bytes_) {
    return Corrupt("offset index points past its log file=", index_path_, " offset=", last.offset);
  }
  ASSIGN_OR_RAISE(BatchScan scan, ScanFrom(last, wire::kLogBatchHeaderBytesMax, miss));
  return scan.Next().status();
}

void Segment::Unload() {
  offsets_.reset();
  times_.reset();
}

Status Segment::ResetIndexes() {
  offsets_.emplace(base_offset_);
  times_.emplace(base_offset_);
  newest_.reset();
  ASSIGN_OR_RAISE(const auto index_file, OffsetIndexFile());
  ASSIGN_OR_RAISE(const auto time_file, TimeIndexFile());
  RETURN_NOT_OK(index_file->Truncate(0));
  return time_file->Truncate(0);
}

Status Segment::TruncateIndexes(int64_t offset) {
  CHECK(loaded());
  offsets_->TruncateTo(offset);
  times_->TruncateTo(offset);
  newest_.reset();
  ASSIGN_OR_RAISE(const auto index_file, OffsetIndexFile());
  ASSIGN_OR_RAISE(const auto time_file, TimeIndexFile());
  if (index_file->size_bytes() != offsets_->size_bytes())
    RETURN_NOT_OK(index_file->Truncate(offsets_->size_bytes()));
  if (time_file->size_bytes() != times_->size_bytes())
    RETURN_NOT_OK(time_file->Truncate(times_->size_bytes()));
  return Status::OK();
}

bool Segment::Fits(uint64_t size_bytes, int64_t last_offset, uint64_t segment_bytes) const {
  return size_bytes_ + size_bytes <= std::min<uint64_t>(segment_bytes, UINT32_MAX) &&
         last_offset - base_offset_ <= INT32_MAX;
}

Status Segment::Append(std::span<const std::string_view> parts) {
  ASSIGN_OR_RAISE(const auto file, LogFile());
  // It may have been opened again, and somebody else may have written to it meanwhile.
  if (file->size_bytes() != size_bytes_) {
    return Error(ErrorCode::kLogStorage,
                 "log file has another size than was written file=", log_path_,
                 " size_bytes=", file->size_bytes(), " written=", size_bytes_);
  }
  RETURN_NOT_OK(file->Append(parts));
  size_bytes_ = file->size_bytes();
  return Status::OK();
}

// Add the entries for a batch in memory when the last ones are far enough back; returns their
// bytes.
Segment::NewEntries Segment::AddEntries(const TimeIndex::Entry& batch, uint64_t position_bytes,
                                        uint32_t interval_bytes, OffsetIndex* offsets,
                                        TimeIndex* times) {
  if (position_bytes <= uint64_t{offsets->Last().position_bytes} + interval_bytes) return {};
  return {offsets->Append({batch.offset, static_cast<uint32_t>(position_bytes)}),
          times->MaybeAppend(batch)};
}

Status Segment::Index(const wire::LogBatchHeader& header, uint64_t position_bytes,
                      uint32_t interval_bytes) {
  CHECK(loaded());
  newest_ = {header.commit_timestamp_ms, header.base_offset};
  const NewEntries added =
      AddEntries(*newest_, position_bytes, interval_bytes, &*offsets_, &*times_);
  if (added.offset.empty()) return Status::OK();
  ASSIGN_OR_RAISE(const auto index_file, OffsetIndexFile());
  RETURN_NOT_OK(index_file->Append(added.offset));
  if (added.time.empty()) return Status::OK();
  ASSIGN_OR_RAISE(const auto time_file, TimeIndexFile());
  return time_file->Append(added.time);
}

Status Segment::Rebuild(uint32_t interval_bytes, int64_t upper_offset, bool closed) {
  ASSIGN_OR_RAISE(const auto rebuild, BeginRebuild(interval_bytes, upper_offset, closed));
  RETURN_NOT_OK(rebuild());
  return Load();
}

Result<std::function<Status()>> Segment::BeginRebuild(uint32_t interval_bytes, int64_t upper_offset,
                                                      bool closed) {
  Unload();
  newest_.reset();
  files_.Drop(index_path_);
  files_.Drop(time_index_path_);
  ASSIGN_OR_RAISE(const BatchScan scan, ScanFrom({base_offset_, 0}, BatchScan::kRecoveryBytes));
  return [scan, interval_bytes, upper_offset, closed, files = &files_.file_system(),
          base_offset = base_offset_, index_path = index_path_, time_path = time_index_path_,
          turn = rebuilding_]() -> Status {
    const std::lock_guard lock(*turn);
    BatchScan rest = scan;
    OffsetIndex offsets(base_offset);
    TimeIndex times(base_offset);
    NewEntries images;
    std::optional<TimeIndex::Entry> newest;
    while (rest.next_offset() < upper_offset) {
      ASSIGN_OR_RAISE(const auto batch, rest.Next());
      if (!batch) break;
      newest = {batch->header.commit_timestamp_ms, batch->header.base_offset};
      const NewEntries added =
          AddEntries(*newest, batch->position_bytes, interval_bytes, &offsets, &times);
      images.offset += added.offset;
      images.time += added.time;
    }
    if (closed && newest.has_value()) images.time += times.MaybeAppend(*newest);
    RETURN_NOT_OK(files->ReplaceFile(index_path, images.offset));
    return files->ReplaceFile(time_path, images.time);
  };
}

// The segment's last batch, for the time index; none when the segment is empty.
Result<std::optional<TimeIndex::Entry>> Segment::FindNewest(Miss* miss) {
  ASSIGN_OR_RAISE(BatchScan scan, ScanFrom(offsets_->Last(), BatchScan::kLookupBytes, miss));
  std::optional<TimeIndex::Entry> newest;
  while (true) {
    ASSIGN_OR_RAISE(const auto batch, scan.Next());
    if (!batch) return newest;
    newest = {batch->header.commit_timestamp_ms, batch->header.base_offset};
  }
}

Status Segment::Seal() {
  CHECK(loaded());
  // Not known after a truncation.
  if (!newest_.has_value()) {
    ASSIGN_OR_RAISE(newest_, FindNewest(/*miss=*/nullptr));
  }
  if (!newest_.has_value()) return Status::OK();
  ASSIGN_OR_RAISE(const auto time_file, TimeIndexFile());
  const uint64_t size_before = times_->size_bytes();
  const std::string time_entry = times_->MaybeAppend(*newest_);
  if (time_entry.empty()) return Status::OK();
  const Status appended = time_file->Append(time_entry);
  if (appended.ok()) return appended;
  // Memory must not hold what the file lacks: a later truncation would fill the file with zeros.
  times_->TruncateTo(newest_->offset);
  CHECK(times_->size_bytes() == size_before);
  LogIfError(time_file->Truncate(size_before), "end of " + time_index_path_);
  return appended;
}

Status Segment::CheckLastTime() {
  const std::optional<TimeIndex::Entry> last = times_->Last();
  if (!last.has_value()) return Status::OK();
  ASSIGN_OR_RAISE(BatchScan scan, ScanFrom(offsets_->Floor(last->offset)));
  while (scan.next_offset() <= last->offset) {
    ASSIGN_OR_RAISE(const auto batch, scan.Next());
    if (!batch) break;
    if (batch->header.base_offset == last->offset &&
        batch->header.commit_timestamp_ms == last->timestamp_ms)
      return Status::OK();
  }
  return Corrupt("time index names no batch file=", time_index_path_, " offset=", last->offset);
}

Status Segment::CheckSealed(Miss* miss) {
  ASSIGN_OR_RAISE(const auto newest, FindNewest(miss));
  if (!newest.has_value() || times_->largest_timestamp_ms() == newest->timestamp_ms)
    return Status::OK();
  return Corrupt("time index has lost its last entries file=", time_index_path_);
}

Status Segment::Truncate(uint64_t size_bytes, int64_t offset) {
  ASSIGN_OR_RAISE(const auto file, LogFile());
  RETURN_NOT_OK(file->Truncate(size_bytes));
  // Else a power loss could bring the cut batches back behind new ones of the same size.
  RETURN_NOT_OK(file->Sync());
  size_bytes_ = size_bytes;
  return TruncateIndexes(offset);
}

Status Segment::Remove(io::FileSystem& file_system) {
  for (const std::string& path : {index_path_, time_index_path_, log_path_}) {
    files_.Drop(path);
    const Status removed = file_system.Remove(path);
    if (!removed.ok() && !io::IsNotFound(removed)) return removed;
  }
  return Status::OK();
}

Result<BatchScan> Segment::ScanFrom(OffsetIndex::Entry entry, size_t window_bytes, Miss* miss) {
  ASSIGN_OR_RAISE(auto file, LogFile());
  return BatchScan(std::move(file), {entry.offset, entry.position_bytes, size_bytes_}, window_bytes,
                   miss);
}

}  // namespace sluice::log
