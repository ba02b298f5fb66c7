#include "tablet/slice_cut.h"

#include <map>

#include "base/crc32c.h"
#include "io/file.h"
#include "wire/batch_statistics.h"
#include "wire/log_batch.h"
#include "wire/projection.h"

namespace sluice::tablet {
namespace {

constexpr uint64_t kFrontBytes = 4096;  // Read first; most heads fit.
constexpr uint64_t kCopyBytes =
    32 << 10;  // Smaller column ranges are copied: one more system call costs as much.
// That one answer with a filter looks at: it may be that none of them goes into it.
constexpr uint64_t kFilteredBatchesMax = 4096;

// Of a batch, read at a time for its CRC: it stays in the processor's cache.
constexpr uint64_t kCrcPieceBytes = 256 << 10;
// All of a slice is read for the CRCs: of more than that on the pool, not on a loop.
constexpr uint64_t kLoopBytesMax = 1 << 20;

// A read that the page cache could not serve, told apart from errors by a status of its own.
Status MustWait() { return Status::Cancelled("not in the page cache"); }

class Cutter {
 public:
  Cutter(const TableContext& table, const SliceWish& wish, bool may_wait)
      : table_(table), wish_(wish), may_wait_(may_wait) {}

  // What becomes of one batch.
  struct Cut {
    wire::LogBatchHeader header;
    uint64_t position_bytes = 0;
    bool skipped = false;
    std::optional<wire::ProjectedBatch> projected;
    std::string copied;  // Empty, as `projected`: it stays as it is in the file.

    uint64_t size_bytes() const {
      if (skipped) return 0;
      if (projected) return projected->size_bytes;
      return copied.empty() ? header.size_bytes() : copied.size();
    }
  };

  // Look at the batch at `position_bytes`, which adds nothing yet.
  Result<Cut> CutBatch(const io::Payload::FileRange& range, uint64_t position_bytes) {
    Place place{
        *range.file, position_bytes, range.position_bytes + range.size_bytes - position_bytes, {}};
    ARROW_RETURN_NOT_OK(Need(&place, std::min(place.room, kFrontBytes)));
    Cut cut;
    cut.position_bytes = position_bytes;
    ASSIGN_OR_RAISE(cut.header, wire::ParseLogBatchHeader(place.front));
    if (cut.header.size_bytes() > place.room) return EndsEarly(place);
    const bool to_magic0 = wish_.positions.empty() && wish_.magic0 && cut.header.magic != 0;
    if (to_magic0) ARROW_RETURN_NOT_OK(Need(&place, cut.header.size_bytes()));
    if (!wish_.positions.empty() || wish_.filter != nullptr || to_magic0)
      ARROW_RETURN_NOT_OK(CheckCrc(cut.header, place));
    if (wish_.filter != nullptr) {
      ASSIGN_OR_RAISE(cut.skipped, IsLeftOut(cut.header, &place));
      if (cut.skipped) return cut;
    }
    if (!wish_.positions.empty()) {
      ASSIGN_OR_RAISE(cut.projected, Project(cut.header, &place));
    } else if (to_magic0) {
      ASSIGN_OR_RAISE(const auto batch, wire::LogBatchView::Parse(place.front));
      cut.copied = wire::ToMagic0(batch);
    }
    return cut;
  }

  Status Add(const io::Payload::FileRange& range, const Cut& cut) {
    if (cut.skipped) return Status::OK();
    if (!cut.projected && cut.copied.empty()) {
      AddRange({range.file, cut.position_bytes, cut.header.size_bytes()});
      return Status::OK();
    }
    AddMemory(cut.projected ? cut.projected->head : cut.copied);
    if (!cut.projected) return Status::OK();
    for (const auto& part : cut.projected->ranges) {
      const uint64_t position = cut.position_bytes + part.position_bytes;
      if (part.size_bytes > kCopyBytes) {
        AddRange({range.file, position, part.size_bytes});
        continue;
      }
      ASSIGN_OR_RAISE(const std::string bytes, Read(*range.file, position, part.size_bytes));
      AddMemory(bytes);
    }
    return Status::OK();
  }

