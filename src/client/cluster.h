#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "client/servers.h"
#include "types/schema.h"

namespace sluice::client {

/// A table as the last metadata showed it.
struct TableMeta {
  types::TableInfo info;
  std::vector<int32_t>
      leaders;  ///< Server id by bucket, -1 = none yet. Empty for a partitioned table.
};
using TableMetaPtr = std::shared_ptr<const TableMeta>;

struct PartitionMeta {
  int64_t table_id = -1;
  int64_t partition_id = -1;
  std::string name;
  std::vector<int32_t> leaders;
};
using PartitionMetaPtr = std::shared_ptr<const PartitionMeta>;

/// May a call with this result be tried again? And does the metadata have to be learned anew
/// before?
bool IsRetriable(const Status& status);
/// The same for reads of what a server has stored: bytes that break their format do not get better.
bool IsRetriableRead(const Status& status);
bool NeedsNewMetadata(const Status& status);

/// Metadata of a cluster, cached, and the way to the server that answers a call.
///
/// Threads: any loop may call; the caller's coroutine goes on on the loop that it passes.
class Cluster : public std::enable_shared_from_this<Cluster> {
 public:
  struct Options {
    int attempts = 10;  ///< Of a call that fails with a retriable error, and of reaching the
                        ///< bootstrap servers.
    std::chrono::milliseconds backoff{100};  ///< Doubles up to backoff_max.
    std::chrono::milliseconds backoff_max{2000};
  };
  static std::shared_ptr<Cluster> Make(std::shared_ptr<Servers> servers, Options options);

  /// Errors: kTableNotExist. `refresh` asks the cluster even when the cache knows the table.
  io::Task<Result<TableMetaPtr>> Table(io::Loop& loop, types::TablePath path, bool refresh = false);
  /// Errors: kPartitionNotExists.
  io::Task<Result<PartitionMetaPtr>> Partition(io::Loop& loop, types::TablePath path,
                                               std::string name, bool refresh = false);
  /// A schema of a table by id; schemas never change, so each is asked for once.
  io::Task<Result<std::shared_ptr<const types::Schema>>> Schema(io::Loop& loop,
                                                                types::TablePath path,
                                                                int32_t schema_id);

  /// Server id of a bucket's leader. Errors: kLeaderNotAvailable while there is none.
  io::Task<Result<int32_t>> Leader(io::Loop& loop, types::TablePath path, types::BucketId bucket);
  /// Let the next question for these leaders go to the cluster.
  void ForgetLeaders(const types::TablePath& path);

  /// One call to the coordinator, to some tablet server, or to the tablet server with this id; one
  /// attempt.
  io::Task<Result<std::string>> CallCoordinator(io::Loop& loop, wire::ApiKey key, std::string body);
  io::Task<Result<std::string>> CallAnyTablet(io::Loop& loop, wire::ApiKey key, std::string body);
  io::Task<Result<std::string>> CallTablet(io::Loop& loop, int32_t server_id, wire::ApiKey key,
                                           std::string body);
  /// One call to a bucket's leader, with retries that learn the leader anew.
  io::Task<Result<std::string>> CallLeader(io::Loop& loop, types::TablePath path,
                                           types::BucketId bucket, wire::ApiKey key,
                                           std::string body);

  const Options& options() const { return options_; }
  /// Wait before the n-th retry, counted from 0.
  std::chrono::milliseconds BackoffOf(int retry) const;

 private:
  using Self = std::shared_ptr<Cluster>;
  struct Cache;
  Cluster(std::shared_ptr<Servers> servers, Options options);

  // Coroutines keep the cluster alive themselves.
  static io::Task<Status> Refresh(Self self, io::Loop& loop, std::string request);
  static Status TakeMetadata(Cluster& self, std::string_view body);
  static io::Task<Result<ServerPtr>> TabletOf(Self self, io::Loop& loop,
                                              std::optional<int32_t> server_id);
  static io::Task<Result<TableMetaPtr>> TableIn(Self self, io::Loop& loop, types::TablePath path,
                                                bool refresh);
  static io::Task<Result<PartitionMetaPtr>> PartitionIn(Self self, io::Loop& loop,
                                                        types::TablePath path, std::string name,
                                                        int64_t partition_id, bool refresh);
  static io::Task<Result<std::shared_ptr<const types::Schema>>> SchemaIn(Self self, io::Loop& loop,
                                                                         types::TablePath path,
                                                                         int32_t schema_id);
  static io::Task<Result<int32_t>> LeaderIn(Self self, io::Loop& loop, types::TablePath path,
                                            types::BucketId bucket);
  static io::Task<Result<std::string>> CallCoordinatorIn(Self self, io::Loop& loop,
                                                         wire::ApiKey key, std::string body);
  static io::Task<Result<std::string>> CallTabletIn(Self self, io::Loop& loop,
                                                    std::optional<int32_t> server_id,
                                                    wire::ApiKey key, std::string body);
  static io::Task<Result<std::string>> CallLeaderIn(Self self, io::Loop& loop,
                                                    types::TablePath path, types::BucketId bucket,
                                                    wire::ApiKey key, std::string body);

  std::shared_ptr<Servers> servers_;
  Options options_;
  std::shared_ptr<Cache> cache_;
};
using ClusterPtr = std::shared_ptr<Cluster>;

}  // namespace sluice::client
