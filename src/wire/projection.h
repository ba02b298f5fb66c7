#pragma once
#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace sluice::wire {

struct LogBatchHeader;

/// A batch cut down to some of its columns: new bytes, then ranges of the original batch.
struct ProjectedBatch {
  struct Range {
    uint64_t position_bytes;  ///< From the first byte of the original batch.
    uint64_t size_bytes;
    bool operator==(const Range&) const = default;
  };
  std::string head;           ///< Batch header, change types and Arrow metadata.
  std::vector<Range> ranges;  ///< Of the body, ascending, never adjacent.
  uint64_t size_bytes = 0;    ///< Head and ranges.
};

/// Cuts batches of one schema down to the columns at some positions, without decoding them.
///
/// Only the front of a batch (header, change types, Arrow metadata) is read; the column bytes stay
/// where they are, so the caller can send them from the file. The CRC is kept although it no longer
/// fits; statistics drop out, so that the result has magic 0. Immutable, so any thread may use it.
/// Source: FileLogProjection of the Java server.
class BatchProjector {
 public:
  /// `schema` is that of the batches' schema id. `positions` are strictly ascending.
  /// Errors: kInvalidColumnProjection when they are not, when there are none, or when one is
  /// outside the schema.
  static Result<BatchProjector> Make(const arrow::Schema& schema,
                                     std::span<const int32_t> positions);

  /// How many bytes from the front of the batch Project needs, as far as `front` tells: when the
  /// answer is larger than `front`, read that many and ask again. Never more than the batch has.
  /// Errors: kCorruptRecord.
  static Result<uint64_t> FrontBytes(std::string_view front);

  /// Errors: kCorruptRecord when the batch breaks its format or does not have the columns of the
  /// schema.
  Result<ProjectedBatch> Project(std::string_view front) const;
  /// The same for a batch without records, which is of no schema.
  static Result<ProjectedBatch> ProjectEmpty(std::string_view front);
  /// As Project, with the ranges filled in, for a batch in memory.
  Result<std::string> ProjectInMemory(std::string_view batch) const;

 private:
  struct Kept {
    size_t first_node, node_count;
    size_t first_buffer, buffer_count;
  };
  Status ProjectBody(const LogBatchHeader& header, std::string_view front,
                     ProjectedBatch* out) const;

  std::vector<Kept> kept_;  // Per column kept.
  size_t node_count_ = 0;   // Of all columns of the schema.
  size_t buffer_count_ = 0;
};

}  // namespace sluice::wire
