#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/cluster.h"

namespace sluice::client {

struct DatabaseInfo {
  types::DatabaseDescriptor descriptor;
  int64_t created_ms = 0;
  int64_t modified_ms = 0;
};

/// One change of ALTER TABLE; either properties or added columns, not both.
struct TableChange {
  std::map<std::string, std::string> set;
  std::vector<std::string> reset;
  std::vector<types::Column> add_columns;  ///< At the end, nullable.
};

/// Where the log of a bucket stands when a lake snapshot was taken.
struct LakeBucketOffset {
  std::optional<int64_t> partition_id;
  int32_t bucket = 0;
  int64_t log_end_offset = -1;  ///< First offset that is not in the lake; -1 = unknown.
  std::string partition_name;   ///< As the reply names it, may be empty.
  int64_t max_timestamp_ms =
      -1;  ///< Sent with commits for the metrics of the server; -1 = not known.
};
struct LakeSnapshot {
  int64_t table_id = -1;
  int64_t snapshot_id = -1;
  std::vector<LakeBucketOffset> buckets;
};

/// A server as it tells its clients of itself.
struct ServerInfo {
  ServerNode node;
  std::string listeners;  ///< All of them, "NAME://host:port,…"; empty = not told.
};
struct ClusterInfo {
  std::optional<ServerInfo> coordinator;
  std::vector<ServerInfo> tablet_servers;
};

/// Whose offsets: what readers see, up to the high watermark and with what is in remote storage; or
/// the leader's log itself.
enum class OffsetView { kReader, kLog };

enum class OffsetType : int32_t { kEarliest = 0, kLatest = 1, kTimestamp = 2 };

/// A partition spec: partition column → text value.
using PartitionSpec = std::map<std::string, std::string>;

/// Everything that is not about rows. Reads retry what is retriable; changes are sent once, because
/// after a lost reply only the caller knows what a repeat means.
class Admin {
 public:
  explicit Admin(ClusterPtr cluster) : cluster_(std::move(cluster)) {}

  io::Task<Result<ClusterInfo>> DescribeCluster(io::Loop& loop);
  /// What is set of the cluster, by key.
  io::Task<Result<std::map<std::string, std::string>>> DescribeConfigs(io::Loop& loop);

  io::Task<Status> CreateDatabase(io::Loop& loop, std::string name,
                                  types::DatabaseDescriptor descriptor, bool ignore_if_exists);
  io::Task<Status> DropDatabase(io::Loop& loop, std::string name, bool ignore_if_not_exists,
                                bool cascade);
  io::Task<Result<std::vector<std::string>>> ListDatabases(io::Loop& loop);
  io::Task<Result<bool>> DatabaseExists(io::Loop& loop, std::string name);
  io::Task<Result<DatabaseInfo>> GetDatabase(io::Loop& loop, std::string name);

  io::Task<Status> CreateTable(io::Loop& loop, types::TablePath path,
                               types::TableDescriptor descriptor, bool ignore_if_exists);
  io::Task<Status> DropTable(io::Loop& loop, types::TablePath path, bool ignore_if_not_exists);
  io::Task<Status> AlterTable(io::Loop& loop, types::TablePath path, TableChange change,
                              bool ignore_if_not_exists);
  /// Asks the cluster each time. Errors: kTableNotExist.
  io::Task<Result<types::TableInfo>> GetTable(io::Loop& loop, types::TablePath path);
  io::Task<Result<std::vector<std::string>>> ListTables(io::Loop& loop, std::string database);
  io::Task<Result<bool>> TableExists(io::Loop& loop, types::TablePath path);

  io::Task<Status> CreatePartition(io::Loop& loop, types::TablePath path, PartitionSpec spec,
                                   bool ignore_if_exists);
  io::Task<Status> DropPartition(io::Loop& loop, types::TablePath path, PartitionSpec spec,
                                 bool ignore_if_not_exists);
  /// Values come in partition-key order.
  io::Task<Result<std::vector<types::PartitionInfo>>> ListPartitions(io::Loop& loop,
                                                                     types::TablePath path,
                                                                     PartitionSpec partial);

  /// Offsets by bucket, for buckets of one table or partition. Latest is the high watermark.
  io::Task<Result<std::map<int32_t, int64_t>>> ListOffsets(io::Loop& loop, types::TablePath path,
                                                           int64_t table_id,
                                                           std::optional<int64_t> partition_id,
                                                           std::vector<int32_t> buckets,
                                                           OffsetType type, int64_t timestamp_ms,
                                                           OffsetView view = OffsetView::kReader);
  /// Rows of a bucket: of a log table up to the high watermark, of a primary-key table those alive.
  io::Task<Result<int64_t>> RowCount(io::Loop& loop, types::TablePath path, types::BucketId bucket);

  /// Errors: kLakeSnapshotNotExist when the table was never tiered. `snapshot_id` nullopt = the
  /// newest; `readable` gives the newest that readers see whole.
  io::Task<Result<LakeSnapshot>> GetLakeSnapshot(io::Loop& loop, types::TablePath path,
                                                 std::optional<int64_t> snapshot_id, bool readable);

 private:
  ClusterPtr cluster_;
};

}  // namespace sluice::client