  uint64_t size_bytes() const {
    return out_.size_bytes() + memory_.size() + (range_ ? range_->size_bytes : 0);
  }
  io::Payload Finish() {
    Flush();
    return std::move(out_);
  }

 private:
  // A batch in a file, of which the front was read.
  struct Place {
    const io::File& file;
    uint64_t position_bytes;
    uint64_t room;  // To the end of the range.
    std::string front;
  };

  // The reader, who gets a part of the batch, or none, cannot.
  Status CheckCrc(const wire::LogBatchHeader& header, const Place& place) const {
    const auto front = std::string_view(place.front).substr(0, header.size_bytes());
    uint32_t crc = Crc32c(front.substr(wire::kLogBatchCrcFrom));
    for (uint64_t at = front.size(); at < header.size_bytes(); at += kCrcPieceBytes) {
      const uint64_t size = std::min(kCrcPieceBytes, header.size_bytes() - at);
      ASSIGN_OR_RAISE(const std::string piece, Read(place.file, place.position_bytes + at, size));
      crc = Crc32c(piece, crc);
    }
    if (crc == header.crc) return Status::OK();
    return Corrupt("log batch does not match its crc file=", place.file.path(),
                   " position=", place.position_bytes, " offset=", header.base_offset);
  }

  static Status EndsEarly(const Place& place) {
    return Corrupt("log batch ends early file=", place.file.path(),
                   " position=", place.position_bytes);
  }

  Status Need(Place* place, uint64_t size_bytes) const {
    if (size_bytes <= place->front.size()) return Status::OK();
    if (size_bytes > place->room) return EndsEarly(*place);
    ASSIGN_OR_RAISE(place->front, Read(place->file, place->position_bytes, size_bytes));
    return Status::OK();
  }

  // Statistics that cannot be read leave no batch out.
  Result<bool> IsLeftOut(const wire::LogBatchHeader& header, Place* place) const {
    const auto schema = table_.SchemaOf(header.schema_id);
    if (!schema.ok()) return false;
    const uint64_t begin = header.header_bytes();
    const auto length = static_cast<uint64_t>(header.statistics_length);
    if (length == 0) return !wire::MayMatch(*wish_.filter, **schema, nullptr, header.record_count);
    ARROW_RETURN_NOT_OK(Need(place, begin + length));
    const auto statistics = wire::BatchStatistics::Parse(
        std::string_view(place->front).substr(begin, length), **schema);
    return statistics.ok() &&
           !wire::MayMatch(*wish_.filter, **schema, &*statistics, header.record_count);
  }

  Result<wire::ProjectedBatch> Project(const wire::LogBatchHeader& header, Place* place) {
    for (;;) {
      ASSIGN_OR_RAISE(const uint64_t needed, wire::BatchProjector::FrontBytes(place->front));
      if (needed <= place->front.size()) break;
      ARROW_RETURN_NOT_OK(Need(place, needed));
    }
    // Its schema does not matter, and older versions took any.
    if (header.record_count == 0) return wire::BatchProjector::ProjectEmpty(place->front);
    ASSIGN_OR_RAISE(const wire::BatchProjector* projector, ProjectorOf(header.schema_id));
    auto projected = projector->Project(place->front);
    if (projected.ok()) return projected;
    return projected.status().WithMessage(projected.status().message(),
                                          " base_offset=", header.base_offset);
  }

  void AddRange(io::Payload::FileRange range) {
    const bool joins = range_ && range_->file == range.file &&
                       range_->position_bytes + range_->size_bytes == range.position_bytes;
    if (joins) {
      range_->size_bytes += range.size_bytes;
      return;
    }
    Flush();
    range_ = std::move(range);
  }

  void AddMemory(std::string_view bytes) {
    if (range_) Flush();
    memory_ += bytes;
  }

