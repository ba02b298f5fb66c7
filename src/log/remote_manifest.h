#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "types/ids.h"

namespace sluice::log {

/// A closed segment of a log that lies whole in remote storage.
struct RemoteSegment {
  std::string id;  ///< A UUID: the name of its folder, given anew to each copy.
  int64_t start_offset = 0;
  int64_t end_offset = 0;             ///< Exclusive.
  int64_t largest_timestamp_ms = -1;  ///< Of commits.
  uint64_t size_bytes = 0;            ///< Of its log file.
  bool operator==(const RemoteSegment&) const = default;
};

/// What of a bucket's log lies in remote storage: segments without gaps, oldest first.
///
/// Format: the JSON document of the Java server (docs/formats/log.md).
struct RemoteManifest {
  types::TablePath path;
  std::string partition_name;  ///< Empty = unpartitioned.
  types::BucketId bucket;
  /// Everything below it was copied once, also what has expired since; -1 = nothing was.
  int64_t copied_end_offset = -1;
  std::vector<RemoteSegment> segments;

  // -1 when there is no segment.
  int64_t start_offset() const { return segments.empty() ? -1 : segments.front().start_offset; }
  int64_t end_offset() const { return segments.empty() ? -1 : segments.back().end_offset; }
  uint64_t size_bytes() const;
  /// Index of the segment that contains `offset`; the number of segments when none does.
  size_t IndexOf(int64_t offset) const;
  /// Index of the first segment with a record committed at or after `timestamp_ms`; as above.
  size_t IndexOfTimestamp(int64_t timestamp_ms) const;

  std::string ToJson() const;
  /// Errors: kCorruptRecord.
  static Result<RemoteManifest> FromJson(std::string_view json);
};

/// `{root}/log/{db}/{table}-{table id}/[{partition}-p{partition id}/]{bucket}` (Java's FlussPaths).
std::string RemoteBucketFolder(const std::string& root, const types::TablePath& path,
                               const std::string& partition_name, const types::BucketId& id);
/// `{bucket folder}/metadata`: its manifests.
std::string RemoteManifestFolder(const std::string& bucket_folder);
inline constexpr std::string_view kManifestSuffix = ".manifest";

}  // namespace sluice::log
