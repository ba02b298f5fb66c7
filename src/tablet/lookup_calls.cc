// Reads of keys that answer at once: LOOKUP, PREFIX_LOOKUP, and row counts.
#include <algorithm>

#include "tablet/calls.h"
#include "wire/frame.h"
#include "wire/proto/kv.pb.h"

namespace sluice::tablet {
namespace {

using Keys = std::vector<std::string_view>;

template <typename Bucket>
Keys KeysOf(const Bucket& bucket) {
  return {bucket.keys().begin(), bucket.keys().end()};
}

using Found = Result<std::vector<std::optional<std::string>>>;
using FoundLists = Result<std::vector<std::vector<std::string>>>;

// Values that each entry of a request may answer, so that the whole reply fits a message.
size_t BytesPerBucket(int buckets) {
  constexpr size_t kReplyBytesMax = 1 << 30;
  return std::min(kv::kReadBytesMax, kReplyBytesMax / static_cast<size_t>(std::max(buckets, 1)));
}

Result<kv::KvTablet*> KeysOn(BucketShard& shard, const types::BucketId& id) {
  ASSIGN_OR_RAISE(const auto replica, shard.Find(id));
  return replica->Keys();
}

// Gives keys that were not found a row of nothing else, once it is replicated as the client wants
// it. Another call may have brought it meanwhile.
io::Task<Status> InsertAbsent(BucketShard* shard, types::BucketId id, Keys absent, int32_t acks,
                              std::chrono::milliseconds timeout) {
  CO_ASSIGN_OR_RETURN(const auto replica, shard->Find(id));
  CO_ASSIGN_OR_RETURN(const auto keys, replica->Keys());
  CO_ASSIGN_OR_RETURN(auto rows, keys->BatchOfKeys(absent));
  const auto batch = std::make_shared<const std::string>(std::move(rows.batch));
  Replica::Put put;
  put.owner = batch;
  put.records = *batch;
  put.target_columns = std::move(rows.target_columns);
  put.mode = kv::PutMode::kIfAbsent;
  const io::Completion<Status> inserted(shard->loop());
  put.done = [replica, inserted, acks, timeout](const Result<int64_t>& end_offset) {
    const auto tell = [inserted](const Status& done) { inserted.Set(done); };
    if (!end_offset.ok() || acks != -1) return tell(end_offset.status());
    replica->WhenReplicated(*end_offset, timeout, tell);
  };
  replica->StartPut(std::move(put));
  co_return co_await inserted;
}

io::Task<Found> FindKeys(TabletCorePtr core, BucketShard* shard, types::BucketId id, Keys keys,
                         size_t bytes_max) {
  auto tablet = KeysOn(*shard, id);
  CO_RETURN_NOT_OK(tablet.status());
  Found found = (*tablet)->Lookup(keys, kv::KvTablet::Reads::kCachedOnly, bytes_max);
  if (!found.status().IsCancelled()) co_return found;
  const Replica::Reading reading(*shard->Find(id));
  auto warm = (*tablet)->Warm({keys.begin(), keys.end()});
  CO_RETURN_NOT_OK(co_await core->options().read_pool->Run(shard->loop(), std::move(warm)));
  tablet = KeysOn(*shard, id);  // It may have gone meanwhile.
  CO_RETURN_NOT_OK(tablet.status());
  co_return (*tablet)->Lookup(keys, kv::KvTablet::Reads::kMayWait, bytes_max);
}

io::Task<Found> FindOrInsert(TabletCorePtr core, BucketShard* shard, types::BucketId id,
                             std::shared_ptr<const wire::LookupRequest> request, size_t slot) {
  const Keys keys = KeysOf(request->buckets_req(static_cast<int>(slot)));
  const size_t bytes_max = BytesPerBucket(request->buckets_req_size());
  Found found = co_await FindKeys(core, shard, id, keys, bytes_max);
  if (!found.ok() || !request->insert_if_not_exists()) co_return found;
  Keys absent;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!(*found)[i].has_value()) absent.push_back(keys[i]);
  }
  if (absent.empty()) co_return found;
  CO_RETURN_NOT_OK(core->CheckWrite());
  const std::chrono::milliseconds timeout(request->timeout_ms());
  CO_RETURN_NOT_OK(co_await InsertAbsent(shard, id, std::move(absent), request->acks(), timeout));
  co_return co_await FindKeys(core, shard, id, keys, bytes_max);
}

// Keys that are not in memory are read on the pool first, so that the shard never waits for the
// device.
io::Task<void> LookupOn(TabletCorePtr core, BucketShard* shard, types::BucketId id,
                        std::shared_ptr<const wire::LookupRequest> request, size_t slot,
                        Gather<Found> gather) {
  gather.Set(slot, co_await FindOrInsert(core, shard, id, request, slot));
}

io::Task<void> PrefixLookupOn(TabletCorePtr core, BucketShard* shard, types::BucketId id,
                              std::shared_ptr<const wire::PrefixLookupRequest> request, size_t slot,
                              Gather<FoundLists> gather) {
  const auto& bucket = request->buckets_req(static_cast<int>(slot));
  kv::KeyRanges ranges{{bucket.keys().begin(), bucket.keys().end()}};
  ranges.bytes_max = BytesPerBucket(request->buckets_req_size());
  gather.Set(slot, co_await ReadRanges(core, shard, id, std::move(ranges)));
}

