#include "log/remote_manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "io/file.h"

namespace sluice::log {
namespace {

using ManifestJson = nlohmann::json;

bool HasInteger(const ManifestJson& object, const char* key) {
  return object.contains(key) && object[key].is_number_integer();
}
bool HasText(const ManifestJson& object, const char* key) {
  return object.contains(key) && object[key].is_string();
}

Status DamagedManifest(std::string_view what) {
  return Corrupt("remote log manifest is damaged at=", what);
}

Result<RemoteSegment> ReadSegment(const ManifestJson& json) {
  const bool whole = json.is_object() && HasText(json, "segment_id") &&
                     HasInteger(json, "start_offset") && HasInteger(json, "end_offset") &&
                     HasInteger(json, "max_timestamp") && HasInteger(json, "size_in_bytes");
  if (!whole) return DamagedManifest("remote_log_segments");
  RemoteSegment segment{.id = json["segment_id"].get<std::string>(),
                        .start_offset = json["start_offset"].get<int64_t>(),
                        .end_offset = json["end_offset"].get<int64_t>(),
                        .largest_timestamp_ms = json["max_timestamp"].get<int64_t>(),
                        .size_bytes = json["size_in_bytes"].get<uint64_t>()};
  // The id becomes a part of paths.
  const bool is_name = !segment.id.empty() && segment.id.find_first_of("/.\\") == std::string::npos;
  if (!is_name || segment.start_offset < 0 || segment.end_offset <= segment.start_offset)
    return DamagedManifest("remote_log_segments");
  return segment;
}

}  // namespace

uint64_t RemoteManifest::size_bytes() const {
  return std::accumulate(
      segments.begin(), segments.end(), uint64_t{0},
      [](uint64_t sum, const RemoteSegment& segment) { return sum + segment.size_bytes; });
}

size_t RemoteManifest::IndexOf(int64_t offset) const {
  const auto above = std::ranges::upper_bound(segments, offset, {}, &RemoteSegment::end_offset);
  const bool found = above != segments.end() && above->start_offset <= offset;
  return found ? static_cast<size_t>(above - segments.begin()) : segments.size();
}

size_t RemoteManifest::IndexOfTimestamp(int64_t timestamp_ms) const {
  // Largest timestamps do not fall from one to the next.
  const auto first =
      std::ranges::lower_bound(segments, timestamp_ms, {}, &RemoteSegment::largest_timestamp_ms);
  return static_cast<size_t>(first - segments.begin());
}

std::string RemoteManifest::ToJson() const {
  ManifestJson list = ManifestJson::array();
  for (const RemoteSegment& segment : segments) {
    list.push_back({{"segment_id", segment.id},
                    {"start_offset", segment.start_offset},
                    {"end_offset", segment.end_offset},
                    {"max_timestamp", segment.largest_timestamp_ms},
                    {"size_in_bytes", segment.size_bytes}});
  }
  ManifestJson json = {{"version", 1},
                       {"database", path.database},
                       {"table", path.table},
                       {"table_id", bucket.table_id},
                       {"bucket_id", bucket.bucket},
                       {"highest_copied_end_offset", copied_end_offset},
                       {"remote_log_segments", std::move(list)}};
  if (bucket.partition_id) {
    json["partition_name"] = partition_name;
    json["partition_id"] = *bucket.partition_id;
  }
  return json.dump();
}

Result<RemoteManifest> RemoteManifest::FromJson(std::string_view text) {
  const auto json = ManifestJson::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool whole = json.is_object() && HasText(json, "database") && HasText(json, "table") &&
                     HasInteger(json, "table_id") && HasInteger(json, "bucket_id") &&
                     json.contains("remote_log_segments") && json["remote_log_segments"].is_array();
  if (!whole) return DamagedManifest("document");
  RemoteManifest manifest;
  manifest.path = {json["database"].get<std::string>(), json["table"].get<std::string>()};
  manifest.bucket.table_id = json["table_id"].get<int64_t>();
  manifest.bucket.bucket = json["bucket_id"].get<int32_t>();
  if (HasInteger(json, "partition_id"))
    manifest.bucket.partition_id = json["partition_id"].get<int64_t>();
  if (HasText(json, "partition_name"))
    manifest.partition_name = json["partition_name"].get<std::string>();
  for (const ManifestJson& entry : json["remote_log_segments"]) {
    ASSIGN_OR_RAISE(RemoteSegment segment, ReadSegment(entry));
    if (!manifest.segments.empty() && manifest.end_offset() != segment.start_offset)
      return DamagedManifest("a gap between segments");
    manifest.segments.push_back(std::move(segment));
  }
  // Those of Fluss 0.9 do not say.
  manifest.copied_end_offset = manifest.end_offset();
  if (HasInteger(json, "highest_copied_end_offset")) {
    manifest.copied_end_offset =
        std::max(manifest.copied_end_offset, json["highest_copied_end_offset"].get<int64_t>());
  }
  return manifest;
}

std::string RemoteBucketFolder(const std::string& root, const types::TablePath& path,
                               const std::string& partition_name, const types::BucketId& id) {
  std::string folder = io::JoinPath(
      root, "log/" + path.database + "/" + path.table + "-" + std::to_string(id.table_id));
  if (id.partition_id)
    folder = io::JoinPath(folder, partition_name + "-p" + std::to_string(*id.partition_id));
  return io::JoinPath(folder, std::to_string(id.bucket));
}

std::string RemoteManifestFolder(const std::string& bucket_folder) {
  return io::JoinPath(bucket_folder, "metadata");
}

}  // namespace sluice::log
