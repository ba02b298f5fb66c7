// Calls of the coordinator, and INIT_WRITER.
#include <set>

#include "base/log.h"
#include "tablet/calls.h"
#include "wire/frame.h"
#include "wire/proto/lake.pb.h"
#include "wire/proto/log.pb.h"
#include "wire/proto/replication.pb.h"

namespace sluice::tablet {
namespace {

BucketShard::News NewsOf(TabletCore& core, const wire::PbNotifyLeaderAndIsrReqForBucket& bucket) {
  BucketShard::News news;
  news.id = BucketIdOf(bucket.table_bucket().table_id(), bucket.table_bucket());
  news.path = {bucket.physical_table_path().database_name(),
               bucket.physical_table_path().table_name()};
  news.partition_name = bucket.physical_table_path().partition_name();
  news.leadership.leader = bucket.leader();
  news.leadership.leader_epoch = bucket.leader_epoch();
  news.leadership.bucket_epoch = bucket.bucket_epoch();
  news.leadership.isr.assign(bucket.isr().begin(), bucket.isr().end());
  news.recovery_point = core.RecoveryPointOf(news.id);
  return news;
}

io::Task<void> TakeOn(BucketShard* shard, BucketShard::News news, Gather<Status> gather,
                      size_t slot) {
  const types::BucketId id = news.id;
  Status taken = co_await shard->Take(std::move(news));
  if (!taken.ok()) LogWarn("leadership refused {} {}", id.ToString(), taken.ToString());
  gather.Set(slot, std::move(taken));
}

io::Task<void> StopOn(BucketShard* shard, BucketShard::Stop stop, Gather<Status> gather,
                      size_t slot) {
  gather.Set(slot, co_await shard->StopReplica(std::move(stop)));
}

}  // namespace

Reply InitWriter(TabletCorePtr core, io::Loop& loop, io::Call call) {
  CO_RETURN_NOT_OK(wire::ParseMessage<wire::InitWriterRequest>(call.body));
  wire::InitWriterResponse response;
  CO_ASSIGN_OR_RETURN(const int64_t writer_id, co_await core->options().new_writer_id(loop));
  response.set_writer_id(writer_id);
  co_return wire::SerializeReply(response);
}

Reply NotifyLeaderAndIsr(TabletCorePtr core, io::Loop& loop, io::Call call) {
  CO_ASSIGN_OR_RETURN(const auto request,
                      wire::ParseMessage<wire::NotifyLeaderAndIsrRequest>(call.body));
  CO_RETURN_NOT_OK(core->SeeCoordinator(request.coordinator_epoch()));
  const auto& buckets = request.notify_buckets_leader_req();
  const Gather<Status> gather(loop, static_cast<size_t>(buckets.size()));
  for (int i = 0; i < buckets.size(); ++i) {
    BucketShard::News news = NewsOf(*core, buckets[i]);
    const size_t shard = core->ShardOf(news.id);
    core->PostTo(shard, [news = std::move(news), gather, i](BucketShard& owner) {
      io::Spawn(TakeOn(&owner, news, gather, static_cast<size_t>(i)));
    });
  }
  const auto parts = co_await gather.Take();
  wire::NotifyLeaderAndIsrResponse response;
  for (int i = 0; i < buckets.size(); ++i) {
    auto* bucket = response.add_notify_buckets_leader_resp();
    *bucket->mutable_table_bucket() = buckets[i].table_bucket();
    wire::SetError(bucket, parts[i]);
  }
  co_return wire::SerializeReply(response);
}

Reply StopReplica(TabletCorePtr core, io::Loop& loop, io::Call call) {
  CO_ASSIGN_OR_RETURN(const auto request, wire::ParseMessage<wire::StopReplicaRequest>(call.body));
  CO_RETURN_NOT_OK(core->SeeCoordinator(request.coordinator_epoch()));
  const auto& buckets = request.stop_replicas_req();
  const Gather<Status> gather(loop, static_cast<size_t>(buckets.size()));
  for (int i = 0; i < buckets.size(); ++i) {
    const BucketShard::Stop stop{
        BucketIdOf(buckets[i].table_bucket().table_id(), buckets[i].table_bucket()),
        buckets[i].leader_epoch(), buckets[i].delete_()};
    core->PostTo(core->ShardOf(stop.id), [stop, gather, i](BucketShard& owner) {
      io::Spawn(StopOn(&owner, stop, gather, static_cast<size_t>(i)));
    });
  }
  const auto parts = co_await gather.Take();
  // Whose bucket goes is dropped, or read again at its next use.
  for (const auto& bucket : buckets) {
    if (!bucket.delete_()) continue;
    const types::BucketId id = BucketIdOf(bucket.table_bucket().table_id(), bucket.table_bucket());
    core->tables().Forget(id.table_id);
    core->ForgetRecoveryPoint(id);  // Dropped before its log was opened since the start.
  }
  wire::StopReplicaResponse response;
  for (int i = 0; i < buckets.size(); ++i) {
    auto* bucket = response.add_stop_replicas_resp();
    *bucket->mutable_table_bucket() = buckets[i].table_bucket();
    wire::SetError(bucket, parts[i]);
  }
  co_return wire::SerializeReply(response);
}

Reply UpdateMetadata(TabletCorePtr core, io::Loop& loop, io::Call call) {
  CO_ASSIGN_OR_RETURN(const auto request,
                      wire::ParseMessage<wire::UpdateMetadataRequest>(call.body));
  if (request.has_coordinator_epoch())
    CO_RETURN_NOT_OK(core->SeeCoordinator(request.coordinator_epoch()));
  std::set<int64_t> tables;
  for (const auto& table : request.table_metadata()) tables.insert(table.table_id());
  for (const int64_t table_id : tables) core->tables().Forget(table_id);
  // What the table looks like comes from the source; the call says only that it changed.
  const Gather<bool> gather(loop, core->shard_count());
  for (size_t i = 0; i < core->shard_count(); ++i) {
    core->PostTo(i, [tables, gather, i](BucketShard& shard) {
      for (const int64_t table_id : tables) shard.Refresh(table_id);
      gather.Set(i, true);
    });
  }
  co_await gather.Take();
  co_return wire::SerializeReply(wire::UpdateMetadataResponse());
}

Reply NotifyLakeTableOffset(TabletCorePtr core, io::Loop& loop, io::Call call) {
  CO_ASSIGN_OR_RETURN(const auto request,
                      wire::ParseMessage<wire::NotifyLakeTableOffsetRequest>(call.body));
  CO_RETURN_NOT_OK(core->SeeCoordinator(request.coordinator_epoch()));
  const auto& buckets = request.notify_buckets_req();
  const Gather<bool> gather(loop, static_cast<size_t>(buckets.size()));
  for (int i = 0; i < buckets.size(); ++i) {
    const types::BucketId id = BucketIdOf(buckets[i].table_id(), buckets[i]);
    const LakeOffsets offsets{buckets[i].snapshot_id(),
                              buckets[i].has_log_end_offset() ? buckets[i].log_end_offset() : -1};
    core->PostTo(core->ShardOf(id), [id, offsets, gather, i](BucketShard& shard) {
      const auto replica = shard.Find(id);
      if (replica.ok())
        (*replica)->SetLakeOffsets(offsets);  // A bucket that is not here has nothing to keep.
      gather.Set(static_cast<size_t>(i), true);
    });
  }
  co_await gather.Take();
  co_return wire::SerializeReply(wire::NotifyLakeTableOffsetResponse());
}

}  // namespace sluice::tablet
