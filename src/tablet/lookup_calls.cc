// Reads of keys that answer at once: LOOKUP, PREFIX_LOOKUP, and row counts.
#include <algorithm>
#include <iterator>
#include <span>

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

using Values = std::vector<std::optional<std::string>>;
using Found = Result<Values>;
using Lists = std::vector<std::vector<std::string>>;
using FoundLists = Result<Lists>;

// A request as all shards see it.
template <typename Request>
struct AskedKeys {
  explicit AskedKeys(const TabletCore& core) : memory(core.call_budget()) {}
  Request request;
  CallMemory memory;
};
template <typename Request>
using AskedPtr = std::shared_ptr<AskedKeys<Request>>;

template <typename Request>
Result<AskedPtr<Request>> ParseKeys(TabletCore& core, const io::Call& call) {
  auto asked = std::make_shared<AskedKeys<Request>>(core);
  ASSIGN_OR_RAISE(asked->request, wire::ParseMessage<Request>(call.body));
  const Request& request = asked->request;
  ARROW_RETURN_NOT_OK(CheckKeyVersion(core, request.table_id(), call.api_version));
  const auto buckets = static_cast<size_t>(request.buckets_req_size());
  size_t keys = 0;
  for (const auto& bucket : request.buckets_req()) keys += static_cast<size_t>(bucket.keys_size());
  ARROW_RETURN_NOT_OK(CheckNamed("buckets", buckets, kBucketsNamedMax));
  ARROW_RETURN_NOT_OK(CheckNamed("keys", keys, kKeysNamedMax));
  ARROW_RETURN_NOT_OK(asked->memory.Grow((buckets + keys) * kBytesPerName));
  return asked;
}

// Lets `memory` count until the answer was sent.
template <typename Request>
io::Payload Held(io::Payload answer, const AskedPtr<Request>& asked) {
  CallMemory::KeepWith(&answer, {asked, &asked->memory});
  return answer;
}

size_t SizeOf(std::span<const std::optional<std::string>> values) {
  size_t size_bytes = 0;
  for (const auto& value : values) size_bytes += value.has_value() ? value->size() : 0;
  return size_bytes;
}

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
  const auto batch = std::make_shared<const kv::KvTablet::KeyBatch>(std::move(rows));
  Replica::Put put;
  put.owner = batch;
  put.records = batch->batch;
  put.target_columns = batch->target_columns;
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

// The same for more keys than a shard looks up in one turn.
io::Task<Found> FindInTurns(TabletCorePtr core, BucketShard* shard, types::BucketId id, Keys keys,
                            size_t bytes_max, CallMemory* memory) {
  Values all;
  for (size_t from = 0; from < keys.size(); from += kServedPerTurn) {
    if (from > 0) co_await io::Sleep(shard->loop(), std::chrono::milliseconds(0));
    const size_t count = std::min(kServedPerTurn, keys.size() - from);
    const auto first = keys.begin() + static_cast<std::ptrdiff_t>(from);
    Keys some(first, first + static_cast<std::ptrdiff_t>(count));
    CO_ASSIGN_OR_RETURN(Values found,
                        co_await FindKeys(core, shard, id, std::move(some), bytes_max));
    const size_t size_bytes = SizeOf(found);
    CO_RETURN_NOT_OK(memory->Grow(size_bytes));
    bytes_max -= size_bytes;
    std::move(found.begin(), found.end(), std::back_inserter(all));
  }
  co_return std::move(all);
}

io::Task<Found> FindOrInsert(TabletCorePtr core, BucketShard* shard, types::BucketId id,
                             AskedPtr<wire::LookupRequest> asked, size_t slot) {
  const wire::LookupRequest* request = &asked->request;
  const Keys keys = KeysOf(request->buckets_req(static_cast<int>(slot)));
  const size_t bytes_max = BytesPerBucket(request->buckets_req_size());
  Found found = Values();
  if (keys.size() > kServedPerTurn) {
    found = co_await FindInTurns(core, shard, id, keys, bytes_max, &asked->memory);
  } else {
    found = co_await FindKeys(core, shard, id, keys, bytes_max);
    if (found.ok()) CO_RETURN_NOT_OK(asked->memory.Grow(SizeOf(*found)));
  }
  if (!found.ok() || !request->insert_if_not_exists()) co_return found;
  Keys absent;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!(*found)[i].has_value()) absent.push_back(keys[i]);
  }
  if (absent.empty()) co_return found;
  CO_RETURN_NOT_OK(core->CheckWrite());
  const std::chrono::milliseconds timeout(request->timeout_ms());
  CO_RETURN_NOT_OK(co_await InsertAbsent(shard, id, std::move(absent), request->acks(), timeout));
  co_return co_await FindInTurns(core, shard, id, keys, bytes_max, &asked->memory);
}

