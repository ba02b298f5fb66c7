#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::wire {

/// Calls of the protocol by number. Source: ApiKeys.
enum class ApiKey : int16_t {
  kApiVersions = 1000,
  kCreateDatabase = 1001,
  kDropDatabase = 1002,
  kListDatabases = 1003,
  kDatabaseExists = 1004,
  kCreateTable = 1005,
  kDropTable = 1006,
  kGetTableInfo = 1007,
  kListTables = 1008,
  kListPartitionInfos = 1009,
  kTableExists = 1010,
  kGetTableSchema = 1011,
  kGetMetadata = 1012,
  kUpdateMetadata = 1013,
  kProduceLog = 1014,
  kFetchLog = 1015,
  kPutKv = 1016,
  kLookup = 1017,
  kNotifyLeaderAndIsr = 1018,
  kStopReplica = 1019,
  kAdjustIsr = 1020,
  kListOffsets = 1021,
  kCommitKvSnapshot = 1022,
  kGetLatestKvSnapshots = 1023,
  kGetKvSnapshotMetadata = 1024,
  kGetFileSystemSecurityToken = 1025,
  kInitWriter = 1026,
  kCommitRemoteLogManifest = 1027,
  kNotifyRemoteLogOffsets = 1028,
  kNotifyKvSnapshotOffset = 1029,
  kCommitLakeTableSnapshot = 1030,
  kNotifyLakeTableOffset = 1031,
  kGetLakeSnapshot = 1032,
  kLimitScan = 1033,
  kPrefixLookup = 1034,
  kGetDatabaseInfo = 1035,
  kCreatePartition = 1036,
  kDropPartition = 1037,
  kAuthenticate = 1038,
  kCreateAcls = 1039,
  kListAcls = 1040,
  kDropAcls = 1041,
  kLakeTieringHeartbeat = 1042,
  kControlledShutdown = 1043,
  kAlterTable = 1044,
  kDescribeClusterConfigs = 1045,
  kAlterClusterConfigs = 1046,
  kAddServerTag = 1047,
  kRemoveServerTag = 1048,
  kRebalance = 1049,
  kListRebalanceProgress = 1050,
  kCancelRebalance = 1051,
  kPrepareLakeTableSnapshot = 1052,
  kRegisterProducerOffsets = 1053,
  kGetProducerOffsets = 1054,
  kDeleteProducerOffsets = 1055,
  kAcquireKvSnapshotLease = 1056,
  kReleaseKvSnapshotLease = 1057,
  kDropKvSnapshotLease = 1058,
  kGetTableStats = 1059,
  kAlterDatabase = 1060,
  kScanKv = 1061,
  kGetClusterHealth = 1062,
  kListRemoteLogManifests = 1063,
  kListKvSnapshots = 1064,
};

/// `server_type` of the handshake.
enum class ServerType : int32_t { kUnknown = -1, kCoordinator = 1, kTabletServer = 2 };

/// One call: the versions that we offer and the servers that answer it.
struct ApiInfo {
  ApiKey key;
  std::string_view name;  ///< As the protocol's documents spell it, "FETCH_LOG".
  int16_t min_version;
  int16_t max_version;
  bool coordinator;
  bool tablet;

  bool OfferedBy(ServerType server) const {
    return server == ServerType::kCoordinator ? coordinator : tablet;
  }
};

/// The largest body of a call that brings no rows. One of small parts takes many times its bytes
/// once it is parsed.
constexpr uint64_t kPlainRequestBytesMax = 16 << 20;
/// Whether a call brings rows: those are read where they lie.
bool BringsRows(int16_t key);

/// All calls by ascending key.
std::span<const ApiInfo> Apis();
/// The call with this key, null when there is none.
const ApiInfo* FindApi(int16_t key);

}  // namespace sluice::wire
