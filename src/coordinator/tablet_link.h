#pragma once
#include <map>
#include <vector>

#include "coordinator/settings.h"
#include "coordinator/tablet_messages.h"
#include "io/loop.h"
#include "io/task.h"
#include "meta/catalog.h"

namespace sluice::coordinator {

/// Tells the tablet servers what the catalog decided.
///
/// Metadata goes to all servers before any leader is named. A server that fails to answer is
/// reported, not retried here. Threads: confined to the coordinator's loop.
class TabletLink {
 public:
  struct Options {
    const meta::Catalog* catalog = nullptr;
    io::Loop* loop = nullptr;
    CoordinatorAddress address;
    std::vector<TabletServer> servers;
  };
  explicit TabletLink(Options options) : options_(std::move(options)) {}

  /// Everything: servers, tables, leaders, lake offsets. Errors: the first one, after all servers
  /// were tried.
  io::Task<Status> TellAll();
  /// A new table, or a new partition of one.
  io::Task<Status> TellCreated(meta::TablePtr table, meta::PartitionPtr partition);
  /// New properties or schema of a table.
  io::Task<Status> TellChanged(meta::TablePtr table);
  /// Stop and delete replicas on every server.
  io::Task<Status> StopReplicas(std::vector<StoppedBucket> buckets);
  io::Task<Status> TellLakeSnapshot(int64_t table_id, meta::LakeSnapshot snapshot,
                                    std::map<meta::PartitionBucket, int64_t> max_timestamps);
  /// Whether some bucket's log reaches beyond the newest lake snapshot.
  io::Task<Result<bool>> HasUntieredRows(meta::TablePtr table);

  std::vector<int32_t> server_ids() const;
  const std::vector<TabletServer>& servers() const { return options_.servers; }

 private:
  int32_t epoch() const { return options_.catalog->state()->coordinator_epoch; }
  io::Task<Status> SendToAll(io::Call call);
  io::Task<Status> TellLeaders(std::vector<PlacedBucket> buckets);
  // The latest offsets of the buckets of one table or partition, asked from their leaders.
  io::Task<Result<std::map<int32_t, int64_t>>> LatestOffsets(
      int64_t table_id, std::optional<int64_t> partition_id,
      std::vector<meta::BucketState> buckets);
  io::Transport* TransportOf(int32_t server_id) const;

  Options options_;
};

}  // namespace sluice::coordinator
