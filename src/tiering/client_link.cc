#include "client/cluster.h"
#include "tiering/cluster_link.h"
#include "types/table_options.h"

namespace sluice::tiering {
namespace {

constexpr std::chrono::milliseconds kPollTimeout{100};

// A scanner lives on the link's loop; this holds it from a pool thread.
class ClientBucketLog : public BucketLog {
 public:
  ClientBucketLog(io::Loop& loop, std::unique_ptr<client::LogScanner> scanner,
                  types::BucketId bucket, int64_t offset)
      : loop_(loop), scanner_(std::move(scanner)), bucket_(bucket), position_(offset) {}
  ~ClientBucketLog() override {
    // The last reference goes on the loop.
    loop_.Post([scanner = std::shared_ptr<client::LogScanner>(std::move(scanner_))] {});
  }

  Result<std::vector<client::ScanBatch>> Next() override {
    ASSIGN_OR_RAISE(auto polled, io::SyncWait(loop_, Poll(scanner_.get(), bucket_)));
    position_ = std::max(position_, polled.position);
    return std::move(polled.batches);
  }
  int64_t position() const override { return position_; }
  const std::shared_ptr<arrow::Schema>& schema() const override { return scanner_->schema(); }

 private:
  struct Polled {
    std::vector<client::ScanBatch> batches;
    int64_t position;
  };
  static io::Task<Result<Polled>> Poll(client::LogScanner* scanner, types::BucketId bucket) {
    auto batches = co_await scanner->Poll(kPollTimeout);
    if (!batches.ok()) co_return batches.status();
    Polled polled{std::move(batches).ValueUnsafe(), scanner->Position(bucket).value_or(-1)};
    co_return polled;
  }

  io::Loop& loop_;
  std::unique_ptr<client::LogScanner> scanner_;
  const types::BucketId bucket_;
  int64_t position_;
};

io::Task<Result<std::unique_ptr<client::LogScanner>>> OpenScanner(
    io::Loop& loop, client::ClusterPtr cluster, types::TablePath path, types::BucketId bucket,
    int64_t offset, client::LogScannerOptions options) {
  auto scanner = co_await client::LogScanner::Open(loop, cluster, path, options);
  if (scanner.ok()) (*scanner)->Subscribe(bucket, offset);
  co_return scanner;
}

class ClientLink : public ClusterLink {
 public:
  ClientLink(client::ClusterPtr cluster, io::Loop& loop)
      : cluster_(std::move(cluster)), loop_(loop), admin_(cluster_), calls_(cluster_) {}

  Result<client::HeartbeatReply> Beat(client::Heartbeat heartbeat) override {
    return io::SyncWait(loop_, calls_.Beat(loop_, std::move(heartbeat)));
  }

  Result<std::vector<types::TableInfo>> LakeTables() override {
    std::vector<types::TableInfo> tables;
    ASSIGN_OR_RAISE(const auto databases, io::SyncWait(loop_, admin_.ListDatabases(loop_)));
    for (const std::string& database : databases) {
      const auto names = io::SyncWait(loop_, admin_.ListTables(loop_, database));
      if (CodeOf(names.status()) == ErrorCode::kDatabaseNotExist) continue;  // Dropped meanwhile.
      RETURN_NOT_OK(names.status());
      for (const std::string& name : *names) {
        auto table = GetTable({database, name});
        if (CodeOf(table.status()) == ErrorCode::kTableNotExist) continue;
        RETURN_NOT_OK(table.status());
        if (types::LakeEnabled(table->descriptor)) tables.push_back(*std::move(table));
      }
    }
    return tables;
  }

  Result<types::TableInfo> GetTable(const types::TablePath& path) override {
    return io::SyncWait(loop_, admin_.GetTable(loop_, path));
  }
  Result<std::vector<types::PartitionInfo>> ListPartitions(const types::TablePath& path) override {
    return io::SyncWait(loop_, admin_.ListPartitions(loop_, path, client::PartitionSpec()));
  }
  Result<std::map<int32_t, int64_t>> ListOffsets(const types::TablePath& path, int64_t table_id,
                                                 std::optional<int64_t> partition_id,
                                                 std::vector<int32_t> buckets,
                                                 client::OffsetType type) override {
    return io::SyncWait(
        loop_, admin_.ListOffsets(loop_, path, table_id, partition_id, std::move(buckets), type,
                                  /*timestamp_ms=*/0));
  }

  Result<std::optional<client::LakeSnapshot>> RecordedSnapshot(
      const types::TablePath& path) override {
    auto snapshot =
        io::SyncWait(loop_, admin_.GetLakeSnapshot(loop_, path, std::nullopt, /*readable=*/false));
    if (CodeOf(snapshot.status()) == ErrorCode::kLakeSnapshotNotExist) return std::nullopt;
    RETURN_NOT_OK(snapshot.status());
    return *std::move(snapshot);
  }

  Result<std::string> Prepare(const types::TablePath& path, int64_t table_id,
                              std::vector<client::LakeBucketOffset> offsets) override {
    return io::SyncWait(loop_, calls_.Prepare(loop_, path, table_id, std::move(offsets),
                                              /*ignore_previous=*/false));
  }
  Status Commit(client::LakeCommit commit) override {
    return io::SyncWait(loop_, calls_.Commit(loop_, std::move(commit)));
  }

  Result<std::unique_ptr<BucketLog>> OpenLog(const types::TablePath& path, types::BucketId bucket,
                                             int64_t offset) override {
    client::LogScannerOptions options;
    options.max_bucket_bytes = 4 << 20;
    ASSIGN_OR_RAISE(auto scanner, io::SyncWait(loop_, OpenScanner(loop_, cluster_, path, bucket,
                                                                  offset, std::move(options))));
    return std::make_unique<ClientBucketLog>(loop_, std::move(scanner), bucket, offset);
  }

  Result<int64_t> CommitTimeAt(const types::TablePath& path, types::BucketId bucket,
                               int64_t offset) override {
    ASSIGN_OR_RAISE(const auto table, GetTable(path));
    client::LogScannerOptions options;
    options.projection = {table.descriptor.schema.columns.front().name};
    options.max_bytes = options.max_bucket_bytes = 1;  // One batch.
    ASSIGN_OR_RAISE(auto scanner, io::SyncWait(loop_, OpenScanner(loop_, cluster_, path, bucket,
                                                                  offset, std::move(options))));
    ClientBucketLog log(loop_, std::move(scanner), bucket, offset);
    ASSIGN_OR_RAISE(const auto batches, log.Next());
    return batches.empty() ? -1 : batches.front().commit_timestamp_ms;
  }

 private:
  client::ClusterPtr cluster_;
  io::Loop& loop_;
  client::Admin admin_;
  client::TieringCalls calls_;
};

}  // namespace

std::shared_ptr<ClusterLink> MakeClientLink(client::ClusterPtr cluster, io::Loop& loop) {
  return std::make_shared<ClientLink>(std::move(cluster), loop);
}

}  // namespace sluice::tiering
