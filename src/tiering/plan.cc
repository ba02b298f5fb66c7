#include "tiering/plan.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace sluice::tiering {
namespace {

using Recorded = std::map<std::pair<std::optional<int64_t>, int32_t>, int64_t>;

Recorded RecordedOffsets(const std::optional<client::LakeSnapshot>& snapshot) {
  Recorded offsets;
  if (!snapshot.has_value()) return offsets;
  for (const client::LakeBucketOffset& bucket : snapshot->buckets) {
    if (bucket.log_end_offset >= 0)
      offsets[{bucket.partition_id, bucket.bucket}] = bucket.log_end_offset;
  }
  return offsets;
}

Result<int64_t> At(const std::map<int32_t, int64_t>& offsets, const types::BucketId& bucket) {
  const auto at = offsets.find(bucket.bucket);
  if (at != offsets.end()) return at->second;
  return Error(ErrorCode::kUnknownTableOrBucket, "no offset was answered for ", bucket.ToString());
}

// Begins a span whose `from` is where the lake ends at the log's start, if that is behind it.
Status PassGap(const types::TableInfo& table, const std::map<int32_t, int64_t>& earliest,
               BucketSpan* span) {
  ASSIGN_OR_RAISE(const int64_t start, At(earliest, span->bucket));
  if (start <= span->from) return Status::OK();
  if (table.descriptor.has_primary_key()) {
    return Error(ErrorCode::kInvalidTable, "the changelog lacks what the lake lacks ",
                 span->bucket.ToString(), " start=", start, " lake_offset=", span->from);
  }
  if (span->recorded) span->gap_from = span->from;
  span->from = start;
  return Status::OK();
}

// The buckets of the table, or of one of its partitions.
Status PlanPart(ClusterLink& link, const types::TableInfo& table, const Recorded& recorded,
                const std::optional<types::PartitionInfo>& partition,
                std::vector<BucketSpan>* spans) {
  std::vector<int32_t> buckets(static_cast<size_t>(table.descriptor.bucket_count.value_or(1)));
  std::iota(buckets.begin(), buckets.end(), 0);
  const auto partition_id = partition ? std::make_optional(partition->partition_id) : std::nullopt;
  const auto list = [&](client::OffsetType type) {
    return link.ListOffsets(table.path, table.table_id, partition_id, buckets, type);
  };
  ASSIGN_OR_RAISE(const auto latest, list(client::OffsetType::kLatest));
  std::optional<std::map<int32_t, int64_t>> earliest;
  for (const int32_t bucket : buckets) {
    BucketSpan span{.bucket = {table.table_id, partition_id, bucket}};
    if (partition) span.partition = partition->values;
    if (partition) span.partition_name = partition->Name();
    ASSIGN_OR_RAISE(span.to, At(latest, span.bucket));
    if (const auto at = recorded.find({partition_id, bucket}); at != recorded.end()) {
      span.from = at->second;
      span.recorded = true;
    }
    if (span.from < span.to) {
      if (!earliest) {
        ASSIGN_OR_RAISE(earliest, list(client::OffsetType::kEarliest));
      }
      RETURN_NOT_OK(PassGap(table, *earliest, &span));
    }
    spans->push_back(std::move(span));
  }
  return Status::OK();
}

}  // namespace

Result<std::vector<BucketSpan>> PlanSpans(ClusterLink& link, const types::TableInfo& table,
                                          const std::optional<client::LakeSnapshot>& recorded) {
  const Recorded offsets = RecordedOffsets(recorded);
  std::vector<BucketSpan> spans;
  if (!table.descriptor.partitioned()) {
    RETURN_NOT_OK(PlanPart(link, table, offsets, std::nullopt, &spans));
    return spans;
  }
  ASSIGN_OR_RAISE(const auto partitions, link.ListPartitions(table.path));
  for (const types::PartitionInfo& partition : partitions) {
    const size_t before = spans.size();
    const Status planned = PlanPart(link, table, offsets, partition, &spans);
    if (CodeOf(planned) == ErrorCode::kPartitionNotExists) {
      spans.resize(before);  // Dropped just now.
      continue;
    }
    RETURN_NOT_OK(planned);
  }
  return spans;
}

}  // namespace sluice::tiering