  void Flush() {
    if (!memory_.empty()) out_.Add(std::exchange(memory_, {}));
    if (range_) out_.Add(*std::exchange(range_, std::nullopt));
  }

  Result<std::string> Read(const io::File& file, uint64_t position_bytes, uint64_t size) const {
    std::string bytes(size, '\0');
    if (may_wait_) {
      ASSIGN_OR_RAISE(const size_t read, file.ReadAt(position_bytes, size, bytes.data()));
      if (read < size)
        return Corrupt("log file ends early file=", file.path(), " position=", position_bytes);
      return bytes;
    }
    ASSIGN_OR_RAISE(const bool cached, file.TryReadAt(position_bytes, size, bytes.data()));
    if (!cached) return MustWait();
    return bytes;
  }

  Result<const wire::BatchProjector*> ProjectorOf(int16_t schema_id) {
    const auto found = projectors_.find(schema_id);
    if (found != projectors_.end()) return &found->second;
    ASSIGN_OR_RAISE(const auto schema, table_.ArrowSchemaOf(schema_id));
    ASSIGN_OR_RAISE(auto projector, wire::BatchProjector::Make(*schema, wish_.positions));
    return &projectors_.emplace(schema_id, std::move(projector)).first->second;
  }

  const TableContext& table_;
  const SliceWish& wish_;
  const bool may_wait_;
  std::map<int16_t, wire::BatchProjector> projectors_;
  io::Payload out_;
  // What comes after out_: one of the two.
  std::string memory_;
  std::optional<io::Payload::FileRange> range_;
};

// Whether a batch no longer fits. A projected one may go past the bound: it is small beside what
// was read for it.
bool IsTooMuch(const Cutter& cutter, const Cutter::Cut& cut, uint64_t bytes_max) {
  const uint64_t size_bytes = cutter.size_bytes();
  return size_bytes > 0 && !cut.projected && size_bytes + cut.size_bytes() > bytes_max;
}

}  // namespace

Result<std::optional<CutBatches>> CutSlice(const log::Log::Slice& slice, const TableContext& table,
                                           const SliceWish& wish, uint64_t bytes_max,
                                           bool may_wait) {
  if (!wish.positions.empty() && table.log_format() != types::LogFormat::kArrow) {
    return Error(ErrorCode::kInvalidColumnProjection,
                 "only ARROW logs can be projected table=", table.info().path);
  }
  if (!may_wait && slice.size_bytes > kLoopBytesMax) return std::nullopt;
  Cutter cutter(table, wish, may_wait);
  CutBatches out{.records = {}, .kept_end = slice.first_offset, .seen_end = slice.first_offset};
  uint64_t seen = 0;
  const auto finish = [&] {
    out.records = cutter.Finish();
    return std::move(out);
  };
  for (const auto& range : slice.ranges) {
    const uint64_t end = range.position_bytes + range.size_bytes;
    for (uint64_t at = range.position_bytes; at < end;) {
      if (cutter.size_bytes() > 0 && cutter.size_bytes() >= bytes_max) return finish();
      if (wish.filter != nullptr && ++seen > kFilteredBatchesMax) return finish();
      const auto cut = cutter.CutBatch(range, at);
      // What is in front of a damaged batch goes out; the fetch that begins with it gets the error.
      const bool any = out.seen_end > slice.first_offset;
      if (CodeOf(cut.status()) == ErrorCode::kCorruptRecord && any) return finish();
      if (cut.ok() && IsTooMuch(cutter, *cut, bytes_max)) return finish();
      const Status added = cut.ok() ? cutter.Add(range, *cut) : cut.status();
      if (added.IsCancelled()) return std::nullopt;
      ARROW_RETURN_NOT_OK(added);
      out.seen_end = cut->header.next_offset();
      if (cut->skipped) {
        ++out.batches_skipped;
      } else {
        out.kept_end = out.seen_end;
      }
      at += cut->header.size_bytes();
    }
  }
  return finish();
}

}  // namespace sluice::tablet