// Keys that are not in memory are read on the pool first, so that the shard never waits for the
// device.
io::Task<void> LookupOn(TabletCorePtr core, BucketShard* shard, types::BucketId id,
                        AskedPtr<wire::LookupRequest> asked, size_t slot, Gather<Found> gather) {
  gather.Set(slot, co_await FindOrInsert(core, shard, id, asked, slot));
}

// Each prefix may find many values, so few are looked up in one turn.
constexpr size_t kPrefixesPerTurn = 32;

io::Task<FoundLists> FindPrefixes(TabletCorePtr core, BucketShard* shard, types::BucketId id,
                                  AskedPtr<wire::PrefixLookupRequest> asked, size_t slot) {
  const auto& keys = asked->request.buckets_req(static_cast<int>(slot)).keys();
  size_t bytes_left = BytesPerBucket(asked->request.buckets_req_size());
  const CallMemoryPtr memory(asked, &asked->memory);
  Lists all;
  for (int from = 0; from < keys.size(); from += static_cast<int>(kPrefixesPerTurn)) {
    if (from > 0) co_await io::Sleep(shard->loop(), std::chrono::milliseconds(0));
    const int count = std::min(static_cast<int>(kPrefixesPerTurn), keys.size() - from);
    kv::KeyRanges ranges{{keys.begin() + from, keys.begin() + from + count}};
    ranges.bytes_max = bytes_left;
    CO_ASSIGN_OR_RETURN(Lists lists,
                        co_await ReadRanges(core, shard, id, std::move(ranges), memory));
    size_t size_bytes = 0;
    for (const auto& values : lists) {
      for (const std::string& value : values) size_bytes += value.size();
    }
    CO_RETURN_NOT_OK(memory->Grow(size_bytes));
    bytes_left -= size_bytes;
    std::move(lists.begin(), lists.end(), std::back_inserter(all));
  }
  co_return std::move(all);
}

io::Task<void> PrefixLookupOn(TabletCorePtr core, BucketShard* shard, types::BucketId id,
                              AskedPtr<wire::PrefixLookupRequest> asked, size_t slot,
                              Gather<FoundLists> gather) {
  gather.Set(slot, co_await FindPrefixes(core, shard, id, asked, slot));
}

template <typename Request, typename Part>
using AskBucket = io::Task<void> (*)(TabletCorePtr, BucketShard*, types::BucketId,
                                     AskedPtr<Request>, size_t, Gather<Part>);

// Asks buckets of a request, as many from `from` on as are served in one turn, on their shards.
template <typename Request, typename Part>
void AskBuckets(const TabletCorePtr& core, const AskedPtr<Request>& asked, size_t from,
                AskBucket<Request, Part> ask, const Gather<Part>& gather) {
  const auto& buckets = asked->request.buckets_req();
  const size_t end = std::min(static_cast<size_t>(buckets.size()), from + kServedPerTurn);
  for (size_t slot = from; slot < end; ++slot) {
    const auto& bucket = buckets[static_cast<int>(slot)];
    const types::BucketId id = BucketIdOf(asked->request.table_id(), bucket);
    const bool posted = core->RunOn(
        core->ShardOf(id), bucket.ByteSizeLong() + kBytesPerName,
        [=](BucketShard& shard) { io::Spawn(ask(core, &shard, id, asked, slot, gather)); });
    if (!posted) gather.Set(slot, core->MailboxFull(core->ShardOf(id)));
  }
}

Result<int64_t> RowCountOf(const BucketShard& shard, const types::BucketId& id) {
  ASSIGN_OR_RAISE(const auto replica, shard.Find(id));
  return replica->RowCount();
}

}  // namespace

