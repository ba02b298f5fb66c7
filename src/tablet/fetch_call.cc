#include <algorithm>
#include <atomic>

#include "tablet/calls.h"
#include "tablet/slice_cut.h"
#include "wire/frame.h"
#include "wire/proto/log.pb.h"
#include "wire/records.h"
#include "wire/row_filter.h"

namespace sluice::tablet {
namespace {

constexpr int32_t kDefaultWaitMs = 100;
constexpr int32_t kMaxWaitMs =
    60'000;  // A connection that lost its client is noticed in bounded time.
// How much more of the log is looked at when only some of its columns, or batches, are sent.
constexpr uint64_t kCutFactor = 16;
constexpr uint64_t kCutBytesMax = 64 << 20;
// Of remote storage, which go through memory, in one answer.
constexpr int64_t kRemoteBytesMax = 64 << 20;

struct Wanted {
  types::BucketId id;
  int64_t offset = 0;
  uint64_t bytes_max = 0;       // Of the reply.
  uint64_t read_bytes_max = 0;  // Of the log.
};

struct Fetch {
  wire::FetchLogRequest message;
  std::vector<Wanted> buckets;
  std::vector<types::BucketId> ids;
  std::vector<std::shared_ptr<const SliceWish>> wishes;  // By bucket.
  bool reads_remote = false;  // The client reads remote segments by itself.
  bool old_layout = false;    // The client reads batches of magic 0 alone.
  // What one look may still read of remote storage; its buckets are on several shards.
  mutable std::atomic<int64_t> remote_bytes_left = 0;
  CallMemoryPtr memory;
  bool copies = false;  // Some of the answer is copied out of the log.

