#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "meta/catalog_state.h"

// Paths and JSON of the catalog's nodes: those of the Java server's ZooKeeper tree (ZkData);
// our own are below /sluice.
namespace sluice::meta::nodes {

inline constexpr char kDatabases[] = "/metadata/databases";
inline constexpr char kTableCounter[] = "/metadata/table_seqid";
inline constexpr char kPartitionCounter[] = "/metadata/partition_seqid";
inline constexpr char kWriterCounter[] = "/metadata/writer_id";
inline constexpr char kCoordinatorEpoch[] = "/coordinators/epoch";
inline constexpr char kIntents[] = "/sluice/intents";
inline constexpr char kViews[] = "/sluice/views";
inline constexpr char kValues[] = "/sluice/values";

std::string Database(const std::string& database);
std::string Tables(const std::string& database);
std::string Table(const types::TablePath& path);
std::string Schemas(const types::TablePath& path);
std::string Schema(const types::TablePath& path, int32_t schema_id);
std::string Partitions(const types::TablePath& path);
std::string Partition(const types::TablePath& path, const std::string& name);
/// Last value given of an auto-increment column.
std::string ColumnCounter(const types::TablePath& path, int32_t column_id);
std::string TableAssignment(int64_t table_id);
std::string PartitionAssignment(int64_t partition_id);
/// Under either assignment.
std::string Leader(const std::string& assignment, size_t bucket);
/// Of a bucket's KV snapshots.
std::string KvSnapshots(const std::string& assignment, int32_t bucket);
std::string KvSnapshot(const std::string& assignment, int32_t bucket, int64_t snapshot_id);
/// Under either assignment.
std::string RemoteLog(const std::string& assignment, size_t bucket);
std::string LakeTable(int64_t table_id);
/// Own: the offsets of the snapshots that the LakeTable node lists.
std::string LakeOffsets(int64_t table_id);
std::string LakeOffsets(int64_t table_id, int64_t snapshot_id);
std::string Intent(int64_t id);
std::string Views(const std::string& database);
std::string View(const types::TablePath& path);
std::string Value(const std::string& area, const std::string& key);

// Documents. The readers give kCorruptRecord, naming the node.
std::string WriteDatabase(const DatabaseState& database);
Status ReadDatabase(std::string_view json, DatabaseState* out);
/// Everything of a table but its schema, which has a node of its own.
std::string WriteTable(const types::TableInfo& info);
Status ReadTable(std::string_view json, types::TableInfo* out);
std::string WritePartition(int64_t table_id, const PartitionState& partition);
Status ReadPartition(std::string_view json, PartitionState* out);
/// `table_id` is written for partitions only.
std::string WriteAssignment(const std::vector<BucketState>& buckets,
                            std::optional<int64_t> table_id);
Result<std::map<int32_t, std::vector<int32_t>>> ReadAssignment(std::string_view json);
std::string WriteLeader(const BucketState& bucket);
Status ReadLeader(std::string_view json, BucketState* out);
std::string WriteKvSnapshot(const KvSnapshotEntry& snapshot);
Result<KvSnapshotEntry> ReadKvSnapshot(std::string_view json);
std::string WriteRemoteLog(const RemoteLogState& remote);
Result<RemoteLogState> ReadRemoteLog(std::string_view json);
std::string WriteLakeTable(const std::vector<LakeSnapshot>& snapshots);
Result<std::vector<LakeSnapshot>> ReadLakeTable(std::string_view json);
std::string WriteLakeOffsets(int64_t table_id, const LakeSnapshot& snapshot);
Status ReadLakeOffsets(std::string_view json, LakeSnapshot* out);
std::string WriteIntent(const DdlIntent& intent);
Result<DdlIntent> ReadIntent(std::string_view json);
std::string WriteView(const ViewInfo& view);
Status ReadView(std::string_view json, ViewInfo* out);
/// A counter is decimal text.
Result<int64_t> ReadCounter(std::string_view text);

}  // namespace sluice::meta::nodes
