#include <algorithm>

#include "base/check.h"
#include "log/log.h"
#include "log/memory_only_internal.h"
#include "log/segment.h"

namespace sluice::log {
namespace {

Status EndsEarly(const Segment& segment, int64_t offset) {
  return Corrupt("log file ends before its next segment starts file=", segment.log_path(),
                 " offset=", offset);
}

// The batch that contains `offset`, at or after the start of `scan`.
Result<BatchScan::Batch> SkipTo(const Segment& segment, BatchScan* scan, int64_t offset) {
  while (true) {
    ASSIGN_OR_RAISE(const auto batch, scan->Next());
    if (!batch) return EndsEarly(segment, offset);
    if (batch->header.next_offset() > offset) return *batch;
  }
}

}  // namespace

Result<BatchScan::Batch> Log::BatchAt(int64_t offset) {
  CHECK(offset >= start_offset() && offset < end_offset_);
  ASSIGN_OR_RAISE(Segment * segment, Loaded(SegmentIndexOf(offset)));
  ASSIGN_OR_RAISE(BatchScan scan, segment->ScanFrom(segment->offsets().Floor(offset)));
  return SkipTo(*segment, &scan, offset);
}

Result<Log::Slice> Log::Read(int64_t offset, uint64_t max_bytes, int64_t upper_offset,
                             bool at_least_one, Miss* miss) {
  if (offset < start_offset() || offset > end_offset_) {
    return Error(ErrorCode::kLogOffsetOutOfRange, "offset is outside the log offset=", offset,
                 " start=", start_offset(), " end=", end_offset_);
  }
  const MemoryOnly scope(this, miss);
  Slice slice{.first_offset = offset, .next_offset = offset};
  const int64_t upper = std::min(upper_offset, end_offset_);
  while (slice.next_offset < upper) {
    const size_t index = SegmentIndexOf(slice.next_offset);
    const int64_t segment_end = EndOfSegment(index);
    const auto segment = Loaded(index);
    const Status extended =
        segment.ok() ? ExtendSlice(**segment, segment_end, max_bytes, upper, at_least_one, &slice)
                     : segment.status();
    // What was found is enough for now; whoever asks for the rest learns what is wrong with it.
    if (!extended.ok() && !slice.ranges.empty()) break;
    RETURN_NOT_OK(extended);
    if (slice.next_offset < segment_end)
      break;  // Something other than the segment's end stopped it.
  }
  return slice;
}

Status Log::ExtendSlice(Segment& segment, int64_t segment_end, uint64_t max_bytes,
                        int64_t upper_offset, bool at_least_one, Slice* slice) const {
  const auto scan_from = [&](OffsetIndex::Entry entry) {
    return segment.ScanFrom(entry, BatchScan::kLookupBytes, miss_);
  };
  ASSIGN_OR_RAISE(BatchScan scan, scan_from(segment.offsets().Floor(slice->next_offset)));
  ASSIGN_OR_RAISE(BatchScan::Batch last, SkipTo(segment, &scan, slice->next_offset));
  const uint64_t start = last.position_bytes;
  const uint64_t limit = start + (max_bytes - std::min(max_bytes, slice->size_bytes));
  const auto fits = [&](uint64_t end_bytes, int64_t next) {
    return end_bytes <= limit && next <= upper_offset;
  };
  const bool forced =
      at_least_one && slice->ranges.empty() && last.header.next_offset() <= upper_offset;
  if (!forced && !fits(last.end_bytes(), last.header.next_offset())) return Status::OK();
  if (slice->ranges.empty()) slice->first_offset = last.header.base_offset;

  uint64_t end_bytes = last.end_bytes();
  int64_t next_offset = last.header.next_offset();
  if (fits(segment.size_bytes(), segment_end)) {
    end_bytes = segment.size_bytes();
    next_offset = segment_end;
  } else {
    // The index leaps over most of the batches between here and the limit; the rest are walked.
    const OffsetIndex::Entry by_size = segment.offsets().FloorPosition(limit);
    const OffsetIndex::Entry by_offset = segment.offsets().Floor(upper_offset);
    const OffsetIndex::Entry leap = by_size.offset < by_offset.offset ? by_size : by_offset;
    if (leap.position_bytes > end_bytes) {
      end_bytes = leap.position_bytes;
      next_offset = leap.offset;
      ASSIGN_OR_RAISE(scan, scan_from(leap));
    }
    while (next_offset < segment_end) {
      const auto next = scan.Next();
      if (!next.ok() || !next->has_value()) break;  // As above.
      const BatchScan::Batch* batch = &**next;
      if (!fits(batch->end_bytes(), batch->header.next_offset())) break;
      end_bytes = batch->end_bytes();
      next_offset = batch->header.next_offset();
    }
  }
  ASSIGN_OR_RAISE(auto file, segment.LogFile());
  slice->ranges.push_back({std::move(file), start, end_bytes - start});
  slice->size_bytes += end_bytes - start;
  slice->next_offset = next_offset;
  return Status::OK();
}

Result<int64_t> Log::LargestTimestampOf(size_t index) {
  if (index + 1 == segments_.size()) return largest_timestamp_ms_;
  ASSIGN_OR_RAISE(const Segment* segment, Loaded(index));
  return segment->times().largest_timestamp_ms();
}

Result<int64_t> Log::LargestTimestampOfSegment(int64_t base_offset, Miss* miss) {
  const MemoryOnly scope(this, miss);
  const size_t index =
      base_offset < start_offset() ? segments_.size() : SegmentIndexOf(base_offset);
  if (index + 1 >= segments_.size() || segments_[index]->base_offset() != base_offset) {
    return Error(ErrorCode::kLogOffsetOutOfRange,
                 "no closed segment begins there offset=", base_offset);
  }
  return LargestTimestampOf(index);
}

Result<int64_t> Log::OffsetOfTimestamp(int64_t timestamp_ms, Miss* miss) {
  const MemoryOnly scope(this, miss);
  if (timestamp_ms > largest_timestamp_ms_) return end_offset_;
  size_t low =
      0;  // First segment that may hold it: largest timestamps do not fall from one to the next.
  for (size_t high = segments_.size() - 1; low < high;) {
    const size_t middle = (low + high) / 2;
    ASSIGN_OR_RAISE(const int64_t largest_ms, LargestTimestampOf(middle));
    if (largest_ms < timestamp_ms) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  ASSIGN_OR_RAISE(Segment * segment, Loaded(low));
  const int64_t from = segment->times().LastBefore(timestamp_ms);
  ASSIGN_OR_RAISE(BatchScan scan,
                  segment->ScanFrom(segment->offsets().Floor(from), BatchScan::kLookupBytes, miss));
  while (true) {
    ASSIGN_OR_RAISE(const auto batch, scan.Next());
    if (!batch) return EndOfSegment(low);
    if (batch->header.commit_timestamp_ms >= timestamp_ms) return batch->header.base_offset;
  }
}

Result<std::optional<int64_t>> Log::TimestampOf(int64_t offset) {
  if (offset < start_offset() || offset > end_offset_) {
    return Error(ErrorCode::kLogOffsetOutOfRange, "offset is outside the log offset=", offset,
                 " start=", start_offset(), " end=", end_offset_);
  }
  if (offset == end_offset_) return std::nullopt;
  ASSIGN_OR_RAISE(const BatchScan::Batch batch, BatchAt(offset));
  return batch.header.commit_timestamp_ms;
}

}  // namespace sluice::log
