#include "tablet/calls.h"
#include "wire/frame.h"
#include "wire/proto/log.pb.h"

namespace sluice::tablet {
namespace {

io::Task<void> FindOffset(TabletCorePtr core, BucketShard* shard, types::BucketId id,
                          wire::ListOffsetsRequest request, Gather<Result<int64_t>> gather,
                          size_t slot) {
  const auto replica = shard->Find(id);
  if (!replica.ok()) {
    gather.Set(slot, replica.status());
    co_return;
  }
  auto find = [replica = *replica, type = request.offset_type(),
               timestamp_ms = request.starttimestamp(),
               follower = request.follower_server_id() >= 0](log::Miss* miss) {
    return replica->OffsetOf(type, timestamp_ms, follower, miss);
  };
  Result<int64_t> offset =
      co_await ReadCold(core->options().read_pool, &shard->loop(), std::move(find));
  const bool by_time = request.offset_type() == kTimestampOffset;
  if (by_time && request.follower_server_id() < 0 && offset.ok())
    offset = co_await Replica::AlsoRemote(*replica, request.starttimestamp(), *offset);
  gather.Set(slot, std::move(offset));
}

}  // namespace

// Every failure is in its bucket's entry: clients of 0.9.1 wait for ever on a frame error here.
Reply ListOffsets(TabletCorePtr core, io::Loop& loop, io::Call call) {
  CO_ASSIGN_OR_RETURN(const auto request, wire::ParseMessage<wire::ListOffsetsRequest>(call.body));
  if (request.bucket_id_size() > 0) {
    types::BucketId first{.table_id = request.table_id(), .bucket = request.bucket_id(0)};
    if (request.has_partition_id()) first.partition_id = request.partition_id();
    NoteBucket(first, call.notes);
    if (call.notes != nullptr) call.notes->buckets = static_cast<size_t>(request.bucket_id_size());
  }
  const Gather<Result<int64_t>> gather(loop, static_cast<size_t>(request.bucket_id_size()));
  for (int i = 0; i < request.bucket_id_size(); ++i) {
    types::BucketId id{.table_id = request.table_id(), .bucket = request.bucket_id(i)};
    if (request.has_partition_id()) id.partition_id = request.partition_id();
    core->PostTo(core->ShardOf(id), [=](BucketShard& shard) {
      io::Spawn(FindOffset(core, &shard, id, request, gather, static_cast<size_t>(i)));
    });
  }
  const auto offsets = co_await gather.Take();
  wire::ListOffsetsResponse response;
  for (int i = 0; i < request.bucket_id_size(); ++i) {
    auto* bucket = response.add_buckets_resp();
    bucket->set_bucket_id(request.bucket_id(i));
    types::BucketId id{.table_id = request.table_id(), .bucket = request.bucket_id(i)};
    if (request.has_partition_id()) id.partition_id = request.partition_id();
    wire::SetError(bucket, core->Told(id, offsets[i].status()));
    if (offsets[i].ok()) bucket->set_offset(*offsets[i]);
  }
  co_return wire::SerializeReply(response);
}

}  // namespace sluice::tablet
