#include "coordinator/tablet_link.h"

#include <algorithm>

namespace sluice::coordinator {

namespace {
// Bounds of one message while everything is told at start.
constexpr size_t kTablesPerCall = 200;
constexpr size_t kBucketsPerCall = 1000;

void KeepFirst(const Status& status, Status* first) {
  if (first->ok()) *first = status;
}
}  // namespace

std::vector<int32_t> TabletLink::server_ids() const {
  std::vector<int32_t> ids;
  for (const TabletServer& server : options_.servers) ids.push_back(server.id);
  return ids;
}

io::Transport* TabletLink::TransportOf(int32_t server_id) const {
  const auto found = std::ranges::find(options_.servers, server_id, &TabletServer::id);
  return found == options_.servers.end() ? nullptr : found->transport.get();
}

io::Task<Status> TabletLink::SendToAll(io::Call call) {
  Status first;
  for (const TabletServer& server : options_.servers) {
    auto reply = co_await server.transport->Send(*options_.loop, call);
    KeepFirst(reply.status(), &first);
  }
  co_return first;
}

io::Task<Status> TabletLink::TellLeaders(std::vector<PlacedBucket> buckets) {
  Status first;
  for (const TabletServer& server : options_.servers) {
    std::vector<PlacedBucket> hosted;
    for (const PlacedBucket& bucket : buckets) {
      if (std::ranges::find(bucket.state.replicas, server.id) != bucket.state.replicas.end())
        hosted.push_back(bucket);
    }
    for (size_t from = 0; from < hosted.size(); from += kBucketsPerCall) {
      const auto part =
          std::span(hosted).subspan(from, std::min(kBucketsPerCall, hosted.size() - from));
      io::Call call = NotifyLeaderCall(epoch(), part);
      auto reply = co_await server.transport->Send(*options_.loop, std::move(call));
      KeepFirst(reply.ok() ? CheckNotifyLeaderReply(*reply) : reply.status(), &first);
    }
  }
  co_return first;
}

io::Task<Status> TabletLink::TellAll() {
  const meta::CatalogStatePtr state = options_.catalog->state();
  std::vector<meta::TablePtr> tables;
  std::vector<PlacedBucket> buckets;
  for (const auto& [table_id, table] : state->tables_by_id) {
    tables.push_back(table);
    std::ranges::move(BucketsOf(*table), std::back_inserter(buckets));
  }
  Status first;
  for (size_t from = 0; from == 0 || from < tables.size(); from += kTablesPerCall) {
    const size_t to = std::min(from + kTablesPerCall, tables.size());
    const std::vector<meta::TablePtr> part(tables.begin() + from, tables.begin() + to);
    io::Call call = UpdateMetadataCall(epoch(), options_.address, options_.servers, part);
    Status sent = co_await SendToAll(std::move(call));
    KeepFirst(sent, &first);
  }
  Status led = co_await TellLeaders(std::move(buckets));
  KeepFirst(led, &first);
  for (const meta::TablePtr& table : tables) {
    if (table->LatestLakeSnapshot() == nullptr) continue;
    const std::map<meta::PartitionBucket, int64_t> unknown_times;
    Status told = co_await TellLakeSnapshot(table->info.table_id, *table->LatestLakeSnapshot(),
                                            unknown_times);
    KeepFirst(told, &first);
  }
  co_return first;
}

io::Task<Status> TabletLink::TellCreated(meta::TablePtr table, meta::PartitionPtr partition) {
  const std::vector<meta::TablePtr> tables = {table};
  io::Call call =
      UpdateMetadataCall(epoch(), options_.address, options_.servers, tables, partition.get());
  Status first = co_await SendToAll(std::move(call));
  std::vector<PlacedBucket> buckets = BucketsOf(*table, partition.get());
  Status led = co_await TellLeaders(std::move(buckets));
  KeepFirst(led, &first);
  co_return first;
}

io::Task<Status> TabletLink::TellChanged(meta::TablePtr table) {
  const std::vector<meta::TablePtr> tables = {table};
  io::Call call = UpdateMetadataCall(epoch(), options_.address, options_.servers, tables);
  co_return co_await SendToAll(std::move(call));
}

io::Task<Status> TabletLink::StopReplicas(std::vector<StoppedBucket> buckets) {
  Status first;
  for (const TabletServer& server : options_.servers) {
    for (size_t from = 0; from < buckets.size(); from += kBucketsPerCall) {
      const auto part =
          std::span(buckets).subspan(from, std::min(kBucketsPerCall, buckets.size() - from));
      io::Call call = StopReplicaCall(epoch(), part);
      auto reply = co_await server.transport->Send(*options_.loop, std::move(call));
      KeepFirst(reply.ok() ? CheckStopReplicaReply(*reply) : reply.status(), &first);
    }
  }
  co_return first;
}

io::Task<Status> TabletLink::TellLakeSnapshot(
    int64_t table_id, meta::LakeSnapshot snapshot,
    std::map<meta::PartitionBucket, int64_t> max_timestamps) {
  io::Call call = NotifyLakeOffsetCall(epoch(), table_id, snapshot, max_timestamps);
  co_return co_await SendToAll(std::move(call));
}

io::Task<Result<std::map<int32_t, int64_t>>> TabletLink::LatestOffsets(
    int64_t table_id, std::optional<int64_t> partition_id, std::vector<meta::BucketState> buckets) {
  // TODO: with several tablet servers, ask each leader for its own buckets; one server leads all
  // today.
  io::Transport* transport = buckets.empty() ? nullptr : TransportOf(buckets.front().leader);
  if (transport == nullptr)
    co_return Error(ErrorCode::kLeaderNotAvailable, "bucket has no leader table_id=", table_id);
  io::Call call = LatestOffsetsCall(table_id, partition_id, buckets.size());
  auto reply = co_await transport->Send(*options_.loop, std::move(call));
  if (!reply.ok()) co_return reply.status();
  co_return ReadLatestOffsets(*reply);
}

io::Task<Result<bool>> TabletLink::HasUntieredRows(meta::TablePtr table) {
  static const meta::BucketOffsets kNothing;
  const meta::LakeSnapshot* snapshot = table->LatestLakeSnapshot();
  const meta::BucketOffsets& tiered = snapshot == nullptr ? kNothing : *snapshot->tiered;
  struct Group {
    std::optional<int64_t> partition_id;
    std::vector<meta::BucketState> buckets;
  };
  std::vector<Group> groups;
  if (!table->partitioned()) groups.push_back({std::nullopt, table->buckets});
  for (const auto& [name, partition] : table->partitions) {
    groups.push_back({partition->info.partition_id, partition->buckets});
  }
  for (const Group& group : groups) {
    auto offsets = co_await LatestOffsets(table->info.table_id, group.partition_id, group.buckets);
    if (!offsets.ok()) co_return offsets.status();
    for (const auto& [bucket, latest] : *offsets) {
      const auto found = tiered.find({group.partition_id, bucket});
      if (latest > (found == tiered.end() ? 0 : found->second)) co_return true;
    }
  }
  co_return false;
}

}  // namespace sluice::coordinator
