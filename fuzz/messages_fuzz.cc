// Message bodies. The first byte chooses a message; what parses must serialize to bytes that mean
// the same. Our own readers of record-carrying messages must agree with protobuf wherever both
// accept.
#include "base/check.h"
#include "wire/frame.h"
#include "wire/proto/acl.pb.h"
#include "wire/proto/cluster.pb.h"
#include "wire/proto/database.pb.h"
#include "wire/proto/handshake.pb.h"
#include "wire/proto/kv.pb.h"
#include "wire/proto/lake.pb.h"
#include "wire/proto/log.pb.h"
#include "wire/proto/metadata.pb.h"
#include "wire/proto/partition.pb.h"
#include "wire/proto/replication.pb.h"
#include "wire/proto/snapshot.pb.h"
#include "wire/proto/table.pb.h"
#include "wire/records.h"

using namespace sluice;

namespace {

template <typename M>
void Check(std::string_view body) {
  const auto message = wire::ParseMessage<M>(body);
  if (!message.ok()) return;
  const std::string bytes = wire::Serialize(*message);
  const auto again = wire::ParseMessage<M>(bytes);
  CHECK(again.ok() && wire::Serialize(*again) == bytes);
}

template <typename Bucket>
void CheckBuckets(const std::vector<wire::BucketRecords>& ours, const Bucket& theirs) {
  CHECK(ours.size() == static_cast<size_t>(theirs.size()));
  for (size_t i = 0; i < ours.size(); ++i) {
    const auto& their = theirs.Get(static_cast<int>(i));
    CHECK(ours[i].bucket_id == their.bucket_id());
    CHECK(ours[i].partition_id.has_value() == their.has_partition_id());
    CHECK(ours[i].partition_id.value_or(0) == their.partition_id());
    CHECK(ours[i].records == their.records());
  }
}

void CheckProduceLog(std::string_view body) {
  const auto ours = wire::ParseProduceLog(body);
  const auto theirs = wire::ParseMessage<wire::ProduceLogRequest>(body);
  if (!ours.ok() || !theirs.ok()) return;
  CHECK(ours->acks == theirs->acks() && ours->table_id == theirs->table_id());
  CheckBuckets(ours->buckets, theirs->buckets_req());
  CHECK(wire::ParseProduceLog(wire::BuildProduceLog(*ours)).ok());
}

void CheckPutKv(std::string_view body) {
  const auto ours = wire::ParsePutKv(body);
  const auto theirs = wire::ParseMessage<wire::PutKvRequest>(body);
  if (!ours.ok() || !theirs.ok()) return;
  CHECK(ours->timeout_ms == theirs->timeout_ms() && ours->agg_mode == theirs->agg_mode());
  CHECK(std::equal(ours->target_columns.begin(), ours->target_columns.end(),
                   theirs->target_columns().begin(), theirs->target_columns().end()));
  CheckBuckets(ours->buckets, theirs->buckets_req());
  CHECK(wire::ParsePutKv(wire::BuildPutKv(*ours)).ok());
}

void CheckFetchResponse(std::string_view body) {
  const auto ours = wire::ParseFetchResponse(body);
  const auto theirs = wire::ParseMessage<wire::FetchLogResponse>(body);
  if (!ours.ok() || !theirs.ok()) return;
  CHECK(ours->size() == static_cast<size_t>(theirs->tables_resp_size()));
  for (size_t t = 0; t < ours->size(); ++t) {
    const auto& their_table = theirs->tables_resp(static_cast<int>(t));
    CHECK((*ours)[t].buckets.size() == static_cast<size_t>(their_table.buckets_resp_size()));
    for (size_t b = 0; b < (*ours)[t].buckets.size(); ++b) {
      CHECK((*ours)[t].buckets[b].records ==
            their_table.buckets_resp(static_cast<int>(b)).records());
    }
  }
}

using CheckFunction = void (*)(std::string_view);
using namespace sluice::wire;
constexpr CheckFunction kChecks[] = {
    CheckProduceLog,
    CheckPutKv,
    CheckFetchResponse,
    Check<ErrorResponse>,
    Check<ApiVersionsRequest>,
    Check<AuthenticateRequest>,
    Check<CreateDatabaseRequest>,
    Check<CreateTableRequest>,
    Check<AlterTableRequest>,
    Check<CreatePartitionRequest>,
    Check<ListPartitionInfosRequest>,
    Check<MetadataRequest>,
    Check<MetadataResponse>,
    Check<FetchLogRequest>,
    Check<ListOffsetsRequest>,
    Check<LookupRequest>,
    Check<PrefixLookupRequest>,
    Check<LimitScanRequest>,
    Check<ScanKvRequest>,
    Check<GetTableStatsRequest>,
    Check<GetLakeSnapshotRequest>,
    Check<LakeTieringHeartbeatRequest>,
    Check<PrepareLakeTableSnapshotRequest>,
    Check<CommitLakeTableSnapshotRequest>,
    Check<NotifyLeaderAndIsrRequest>,
    Check<StopReplicaRequest>,
    Check<UpdateMetadataRequest>,
    Check<CreateAclsRequest>,
    Check<RegisterProducerOffsetsRequest>,
    Check<AcquireKvSnapshotLeaseRequest>,
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  kChecks[data[0] % std::size(kChecks)](
      std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  return 0;
}
