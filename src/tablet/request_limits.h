#pragma once
#include <cstddef>
#include <string_view>

#include "base/error.h"

namespace sluice::tablet {

// What one request may name. A few bytes of a request may become hundreds in memory, so that its
// size alone bounds little. All are far above what clients send.

/// Buckets, also of several partitions.
inline constexpr size_t kBucketsNamedMax = 1 << 17;
/// Columns of a projection or of a partial update.
inline constexpr size_t kColumnsNamedMax = 1 << 14;
/// Keys of a lookup, all buckets together.
inline constexpr size_t kKeysNamedMax = 1 << 17;
/// Rows and deletes of a put, which run without others in between.
inline constexpr size_t kPutRecordsMax = 1 << 21;

/// Buckets or keys that a shard serves before it lets others go in between.
inline constexpr size_t kServedPerTurn = 1024;

/// About what one named bucket or key takes in memory until its call has answered.
inline constexpr size_t kBytesPerName = 512;

/// Errors: kRecordTooLarge when there are more than `most`.
inline Status CheckNamed(std::string_view what, size_t count, size_t most) {
  if (count <= most) return Status::OK();
  return Error(ErrorCode::kRecordTooLarge, "request names too many ", what, " count=", count,
               " most=", most);
}

}  // namespace sluice::tablet