  int64_t remote_bytes_max() const {
    return std::clamp<int64_t>(message.max_bytes(), 1, kRemoteBytesMax);
  }
  bool follower() const { return message.follower_server_id() >= 0; }
  // 0 = answer at once.
  uint64_t min_bytes() const {
    return message.has_min_bytes() ? std::max(message.min_bytes(), 0) : 0;
  }
  std::chrono::milliseconds wait() const {
    const int32_t wait_ms = message.has_max_wait_ms() ? message.max_wait_ms() : kDefaultWaitMs;
    return std::chrono::milliseconds(std::clamp(wait_ms, 0, kMaxWaitMs));
  }
};
using FetchPtr = std::shared_ptr<const Fetch>;
using Parts = std::vector<FetchPart>;

constexpr std::string_view kJavaClient = "fluss";
constexpr std::string_view kRustClient = "fluss-rust";

// Fluss's own clients; for all others the server reads remote storage.
bool ReadsRemote(const io::Principal& client) {
  return client.client_name == kJavaClient || client.client_name == kRustClient;
}

// Java 0.9.1, which takes magic 1 for another layout; later ones always say where they like to
// read.
bool ReadsMagic0Alone(const io::Principal& client, const wire::FetchLogRequest& message) {
  return client.client_name == kJavaClient && !message.has_read_preference();
}

// As in Fluss, a filter that cannot be read, and one of a log whose batches have no statistics,
// leaves nothing out.
Result<std::shared_ptr<const wire::RowFilter>> FilterOf(const TableContext* table,
                                                        const wire::PbFetchLogReqForTable& asked) {
  if (!asked.has_filter_predicate()) return nullptr;
  if (!asked.has_filter_schema_id() || asked.filter_schema_id() < 0) {
    return Error(ErrorCode::kUnknownServer,
                 "filter of a fetch without a schema table_id=", asked.table_id());
  }
  if (table == nullptr || table->log_format() != types::LogFormat::kArrow) return nullptr;
  const auto schema = table->SchemaOf(asked.filter_schema_id());
  if (!schema.ok()) return nullptr;
  auto filter = wire::ReadFilter(asked.filter_predicate(), **schema);
  if (!filter.ok()) return nullptr;
  return std::make_shared<const wire::RowFilter>(*std::move(filter));
}

Result<std::shared_ptr<const SliceWish>> WishOf(TabletCore& core, const Fetch& fetch,
                                                const wire::PbFetchLogReqForTable& asked) {
  auto wish = std::make_shared<SliceWish>();
  if (asked.projection_pushdown_enabled()) {
    wish->positions.assign(asked.projected_fields().begin(), asked.projected_fields().end());
    if (wish->positions.empty())
      return Error(ErrorCode::kInvalidColumnProjection, "projection has no columns");
  }
  if (!asked.has_filter_predicate() && !fetch.old_layout) return wish;
  const auto table =
      core.tables().Get(asked.table_id());  // Its buckets tell what is wrong with it.
  ASSIGN_OR_RAISE(wish->filter, FilterOf(table.ok() ? table->get() : nullptr, asked));
  wish->magic0 = fetch.old_layout && table.ok() && (*table)->has_statistics();
  return wish;
}

Result<FetchPtr> ParseFetch(TabletCore& core, const std::string& body,
                            const io::Principal& client) {
  auto fetch = std::make_shared<Fetch>();
  fetch->memory = core.NewCallMemory();
  ASSIGN_OR_RAISE(fetch->message, wire::ParseMessage<wire::FetchLogRequest>(body));
  fetch->reads_remote = ReadsRemote(client);
  fetch->old_layout = ReadsMagic0Alone(client, fetch->message);
  size_t count = 0;
  for (const auto& table : fetch->message.tables_req()) {
    count += static_cast<size_t>(table.buckets_req_size());
    ARROW_RETURN_NOT_OK(CheckNamed("buckets", count, kBucketsNamedMax));
    ARROW_RETURN_NOT_OK(CheckNamed("columns", static_cast<size_t>(table.projected_fields_size()),
                                   kColumnsNamedMax));
    ASSIGN_OR_RAISE(const std::shared_ptr<const SliceWish> wish, WishOf(core, *fetch, table));
    for (const auto& bucket : table.buckets_req()) {
      Wanted wanted{BucketIdOf(table.table_id(), bucket), bucket.fetch_offset()};
      wanted.bytes_max = wanted.read_bytes_max =
          static_cast<uint64_t>(std::max(bucket.max_fetch_bytes(), 0));
      const bool sends_less = !wish->positions.empty() || wish->filter != nullptr;
      fetch->copies |= !wish->whole();
      if (!wish->whole()) {
        // Much of what is cut out is copied.
        wanted.bytes_max = std::min(wanted.bytes_max, kCutBytesMax);
        wanted.read_bytes_max = wanted.bytes_max;
      }
      if (sends_less) wanted.read_bytes_max = std::min(wanted.bytes_max * kCutFactor, kCutBytesMax);
      fetch->buckets.push_back(wanted);
      fetch->ids.push_back(fetch->buckets.back().id);
      fetch->wishes.push_back(wish);
    }
  }
  ARROW_RETURN_NOT_OK(fetch->memory->Grow(count * kBytesPerName));
  return fetch;
}

using LookGather = Gather<FetchPart>;

FetchPart FetchOne(BucketShard& shard, const Fetch& fetch, size_t slot,
                   const std::shared_ptr<FetchWait>& wait, log::Miss* miss) {
  const Wanted& wanted = fetch.buckets[slot];
  const auto replica = shard.Find(wanted.id);
  if (!replica.ok()) return {.error = replica.status()};
  return (*replica)->Fetch(wanted.offset, wanted.read_bytes_max, fetch.follower(), wait, miss);
}

// The bytes of remote segments, as long as the answer has room for them.
io::Task<void> ReadRemote(TabletCorePtr core, FetchPtr fetch, size_t slot,
                          std::shared_ptr<RemoteLog> remote, FetchPart* part) {
  const Wanted& wanted = fetch->buckets[slot];
  const int64_t reserved =
      std::min(static_cast<int64_t>(wanted.bytes_max), fetch->remote_bytes_max());
  const int64_t left = fetch->remote_bytes_left.fetch_sub(reserved);
  int64_t used = 0;
  part->put_off = left <= 0;
  if (!part->put_off) {
    const auto bytes_max = static_cast<uint64_t>(std::min(reserved, left));
    const bool cuts = !fetch->wishes[slot]->whole();
    RemoteLog::Cut cut;
    if (cuts) {
      cut = [fetch, slot, table = part->table,
             bytes_max](const log::Log::Slice& slice) -> Result<CutBatches> {
        ASSIGN_OR_RAISE(auto batches, CutSlice(slice, *table, *fetch->wishes[slot], bytes_max,
                                               /*may_wait=*/true));
        return std::move(*batches);
      };
    }
    auto records =
        co_await RemoteLog::Read(std::move(remote), part->remote_offset,
                                 cuts ? wanted.read_bytes_max : bytes_max, std::move(cut));
    part->error = records.status();
    if (records.ok()) {
      part->remote_records = std::move(records->bytes);
      part->remote_filtered_end = records->filtered_end;
      used = static_cast<int64_t>(part->remote_records->size());
      core->CountSkippedBatches(records->batches_skipped);
    }
  }
  fetch->remote_bytes_left.fetch_add(reserved - used);
}

// Which segments the client is to read, or else their bytes.
io::Task<void> FetchRemote(TabletCorePtr core, FetchPtr fetch, size_t slot, FetchPart part,
                           LookGather gather) {
  const std::shared_ptr<RemoteLog> remote = std::exchange(part.remote, nullptr);
  if (fetch->reads_remote && !fetch->wishes[slot]->magic0) {
    auto info = co_await RemoteLog::FetchInfo(remote, part.remote_offset);
    part.error = info.status();
    if (info.ok()) part.remote_info = *std::move(info);
  }
  if (part.error.ok() && part.remote_info.empty())
    co_await ReadRemote(core, fetch, slot, remote, &part);
  gather.Set(slot, std::move(part));
}

// A part that is done, but for what only remote storage has.
void EndFetch(const TabletCorePtr& core, const FetchPtr& fetch, size_t slot, FetchPart part,
              const LookGather& gather) {
  if (part.remote == nullptr) return gather.Set(slot, std::move(part));
  io::Spawn(FetchRemote(core, fetch, slot, std::move(part), gather));
}

// The same for a bucket whose indexes or batch heads are not in memory: the pool reads them first.
io::Task<void> FetchCold(TabletCorePtr core, BucketShard* shard, FetchPtr fetch, size_t slot,
                         std::shared_ptr<FetchWait> wait, log::Miss miss, LookGather gather) {
  FetchPart part{.error = Status::Cancelled("")};
  for (int cold = 1; part.error.IsCancelled(); ++cold) {
    auto warm = [miss] { return miss.Warm(); };
    const Status warmed = co_await core->options().read_pool->Run(shard->loop(), std::move(warm));
    part = warmed.ok()
               ? FetchOne(*shard, *fetch, slot, wait, cold < kColdReadsMax ? &miss : nullptr)
               : FetchPart{.error = warmed};
  }
  EndFetch(core, fetch, slot, std::move(part), gather);
}

void StartFetch(const TabletCorePtr& core, BucketShard& shard, const FetchPtr& fetch, size_t slot,
                const std::shared_ptr<FetchWait>& wait, const LookGather& gather) {
  log::Miss miss;
  FetchPart part = FetchOne(shard, *fetch, slot, wait, &miss);
  if (!part.error.IsCancelled()) return EndFetch(core, fetch, slot, std::move(part), gather);
  io::Spawn(FetchCold(core, &shard, fetch, slot, wait, miss, gather));
}

io::Task<void> StartInTurns(TabletCorePtr core, BucketShard* shard, FetchPtr fetch,
                            std::vector<size_t> slots, std::shared_ptr<FetchWait> wait,
                            LookGather gather) {
  for (size_t i = 0; i < slots.size(); ++i) {
    if (i > 0 && i % kServedPerTurn == 0)
      co_await io::Sleep(shard->loop(), std::chrono::milliseconds(0));
    StartFetch(core, *shard, fetch, slots[i], wait, gather);
  }
}

// One look at every bucket; those without data wake `wait` when they get some.
io::Task<Parts> Look(TabletCorePtr core, io::Loop& loop, FetchPtr fetch,
                     std::shared_ptr<FetchWait> wait) {
  const LookGather gather(loop, fetch->ids.size());
  fetch->remote_bytes_left = fetch->remote_bytes_max();
  const auto cut = core->Cut(fetch->ids);
  for (size_t i = 0; i < cut.size(); ++i) {
    if (cut[i].empty()) continue;
    auto work = [core, fetch, wait, slots = cut[i], gather](BucketShard& shard) {
      if (slots.size() > kServedPerTurn)
        return io::Spawn(StartInTurns(core, &shard, fetch, slots, wait, gather));
      for (const size_t slot : slots) StartFetch(core, shard, fetch, slot, wait, gather);
    };
    if (core->RunOn(i, cut[i].size() * kBytesPerName, std::move(work))) continue;
    for (const size_t slot : cut[i]) gather.Set(slot, {.error = core->MailboxFull(i)});
  }
  co_return co_await gather.Take();
}

// Whether a reply is due before the time is up. A bucket that is not led here does not end the
// wait: its client would ask again at once, and again.
bool IsDue(const Fetch& fetch, const Parts& parts) {
  if (fetch.min_bytes() == 0) return true;
  uint64_t bytes = 0;
  for (const FetchPart& part : parts) {
    const ErrorCode code = CodeOf(part.error);
    if (!part.error.ok() && code != ErrorCode::kNotLeaderOrFollower &&
        code != ErrorCode::kUnknownTableOrBucket) {
      return true;
    }
    if (!part.remote_info.empty() || part.put_off || part.remote_filtered_end) return true;
    bytes += part.slice.size_bytes;
    if (part.remote_records != nullptr) bytes += part.remote_records->size();
  }
  return bytes >= fetch.min_bytes();
}

io::Task<Parts> LookUntilDue(TabletCorePtr core, io::Loop& loop, FetchPtr fetch,
                             io::CallNotes* notes) {
  const auto deadline = loop.clock().Monotonic() + fetch->wait();
  for (;;) {
    auto wait = std::make_shared<FetchWait>(loop);
    Parts parts = co_await Look(core, loop, fetch, wait);
    const auto now = loop.clock().Monotonic();
    if (IsDue(*fetch, parts) || now >= deadline || core->waits_ended()) co_return parts;
    // Replicas know the wait weakly; this timer and this frame keep it.
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now) +
                      std::chrono::milliseconds(1);
    const io::Loop::TimerId timer = loop.After(left, [wait] { wait->Set(false); });
    const bool woken = co_await *wait;
    loop.Cancel(timer);
    if (notes != nullptr) notes->waited += loop.clock().Monotonic() - now;
    if (!woken) co_return parts;
  }
}

// What goes to the client.
struct Answer {
  io::Payload records;
  std::optional<int64_t> filtered_end;
};

Answer Whole(const FetchPart& part) {
  Answer answer;
  if (part.remote_records != nullptr) answer.records.Add(part.remote_records);
  for (const auto& range : part.slice.ranges) answer.records.Add(range);
  answer.filtered_end = part.remote_filtered_end;
  return answer;
}

io::Task<Result<Answer>> AnswerOf(TabletCorePtr core, io::Loop& loop, FetchPtr fetch, size_t slot,
                                  std::shared_ptr<const FetchPart> part) {
  const SliceWish& wish = *fetch->wishes[slot];
  if (part->remote_records != nullptr || wish.whole() || part->slice.size_bytes == 0)
    co_return Whole(*part);
  const uint64_t bytes_max = fetch->buckets[slot].bytes_max;
  std::optional<CutBatches> batches;
  // A filter may look at thousands of batches, which is not for a loop.
  if (wish.filter == nullptr && !wish.magic0) {
    CO_ASSIGN_OR_RETURN(batches,
                        CutSlice(part->slice, *part->table, wish, bytes_max, /*may_wait=*/false));
  }
  if (!batches) {
    auto cut = [fetch, part, slot, bytes_max] {
      return CutSlice(part->slice, *part->table, *fetch->wishes[slot], bytes_max,
                      /*may_wait=*/true);
    };
    CO_ASSIGN_OR_RETURN(batches, co_await core->options().read_pool->Run(loop, std::move(cut)));
  }
  core->CountSkippedBatches(batches->batches_skipped);
  const std::optional<int64_t> filtered_end = batches->filtered_end();
  co_return Answer{std::move(batches->records), filtered_end};
}

// What is in memory counts, ranges of files do not.
Status Count(const io::Payload& records, const Fetch& fetch) {
  uint64_t in_files = 0;
  for (const auto& part : records.parts()) {
    if (const auto* range = std::get_if<io::Payload::FileRange>(&part))
      in_files += range->size_bytes;
  }
  return fetch.memory->Grow(records.size_bytes() - in_files);
}

}  // namespace

