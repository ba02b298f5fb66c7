#include "tablet/calls.h"
#include "wire/frame.h"
#include "wire/proto/log.pb.h"
#include "wire/records.h"

namespace sluice::tablet {
namespace {

struct Produced {
  Status error;
  int64_t base_offset = -1;
};

// The request as all shards see it; views into `body`.
struct Produce {
  std::string body;
  wire::ProduceLogView view;
  std::vector<types::BucketId> ids;
};
using ProducePtr = std::shared_ptr<const Produce>;

Result<ProducePtr> ParseProduce(std::string body) {
  auto request = std::make_shared<Produce>();
  request->body = std::move(body);
  ASSIGN_OR_RAISE(request->view, wire::ParseProduceLog(request->body));
  const wire::ProduceLogView& view = request->view;
  if (view.acks < -1 || view.acks > 1) {
    return Error(ErrorCode::kInvalidRequiredAcks, "acks are -1, 0 or 1 acks=", view.acks);
  }
  ARROW_RETURN_NOT_OK(CheckNamed("buckets", view.buckets.size(), kBucketsNamedMax));
  for (const auto& bucket : view.buckets)
    request->ids.push_back({view.table_id, bucket.partition_id, bucket.bucket_id});
  return request;
}

void ProduceOne(BucketShard& shard, const Produce& request, size_t slot,
                const Gather<Produced>& gather) {
  const auto replica = shard.Find(request.ids[slot]);
  if (!replica.ok()) return gather.Set(slot, {replica.status()});
  const auto appended = (*replica)->Append(request.view.buckets[slot].records);
  if (!appended.ok()) return gather.Set(slot, {appended.status()});
  const Produced produced{Status::OK(), appended->base_offset};
  if (request.view.acks != -1) return gather.Set(slot, produced);
  (*replica)->WhenReplicated(appended->last_offset + 1,
                             std::chrono::milliseconds(request.view.timeout_ms),
                             [gather, slot, produced](Status done) {
                               gather.Set(slot, done.ok() ? produced : Produced{std::move(done)});
                             });
}

size_t BytesOf(const Produce& request, const std::vector<size_t>& slots) {
  size_t bytes = 0;
  for (const size_t slot : slots) bytes += request.view.buckets[slot].records.size();
  return bytes;
}

}  // namespace

Reply ProduceLog(TabletCorePtr core, io::Loop& loop, io::Call call) {
  CO_ASSIGN_OR_RETURN(const ProducePtr request, ParseProduce(std::move(call.body)));
  NoteBuckets(request->ids, call.notes);
  CO_ASSIGN_OR_RETURN(const CallMemoryPtr memory, core->HoldNames(request->ids.size()));
  const Gather<Produced> gather(loop, request->ids.size());
  const Status room = core->CheckWrite();
  const auto cut = core->Cut(request->ids);
  // Posted before anything is awaited: batches of one connection reach a shard in their order of
  // arrival.
  for (size_t i = 0; i < cut.size(); ++i) {
    if (cut[i].empty()) continue;
    if (!room.ok()) {
      for (const size_t slot : cut[i]) gather.Set(slot, {room});
      continue;
    }
    const bool posted = core->RunOn(i, BytesOf(*request, cut[i]),
                                    [request, slots = cut[i], gather](BucketShard& shard) {
                                      for (const size_t slot : slots)
                                        ProduceOne(shard, *request, slot, gather);
                                    });
    if (posted) continue;
    for (const size_t slot : cut[i]) gather.Set(slot, {core->MailboxFull(i)});
  }
  const auto parts = co_await gather.Take();
  wire::ProduceLogResponse response;
  for (size_t i = 0; i < parts.size(); ++i) {
    auto* bucket = response.add_buckets_resp();
    SetBucket(request->ids[i], bucket);
    wire::SetError(bucket, core->Told(request->ids[i], parts[i].error));
    if (parts[i].error.ok()) bucket->set_base_offset(parts[i].base_offset);
  }
  co_return wire::SerializeReply(response);
}

}  // namespace sluice::tablet
