#include "log/log.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "base/log.h"
#include "log/file_cache.h"
#include "log/log_state.h"
#include "log/recovery_internal.h"
#include "log/segment.h"
#include "log/writer_states.h"

namespace sluice::log {

Log::Log(io::FileSystem& file_system, io::Clock& clock, std::string folder, LogOptions options)
    : file_system_(file_system),
      clock_(clock),
      folder_(std::move(folder)),
      options_(options),
      files_(options.files) {
  if (files_ == nullptr) {
    own_files_ = std::make_unique<FileCache>(file_system, /*capacity=*/12);
    files_ = own_files_.get();
  }
  writers_ = std::make_unique<WriterStates>();
}

Log::~Log() = default;

Result<std::unique_ptr<Log>> Log::Open(io::FileSystem& file_system, io::Clock& clock,
                                       std::string folder, LogOptions options,
                                       int64_t recovery_point) {
  auto log = std::unique_ptr<Log>(new Log(file_system, clock, std::move(folder), options));
  RETURN_NOT_OK(Recovery(*log, recovery_point).Run());
  return log;
}

int64_t Log::start_offset() const { return segments_.front()->base_offset(); }
int32_t Log::leader_epoch() const { return state_->leader_epoch(); }
const std::vector<LeaderEpoch>& Log::leader_epochs() const { return state_->epochs(); }

uint64_t Log::size_bytes() const {
  uint64_t size = 0;
  for (const auto& segment : segments_) size += segment->size_bytes();
  return size;
}

std::vector<Log::SegmentInfo> Log::Segments() const {
  std::vector<SegmentInfo> infos;
  for (size_t i = 0; i < segments_.size(); ++i) {
    infos.push_back({segments_[i]->base_offset(), EndOfSegment(i), segments_[i]->size_bytes()});
  }
  return infos;
}

void Log::AdvanceHighWatermark(int64_t offset) {
  high_watermark_ = std::max(high_watermark_, std::min(offset, end_offset_));
}

Status Log::Usable() const {
  if (!broken_) return Status::OK();
  return Error(ErrorCode::kLogStorage, "log refuses work after a failed write folder=", folder_);
}

size_t Log::SegmentIndexOf(int64_t offset) const {
  const auto above = std::ranges::upper_bound(
      segments_, offset, {}, [](const auto& segment) { return segment->base_offset(); });
  CHECK(above != segments_.begin());
  return static_cast<size_t>(above - segments_.begin()) - 1;
}

int64_t Log::EndOfSegment(size_t index) const {
  return index + 1 < segments_.size() ? segments_[index + 1]->base_offset() : end_offset_;
}

Result<Segment*> Log::Loaded(size_t index) {
  Segment* segment = segments_[index].get();
  const bool closed = index + 1 < segments_.size();
  if (!segment->loaded()) {
    Status loaded = segment->Load(miss_);
    if (loaded.ok() && closed) loaded = segment->CheckSealed(miss_);
    if (!loaded.ok()) segment->Unload();
    if (CodeOf(loaded) == ErrorCode::kCorruptRecord) {
      LogInfo("indexes are built anew: {}", loaded.message());
      const uint32_t interval_bytes = options_.index_interval_bytes;
      if (miss_ != nullptr && closed) {
        ASSIGN_OR_RAISE(miss_->rebuild, segment->BeginRebuild(interval_bytes, EndOfSegment(index),
                                                              /*closed=*/true));
        return Status::Cancelled("indexes are damaged file=", segment->log_path());
      }
      loaded = segment->Rebuild(interval_bytes, EndOfSegment(index), closed);
    }
    RETURN_NOT_OK(loaded);
  }
  if (!closed) return segment;
  std::erase(loaded_, segment->base_offset());
  loaded_.push_back(segment->base_offset());
  if (loaded_.size() > std::max<size_t>(options_.loaded_indexes_max, 1)) {
    segments_[SegmentIndexOf(loaded_.front())]->Unload();
    loaded_.erase(loaded_.begin());
  }
  return segment;
}

Status Log::StartSegment(int64_t base_offset) {
  if (!segments_.empty()) {
    ASSIGN_OR_RAISE(Segment * active, Loaded(segments_.size() - 1));
    RETURN_NOT_OK(active->Seal());
    MarkDirty(active->base_offset());
  }
  auto segment = std::make_unique<Segment>(*files_, folder_, base_offset, 0);
  RETURN_NOT_OK(segment->ResetIndexes());
  RETURN_NOT_OK(segment->LogFile().status());
  names_durable_ = false;
  segments_.push_back(std::move(segment));
  MarkDirty(base_offset);
  return segments_.size() > 1 ? Loaded(segments_.size() - 2).status() : Status::OK();
}

Status Log::Roll() {
  RETURN_NOT_OK(Usable());
  return segments_.back()->size_bytes() == 0 ? Status::OK() : StartSegment(end_offset_);
}

// Each goes from the list with its files: what an error leaves is still there.
Status Log::RemoveSegments(size_t first, size_t last) {
  const auto at = static_cast<ptrdiff_t>(first);
  for (size_t left = last - first; left > 0; --left) {
    const int64_t base_offset = segments_[first]->base_offset();
    RETURN_NOT_OK(segments_[first]->Remove(file_system_));
    std::erase(loaded_, base_offset);
    UnmarkDirty(base_offset);
    segments_.erase(segments_.begin() + at);
  }
  return Status::OK();
}

void Log::ExpireWriters() { writers_->Expire(clock_.NowMs() - options_.writer_expiry_ms); }

}  // namespace sluice::log
