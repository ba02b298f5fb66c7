#pragma once
#include "meta/catalog.h"
#include "tablet/table_source.h"

namespace sluice::app {

/// Tables of the catalog in this process, for its tablet server.
class CatalogTables : public tablet::TableSource {
 public:
  explicit CatalogTables(const meta::Catalog& catalog) : catalog_(catalog) {}

  Result<std::shared_ptr<const types::TableInfo>> ById(int64_t table_id) const override {
    ASSIGN_OR_RAISE(const meta::TablePtr table, catalog_.state()->Table(table_id));
    return std::shared_ptr<const types::TableInfo>(table, &table->info);
  }
  Result<std::shared_ptr<const types::Schema>> SchemaOf(int64_t table_id,
                                                        int32_t schema_id) const override {
    return catalog_.state()->SchemaOf(table_id, schema_id);
  }
  bool InLake(int64_t table_id) const override {
    const meta::TablePtr table = catalog_.state()->FindTable(table_id);
    return table != nullptr && table->LatestLakeSnapshot() != nullptr;
  }
  std::optional<RecordedSnapshot> LatestKvSnapshot(const types::BucketId& bucket) const override {
    const meta::CatalogStatePtr state = catalog_.state();
    const meta::KvSnapshotEntry* latest = state->LatestKvSnapshot(bucket);
    if (latest == nullptr) return std::nullopt;
    return RecordedSnapshot{latest->snapshot_id, latest->log_offset, latest->metadata_path};
  }
  int32_t CoordinatorEpoch() const override { return catalog_.state()->coordinator_epoch; }
  std::string RemoteRootOf(const types::BucketId& id) const override {
    const meta::TablePtr table = catalog_.state()->FindTable(id.table_id);
    return table == nullptr ? "" : RootOf(*table, id);
  }
  tablet::RemoteLogRecord RemoteLogOf(const types::BucketId& id) const override {
    tablet::RemoteLogRecord record;
    const meta::TablePtr table = catalog_.state()->FindTable(id.table_id);
    if (table == nullptr) return record;
    record.root = RootOf(*table, id);
    const meta::BucketState* bucket = table->FindBucket({id.partition_id, id.bucket});
    if (bucket == nullptr || bucket->remote_log == nullptr) return record;
    record.manifest_path = bucket->remote_log->manifest_path;
    record.start_offset = bucket->remote_log->start_offset;
    record.end_offset = bucket->remote_log->end_offset;
    record.copied_end_offset = bucket->remote_log->copied_end_offset;
    return record;
  }

 private:
  // Empty for a partition that is gone.
  static std::string RootOf(const meta::TableState& table, const types::BucketId& id) {
    if (!id.partition_id) return table.info.remote_data_dir;
    const meta::PartitionState* partition = table.FindPartition(*id.partition_id);
    return partition == nullptr ? "" : partition->remote_data_dir;
  }
  const meta::Catalog& catalog_;
};

}  // namespace sluice::app
