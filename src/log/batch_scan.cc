#include "log/batch_scan.h"

#include <algorithm>

#include "base/check.h"

namespace sluice::log {

Result<std::string_view> BatchScan::View(uint64_t position, size_t size) {
  CHECK(position <= end_);
  size = std::min<uint64_t>(size, end_ - position);
  const bool inside =
      position >= window_start_ && position + size <= window_start_ + window_.size();
  if (!inside) {
    const size_t wanted = std::min<uint64_t>(std::max(size, window_bytes_), end_ - position);
    ASSIGN_OR_RAISE(window_, ReadOrMiss(file_, position, wanted, miss_));
    window_start_ = position;
  }
  return std::string_view(window_).substr(position - window_start_, size);
}

Result<std::optional<BatchScan::Batch>> BatchScan::Next() {
  if (position_ >= end_) return std::nullopt;
  ASSIGN_OR_RAISE(const std::string_view bytes, View(position_, wire::kLogBatchHeaderBytesMax));
  const auto header = wire::ParseLogBatchHeader(bytes);
  if (!header.ok()) return Damaged(header.status().message());
  if (header->base_offset != next_offset_) return Damaged("another batch stands there");
  const Batch batch{*header, position_};
  if (batch.end_bytes() > end_) return Damaged("it ends after its file");
  position_ = batch.end_bytes();
  next_offset_ = header->next_offset();
  return batch;
}

Status BatchScan::Damaged(std::string_view reason) const {
  return Corrupt("log batch is damaged file=", file_->path(), " position=", position_,
                 " offset=", next_offset_, " reason=", reason);
}

Result<bool> BatchScan::IsWhole(const Batch& batch) {
  ASSIGN_OR_RAISE(const std::string_view bytes, BytesOf(batch));
  const auto parsed = wire::LogBatchView::Parse(bytes);
  return parsed.ok() && parsed->CrcMatches();
}

}  // namespace sluice::log
