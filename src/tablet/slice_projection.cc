#include "tablet/slice_projection.h"

#include <map>

#include "base/crc32c.h"
#include "io/file.h"
#include "wire/log_batch.h"
#include "wire/projection.h"

namespace sluice::tablet {
namespace {

constexpr uint64_t kFrontBytes = 4096;  // Read first; most heads fit.
constexpr uint64_t kCopyBytes =
    32 << 10;  // Smaller column ranges are copied: one more system call costs as much.

// Of a batch, read at a time for its CRC: it stays in the processor's cache.
constexpr uint64_t kCrcPieceBytes = 256 << 10;
constexpr size_t kCrcFrom = 25;  // What a CRC covers begins at the schema id.
// All of a slice is read for the CRCs: of more than that on the pool, not on a loop.
constexpr uint64_t kLoopBytesMax = 1 << 20;

// A read that the page cache could not serve, told apart from errors by a status of its own.
Status MustWait() { return Status::Cancelled("not in the page cache"); }

class Projection {
 public:
  Projection(const TableContext& table, const std::vector<int32_t>& positions, bool may_wait)
      : table_(table), positions_(positions), may_wait_(may_wait) {}

  struct Cut {
    uint64_t size_bytes;  // Of the batch in the file.
    wire::ProjectedBatch projected;
  };

  // Project the batch at `position_bytes`, which adds nothing yet.
  Result<Cut> CutBatch(const io::Payload::FileRange& range, uint64_t position_bytes) {
    const uint64_t room = range.position_bytes + range.size_bytes - position_bytes;
    ASSIGN_OR_RAISE(std::string front,
                    Read(*range.file, position_bytes, std::min(room, kFrontBytes)));
    for (;;) {
      ASSIGN_OR_RAISE(const uint64_t needed, wire::BatchProjector::FrontBytes(front));
      if (needed <= front.size()) break;
      if (needed > room)
        return Corrupt("log batch ends early file=", range.file->path(),
                       " position=", position_bytes);
      ASSIGN_OR_RAISE(front, Read(*range.file, position_bytes, needed));
    }
    ASSIGN_OR_RAISE(const auto header, wire::ParseLogBatchHeader(front));
    if (header.size_bytes() > room)
      return Corrupt("log batch ends early file=", range.file->path());
    ARROW_RETURN_NOT_OK(CheckCrc(*range.file, position_bytes, header, front));
    ASSIGN_OR_RAISE(const wire::BatchProjector* projector, ProjectorOf(header.schema_id));
    auto projected = projector->Project(front);
    if (!projected.ok()) {
      return projected.status().WithMessage(projected.status().message(),
                                            " base_offset=", header.base_offset);
    }
    return Cut{header.size_bytes(), *std::move(projected)};
  }

  Status Add(const io::Payload::FileRange& range, uint64_t position_bytes, const Cut& cut) {
    memory_ += cut.projected.head;
    for (const auto& part : cut.projected.ranges)
      ARROW_RETURN_NOT_OK(AddRange(range, position_bytes, part));
    return Status::OK();
  }

  uint64_t size_bytes() const { return out_.size_bytes() + memory_.size(); }
  io::Payload Finish() {
    FlushMemory();
    return std::move(out_);
  }

 private:
  // The reader, who gets a part of the batch, cannot. `front` are the first bytes of it or more.
  Status CheckCrc(const io::File& file, uint64_t position_bytes, const wire::LogBatchHeader& header,
                  std::string_view front) const {
    front = front.substr(0, header.size_bytes());
    uint32_t crc = Crc32c(front.substr(kCrcFrom));
    for (uint64_t at = front.size(); at < header.size_bytes(); at += kCrcPieceBytes) {
      const uint64_t size = std::min(kCrcPieceBytes, header.size_bytes() - at);
      ASSIGN_OR_RAISE(const std::string piece, Read(file, position_bytes + at, size));
      crc = Crc32c(piece, crc);
    }
    if (crc == header.crc) return Status::OK();
    return Corrupt("log batch does not match its crc file=", file.path(),
                   " position=", position_bytes, " offset=", header.base_offset);
  }

  Status AddRange(const io::Payload::FileRange& range, uint64_t batch_bytes,
                  const wire::ProjectedBatch::Range& part) {
    const uint64_t position = batch_bytes + part.position_bytes;
    if (part.size_bytes <= kCopyBytes) {
      ASSIGN_OR_RAISE(const std::string bytes, Read(*range.file, position, part.size_bytes));
      memory_ += bytes;
      return Status::OK();
    }
    FlushMemory();
    out_.Add(io::Payload::FileRange{range.file, position, part.size_bytes});
    return Status::OK();
  }

  void FlushMemory() { out_.Add(std::exchange(memory_, {})); }

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
    ASSIGN_OR_RAISE(auto projector, wire::BatchProjector::Make(*schema, positions_));
    return &projectors_.emplace(schema_id, std::move(projector)).first->second;
  }

  const TableContext& table_;
  const std::vector<int32_t>& positions_;
  const bool may_wait_;
  std::map<int16_t, wire::BatchProjector> projectors_;
  io::Payload out_;
  std::string memory_;  // What comes after out_.
};

}  // namespace

Result<std::optional<io::Payload>> ProjectSlice(const log::Log::Slice& slice,
                                                const TableContext& table,
                                                const std::vector<int32_t>& positions,
                                                uint64_t bytes_max, bool may_wait) {
  if (table.log_format() != types::LogFormat::kArrow) {
    return Error(ErrorCode::kInvalidColumnProjection,
                 "only ARROW logs can be projected table=", table.info().path);
  }
  if (!may_wait && slice.size_bytes > kLoopBytesMax) return std::nullopt;
  Projection projection(table, positions, may_wait);
  for (const auto& range : slice.ranges) {
    const uint64_t end = range.position_bytes + range.size_bytes;
    for (uint64_t at = range.position_bytes; at < end;) {
      if (projection.size_bytes() >= bytes_max) return projection.Finish();
      const auto cut = projection.CutBatch(range, at);
      // What is in front of a damaged batch goes out; the fetch that begins with it gets the error.
      if (CodeOf(cut.status()) == ErrorCode::kCorruptRecord && projection.size_bytes() > 0)
        return projection.Finish();
      const Status added = cut.ok() ? projection.Add(range, at, *cut) : cut.status();
      if (added.IsCancelled()) return std::nullopt;
      ARROW_RETURN_NOT_OK(added);
      at += cut->size_bytes;
    }
  }
  return projection.Finish();
}

}  // namespace sluice::tablet