template <typename Request, typename Part>
using AskBucket = io::Task<void> (*)(TabletCorePtr, BucketShard*, types::BucketId,
                                     std::shared_ptr<const Request>, size_t, Gather<Part>);

// Asks each bucket of a request on its shard; the parts come in the order of the request.
template <typename Request, typename Part>
Gather<Part> AskBuckets(const TabletCorePtr& core, io::Loop& loop,
                        const std::shared_ptr<Request>& request, AskBucket<Request, Part> ask) {
  const auto& buckets = request->buckets_req();
  const Gather<Part> gather(loop, static_cast<size_t>(buckets.size()));
  for (int i = 0; i < buckets.size(); ++i) {
    const types::BucketId id = BucketIdOf(request->table_id(), buckets[i]);
    const auto slot = static_cast<size_t>(i);
    const bool posted = core->RunOn(
        core->ShardOf(id), buckets[i].ByteSizeLong(),
        [=](BucketShard& shard) { io::Spawn(ask(core, &shard, id, request, slot, gather)); });
    if (!posted) gather.Set(slot, core->MailboxFull(core->ShardOf(id)));
  }
  return gather;
}

}  // namespace

Reply Lookup(TabletCorePtr core, io::Loop& loop, io::Call call) {
  auto request = std::make_shared<wire::LookupRequest>();
  CO_ASSIGN_OR_RETURN(*request, wire::ParseMessage<wire::LookupRequest>(call.body));
  CO_RETURN_NOT_OK(CheckKeyVersion(*core, request->table_id(), call.api_version));
  const bool acks_known = request->has_acks() && request->acks() >= -1 && request->acks() <= 1;
  if (request->insert_if_not_exists() && !acks_known) {
    co_return Error(ErrorCode::kInvalidRequiredAcks,
                    "lookups that insert say acks of -1, 0 or 1 table_id=", request->table_id());
  }
  const auto& buckets = request->buckets_req();
  NoteMessage(request->table_id(), buckets, call.notes);
  auto parts = co_await AskBuckets(core, loop, request, &LookupOn).Take();
  wire::LookupResponse response;
  for (int i = 0; i < buckets.size(); ++i) {
    auto* bucket = response.add_buckets_resp();
    const types::BucketId id = BucketIdOf(request->table_id(), buckets[i]);
    SetBucket(id, bucket);
    wire::SetError(bucket, core->Told(id, parts[i].status()));
    if (!parts[i].ok()) continue;
    for (auto& value : *parts[i]) {
      wire::PbValue* out = bucket->add_values();
      if (value) out->set_values(std::move(*value));
    }
  }
  co_return wire::SerializeReply(response);
}

Reply PrefixLookup(TabletCorePtr core, io::Loop& loop, io::Call call) {
  auto request = std::make_shared<wire::PrefixLookupRequest>();
  CO_ASSIGN_OR_RETURN(*request, wire::ParseMessage<wire::PrefixLookupRequest>(call.body));
  CO_RETURN_NOT_OK(CheckKeyVersion(*core, request->table_id(), call.api_version));
  const auto& buckets = request->buckets_req();
  NoteMessage(request->table_id(), buckets, call.notes);
  auto parts = co_await AskBuckets(core, loop, request, &PrefixLookupOn).Take();
  wire::PrefixLookupResponse response;
  for (int i = 0; i < buckets.size(); ++i) {
    auto* bucket = response.add_buckets_resp();
    const types::BucketId id = BucketIdOf(request->table_id(), buckets[i]);
    SetBucket(id, bucket);
    wire::SetError(bucket, core->Told(id, parts[i].status()));
    if (!parts[i].ok()) continue;
    for (auto& values : *parts[i]) {
      wire::PbValueList* list = bucket->add_value_lists();
      for (auto& value : values) list->add_values(std::move(value));
    }
  }
  co_return wire::SerializeReply(response);
}

Reply GetTableStats(TabletCorePtr core, io::Loop& loop, io::Call call) {
  CO_ASSIGN_OR_RETURN(const auto request,
                      wire::ParseMessage<wire::GetTableStatsRequest>(call.body));
  const auto& buckets = request.buckets_req();
  NoteMessage(request.table_id(), buckets, call.notes);
  const Gather<Result<int64_t>> gather(loop, static_cast<size_t>(buckets.size()));
  for (int i = 0; i < buckets.size(); ++i) {
    const types::BucketId id = BucketIdOf(request.table_id(), buckets[i]);
    core->PostTo(core->ShardOf(id), [=](BucketShard& shard) {
      const auto replica = shard.Find(id);
      gather.Set(static_cast<size_t>(i),
                 replica.ok() ? (*replica)->RowCount() : Result<int64_t>(replica.status()));
    });
  }
  const auto counts = co_await gather.Take();
  wire::GetTableStatsResponse response;
  for (int i = 0; i < buckets.size(); ++i) {
    auto* bucket = response.add_buckets_resp();
    const types::BucketId id = BucketIdOf(request.table_id(), buckets[i]);
    SetBucket(id, bucket);
    wire::SetError(bucket, core->Told(id, counts[i].status()));
    if (counts[i].ok()) bucket->set_row_count(*counts[i]);
  }
  co_return wire::SerializeReply(response);
}

}  // namespace sluice::tablet
