#include "log/remote_segment.h"

#include <algorithm>

#include "log/segment.h"

namespace sluice::log {
namespace {

constexpr uint64_t kCopyBytes = 1 << 20;  // Read and written at a time.

Status NotWhole(const std::string& path, const Status& cause) {
  return Error(ErrorCode::kLogStorage, "remote segment cannot be read file=", path,
               " cause=", cause.message());
}

Result<std::string> ReadIndex(io::FileSystem& files, const std::string& folder, int64_t base_offset,
                              std::string_view suffix) {
  const std::string path = SegmentPath(folder, base_offset, suffix);
  auto image = files.ReadFile(path);
  if (!image.ok()) return NotWhole(path, image.status());
  return image;
}

Status CopyFile(const SegmentCopy& copy, const std::string& from, const std::string& to,
                std::optional<uint64_t> size_bytes) {
  ASSIGN_OR_RAISE(const auto source, copy.files->Open(from, io::FileSystem::Mode::kRead));
  ASSIGN_OR_RAISE(const auto target, copy.files->Open(to, io::FileSystem::Mode::kCreateNew));
  const uint64_t end = size_bytes.value_or(source->size_bytes());
  for (uint64_t at = 0; at < end;) {
    if (copy.stop != nullptr && copy.stop->load()) return Status::Cancelled("copy was stopped");
    ASSIGN_OR_RAISE(const std::string bytes,
                    source->ReadString(at, std::min<uint64_t>(kCopyBytes, end - at)));
    if (bytes.empty()) return Corrupt("file ended while it was copied file=", from, " at=", at);
    RETURN_NOT_OK(target->Append(bytes));
    at += bytes.size();
  }
  return target->Sync();
}

}  // namespace

std::string RemoteSegmentFolder(const std::string& bucket_folder, const RemoteSegment& segment) {
  return io::JoinPath(bucket_folder, segment.id);
}

Status SegmentCopy::Run() const {
  const std::string folder = RemoteSegmentFolder(bucket_folder, segment);
  RETURN_NOT_OK(remote.Check(*files, root));
  // A root that is gone, as an unmounted one, must not be made anew on another disk.
  RETURN_NOT_OK(files->MakeFoldersBelow(root, folder));
  for (const auto suffix : {kLogSuffix, kIndexSuffix, kTimeIndexSuffix}) {
    std::optional<uint64_t> size_bytes;
    if (suffix == kLogSuffix) size_bytes = segment.size_bytes;
    RETURN_NOT_OK(CopyFile(*this, SegmentPath(from_folder, segment.start_offset, suffix),
                           SegmentPath(folder, segment.start_offset, suffix), size_bytes));
  }
  return files->SyncFolder(folder);
}

Result<std::shared_ptr<const RemoteSegmentReader>> RemoteSegmentReader::Open(
    io::FileSystem& files, const std::string& bucket_folder, RemoteSegment segment) {
  const std::string folder = RemoteSegmentFolder(bucket_folder, segment);
  const int64_t base_offset = segment.start_offset;
  const std::string path = SegmentPath(folder, base_offset, kLogSuffix);
  auto opened = files.Open(path, io::FileSystem::Mode::kRead);
  if (!opened.ok()) return NotWhole(path, opened.status());
  std::shared_ptr<io::File> file = *std::move(opened);
  if (file->size_bytes() != segment.size_bytes) {
    return Corrupt("remote segment has another size file=", path,
                   " size_bytes=", file->size_bytes(), " expected=", segment.size_bytes);
  }
  ASSIGN_OR_RAISE(const std::string offset_image,
                  ReadIndex(files, folder, base_offset, kIndexSuffix));
  ASSIGN_OR_RAISE(const std::string time_image,
                  ReadIndex(files, folder, base_offset, kTimeIndexSuffix));
  ASSIGN_OR_RAISE(OffsetIndex offsets, OffsetIndex::Parse(base_offset, offset_image));
  ASSIGN_OR_RAISE(TimeIndex times, TimeIndex::Parse(base_offset, time_image));
  return std::shared_ptr<const RemoteSegmentReader>(new RemoteSegmentReader(
      std::move(segment), std::move(file), std::move(offsets), std::move(times)));
}

BatchScan RemoteSegmentReader::ScanFrom(OffsetIndex::Entry entry) const {
  return BatchScan(file_, {entry.offset, entry.position_bytes, segment_.size_bytes},
                   BatchScan::kLookupBytes);
}

Status RemoteSegmentReader::Unreadable(const Status& cause) const {
  // Damage does not pass, as what the storage says may.
  if (CodeOf(cause) == ErrorCode::kCorruptRecord)
    return Corrupt("remote segment is damaged file=", file_->path(), " cause=", cause.message());
  return NotWhole(file_->path(), cause);
}

Result<Log::Slice> RemoteSegmentReader::Read(int64_t offset, uint64_t max_bytes) const {
  auto slice = ReadBatches(offset, max_bytes);
  if (!slice.ok()) return Unreadable(slice.status());
  return slice;
}

Result<int64_t> RemoteSegmentReader::OffsetOfTimestamp(int64_t timestamp_ms) const {
  auto offset = FindTimestamp(timestamp_ms);
  if (!offset.ok()) return Unreadable(offset.status());
  return offset;
}

Result<Log::Slice> RemoteSegmentReader::ReadBatches(int64_t offset, uint64_t max_bytes) const {
  if (offset < segment_.start_offset || offset >= segment_.end_offset)
    return Corrupt("offset is not in the segment offset=", offset);
  BatchScan scan = ScanFrom(offsets_.Floor(offset));
  std::optional<BatchScan::Batch> last;
  do {
    ASSIGN_OR_RAISE(last, scan.Next());
    if (!last) return Corrupt("segment ends early offset=", offset);
  } while (last->header.next_offset() <= offset);
  const uint64_t start = last->position_bytes;
  const uint64_t limit = start + max_bytes;
  Log::Slice slice{.first_offset = last->header.base_offset,
                   .next_offset = last->header.next_offset()};
  uint64_t end_bytes = last->end_bytes();
  if (segment_.size_bytes <= limit) {
    end_bytes = segment_.size_bytes;
    slice.next_offset = segment_.end_offset;
  } else {
    // The index leaps over most of the batches up to the limit; the rest are walked.
    const OffsetIndex::Entry leap = offsets_.FloorPosition(limit);
    if (leap.position_bytes > end_bytes) {
      end_bytes = leap.position_bytes;
      slice.next_offset = leap.offset;
      scan = ScanFrom(leap);
    }
    while (slice.next_offset < segment_.end_offset) {
      ASSIGN_OR_RAISE(const auto batch, scan.Next());
      if (!batch) return Corrupt("segment ends early offset=", slice.next_offset);
      if (batch->end_bytes() > limit) break;
      end_bytes = batch->end_bytes();
      slice.next_offset = batch->header.next_offset();
    }
  }
  slice.ranges.push_back({file_, start, end_bytes - start});
  slice.size_bytes = end_bytes - start;
  return slice;
}

Result<int64_t> RemoteSegmentReader::FindTimestamp(int64_t timestamp_ms) const {
  BatchScan scan = ScanFrom(offsets_.Floor(times_.LastBefore(timestamp_ms)));
  while (true) {
    ASSIGN_OR_RAISE(const auto batch, scan.Next());
    if (!batch) return segment_.end_offset;
    if (batch->header.commit_timestamp_ms >= timestamp_ms) return batch->header.base_offset;
  }
}

}  // namespace sluice::log
