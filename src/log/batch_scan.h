#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/file.h"
#include "log/miss.h"
#include "wire/log_batch.h"

namespace sluice::log {

/// Walks the batches of a segment file from one batch boundary to `end_bytes`, reading little more
/// than headers.
class BatchScan {
 public:
  struct Batch {
    wire::LogBatchHeader header;
    uint64_t position_bytes;
    uint64_t end_bytes() const { return position_bytes + header.size_bytes(); }
  };
  /// Bytes read at once: little for lookups, more for a recovery that reads everything.
  static constexpr size_t kLookupBytes = 4096;
  static constexpr size_t kRecoveryBytes = 256 * 1024;

  /// A range of a file, and where to start in it.
  struct Range {
    int64_t first_offset;  ///< Base offset of the batch at the start; the following ones are dense.
    uint64_t position_bytes;
    uint64_t end_bytes;
  };

  /// With a `miss`, which outlives the scan, it reads from memory alone.
  BatchScan(std::shared_ptr<const io::File> file, Range range, size_t window_bytes,
            Miss* miss = nullptr)
      : file_(std::move(file)),
        next_offset_(range.first_offset),
        position_(range.position_bytes),
        end_(range.end_bytes),
        window_bytes_(window_bytes),
        miss_(miss) {}

  /// The next batch; none at the end of the range.
  /// Errors: kCorruptRecord, naming file, position and offset, when it does not stand there; then
  /// the scan stays. Cancelled, see Miss.
  Result<std::optional<Batch>> Next();

  /// Read `batch` whole and compare its CRC; false when it does not match.
  Result<bool> IsWhole(const Batch& batch);
  /// All bytes of `batch`; they are valid until the next call.
  Result<std::string_view> BytesOf(const Batch& batch) {
    return View(batch.position_bytes, batch.header.size_bytes());
  }

  /// What Next looks for, and where.
  int64_t next_offset() const { return next_offset_; }
  uint64_t position_bytes() const { return position_; }

 private:
  // Bytes of the file from `position`, at most `size`; they are valid until the next call.
  Result<std::string_view> View(uint64_t position, size_t size);

  Status Damaged(std::string_view reason) const;

  std::shared_ptr<const io::File> file_;
  int64_t next_offset_;
  uint64_t position_;
  uint64_t end_;
  size_t window_bytes_;
  Miss* miss_;
  std::string window_;
  uint64_t window_start_ = 0;
};

}  // namespace sluice::log