Reply FetchLog(TabletCorePtr core, io::Loop& loop, io::Call call,
               std::shared_ptr<const io::Principal> client) {
  const io::Principal nobody;
  CO_ASSIGN_OR_RETURN(const FetchPtr fetch,
                      ParseFetch(*core, call.body, client == nullptr ? nobody : *client));
  NoteBuckets(fetch->ids, call.notes);
  Parts parts = co_await LookUntilDue(core, loop, fetch, call.notes);
  uint64_t bytes_left = static_cast<uint64_t>(std::max(fetch->message.max_bytes(), 0));
  if (fetch->copies) bytes_left = std::min(bytes_left, kCutBytesMax);
  bool any = false;
  wire::FetchResponseBuilder builder;
  size_t slot = 0;
  for (const auto& table : fetch->message.tables_req()) {
    builder.BeginTable(table.table_id());
    for (int i = 0; i < table.buckets_req_size(); ++i, ++slot) {
      const auto part = std::make_shared<const FetchPart>(std::move(parts[slot]));
      const types::BucketId& id = fetch->ids[slot];
      Result<Answer> answer = Answer();
      // Once the reply is full the rest stays for the next one; the first records go whatever their
      // size.
      if (part->error.ok() && (bytes_left > 0 || !any))
        answer = co_await AnswerOf(core, loop, fetch, slot, part);
      if (answer.ok()) {
        const Status room = Count(answer->records, *fetch);
        if (!room.ok()) answer = room;
      }
      const Status error = part->error.ok() ? answer.status() : part->error;
      if (!error.ok()) {
        builder.AddError(id.partition_id, id.bucket, core->Told(id, error));
        continue;
      }
      if (any && answer->records.size_bytes() > bytes_left) *answer = Answer();
      any |= answer->records.size_bytes() > 0;
      bytes_left -= std::min(bytes_left, answer->records.size_bytes());
      wire::FetchResponseBuilder::Bucket bucket;
      bucket.partition_id = id.partition_id;
      bucket.bucket_id = id.bucket;
      bucket.high_watermark = part->high_watermark;
      bucket.remote_log_fetch_info = part->remote_info;
      bucket.filtered_end_offset = answer->filtered_end;
      bucket.records = std::move(answer->records);
      builder.AddBucket(std::move(bucket));
    }
  }
  io::Payload whole = builder.Finish();
  CallMemory::KeepWith(&whole, fetch->memory);
  co_return whole;
}

}  // namespace sluice::tablet
