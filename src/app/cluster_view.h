#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/client_options.h"
#include "client/admin.h"
#include "io/loop.h"

namespace sluice::app {

/// One bucket as a cluster tells of it. What it did not tell is nullopt, with the reason in
/// `error`.
struct BucketView {
  std::string partition;  ///< Empty = of a table without partitions.
  std::optional<int64_t> partition_id;
  int32_t bucket = 0;
  int32_t leader = -1;                    ///< -1 = none.
  std::optional<int64_t> log_start;       ///< The first offset that readers get.
  std::optional<int64_t> high_watermark;  ///< Readers get what is below.
  std::optional<int64_t> log_end;
  std::optional<int64_t> lake_offset;  ///< The lake holds what is below.
  std::string error;
};

struct TableView {
  types::TableInfo info;
  std::map<int32_t, std::shared_ptr<const types::Schema>> schemas;  ///< By id.
  std::vector<types::PartitionInfo> partitions;
  std::optional<int64_t> lake_snapshot_id;  ///< The newest one.
  std::vector<BucketView> buckets;
};

/// A cluster seen by our own client.
///
/// Threads: one at a time, no loop's.
class ClusterView {
 public:
  /// Errors: kInvalidConfig for addresses or settings that are wrong.
  static Result<std::unique_ptr<ClusterView>> Connect(const std::string& bootstrap_servers,
                                                      const ClientOptions& options);
  ~ClusterView();

  Result<client::ClusterInfo> Servers();
  Result<std::map<std::string, std::string>> Configs();
  Result<std::vector<types::TablePath>> Tables();
  /// A table without its buckets and schemas. Errors: kTableNotExist.
  Result<TableView> Table(const types::TablePath& path);
  /// With the buckets and their offsets.
  Result<TableView> TableWithBuckets(const types::TablePath& path);
  /// Every schema that it had: a call each.
  Status AddSchemas(TableView* table);

 private:
  ClusterView() = default;
  io::Loop& loop() { return loops_->at(0); }
  Status AddBuckets(TableView* table, const std::string& partition,
                    std::optional<int64_t> partition_id);
  void AddOffsets(const TableView& table, std::vector<BucketView>* buckets);
  void AddLake(TableView* table);

  ClientSettings client_;
  std::unique_ptr<io::LoopThreads> loops_;
  std::shared_ptr<client::SocketServers> servers_;
  client::ClusterPtr cluster_;
};

/// "db.t", or "t" in the database fluss.
types::TablePath PathOf(const std::string& text);

}  // namespace sluice::app
