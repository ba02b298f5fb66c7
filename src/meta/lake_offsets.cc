#include "meta/lake_offsets.h"

#include "base/check.h"
#include "meta/json_internal.h"

namespace sluice::meta {

namespace {

constexpr int64_t kUnknown = -1;
constexpr int32_t kBucketMax = 1 << 20;  // More than any table has.

void Place(std::vector<int64_t>* array, int32_t bucket, int64_t offset) {
  CHECK(bucket >= 0 && bucket < kBucketMax);
  if (array->size() <= static_cast<size_t>(bucket)) array->resize(bucket + 1, kUnknown);
  (*array)[bucket] = offset;
}

Status Read(const JsonDocument& document, std::optional<int64_t> partition_id, BucketOffsets* out) {
  if (!document.Has("bucket_offsets") || !document.value()["bucket_offsets"].is_array()) {
    return document.Broken("bucket_offsets");
  }
  const Json& array = document.value()["bucket_offsets"];
  if (array.size() > kBucketMax) return document.Broken("bucket_offsets");
  int32_t bucket = 0;
  for (const Json& offset : array) {
    if (!offset.is_number_integer() || offset.get<int64_t>() < kUnknown)
      return document.Broken("bucket_offsets");
    if (offset.get<int64_t>() != kUnknown) (*out)[{partition_id, bucket}] = offset.get<int64_t>();
    ++bucket;
  }
  return Status::OK();
}

}  // namespace

std::string LakeOffsetsToJson(int64_t table_id, const BucketOffsets& offsets) {
  std::map<std::optional<int64_t>, std::vector<int64_t>> arrays;
  for (const auto& [bucket, offset] : offsets)
    Place(&arrays[bucket.partition_id], bucket.bucket, offset);
  Json document = {{"version", 1}, {"table_id", table_id}};
  const bool partitioned = !arrays.empty() && arrays.rbegin()->first.has_value();
  if (!partitioned) {
    document["bucket_offsets"] = arrays.empty() ? std::vector<int64_t>() : arrays.begin()->second;
    return Dump(document);
  }
  Json partitions = Json::array();
  for (const auto& [partition_id, array] : arrays) {
    CHECK(partition_id.has_value());  // A table is partitioned or not.
    partitions.push_back({{"partition_id", *partition_id}, {"bucket_offsets", array}});
  }
  document["partition_offsets"] = std::move(partitions);
  return Dump(document);
}

Result<LakeOffsetsDocument> LakeOffsetsFromJson(std::string_view json) {
  ASSIGN_OR_RAISE(const JsonDocument document, JsonDocument::Parse(json, "lake offsets"));
  LakeOffsetsDocument out;
  ASSIGN_OR_RAISE(out.table_id, document.Int("table_id"));
  if (document.Has("bucket_offsets")) {
    RETURN_NOT_OK(Read(document, std::nullopt, &out.offsets));
    return out;
  }
  ASSIGN_OR_RAISE(const auto partitions, document.Objects("partition_offsets"));
  for (const JsonDocument& partition : partitions) {
    ASSIGN_OR_RAISE(const int64_t partition_id, partition.Int("partition_id"));
    RETURN_NOT_OK(Read(partition, partition_id, &out.offsets));
  }
  return out;
}

}  // namespace sluice::meta
