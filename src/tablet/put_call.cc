#include "tablet/calls.h"
#include "wire/frame.h"
#include "wire/kv_batch.h"
#include "wire/proto/kv.pb.h"
#include "wire/records.h"

namespace sluice::tablet {
namespace {

constexpr int16_t kKnowsBackpressure = 2;  // Version of PUT_KV.
constexpr int32_t kOverwrite = 1;          // `agg_mode`.

struct PutRequest {
  std::string body;
  wire::PutKvView view;  // Of the body.
  std::vector<types::BucketId> ids;
};
using PutRequestPtr = std::shared_ptr<const PutRequest>;
using PutGather = Gather<Result<int64_t>>;

Result<PutRequestPtr> ParsePut(std::string body) {
  auto request = std::make_shared<PutRequest>();
  request->body = std::move(body);
  ASSIGN_OR_RAISE(request->view, wire::ParsePutKv(request->body));
  const wire::PutKvView& view = request->view;
  ARROW_RETURN_NOT_OK(CheckNamed("buckets", view.buckets.size(), kBucketsNamedMax));
  ARROW_RETURN_NOT_OK(CheckNamed("columns", view.target_columns.size(), kColumnsNamedMax));
  size_t records = 0;
  for (const auto& bucket : view.buckets) records += wire::CountKvRecords(bucket.records);
  ARROW_RETURN_NOT_OK(CheckNamed("rows", records, kPutRecordsMax));
  if (view.acks < -1 || view.acks > 1) {
    return Error(ErrorCode::kInvalidRequiredAcks, "acks are -1, 0 or 1 acks=", view.acks);
  }
  for (const auto& bucket : view.buckets)
    request->ids.push_back({view.table_id, bucket.partition_id, bucket.bucket_id});
  return request;
}

void PutOne(BucketShard& shard, const PutRequestPtr& owner, size_t slot, const PutGather& gather) {
  const PutRequest& request = *owner;
  const auto found = shard.Find(request.ids[slot]);
  if (!found.ok()) return gather.Set(slot, found.status());
  const std::shared_ptr<Replica> replica = *found;
  Replica::Put put;
  put.owner = owner;
  put.records = request.view.buckets[slot].records;
  put.target_columns = request.view.target_columns;
  if (request.view.agg_mode == kOverwrite) put.mode = kv::PutMode::kOverwrite;
  const bool all_acks = request.view.acks == -1;
  const std::chrono::milliseconds timeout(request.view.timeout_ms);
  put.done = [replica, gather, slot, all_acks, timeout](Result<int64_t> end_offset) {
    if (!end_offset.ok() || !all_acks) return gather.Set(slot, std::move(end_offset));
    replica->WhenReplicated(*end_offset, timeout, [gather, slot, end_offset](const Status& done) {
      gather.Set(slot, done.ok() ? end_offset : Result<int64_t>(done));
    });
  };
  replica->StartPut(std::move(put));
}

}  // namespace

Reply PutKv(TabletCorePtr core, io::Loop& loop, io::Call call) {
  CO_ASSIGN_OR_RETURN(const PutRequestPtr request, ParsePut(std::move(call.body)));
  CO_RETURN_NOT_OK(CheckKeyVersion(*core, request->view.table_id, call.api_version));
  NoteBuckets(request->ids, call.notes);
  CO_ASSIGN_OR_RETURN(const CallMemoryPtr memory, core->HoldNames(request->ids.size()));
  const PutGather gather(loop, request->ids.size());
  const Status room = core->CheckWrite();
  const auto cut = core->Cut(request->ids);
  // As with produce: in order of arrival.
  for (size_t i = 0; i < cut.size(); ++i) {
    if (cut[i].empty()) continue;
    if (!room.ok()) {
      for (const size_t slot : cut[i]) gather.Set(slot, room);
      continue;
    }
    size_t bytes = 0;
    for (const size_t slot : cut[i]) bytes += request->view.buckets[slot].records.size();
    const bool posted =
        core->RunOn(i, bytes, [request, slots = cut[i], gather](BucketShard& shard) {
          for (const size_t slot : slots) PutOne(shard, request, slot, gather);
        });
    if (posted) continue;
    for (const size_t slot : cut[i]) gather.Set(slot, core->MailboxFull(i));
  }
  const auto parts = co_await gather.Take();
  wire::PutKvResponse response;
  for (size_t i = 0; i < parts.size(); ++i) {
    auto* bucket = response.add_buckets_resp();
    SetBucket(request->ids[i], bucket);
    wire::SetError(bucket, core->Told(request->ids[i], parts[i].status()),
                   call.api_version >= kKnowsBackpressure);
    if (parts[i].ok()) bucket->set_log_end_offset(*parts[i]);
  }
  co_return wire::SerializeReply(response);
}

}  // namespace sluice::tablet
