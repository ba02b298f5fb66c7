#pragma once
#include <optional>
#include <string>
#include <vector>

#include "client/admin.h"

namespace sluice::client {

/// A table whose tiering round a service holds.
struct TieringRound {
  int64_t table_id = -1;
  types::TablePath path;
  int64_t tiering_epoch = -1;
};

/// What a service reports of one of its rounds.
struct RoundReport {
  int64_t table_id = -1;
  int64_t tiering_epoch = -1;
  std::optional<int64_t> file_size_bytes;
  std::optional<int64_t> record_count;
};

struct Heartbeat {
  int32_t coordinator_epoch = 0;  ///< Of the last reply, 0 at first.
  std::vector<RoundReport> tiering;
  std::vector<RoundReport> finished;
  std::vector<RoundReport> failed;
  std::vector<int64_t> force_finished_tables;
  bool request_table = false;
};

struct HeartbeatReply {
  int32_t coordinator_epoch = 0;
  std::optional<TieringRound> round;  ///< When a table was asked for and one waits.
  /// Reports that the coordinator refused: table id and why (kFencedTieringEpoch, kTableNotExist,
  /// …).
  std::vector<std::pair<int64_t, Status>> refused;
};

struct LakeCommit {
  types::TablePath path;
  int64_t table_id = -1;
  int64_t snapshot_id = -1;
  std::string tiered_offsets_path;  ///< From Prepare.
  std::optional<std::string> readable_offsets_path;
  std::optional<int64_t> earliest_snapshot_to_keep;  ///< -1 = keep all, nullopt = only the newest.
  std::vector<LakeBucketOffset> buckets;
};

/// The tiering service's calls to the coordinator (wire/proto/lake.proto). One attempt each: the
/// caller knows what a repeat means.
class TieringCalls {
 public:
  explicit TieringCalls(ClusterPtr cluster) : cluster_(std::move(cluster)) {}

  io::Task<Result<HeartbeatReply>> Beat(io::Loop& loop, Heartbeat heartbeat);
  /// Store the end offsets of a round; gives the path for the lake snapshot's property
  /// `fluss-offsets`.
  io::Task<Result<std::string>> Prepare(io::Loop& loop, types::TablePath path, int64_t table_id,
                                        std::vector<LakeBucketOffset> offsets,
                                        bool ignore_previous);
  io::Task<Status> Commit(io::Loop& loop, LakeCommit commit);

 private:
  ClusterPtr cluster_;
};

}  // namespace sluice::client
