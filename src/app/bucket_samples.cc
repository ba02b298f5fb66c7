#include "app/bucket_samples.h"

#include <map>
#include <string>

#include "meta/catalog_state.h"
#include "tablet/tablet_service.h"

namespace sluice::app {

void CollectBuckets(const meta::TableState& table, std::span<const tablet::BucketStatus> buckets,
                    std::vector<MetricSample>* samples) {
  for (const tablet::BucketStatus& bucket : buckets) {
    std::map<std::string, std::string> labels = {{"database", table.info.path.database},
                                                 {"table", table.info.path.table},
                                                 {"bucket", std::to_string(bucket.id.bucket)}};
    if (bucket.id.partition_id) {
      const meta::PartitionState* partition = table.FindPartition(*bucket.id.partition_id);
      if (partition == nullptr) continue;  // Dropped by now.
      labels["partition"] = partition->info.Name();
    }
    const auto add = [&](const char* name, const char* help, auto value) {
      samples->push_back(
          {name, help, MetricSample::Kind::kGauge, labels, static_cast<double>(value)});
    };
    add("sluice_bucket_log_start_offset", "First offset that readers get.",
        bucket.log_start_offset);
    add("sluice_bucket_high_watermark", "Readers get what is below.", bucket.high_watermark);
    add("sluice_bucket_log_end_offset", "Offset of the next record.", bucket.log_end_offset);
    add("sluice_bucket_log_size_bytes", "Log on the disk of this server.", bucket.log_size_bytes);
    add("sluice_bucket_unsaved_log_bytes", "Log that a start after a kill would check.",
        bucket.unsaved_log_bytes);
    if (table.info.descriptor.has_primary_key()) {
      add("sluice_bucket_write_back_bytes", "Keys in memory that are not in RocksDB yet.",
          bucket.write_back_bytes);
    }
    if (bucket.lake_end_offset >= 0)
      add("sluice_bucket_lake_offset", "The lake has what is below.", bucket.lake_end_offset);
  }
}

}  // namespace sluice::app
