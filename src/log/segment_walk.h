#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "log/batch_scan.h"

namespace sluice::log {

/// Bytes of a segment file that are no batch where one belongs.
struct SegmentDamage {
  int64_t offset = 0;  ///< Of the batch that belongs there.
  uint64_t position_bytes = 0;
  uint64_t size_bytes = 0;             ///< Up to the next whole batch, or to the end of the file.
  std::optional<int64_t> next_offset;  ///< Of that batch; none = no whole batch follows.
  bool torn = false;   ///< It may be a write that did not end, for nothing whole follows.
  std::string reason;  ///< With file, position and offset.
};

/// What WalkSegment meets, in the order of the file. A Status that is not OK ends the walk.
struct SegmentVisitor {
  /// `bytes` are valid during the call; `whole`: the CRC matches.
  std::function<Status(const BatchScan::Batch& batch, std::string_view bytes, bool whole)> batch;
  std::function<Status(const SegmentDamage& damage)> damage;
};

/// What stood in the file.
struct SegmentExtent {
  int64_t next_offset = 0;  ///< Behind the last batch that was found.
  uint64_t size_bytes = 0;
};

/// Walk the batches of a segment file, opened for reading only. Behind damage the walk goes on at
/// the next batch whose CRC matches. `first_offset`: what the file begins with; none = what its
/// first batch says.
/// Errors: of the file, and what the visitor returned.
Result<SegmentExtent> WalkSegment(io::FileSystem& files, const std::string& path,
                                  std::optional<int64_t> first_offset,
                                  const SegmentVisitor& visitor);

}  // namespace sluice::log
