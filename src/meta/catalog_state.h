#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meta/shared_map.h"
#include "types/schema.h"
#include "types/table_options.h"

namespace sluice::meta {

/// What of a bucket's log lies in remote storage. Source: the remote_logs node
/// (docs/formats/metadata.md).
struct RemoteLogState {
  std::string manifest_path;
  int64_t start_offset = -1;       ///< -1 = nothing is there.
  int64_t end_offset = -1;         ///< Exclusive; -1 = nothing is there.
  int64_t copied_end_offset = -1;  ///< Everything below it was copied once.
  bool operator==(const RemoteLogState&) const = default;
};

/// Who holds a bucket. Source: the assignment and leader_isr nodes (docs/formats/metadata.md).
struct BucketState {
  std::vector<int32_t> replicas;
  int32_t leader = -1;  ///< Server id, -1 = none.
  std::vector<int32_t> isr;
  int32_t leader_epoch = 0;
  int32_t bucket_epoch = 0;
  int32_t coordinator_epoch = 0;                     ///< Of the coordinator that wrote this.
  std::shared_ptr<const RemoteLogState> remote_log;  ///< Null = nothing was ever copied.
  bool operator==(const BucketState&) const = default;
};

/// A bucket within a known table.
struct PartitionBucket {
  std::optional<int64_t> partition_id;
  int32_t bucket = 0;
  auto operator<=>(const PartitionBucket&) const = default;
};
/// Log end offsets (exclusive) that a lake snapshot holds; buckets without data are left out.
using BucketOffsets = std::map<PartitionBucket, int64_t>;

/// One lake snapshot that the coordinator knows.
struct LakeSnapshot {
  int64_t snapshot_id = -1;
  std::string tiered_offsets_path;
  std::string readable_offsets_path;              ///< Empty = not readable yet.
  std::shared_ptr<const BucketOffsets> tiered;    ///< Never null.
  std::shared_ptr<const BucketOffsets> readable;  ///< Null = not readable yet.
};

/// One KV snapshot of a bucket. Source: the snapshot nodes (docs/formats/metadata.md).
struct KvSnapshotEntry {
  int64_t snapshot_id = 0;
  int64_t log_offset = 0;     ///< It holds exactly the log below.
  std::string metadata_path;  ///< URI of the file that lists its files.
  bool operator==(const KvSnapshotEntry&) const = default;
};
using KvSnapshotList = std::vector<KvSnapshotEntry>;  ///< Snapshot ids ascending.

struct PartitionState {
  types::PartitionInfo info;
  std::string remote_data_dir;
  std::vector<BucketState> buckets;  ///< Index = bucket.
};
using PartitionPtr = std::shared_ptr<const PartitionState>;

struct TableState {
  types::TableInfo info;  ///< With the latest schema.
  std::map<int32_t, std::shared_ptr<const types::Schema>> schemas;
  std::vector<BucketState> buckets;  ///< Index = bucket; empty for a partitioned table.
  SharedMap<std::string, PartitionPtr> partitions;    ///< By name.
  SharedMap<int64_t, PartitionPtr> partitions_by_id;  ///< The same ones.
  std::vector<LakeSnapshot> lake_snapshots;           ///< Snapshot ids ascending.

  bool partitioned() const { return info.descriptor.partitioned(); }
  /// Buckets of the table, or of each of its partitions.
  int32_t bucket_count() const { return info.descriptor.bucket_count.value_or(1); }
  bool lake_enabled() const { return types::LakeEnabled(info.descriptor); }
  /// Null when there is none.
  const PartitionState* FindPartition(std::string_view name) const;
  const PartitionState* FindPartition(int64_t partition_id) const;
  const BucketState* FindBucket(const PartitionBucket& bucket) const;
  /// Add a partition, or replace the one of this name and id.
  void SetPartition(const PartitionPtr& partition);
  /// `partition` is one of the table's.
  void RemovePartition(const PartitionState& partition);
  using BucketVisitor =
      std::function<void(const types::BucketId&, const PartitionState*, const BucketState&)>;
  /// Visit every bucket of the table and its partitions.
  void ForEachBucket(const BucketVisitor& visit) const;
  /// Visit every bucket of one of its partitions.
  void ForEachBucketOf(const PartitionState& partition, const BucketVisitor& visit) const;
  const LakeSnapshot* LatestLakeSnapshot() const;
  /// The newest snapshot that has readable offsets.
  const LakeSnapshot* ReadableLakeSnapshot() const;
  const LakeSnapshot* FindLakeSnapshot(int64_t snapshot_id) const;
};
using TablePtr = std::shared_ptr<const TableState>;

/// A view; its definition is opaque here (the SQL side writes and reads it).
struct ViewInfo {
  types::TablePath path;
  std::string definition;
  int64_t created_ms = 0;
};

struct DatabaseState {
  std::string name;
  types::DatabaseDescriptor descriptor;
  int64_t created_ms = 0;
  int64_t modified_ms = 0;
  SharedMap<std::string, TablePtr> tables;
  SharedMap<std::string, ViewInfo> views;
};
using DatabasePtr = std::shared_ptr<const DatabaseState>;

/// A DDL that is half done: one that changes the lake before the catalog, or a drop whose files are
/// still there. Its last step removes it; what a stopped server left is finished or undone at the
/// next start.
struct DdlIntent {
  int64_t id = 0;
  std::string kind;  ///< The coordinator's: "create_table", "alter_table", "delete_replicas".
  types::TablePath path;
  std::string payload;  ///< JSON of the coordinator.
};

/// Everything the catalog knows at one moment. Immutable, so any thread may read it. States share
/// what did not change between them.
struct CatalogState {
  int64_t revision = 0;  ///< Grows with every change.
  int32_t coordinator_epoch = 0;
  SharedMap<std::string, DatabasePtr> databases;
  SharedMap<int64_t, TablePtr> tables_by_id;
  SharedMap<int64_t, int64_t> table_of_partition;  ///< Partition id → table id.
  /// Of buckets that have any; those of a dropped table go with it.
  SharedMap<types::BucketId, std::shared_ptr<const KvSnapshotList>> kv_snapshots;
  std::vector<DdlIntent> intents;

  // Null when there is none.
  const DatabaseState* FindDatabase(std::string_view name) const;
  TablePtr FindTable(const types::TablePath& path) const;
  TablePtr FindTable(int64_t table_id) const;
  /// The table that holds a partition.
  TablePtr FindTableOfPartition(int64_t partition_id) const;
  const ViewInfo* FindView(const types::TablePath& path) const;
  const KvSnapshotEntry* FindKvSnapshot(const types::BucketId& bucket, int64_t snapshot_id) const;
  const KvSnapshotEntry* LatestKvSnapshot(const types::BucketId& bucket) const;

  // As above, with the protocol's error when it is missing.
  Result<DatabasePtr> Database(const std::string& name) const;  ///< kDatabaseNotExist.
  Result<TablePtr> Table(const types::TablePath& path) const;   ///< kTableNotExist.
  Result<TablePtr> Table(int64_t table_id) const;               ///< kTableNotExist.
  Result<std::shared_ptr<const types::Schema>> SchemaOf(
      int64_t table_id, int32_t schema_id) const;  ///< kSchemaNotExist.
  /// kUnknownTableOrBucket. Points into `tables_by_id`.
  Result<const BucketState*> Bucket(const types::BucketId& id) const;
};
using CatalogStatePtr = std::shared_ptr<const CatalogState>;

}  // namespace sluice::meta
