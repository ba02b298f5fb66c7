#include "log/segment_walk.h"

#include <algorithm>

#include "base/bytes.h"

namespace sluice::log {
namespace {

constexpr size_t kSearchBytes = 1 << 20;

// The walk of one file.
class SegmentWalk {
 public:
  SegmentWalk(std::shared_ptr<const io::File> file, const SegmentVisitor& visitor)
      : file_(std::move(file)), visitor_(visitor), end_(file_->size_bytes()) {}

  Result<SegmentExtent> Run(std::optional<int64_t> first_offset) {
    if (!first_offset.has_value()) {
      ASSIGN_OR_RAISE(const std::string head, file_->ReadString(0, sizeof(int64_t)));
      first_offset = head.size() == sizeof(int64_t) ? LoadLe<int64_t>(head.data()) : 0;
    }
    SegmentExtent extent{*first_offset, end_};
    uint64_t position = 0;
    while (position < end_) {
      RETURN_NOT_OK(WalkFrom(position, &extent));
      if (damage_.reason.empty()) break;
      RETURN_NOT_OK(visitor_.damage(damage_));
      position = damage_.position_bytes + damage_.size_bytes;
      extent.next_offset = damage_.next_offset.value_or(extent.next_offset);
    }
    return extent;
  }

 private:
  // From a batch boundary to damage, which is in damage_ then, or to the end.
  Status WalkFrom(uint64_t position, SegmentExtent* extent) {
    damage_ = {};
    BatchScan scan(file_, {extent->next_offset, position, end_}, BatchScan::kRecoveryBytes);
    while (true) {
      const auto batch = scan.Next();
      extent->next_offset = scan.next_offset();
      if (CodeOf(batch.status()) == ErrorCode::kCorruptRecord)
        return Examine(scan.position_bytes(), scan.next_offset(), batch.status());
      RETURN_NOT_OK(batch);
      if (!batch->has_value()) return Status::OK();
      ASSIGN_OR_RAISE(const bool whole, scan.IsWhole(**batch));
      ASSIGN_OR_RAISE(const std::string_view bytes, scan.BytesOf(**batch));
      RETURN_NOT_OK(visitor_.batch(**batch, bytes, whole));
    }
  }

  Status Examine(uint64_t position, int64_t offset, const Status& reason) {
    damage_ = {.offset = offset, .position_bytes = position, .reason = reason.message()};
    ASSIGN_OR_RAISE(const uint64_t next, FindWhole(position + 1, offset));
    damage_.size_bytes = next - position;
    if (next < end_) return Status::OK();
    ASSIGN_OR_RAISE(damage_.torn, IsTorn(position, offset));
    return Status::OK();
  }

  // Position of the next batch that is whole and may stand behind `offset`; the end when there is
  // none.
  Result<uint64_t> FindWhole(uint64_t from, int64_t offset) {
    for (; from + wire::kLogBatchHeaderBytes <= end_; from += kSearchBytes) {
      // The pieces overlap by a header.
      ASSIGN_OR_RAISE(const std::string piece,
                      file_->ReadString(from, kSearchBytes + wire::kLogBatchHeaderBytesMax));
      const size_t starts = std::min(kSearchBytes, piece.size());
      for (size_t at = 0; at < starts; ++at) {
        const std::string_view bytes = std::string_view(piece).substr(at);
        if (bytes.size() < wire::kLogBatchHeaderBytes) break;
        const auto base_offset = LoadLe<int64_t>(bytes.data());
        if (base_offset <= offset || base_offset - offset > INT32_MAX) continue;
        ASSIGN_OR_RAISE(const bool whole, IsWholeAt(from + at, bytes));
        if (!whole) continue;
        damage_.next_offset = base_offset;
        return from + at;
      }
    }
    return end_;
  }

  Result<bool> IsWholeAt(uint64_t position, std::string_view head) {
    const auto header = wire::ParseLogBatchHeader(head);
    if (!header.ok() || header->size_bytes() > end_ - position) return false;
    ASSIGN_OR_RAISE(const std::string bytes, file_->ReadString(position, header->size_bytes()));
    const auto batch = wire::LogBatchView::Parse(bytes);
    return batch.ok() && batch->CrcMatches();
  }

  // The start of a batch that was not written to its end; or zeros, which a lost write leaves.
  Result<bool> IsTorn(uint64_t position, int64_t offset) {
    ASSIGN_OR_RAISE(const std::string head,
                    file_->ReadString(position, wire::kLogBatchHeaderBytesMax));
    std::string start;
    AppendLe(&start, offset);
    start.resize(std::min(start.size(), head.size()));
    const bool cut_short = head.size() < wire::kLogBatchHeaderBytesMax;
    if (head.starts_with(start) && (cut_short || wire::ParseLogBatchHeader(head).ok())) return true;
    for (; position < end_; position += kSearchBytes) {
      ASSIGN_OR_RAISE(const std::string piece, file_->ReadString(position, kSearchBytes));
      if (piece.find_first_not_of('\0') != std::string::npos) return false;
    }
    return true;
  }

  const std::shared_ptr<const io::File> file_;
  const SegmentVisitor& visitor_;
  const uint64_t end_;
  SegmentDamage damage_;
};

}  // namespace

Result<SegmentExtent> WalkSegment(io::FileSystem& files, const std::string& path,
                                  std::optional<int64_t> first_offset,
                                  const SegmentVisitor& visitor) {
  ASSIGN_OR_RAISE(std::shared_ptr<const io::File> file,
                  files.Open(path, io::FileSystem::Mode::kRead));
  return SegmentWalk(std::move(file), visitor).Run(first_offset);
}

}  // namespace sluice::log
