#include "app/cluster_view.h"

#include <algorithm>
#include <iterator>

#include "client/socket_servers.h"

namespace sluice::app {
namespace {

// A person waits.
constexpr int kAttempts = 4;

}  // namespace

Result<std::unique_ptr<ClusterView>> ClusterView::Connect(const std::string& bootstrap_servers,
                                                          const ClientOptions& options) {
  std::unique_ptr<ClusterView> view(new ClusterView());
  ASSIGN_OR_RAISE(view->client_, ClientSettingsOf(options));
  view->client_.sockets.bootstrap_servers = bootstrap_servers;
  view->loops_ = io::LoopThreads::Start("admin", 1);
  ASSIGN_OR_RAISE(
      view->servers_,
      client::SocketServers::Make(view->client_.network(), {&view->loop()}, view->client_.sockets));
  view->cluster_ = client::Cluster::Make(view->servers_, {.attempts = kAttempts});
  return view;
}

ClusterView::~ClusterView() {
  if (servers_ != nullptr) servers_->Close();
}

Result<client::ClusterInfo> ClusterView::Servers() {
  return io::SyncWait(loop(), client::Admin(cluster_).DescribeCluster(loop()));
}

Result<std::map<std::string, std::string>> ClusterView::Configs() {
  return io::SyncWait(loop(), client::Admin(cluster_).DescribeConfigs(loop()));
}

Result<std::vector<types::TablePath>> ClusterView::Tables() {
  client::Admin admin(cluster_);
  std::vector<types::TablePath> paths;
  ASSIGN_OR_RAISE(const auto databases, io::SyncWait(loop(), admin.ListDatabases(loop())));
  for (const std::string& database : databases) {
    ASSIGN_OR_RAISE(const auto tables, io::SyncWait(loop(), admin.ListTables(loop(), database)));
    for (const std::string& table : tables) paths.push_back({database, table});
  }
  std::ranges::sort(paths);
  return paths;
}

Result<TableView> ClusterView::Table(const types::TablePath& path) {
  client::Admin admin(cluster_);
  TableView table;
  ASSIGN_OR_RAISE(table.info, io::SyncWait(loop(), admin.GetTable(loop(), path)));
  if (!table.info.descriptor.partitioned()) return table;
  ASSIGN_OR_RAISE(table.partitions, io::SyncWait(loop(), admin.ListPartitions(loop(), path, {})));
  return table;
}

Status ClusterView::AddSchemas(TableView* table) {
  for (int32_t id = 1; id <= table->info.schema_id; ++id) {
    ASSIGN_OR_RAISE(table->schemas[id],
                    io::SyncWait(loop(), cluster_->Schema(loop(), table->info.path, id)));
  }
  return Status::OK();
}

Result<TableView> ClusterView::TableWithBuckets(const types::TablePath& path) {
  ASSIGN_OR_RAISE(TableView table, Table(path));
  if (!table.info.descriptor.partitioned()) RETURN_NOT_OK(AddBuckets(&table, "", std::nullopt));
  for (const types::PartitionInfo& partition : table.partitions)
    RETURN_NOT_OK(AddBuckets(&table, partition.Name(), partition.partition_id));
  AddLake(&table);
  return table;
}

Status ClusterView::AddBuckets(TableView* table, const std::string& partition,
                               std::optional<int64_t> partition_id) {
  const types::TablePath& path = table->info.path;
  std::vector<int32_t> leaders;
  if (partition_id.has_value()) {
    const auto meta = io::SyncWait(loop(), cluster_->Partition(loop(), path, partition));
    if (CodeOf(meta.status()) == ErrorCode::kPartitionNotExists) return Status::OK();  // By now.
    RETURN_NOT_OK(meta);
    leaders = (*meta)->leaders;
  } else {
    ASSIGN_OR_RAISE(const auto meta, io::SyncWait(loop(), cluster_->Table(loop(), path)));
    leaders = meta->leaders;
  }
  leaders.resize(static_cast<size_t>(table->info.descriptor.bucket_count.value_or(1)), -1);
  std::vector<BucketView> buckets;
  for (size_t i = 0; i < leaders.size(); ++i) {
    buckets.push_back({.partition = partition,
                       .partition_id = partition_id,
                       .bucket = static_cast<int32_t>(i),
                       .leader = leaders[i]});
  }
  AddOffsets(*table, &buckets);
  std::ranges::move(buckets, std::back_inserter(table->buckets));
  return Status::OK();
}

// The end is asked for last, so that nothing is past it.
void ClusterView::AddOffsets(const TableView& table, std::vector<BucketView>* buckets) {
  struct Question {
    client::OffsetType type;
    client::OffsetView view;
    std::optional<int64_t> BucketView::* answer;
  };
  constexpr Question kQuestions[] = {
      {client::OffsetType::kEarliest, client::OffsetView::kReader, &BucketView::log_start},
      {client::OffsetType::kLatest, client::OffsetView::kReader, &BucketView::high_watermark},
      {client::OffsetType::kLatest, client::OffsetView::kLog, &BucketView::log_end},
  };
  std::vector<int32_t> numbers;
  for (const BucketView& bucket : *buckets) numbers.push_back(bucket.bucket);
  for (const Question& question : kQuestions) {
    const auto offsets = io::SyncWait(
        loop(), client::Admin(cluster_).ListOffsets(
                    loop(), table.info.path, table.info.table_id, buckets->front().partition_id,
                    numbers, question.type, /*timestamp_ms=*/0, question.view));
    for (BucketView& bucket : *buckets) {
      if (!offsets.ok()) {
        bucket.error = offsets.status().message();
      } else if (const auto found = offsets->find(bucket.bucket); found != offsets->end()) {
        bucket.*question.answer = found->second;
      }
    }
    if (!offsets.ok()) return;
  }
}

void ClusterView::AddLake(TableView* table) {
  const auto lake = io::SyncWait(loop(), client::Admin(cluster_).GetLakeSnapshot(
                                             loop(), table->info.path, std::nullopt, false));
  if (CodeOf(lake.status()) == ErrorCode::kLakeSnapshotNotExist) return;
  if (!lake.ok()) {
    for (BucketView& bucket : table->buckets) {
      if (bucket.error.empty()) bucket.error = lake.status().message();
    }
    return;
  }
  table->lake_snapshot_id = lake->snapshot_id;
  std::map<std::pair<std::optional<int64_t>, int32_t>, int64_t> offsets;
  for (const client::LakeBucketOffset& offset : lake->buckets) {
    if (offset.log_end_offset >= 0)
      offsets[{offset.partition_id, offset.bucket}] = offset.log_end_offset;
  }
  for (BucketView& bucket : table->buckets) {
    const auto found = offsets.find({bucket.partition_id, bucket.bucket});
    if (found != offsets.end()) bucket.lake_offset = found->second;
  }
}

types::TablePath PathOf(const std::string& text) {
  const size_t dot = text.find('.');
  return dot == std::string::npos ? types::TablePath{"fluss", text}
                                  : types::TablePath{text.substr(0, dot), text.substr(dot + 1)};
}

}  // namespace sluice::app
