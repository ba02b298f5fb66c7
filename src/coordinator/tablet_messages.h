#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/settings.h"
#include "io/transport.h"
#include "meta/catalog_state.h"
#include "wire/api.h"

namespace sluice::coordinator {

/// A bucket of a table, as the calls to tablet servers name it.
struct PlacedBucket {
  types::TablePath path;
  std::string partition_name;  ///< Empty = unpartitioned.
  types::BucketId id;
  meta::BucketState state;
};

/// Buckets of a table, of one of its partitions only when `partition` is set.
std::vector<PlacedBucket> BucketsOf(const meta::TableState& table,
                                    const meta::PartitionState* partition = nullptr);

/// Add the buckets of a table or partition, whose numbers are their places, to the repeated
/// PbBucketMetadata of a message.
template <typename Entries>
void AddBuckets(const std::vector<meta::BucketState>& buckets, Entries* out) {
  for (size_t i = 0; i < buckets.size(); ++i) {
    auto* bucket = out->Add();
    bucket->set_bucket_id(static_cast<int32_t>(i));
    if (buckets[i].leader >= 0) bucket->set_leader_id(buckets[i].leader);
    for (const int32_t replica : buckets[i].replicas) bucket->add_replica_id(replica);
    bucket->set_leader_epoch(buckets[i].leader_epoch);
  }
}

// The calls of wire/proto/replication.proto, ready to send.
/// Servers, and the tables named with all their partitions, or `partition` alone.
io::Call UpdateMetadataCall(int32_t coordinator_epoch, const CoordinatorAddress& coordinator,
                            const std::vector<TabletServer>& servers,
                            const std::vector<meta::TablePtr>& tables,
                            const meta::PartitionState* partition = nullptr);
io::Call NotifyLeaderCall(int32_t coordinator_epoch, std::span<const PlacedBucket> buckets);
/// A bucket to stop, with the leader epoch that it had.
struct StoppedBucket {
  types::BucketId id;
  int32_t leader_epoch = 0;
};
/// Stop and delete, remote files too.
io::Call StopReplicaCall(int32_t coordinator_epoch, std::span<const StoppedBucket> buckets);
/// `max_timestamps` by bucket may lack any.
io::Call NotifyLakeOffsetCall(int32_t coordinator_epoch, int64_t table_id,
                              const meta::LakeSnapshot& snapshot,
                              const std::map<meta::PartitionBucket, int64_t>& max_timestamps);
io::Call LatestOffsetsCall(int64_t table_id, std::optional<int64_t> partition_id,
                           size_t bucket_count);

// The first error of a reply's entries, OK when there is none.
Status CheckNotifyLeaderReply(std::string_view body);
Status CheckStopReplicaReply(std::string_view body);
/// Latest offset by bucket. Errors: the first one of the entries.
Result<std::map<int32_t, int64_t>> ReadLatestOffsets(std::string_view body);

}  // namespace sluice::coordinator
