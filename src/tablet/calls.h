#pragma once
#include <span>

#include "io/payload.h"
#include "io/task.h"
#include "io/transport.h"
#include "tablet/request_limits.h"
#include "tablet/tablet_core.h"
#include "wire/bucket_id.h"

namespace sluice::tablet {

// One coroutine per call of tablet scope: parse, cut by bucket, run on the owner shards, answer.
// They start on the caller's loop and go on there. Errors of buckets are in the reply; a failed
// Result is for the whole request.

using Reply = io::Task<Result<io::Payload>>;

Reply ProduceLog(TabletCorePtr core, io::Loop& loop, io::Call call);
/// `client` decides whether it gets remote segments by name or the server reads them for it.
Reply FetchLog(TabletCorePtr core, io::Loop& loop, io::Call call,
               std::shared_ptr<const io::Principal> client);
Reply ListOffsets(TabletCorePtr core, io::Loop& loop, io::Call call);

Reply PutKv(TabletCorePtr core, io::Loop& loop, io::Call call);
Reply Lookup(TabletCorePtr core, io::Loop& loop, io::Call call);
Reply PrefixLookup(TabletCorePtr core, io::Loop& loop, io::Call call);
Reply LimitScan(TabletCorePtr core, io::Loop& loop, io::Call call);
Reply ScanKv(TabletCorePtr core, io::Loop& loop, io::Call call);
Reply GetTableStats(TabletCorePtr core, io::Loop& loop, io::Call call);

Reply InitWriter(TabletCorePtr core, io::Loop& loop, io::Call call);
Reply NotifyLeaderAndIsr(TabletCorePtr core, io::Loop& loop, io::Call call);
Reply StopReplica(TabletCorePtr core, io::Loop& loop, io::Call call);
Reply UpdateMetadata(TabletCorePtr core, io::Loop& loop, io::Call call);
Reply NotifyLakeTableOffset(TabletCorePtr core, io::Loop& loop, io::Call call);

/// Values of keys in ranges, from memory at once or else on the read pool. On the bucket's shard.
/// The caller counts the values in `memory`.
io::Task<Result<std::vector<std::vector<std::string>>>> ReadRanges(TabletCorePtr core,
                                                                   BucketShard* shard,
                                                                   types::BucketId id,
                                                                   kv::KeyRanges ranges,
                                                                   CallMemoryPtr memory);

using wire::BucketIdOf;
using wire::SetBucket;

/// Tell of what buckets a call is.
inline void NoteBuckets(std::span<const types::BucketId> ids, io::CallNotes* notes) {
  if (notes == nullptr || ids.empty()) return;
  notes->table_id = ids[0].table_id;
  notes->partition_id = ids[0].partition_id;
  notes->bucket = ids[0].bucket;
  notes->buckets = ids.size();
}
inline void NoteBucket(const types::BucketId& id, io::CallNotes* notes) {
  NoteBuckets({&id, 1}, notes);
}
/// The same of a message with a list of buckets.
template <typename Buckets>
void NoteMessage(int64_t table_id, const Buckets& buckets, io::CallNotes* notes) {
  if (notes == nullptr || buckets.empty()) return;
  NoteBucket(BucketIdOf(table_id, buckets[0]), notes);
  notes->buckets = static_cast<size_t>(buckets.size());
}

/// Errors: kUnsupportedVersion when a client that does not know the new key encoding asks a table
/// that has it.
inline Status CheckKeyVersion(TabletCore& core, int64_t table_id, int16_t api_version) {
  if (api_version > 0) return Status::OK();
  const auto table = core.tables().Get(table_id);
  if (!table.ok() || !(*table)->needs_new_keys()) return Status::OK();
  return Error(ErrorCode::kUnsupportedVersion,
               "client is too old for the keys of table=", (*table)->info().path);
}

}  // namespace sluice::tablet
