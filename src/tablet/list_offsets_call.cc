#include "tablet/calls.h"
#include "wire/frame.h"
#include "wire/proto/log.pb.h"

namespace sluice::tablet {
namespace {

struct AskedOffset {
  int32_t type = 0;
  int64_t timestamp_ms = 0;
  bool follower = false;
};
using OffsetGather = Gather<Result<int64_t>>;
using BucketIdsPtr = std::shared_ptr<const std::vector<types::BucketId>>;

io::Task<void> FindOffset(TabletCorePtr core, BucketShard* shard, types::BucketId id,
                          AskedOffset asked, OffsetGather gather, size_t slot) {
  const auto replica = shard->Find(id);
  if (!replica.ok()) {
    gather.Set(slot, replica.status());
    co_return;
  }
  auto find = [replica = *replica, asked](log::Miss* miss) {
    return replica->OffsetOf(asked.type, asked.timestamp_ms, asked.follower, miss);
  };
  Result<int64_t> offset =
      co_await ReadCold(core->options().read_pool, &shard->loop(), std::move(find));
  if (asked.type == kTimestampOffset && !asked.follower && offset.ok())
    offset = co_await Replica::AlsoRemote(*replica, asked.timestamp_ms, *offset);
  gather.Set(slot, std::move(offset));
}

io::Task<void> FindOffsets(TabletCorePtr core, BucketShard* shard, BucketIdsPtr ids,
                           std::vector<size_t> slots, AskedOffset asked, OffsetGather gather) {
  for (size_t i = 0; i < slots.size(); ++i) {
    if (i > 0 && i % kServedPerTurn == 0)
      co_await io::Sleep(shard->loop(), std::chrono::milliseconds(0));
    io::Spawn(FindOffset(core, shard, (*ids)[slots[i]], asked, gather, slots[i]));
  }
}

BucketIdsPtr IdsOf(const wire::ListOffsetsRequest& request) {
  auto ids = std::make_shared<std::vector<types::BucketId>>();
  types::BucketId id{.table_id = request.table_id(), .bucket = 0};
  if (request.has_partition_id()) id.partition_id = request.partition_id();
  for (const int32_t bucket : request.bucket_id()) {
    id.bucket = bucket;
    ids->push_back(id);
  }
  return ids;
}

}  // namespace

// Every failure is in its bucket's entry: clients of 0.9.1 wait for ever on a frame error here.
// None of them names more buckets than one may.
Reply ListOffsets(TabletCorePtr core, io::Loop& loop, io::Call call) {
  CO_ASSIGN_OR_RETURN(const auto request, wire::ParseMessage<wire::ListOffsetsRequest>(call.body));
  const auto count = static_cast<size_t>(request.bucket_id_size());
  CO_RETURN_NOT_OK(CheckNamed("buckets", count, kBucketsNamedMax));
  const auto memory = core->HoldNames(count);
  const Status room = memory.status();
  const AskedOffset asked{request.offset_type(), request.starttimestamp(),
                          request.follower_server_id() >= 0};
  const BucketIdsPtr ids = IdsOf(request);
  NoteBuckets(*ids, call.notes);
  const OffsetGather gather(loop, count);
  const auto cut = core->Cut(*ids);
  for (size_t i = 0; i < cut.size(); ++i) {
    if (cut[i].empty()) continue;
    if (!room.ok()) {
      for (const size_t slot : cut[i]) gather.Set(slot, room);
      continue;
    }
    auto work = [core, ids, slots = cut[i], asked, gather](BucketShard& shard) {
      io::Spawn(FindOffsets(core, &shard, ids, slots, asked, gather));
    };
    if (core->RunOn(i, cut[i].size() * kBytesPerName, std::move(work))) continue;
    for (const size_t slot : cut[i]) gather.Set(slot, core->MailboxFull(i));
  }
  const auto offsets = co_await gather.Take();
  wire::ListOffsetsResponse response;
  for (size_t i = 0; i < count; ++i) {
    auto* bucket = response.add_buckets_resp();
    bucket->set_bucket_id((*ids)[i].bucket);
    wire::SetError(bucket, core->Told((*ids)[i], offsets[i].status()));
    if (offsets[i].ok()) bucket->set_offset(*offsets[i]);
  }
  co_return wire::SerializeReply(response);
}

}  // namespace sluice::tablet