Reply Lookup(TabletCorePtr core, io::Loop& loop, io::Call call) {
  CO_ASSIGN_OR_RETURN(const auto asked, ParseKeys<wire::LookupRequest>(*core, call));
  const wire::LookupRequest* request = &asked->request;
  const bool acks_known = request->has_acks() && request->acks() >= -1 && request->acks() <= 1;
  if (request->insert_if_not_exists() && !acks_known) {
    co_return Error(ErrorCode::kInvalidRequiredAcks,
                    "lookups that insert say acks of -1, 0 or 1 table_id=", request->table_id());
  }
  const auto& buckets = request->buckets_req();
  NoteMessage(request->table_id(), buckets, call.notes);
  const auto count = static_cast<size_t>(buckets.size());
  const Gather<Found> gather(loop, count);
  for (size_t from = 0; from < count; from += kServedPerTurn) {
    if (from > 0) co_await io::Sleep(loop, std::chrono::milliseconds(0));
    AskBuckets(core, asked, from, &LookupOn, gather);
  }
  auto parts = co_await gather.Take();
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
  CO_ASSIGN_OR_RETURN(io::Payload answer, wire::SerializeReply(response));
  co_return Held(std::move(answer), asked);
}

Reply PrefixLookup(TabletCorePtr core, io::Loop& loop, io::Call call) {
  CO_ASSIGN_OR_RETURN(const auto asked, ParseKeys<wire::PrefixLookupRequest>(*core, call));
  const wire::PrefixLookupRequest* request = &asked->request;
  const auto& buckets = request->buckets_req();
  NoteMessage(request->table_id(), buckets, call.notes);
  const auto count = static_cast<size_t>(buckets.size());
  const Gather<FoundLists> gather(loop, count);
  for (size_t from = 0; from < count; from += kServedPerTurn) {
    if (from > 0) co_await io::Sleep(loop, std::chrono::milliseconds(0));
    AskBuckets(core, asked, from, &PrefixLookupOn, gather);
  }
  auto parts = co_await gather.Take();
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
  CO_ASSIGN_OR_RETURN(io::Payload answer, wire::SerializeReply(response));
  co_return Held(std::move(answer), asked);
}

Reply GetTableStats(TabletCorePtr core, io::Loop& loop, io::Call call) {
  CO_ASSIGN_OR_RETURN(const auto request,
                      wire::ParseMessage<wire::GetTableStatsRequest>(call.body));
  const auto& buckets = request.buckets_req();
  NoteMessage(request.table_id(), buckets, call.notes);
  const auto count = static_cast<size_t>(buckets.size());
  CO_RETURN_NOT_OK(CheckNamed("buckets", count, kBucketsNamedMax));
  CO_ASSIGN_OR_RETURN(const CallMemoryPtr memory, core->HoldNames(count));
  auto ids = std::make_shared<std::vector<types::BucketId>>();
  for (const auto& bucket : buckets) ids->push_back(BucketIdOf(request.table_id(), bucket));
  const Gather<Result<int64_t>> gather(loop, count);
  const auto cut = core->Cut(*ids);
  for (size_t i = 0; i < cut.size(); ++i) {
    if (cut[i].empty()) continue;
    const bool posted = core->RunOn(i, cut[i].size() * kBytesPerName,
                                    [ids, slots = cut[i], gather](BucketShard& shard) {
                                      for (const size_t slot : slots)
                                        gather.Set(slot, RowCountOf(shard, (*ids)[slot]));
                                    });
    if (posted) continue;
    for (const size_t slot : cut[i]) gather.Set(slot, core->MailboxFull(i));
  }
  const auto counts = co_await gather.Take();
  wire::GetTableStatsResponse response;
  for (int i = 0; i < buckets.size(); ++i) {
    auto* bucket = response.add_buckets_resp();
    const types::BucketId& id = (*ids)[static_cast<size_t>(i)];
    SetBucket(id, bucket);
    wire::SetError(bucket, core->Told(id, counts[i].status()));
    if (counts[i].ok()) bucket->set_row_count(*counts[i]);
  }
  co_return wire::SerializeReply(response);
}

}  // namespace sluice::tablet
