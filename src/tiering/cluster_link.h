#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/admin.h"
#include "client/log_scanner.h"
#include "client/tiering.h"
#include "io/loop.h"
#include "types/schema.h"

namespace sluice::tiering {

/// One bucket's log from an offset on. Threads: one at a time.
class BucketLog {
 public:
  virtual ~BucketLog() = default;
  /// Some next batches, in order; may be none although position() moved over empty ones, or after a
  /// wait.
  virtual Result<std::vector<client::ScanBatch>> Next() = 0;
  /// Next offset to be returned.
  virtual int64_t position() const = 0;
  /// Columns of the batches.
  virtual const std::shared_ptr<arrow::Schema>& schema() const = 0;
};

/// What tiering asks of a cluster. Each call blocks its thread, which is never a loop's.
///
/// Threads: any.
class ClusterLink {
 public:
  virtual ~ClusterLink() = default;
  virtual Result<client::HeartbeatReply> Beat(client::Heartbeat heartbeat) = 0;
  /// All tables whose tiering is switched on.
  virtual Result<std::vector<types::TableInfo>> LakeTables() = 0;
  virtual Result<types::TableInfo> GetTable(const types::TablePath& path) = 0;
  virtual Result<std::vector<types::PartitionInfo>> ListPartitions(
      const types::TablePath& path) = 0;
  virtual Result<std::map<int32_t, int64_t>> ListOffsets(const types::TablePath& path,
                                                         int64_t table_id,
                                                         std::optional<int64_t> partition_id,
                                                         std::vector<int32_t> buckets,
                                                         client::OffsetType type) = 0;
  /// What the coordinator has recorded last; nullopt = never tiered.
  virtual Result<std::optional<client::LakeSnapshot>> RecordedSnapshot(
      const types::TablePath& path) = 0;
  virtual Result<std::string> Prepare(const types::TablePath& path, int64_t table_id,
                                      std::vector<client::LakeBucketOffset> offsets) = 0;
  virtual Status Commit(client::LakeCommit commit) = 0;
  virtual Result<std::unique_ptr<BucketLog>> OpenLog(const types::TablePath& path,
                                                     types::BucketId bucket, int64_t offset) = 0;
  /// Commit time of the record at `offset`, or of the first one after it; -1 when there is none
  /// yet.
  virtual Result<int64_t> CommitTimeAt(const types::TablePath& path, types::BucketId bucket,
                                       int64_t offset) = 0;
};

/// The link over the client; calls run on `loop`.
std::shared_ptr<ClusterLink> MakeClientLink(client::ClusterPtr cluster, io::Loop& loop);

}  // namespace sluice::tiering
