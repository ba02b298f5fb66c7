#include "client/tiering.h"

#include "client/calls_internal.h"
#include "wire/proto/lake.pb.h"

namespace sluice::client {
namespace {

using wire::ApiKey;

void SetReport(wire::PbHeartbeatReqForTable* out, const RoundReport& report,
               int32_t coordinator_epoch) {
  out->set_table_id(report.table_id);
  out->set_coordinator_epoch(coordinator_epoch);
  out->set_tiering_epoch(report.tiering_epoch);
  if (report.file_size_bytes)
    out->mutable_lake_tiering_stats()->set_file_size(*report.file_size_bytes);
  if (report.record_count)
    out->mutable_lake_tiering_stats()->set_record_count(*report.record_count);
}

template <typename Entries>
void AddRefused(const Entries& entries, HeartbeatReply* reply) {
  for (const auto& entry : entries) {
    if (!entry.has_error()) continue;
    Status why = wire::FromProtocolError(entry.error().error_code(), entry.error().error_message());
    if (!why.ok()) reply->refused.emplace_back(entry.table_id(), std::move(why));
  }
}

io::Task<Result<HeartbeatReply>> BeatIn(ClusterPtr cluster, io::Loop& loop, Heartbeat heartbeat) {
  wire::LakeTieringHeartbeatRequest request;
  for (const auto& report : heartbeat.tiering)
    SetReport(request.add_tiering_tables(), report, heartbeat.coordinator_epoch);
  for (const auto& report : heartbeat.finished)
    SetReport(request.add_finished_tables(), report, heartbeat.coordinator_epoch);
  for (const auto& report : heartbeat.failed)
    SetReport(request.add_failed_tables(), report, heartbeat.coordinator_epoch);
  for (const int64_t id : heartbeat.force_finished_tables) request.add_force_finished_tables(id);
  if (heartbeat.request_table) request.set_request_table(true);
  CO_ASSIGN_OR_RETURN(
      const auto answer,
      (co_await AskOnce<wire::LakeTieringHeartbeatResponse, wire::LakeTieringHeartbeatRequest>(
          cluster, loop, Where::kCoordinator, ApiKey::kLakeTieringHeartbeat, std::move(request))));
  HeartbeatReply reply;
  reply.coordinator_epoch = answer.coordinator_epoch();
  if (answer.has_tiering_table()) {
    const auto& table = answer.tiering_table();
    reply.round =
        TieringRound{table.table_id(),
                     {table.table_path().database_name(), table.table_path().table_name()},
                     table.tiering_epoch()};
  }
  AddRefused(answer.tiering_table_resp(), &reply);
  AddRefused(answer.finished_table_resp(), &reply);
  AddRefused(answer.failed_table_resp(), &reply);
  co_return reply;
}

io::Task<Result<std::string>> PrepareIn(ClusterPtr cluster, io::Loop& loop, types::TablePath path,
                                        int64_t table_id, std::vector<LakeBucketOffset> offsets,
                                        bool ignore_previous) {
  wire::PrepareLakeTableSnapshotRequest request;
  auto* table = request.add_bucket_offsets();
  table->set_table_id(table_id);
  SetPath(table->mutable_table_path(), path);
  for (const LakeBucketOffset& offset : offsets) {
    auto* bucket = table->add_bucket_offsets();
    if (offset.partition_id) bucket->set_partition_id(*offset.partition_id);
    bucket->set_bucket_id(offset.bucket);
    if (offset.log_end_offset >= 0) bucket->set_log_end_offset(offset.log_end_offset);
  }
  if (ignore_previous) request.set_ignore_previous_table_offsets(true);
  CO_ASSIGN_OR_RETURN(const auto reply,
                      (co_await AskOnce<wire::PrepareLakeTableSnapshotResponse,
                                        wire::PrepareLakeTableSnapshotRequest>(
                          cluster, loop, Where::kCoordinator, ApiKey::kPrepareLakeTableSnapshot,
                          std::move(request))));
  if (reply.prepare_lake_table_resp_size() != 1) {
    co_return Error(ErrorCode::kCorruptMessage,
                    "prepare reply has another number of tables table=", path);
  }
  const auto& entry = reply.prepare_lake_table_resp(0);
  CO_RETURN_NOT_OK(wire::ErrorOf(entry));
  co_return entry.lake_table_offsets_path();
}

io::Task<Status> CommitIn(ClusterPtr cluster, io::Loop& loop, LakeCommit commit) {
  wire::CommitLakeTableSnapshotRequest request;
  auto* info = request.add_tables_req();
  info->set_table_id(commit.table_id);
  info->set_snapshot_id(commit.snapshot_id);
  SetPath(info->mutable_table_path(), commit.path);
  for (const LakeBucketOffset& offset : commit.buckets) {
    auto* bucket = info->add_buckets_req();
    if (offset.partition_id) bucket->set_partition_id(*offset.partition_id);
    bucket->set_bucket_id(offset.bucket);
    if (offset.log_end_offset >= 0) bucket->set_log_end_offset(offset.log_end_offset);
    if (offset.max_timestamp_ms >= 0) bucket->set_max_timestamp(offset.max_timestamp_ms);
  }
  auto* metadata = request.add_lake_table_snapshot_metadata();
  metadata->set_table_id(commit.table_id);
  metadata->set_snapshot_id(commit.snapshot_id);
  metadata->set_tiered_bucket_offsets_file_path(commit.tiered_offsets_path);
  if (commit.readable_offsets_path)
    metadata->set_readable_bucket_offsets_file_path(*commit.readable_offsets_path);
  if (commit.earliest_snapshot_to_keep)
    metadata->set_earliest_snapshot_id_to_keep(*commit.earliest_snapshot_to_keep);
  CO_ASSIGN_OR_RETURN(const auto reply, (co_await AskOnce<wire::CommitLakeTableSnapshotResponse,
                                                          wire::CommitLakeTableSnapshotRequest>(
                                            cluster, loop, Where::kCoordinator,
                                            ApiKey::kCommitLakeTableSnapshot, std::move(request))));
  if (reply.table_resp_size() != 1 || reply.table_resp(0).table_id() != commit.table_id) {
    co_return Error(ErrorCode::kCorruptMessage, "commit reply lacks the table table=", commit.path);
  }
  co_return wire::ErrorOf(reply.table_resp(0));
}

}  // namespace

io::Task<Result<HeartbeatReply>> TieringCalls::Beat(io::Loop& loop, Heartbeat heartbeat) {
  return BeatIn(cluster_, loop, std::move(heartbeat));
}

io::Task<Result<std::string>> TieringCalls::Prepare(io::Loop& loop, types::TablePath path,
                                                    int64_t table_id,
                                                    std::vector<LakeBucketOffset> offsets,
                                                    bool ignore_previous) {
  return PrepareIn(cluster_, loop, std::move(path), table_id, std::move(offsets), ignore_previous);
}

io::Task<Status> TieringCalls::Commit(io::Loop& loop, LakeCommit commit) {
  return CommitIn(cluster_, loop, std::move(commit));
}

}  // namespace sluice::client
