// Scans of a bucket: LIMIT_SCAN and the sessions of SCAN_KV.
#include <algorithm>

#include "tablet/calls.h"
#include "wire/frame.h"
#include "wire/kv_batch.h"
#include "wire/proto/kv.pb.h"
#include "wire/records.h"

namespace sluice::tablet {
namespace {

constexpr uint64_t kLimitScanBytesMax = 64 << 20;
constexpr int32_t kScanBytesMax = 10 << 20;  // kv.scanner.max-batch-size

Status TooMuch(const Replica& replica, int64_t limit) {
  return Error(ErrorCode::kRecordTooLarge, "limit scan would answer too much limit=", limit, " ",
               replica.id());
}

// The part of a log scan that lies in remote storage.
struct RemoteRows {
  io::Payload records;
  int64_t next_offset = 0;  // The rest is here.
};

io::Task<Result<RemoteRows>> RemoteLastRows(std::shared_ptr<Replica> replica, int64_t limit,
                                            CallMemoryPtr memory) {
  CO_RETURN_NOT_OK(replica->CheckLeader());
  const RemoteLog::Cut whole;
  RemoteRows rows;
  rows.next_offset = std::max(replica->start_offset(), replica->log().high_watermark() - limit);
  while (rows.next_offset < replica->log().start_offset()) {
    const uint64_t left = kLimitScanBytesMax - rows.records.size_bytes();
    CO_ASSIGN_OR_RETURN(const auto read,
                        co_await RemoteLog::Read(replica->remote(), rows.next_offset, left, whole));
    CO_RETURN_NOT_OK(memory->Grow(read.bytes->size()));
    rows.records.Add(read.bytes);
    if (rows.records.size_bytes() >= kLimitScanBytesMax) co_return TooMuch(*replica, limit);
    rows.next_offset = read.next_offset;
  }
  co_return rows;
}

// The rows of a log from `from` on, the last ones of `limit`, whole batches. Errors: Cancelled, see
// Miss.
Result<io::Payload> LastRows(Replica& replica, int64_t from, int64_t limit, log::Miss* miss) {
  ARROW_RETURN_NOT_OK(replica.CheckLeader());
  const int64_t high_watermark = replica.log().high_watermark();
  io::Payload records;
  while (from < high_watermark) {
    if (records.size_bytes() >= kLimitScanBytesMax) return TooMuch(replica, limit);
    const FetchPart part = replica.Fetch(from, kLimitScanBytesMax - records.size_bytes(),
                                         /*follower=*/false, nullptr, miss);
    ARROW_RETURN_NOT_OK(part.error);
    if (part.remote != nullptr) {
      return Error(ErrorCode::kLogStorage, "records moved to remote storage offset=", from, " ",
                   replica.id());
    }
    const log::Log::Slice& slice = part.slice;
    if (slice.next_offset < high_watermark && miss != nullptr && miss->missed())
      return Status::Cancelled("not in memory");
    if (slice.size_bytes == 0) {
      return Error(ErrorCode::kLogOffsetOutOfRange, "records have expired offset=", from, " ",
                   replica.id());
    }
    for (const auto& range : slice.ranges) records.Add(range);
    // A read ends at the bound, or in front of what is wrong: the next one tells which it was.
    from = slice.next_offset;
  }
  return records;
}

// Opening a store reads files: on the pool, unless it is open.
io::Task<Status> OpenStore(TabletCorePtr core, BucketShard* shard, types::BucketId id) {
  CO_ASSIGN_OR_RETURN(const auto replica, shard->Find(id));
  CO_ASSIGN_OR_RETURN(const kv::KvTablet* tablet, replica->Keys());
  CO_ASSIGN_OR_RETURN(const bool is_open, tablet->StoreIsOpen());
  if (is_open) co_return Status::OK();
  auto open = tablet->Warm({});
  const Replica::Reading reading(replica);
  co_return co_await core->options().read_pool->Run(shard->loop(), std::move(open));
}

// The first values of all keys as a value batch, for more than a shard reads in one turn: nothing
// is copied for it, what is only in memory is frozen instead.
io::Task<Result<std::string>> FirstValues(TabletCorePtr core, BucketShard* shard,
                                          types::BucketId id, int64_t limit) {
  CO_RETURN_NOT_OK(co_await OpenStore(core, shard, id));
  CO_ASSIGN_OR_RETURN(const auto replica, shard->Find(id));
  CO_ASSIGN_OR_RETURN(kv::KvTablet * tablet, replica->Keys());
  CO_ASSIGN_OR_RETURN(auto opened, tablet->OpenScan());
  const std::shared_ptr<kv::KvScan> scan = std::move(opened);
  const auto values = std::make_shared<wire::ValueBatchBuilder>();
  auto next = [scan, values, limit] { return scan->Next(kLimitScanBytesMax, limit, values.get()); };
  const Replica::Reading reading(replica);
  CO_RETURN_NOT_OK(co_await core->options().read_pool->Run(shard->loop(), std::move(next)));
  if (!scan->done() && values->count() < limit) co_return TooMuch(*replica, limit);
  co_return values->Finish();
}

// The records as every client can read them, whatever its version, of which the call says nothing.
Result<io::Payload> InMagic0(const io::Payload& records) {
  ASSIGN_OR_RAISE(const std::string bytes, records.Flatten());
  std::string out;
  for (wire::LogBatchIterator batches(bytes);;) {
    ASSIGN_OR_RAISE(const auto batch, batches.Next());
    if (!batch) return io::Payload(std::move(out));
    if (!batch->CrcMatches()) {  // The new one will.
      return Corrupt("log batch does not match its crc offset=", batch->header().base_offset);
    }
    out += wire::ToMagic0(*batch);
  }
}

io::Task<Result<io::Payload>> LimitScanOn(TabletCorePtr core, BucketShard* shard,
                                          types::BucketId id, int32_t limit, CallMemoryPtr memory) {
  CO_ASSIGN_OR_RETURN(const auto replica, shard->Find(id));
  if (!replica->table()->has_primary_key()) {
    CO_ASSIGN_OR_RETURN(RemoteRows rows, co_await RemoteLastRows(replica, limit, memory));
    auto read = [replica, from = rows.next_offset, limit](log::Miss* miss) {
      return LastRows(*replica, from, limit, miss);
    };
    CO_ASSIGN_OR_RETURN(
        auto local, co_await ReadCold(core->options().read_pool, &shard->loop(), std::move(read)));
    io::Payload records = std::move(rows.records);
    records.Add(std::move(local));
    if (replica->table()->has_statistics()) {
      auto convert = [records = std::move(records)] { return InMagic0(records); };
      CO_ASSIGN_OR_RETURN(
          records, co_await core->options().read_pool->Run(shard->loop(), std::move(convert)));
      CO_RETURN_NOT_OK(memory->Grow(records.size_bytes()));
    }
    co_return wire::BuildLimitScanResponse(/*is_log_table=*/true, std::move(records));
  }
  CO_ASSIGN_OR_RETURN(const kv::KvTablet* tablet, replica->Keys());
  CO_ASSIGN_OR_RETURN(auto cached,
                      tablet->FirstCached(static_cast<size_t>(limit), kLimitScanBytesMax));
  if (!cached.has_value() && static_cast<size_t>(limit) > kv::kTurnRowsMax) {
    CO_ASSIGN_OR_RETURN(cached, co_await FirstValues(core, shard, id, limit));
  } else if (!cached.has_value()) {
    kv::KeyRanges ranges{{""}, static_cast<size_t>(limit), kLimitScanBytesMax};
    CO_ASSIGN_OR_RETURN(const auto values,
                        co_await ReadRanges(core, shard, id, std::move(ranges), memory));
    cached = wire::BuildValueBatch(values[0]);
  }
  CO_RETURN_NOT_OK(memory->Grow(cached->size()));
  co_return wire::BuildLimitScanResponse(/*is_log_table=*/false, io::Payload(std::move(*cached)));
}

io::Task<void> AnswerLimitScan(TabletCorePtr core, BucketShard* shard, types::BucketId id,
                               int32_t limit, CallMemoryPtr memory,
                               Gather<Result<io::Payload>> gather) {
  auto answer = co_await LimitScanOn(std::move(core), shard, id, limit, memory);
  if (answer.ok()) CallMemory::KeepWith(&*answer, memory);
  gather.Set(0, std::move(answer));
}

// One call of a session, on the bucket's shard.
struct ScanCall {
  std::string scanner_id;
  types::BucketId bucket;  // When it opens one.
  int64_t limit = 0;       // 0 = none.
  int32_t sequence = 0;
  size_t bytes_max = 0;
  CallMemoryPtr memory;
};

struct Scanned {
  std::string scanner_id;  // Empty once the session is over.
  std::string records;
  std::optional<int64_t> log_offset;  // In the first answer.
};

Status Malformed(std::string_view problem) {
  return Error(ErrorCode::kInvalidScanRequest, problem);
}

Result<std::shared_ptr<Scanner>> OpenScanner(BucketShard& shard, const ScanCall& call) {
  ASSIGN_OR_RAISE(const auto replica, shard.Find(call.bucket));
  ASSIGN_OR_RAISE(const auto tablet, replica->Keys());
  ARROW_RETURN_NOT_OK(shard.scanners().CheckRoom(call.bucket));
  ARROW_RETURN_NOT_OK(call.memory->Grow(call.bytes_max));
  auto scanner = std::make_shared<Scanner>();
  scanner->bucket = call.bucket;
  scanner->rows_left = call.limit > 0 ? call.limit : INT64_MAX;
  ASSIGN_OR_RAISE(scanner->scan, tablet->OpenScan());
  return scanner;
}

Result<std::shared_ptr<Scanner>> FindScanner(BucketShard& shard, const ScanCall& call) {
  ASSIGN_OR_RAISE(auto scanner, shard.scanners().Find(call.scanner_id));
  if (scanner->busy) return Malformed("scanner has a call under way");
  if (call.sequence != scanner->last_sequence + 1) {
    return Error(ErrorCode::kInvalidScanRequest,
                 "scan call is out of order call_seq_id=", call.sequence,
                 " expected=", scanner->last_sequence + 1);
  }
  // Before the scan moves: the client may send the same call again.
  ARROW_RETURN_NOT_OK(call.memory->Grow(call.bytes_max));
  return scanner;
}

io::Task<Result<Scanned>> Scan(TabletCorePtr core, BucketShard* shard, ScanCall call) {
  const bool opens = call.scanner_id.empty();
  if (opens) CO_RETURN_NOT_OK(co_await OpenStore(core, shard, call.bucket));
  auto opened = opens ? OpenScanner(*shard, call) : FindScanner(*shard, call);
  CO_ASSIGN_OR_RETURN(const std::shared_ptr<Scanner> scanner, std::move(opened));
  Scanned out;
  out.scanner_id = opens ? shard->scanners().Add(scanner) : call.scanner_id;
  if (opens) out.log_offset = scanner->scan->log_offset();
  scanner->busy = true;
  auto values = std::make_shared<wire::ValueBatchBuilder>();
  auto next = [scanner, values, bytes_max = call.bytes_max] {
    return scanner->scan->Next(bytes_max, scanner->rows_left, values.get());
  };
  const Status read = co_await core->options().read_pool->Run(shard->loop(), std::move(next));
  scanner->busy = false;
  scanner->last_sequence = call.sequence;
  scanner->used_at = core->options().clock->Monotonic();
  if (!read.ok() || scanner->closing) {
    shard->scanners().Close(out.scanner_id);
    CO_RETURN_NOT_OK(read);
    co_return Error(ErrorCode::kUnknownScannerId, "scanner was closed during the call");
  }
  scanner->rows_left -= values->count();
  out.records = values->Finish();
  if (scanner->scan->done() || scanner->rows_left == 0) {
    shard->scanners().Close(out.scanner_id);
    out.scanner_id.clear();
  }
  co_return out;
}

io::Task<void> ScanOn(TabletCorePtr core, BucketShard* shard, ScanCall call,
                      Gather<Result<Scanned>> gather) {
  gather.Set(0, co_await Scan(std::move(core), shard, std::move(call)));
}

Result<ScanCall> CheckScan(const wire::ScanKvRequest& request) {
  if (request.has_scanner_id() == request.has_bucket_scan_req()) {
    return Malformed("scan names either a scanner or a bucket");
  }
  ScanCall call;
  call.scanner_id = request.scanner_id();
  call.sequence = request.call_seq_id();
  if (request.batch_size_bytes() <= 0) return Malformed("scan needs a batch size");
  call.bytes_max = static_cast<size_t>(std::min(request.batch_size_bytes(), kScanBytesMax));
  if (!request.has_bucket_scan_req()) {
    if (call.scanner_id.empty()) return Malformed("scanner id is empty");
    return call;
  }
  if (call.sequence != 0) return Malformed("first scan call has sequence 0");
  call.bucket = BucketIdOf(request.bucket_scan_req().table_id(), request.bucket_scan_req());
  call.limit = request.bucket_scan_req().limit();
  return call;
}

io::Task<Result<Scanned>> RunScan(TabletCorePtr core, io::Loop& loop, ScanCall call) {
  size_t index = core->ShardOf(call.bucket);
  if (!call.scanner_id.empty()) {
    CO_ASSIGN_OR_RETURN(index, Scanners::ShardOf(call.scanner_id, core->shard_count()));
  }
  const Gather<Result<Scanned>> gather(loop, 1);
  const bool posted = core->RunOn(index, kBytesPerName, [core, call, gather](BucketShard& shard) {
    io::Spawn(ScanOn(core, &shard, call, gather));
  });
  if (!posted) gather.Set(0, core->MailboxFull(index));
  auto scanned = co_await gather.Take();
  co_return std::move(scanned[0]);
}

// An unknown scanner is fine: it may have ended by itself.
Status CloseScanner(TabletCore& core, const std::string& id) {
  const auto index = Scanners::ShardOf(id, core.shard_count());
  if (!index.ok()) return Status::OK();
  const bool posted =
      core.RunOn(*index, kBytesPerName, [id](BucketShard& shard) { shard.scanners().Close(id); });
  return posted ? Status::OK() : core.MailboxFull(*index);
}

}  // namespace

// Whatever is in memory is read here, so that the shard never waits for the device.
io::Task<Result<std::vector<std::vector<std::string>>>> ReadRanges(TabletCorePtr core,
                                                                   BucketShard* shard,
                                                                   types::BucketId id,
                                                                   kv::KeyRanges ranges,
                                                                   CallMemoryPtr memory) {
  CO_ASSIGN_OR_RETURN(const auto replica, shard->Find(id));
  CO_ASSIGN_OR_RETURN(const kv::KvTablet* tablet, replica->Keys());
  CO_ASSIGN_OR_RETURN(auto cached, tablet->ReadCached(ranges));
  if (cached.has_value()) co_return std::move(*cached);
  CO_RETURN_NOT_OK(co_await OpenStore(core, shard, id));
  CO_ASSIGN_OR_RETURN(tablet, replica->Keys());
  size_t copied_bytes = 0;
  CO_ASSIGN_OR_RETURN(auto read, tablet->ReadLater(std::move(ranges), &copied_bytes));
  CO_RETURN_NOT_OK(memory->Grow(copied_bytes));
  const Replica::Reading reading(replica);
  co_return co_await core->options().read_pool->Run(shard->loop(), std::move(read));
}

Reply LimitScan(TabletCorePtr core, io::Loop& loop, io::Call call) {
  CO_ASSIGN_OR_RETURN(const auto request, wire::ParseMessage<wire::LimitScanRequest>(call.body));
  const types::BucketId id = BucketIdOf(request.table_id(), request);
  NoteBucket(id, call.notes);
  const int32_t limit = std::max(request.limit(), 0);
  const CallMemoryPtr memory = core->NewCallMemory();
  const Gather<Result<io::Payload>> gather(loop, 1);
  const size_t index = core->ShardOf(id);
  const bool posted = core->RunOn(index, kBytesPerName, [=](BucketShard& shard) {
    io::Spawn(AnswerLimitScan(core, &shard, id, limit, memory, gather));
  });
  if (!posted) gather.Set(0, core->MailboxFull(index));
  auto answers = co_await gather.Take();
  if (answers[0].ok()) co_return std::move(answers[0]);
  wire::LimitScanResponse response;
  wire::SetError(&response, core->Told(id, answers[0].status()));
  co_return wire::SerializeReply(response);
}

Reply ScanKv(TabletCorePtr core, io::Loop& loop, io::Call call) {
  CO_ASSIGN_OR_RETURN(const auto request, wire::ParseMessage<wire::ScanKvRequest>(call.body));
  wire::ScanKvResponse response;
  if (request.close_scanner() && request.has_scanner_id()) {
    CO_RETURN_NOT_OK(CloseScanner(*core, request.scanner_id()));
    response.set_has_more_results(false);
    co_return wire::SerializeReply(response);
  }
  Result<ScanCall> checked = CheckScan(request);
  Result<Scanned> scanned =
      checked.ok() ? Result<Scanned>(Scanned()) : Result<Scanned>(checked.status());
  const bool names = request.has_bucket_scan_req();
  const types::BucketId id =
      names ? BucketIdOf(request.bucket_scan_req().table_id(), request.bucket_scan_req())
            : types::BucketId();
  if (names) NoteBucket(id, call.notes);
  const CallMemoryPtr memory = core->NewCallMemory();
  if (checked.ok()) {
    checked->memory = memory;
    scanned = co_await RunScan(core, loop, *checked);
  }
  wire::SetError(&response,
                 ForClient(scanned.status(), names ? &id : nullptr, core->options().data_dir));
  if (scanned.ok()) {
    if (!scanned->scanner_id.empty()) response.set_scanner_id(scanned->scanner_id);
    response.set_has_more_results(!scanned->scanner_id.empty());
    response.set_records(std::move(scanned->records));
    if (scanned->log_offset) response.set_log_offset(*scanned->log_offset);
  }
  CO_ASSIGN_OR_RETURN(io::Payload answer, wire::SerializeReply(response));
  CallMemory::KeepWith(&answer, memory);
  co_return answer;
}

}  // namespace sluice::tablet
