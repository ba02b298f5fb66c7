#include "wire/api.h"

#include <algorithm>
#include <array>

namespace sluice::wire {
namespace {

enum class Scope { kBoth, kCoordinator, kTablet };

constexpr ApiInfo Row(ApiKey key, std::string_view name, Scope scope, int16_t max_version = 0) {
  return {key, name, 0, max_version, scope != Scope::kTablet, scope != Scope::kCoordinator};
}

using enum Scope;
// Versions that we offer, not those that the newest client knows: PRODUCE_LOG 1 and PUT_KV 3
// of 1.0.0 add fields for bucket counts that change, which our tables do not have.
constexpr std::array kApis = {
    Row(ApiKey::kApiVersions, "API_VERSIONS", kBoth),
    Row(ApiKey::kCreateDatabase, "CREATE_DATABASE", kCoordinator),
    Row(ApiKey::kDropDatabase, "DROP_DATABASE", kCoordinator),
    Row(ApiKey::kListDatabases, "LIST_DATABASES", kBoth),
    Row(ApiKey::kDatabaseExists, "DATABASE_EXISTS", kBoth),
    Row(ApiKey::kCreateTable, "CREATE_TABLE", kCoordinator),
    Row(ApiKey::kDropTable, "DROP_TABLE", kCoordinator),
    Row(ApiKey::kGetTableInfo, "GET_TABLE_INFO", kBoth),
    Row(ApiKey::kListTables, "LIST_TABLES", kBoth),
    Row(ApiKey::kListPartitionInfos, "LIST_PARTITION_INFOS", kBoth),
    Row(ApiKey::kTableExists, "TABLE_EXISTS", kBoth),
    Row(ApiKey::kGetTableSchema, "GET_TABLE_SCHEMA", kBoth),
    Row(ApiKey::kGetMetadata, "GET_METADATA", kBoth),
    Row(ApiKey::kUpdateMetadata, "UPDATE_METADATA", kTablet),
    Row(ApiKey::kProduceLog, "PRODUCE_LOG", kTablet),
    Row(ApiKey::kFetchLog, "FETCH_LOG", kTablet),
    Row(ApiKey::kPutKv, "PUT_KV", kTablet, 2),
    Row(ApiKey::kLookup, "LOOKUP", kTablet, 1),
    Row(ApiKey::kNotifyLeaderAndIsr, "NOTIFY_LEADER_AND_ISR", kTablet),
    Row(ApiKey::kStopReplica, "STOP_REPLICA", kTablet),
    Row(ApiKey::kAdjustIsr, "ADJUST_ISR", kCoordinator),
    Row(ApiKey::kListOffsets, "LIST_OFFSETS", kTablet),
    Row(ApiKey::kCommitKvSnapshot, "COMMIT_KV_SNAPSHOT", kCoordinator),
    Row(ApiKey::kGetLatestKvSnapshots, "GET_LATEST_KV_SNAPSHOTS", kBoth),
    Row(ApiKey::kGetKvSnapshotMetadata, "GET_KV_SNAPSHOT_METADATA", kBoth),
    Row(ApiKey::kGetFileSystemSecurityToken, "GET_FILESYSTEM_SECURITY_TOKEN", kBoth),
    Row(ApiKey::kInitWriter, "INIT_WRITER", kTablet),
    Row(ApiKey::kCommitRemoteLogManifest, "COMMIT_REMOTE_LOG_MANIFEST", kCoordinator),
    Row(ApiKey::kNotifyRemoteLogOffsets, "NOTIFY_REMOTE_LOG_OFFSETS", kTablet),
    Row(ApiKey::kNotifyKvSnapshotOffset, "NOTIFY_KV_SNAPSHOT_OFFSET", kTablet),
    Row(ApiKey::kCommitLakeTableSnapshot, "COMMIT_LAKE_TABLE_SNAPSHOT", kCoordinator),
    Row(ApiKey::kNotifyLakeTableOffset, "NOTIFY_LAKE_TABLE_OFFSET", kTablet),
    Row(ApiKey::kGetLakeSnapshot, "GET_LAKE_SNAPSHOT", kBoth),
    Row(ApiKey::kLimitScan, "LIMIT_SCAN", kTablet),
    Row(ApiKey::kPrefixLookup, "PREFIX_LOOKUP", kTablet, 1),
    Row(ApiKey::kGetDatabaseInfo, "GET_DATABASE_INFO", kBoth),
    Row(ApiKey::kCreatePartition, "CREATE_PARTITION", kCoordinator),
    Row(ApiKey::kDropPartition, "DROP_PARTITION", kCoordinator),
    Row(ApiKey::kAuthenticate, "AUTHENTICATE", kBoth),
    Row(ApiKey::kCreateAcls, "CREATE_ACLS", kCoordinator),
    Row(ApiKey::kListAcls, "LIST_ACLS", kBoth),
    Row(ApiKey::kDropAcls, "DROP_ACLS", kCoordinator),
    Row(ApiKey::kLakeTieringHeartbeat, "LAKE_TIERING_HEARTBEAT", kCoordinator),
    Row(ApiKey::kControlledShutdown, "CONTROLLED_SHUTDOWN", kCoordinator),
    Row(ApiKey::kAlterTable, "ALTER_TABLE", kCoordinator),
    Row(ApiKey::kDescribeClusterConfigs, "DESCRIBE_CLUSTER_CONFIGS", kBoth),
    Row(ApiKey::kAlterClusterConfigs, "ALTER_CLUSTER_CONFIGS", kCoordinator),
    Row(ApiKey::kAddServerTag, "ADD_SERVER_TAG", kCoordinator),
    Row(ApiKey::kRemoveServerTag, "REMOVE_SERVER_TAG", kCoordinator),
    Row(ApiKey::kRebalance, "REBALANCE", kCoordinator),
    Row(ApiKey::kListRebalanceProgress, "LIST_REBALANCE_PROGRESS", kCoordinator),
    Row(ApiKey::kCancelRebalance, "CANCEL_REBALANCE", kCoordinator),
    Row(ApiKey::kPrepareLakeTableSnapshot, "PREPARE_LAKE_TABLE_SNAPSHOT", kCoordinator),
    Row(ApiKey::kRegisterProducerOffsets, "REGISTER_PRODUCER_OFFSETS", kCoordinator),
    Row(ApiKey::kGetProducerOffsets, "GET_PRODUCER_OFFSETS", kCoordinator),
    Row(ApiKey::kDeleteProducerOffsets, "DELETE_PRODUCER_OFFSETS", kCoordinator),
    Row(ApiKey::kAcquireKvSnapshotLease, "ACQUIRE_KV_SNAPSHOT_LEASE", kCoordinator),
    Row(ApiKey::kReleaseKvSnapshotLease, "RELEASE_KV_SNAPSHOT_LEASE", kCoordinator),
    Row(ApiKey::kDropKvSnapshotLease, "DROP_KV_SNAPSHOT_LEASE", kCoordinator),
    Row(ApiKey::kGetTableStats, "GET_TABLE_STATS", kTablet),
    Row(ApiKey::kAlterDatabase, "ALTER_DATABASE", kCoordinator),
    Row(ApiKey::kScanKv, "SCAN_KV", kTablet),
    Row(ApiKey::kGetClusterHealth, "GET_CLUSTER_HEALTH", kBoth),
    Row(ApiKey::kListRemoteLogManifests, "LIST_REMOTE_LOG_MANIFESTS", kCoordinator),
    Row(ApiKey::kListKvSnapshots, "LIST_KV_SNAPSHOTS", kCoordinator),
};

constexpr int16_t kFirstKey = static_cast<int16_t>(ApiKey::kApiVersions);

// FindApi indexes by key.
constexpr bool KeysAreDense() {
  for (size_t i = 0; i < kApis.size(); ++i) {
    if (static_cast<int16_t>(kApis[i].key) != kFirstKey + static_cast<int16_t>(i)) return false;
  }
  return true;
}
static_assert(KeysAreDense());
static_assert(kApis.size() == 65);

}  // namespace

bool BringsRows(int16_t key) {
  return key == static_cast<int16_t>(ApiKey::kProduceLog) ||
         key == static_cast<int16_t>(ApiKey::kPutKv);
}

std::span<const ApiInfo> Apis() { return kApis; }

const ApiInfo* FindApi(int16_t key) {
  const int index = key - kFirstKey;
  return index >= 0 && index < static_cast<int>(kApis.size()) ? &kApis[index] : nullptr;
}

}  // namespace sluice::wire
