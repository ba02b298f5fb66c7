#include "server/metadata_service.h"

#include "base/testing.h"
#include "coordinator/catalog_reads.h"
#include "io/sim/sim_file_system.h"
#include "io/sim/sim_world.h"
#include "meta/memory_store.h"
#include "server/metadata_replies_internal.h"
#include "types/kv_snapshot.h"
#include "wire/api.h"
#include "wire/frame.h"
#include "wire/proto/cluster.pb.h"
#include "wire/proto/database.pb.h"
#include "wire/proto/lake.pb.h"
#include "wire/proto/metadata.pb.h"
#include "wire/proto/partition.pb.h"
#include "wire/proto/snapshot.pb.h"
#include "wire/proto/table.pb.h"

namespace sluice::server {
namespace {

using types::DataType;
using types::TablePath;
using types::TypeKind;
using wire::ApiKey;

types::TableDescriptor OrdersDescriptor(bool partitioned, bool lake) {
  types::TableDescriptor descriptor;
  descriptor.schema.columns = {{.name = "id", .type = DataType::Of(TypeKind::kInteger, false)},
                               {.name = "day", .type = DataType::Of(TypeKind::kString)}};
  EXPECT_OK(descriptor.schema.AssignIds());
  descriptor.bucket_count = 2;
  if (partitioned) descriptor.partition_keys = {"day"};
  descriptor.properties = {{"table.replication.factor", "1"}};
  if (lake) descriptor.properties["table.datalake.enabled"] = "true";
  return descriptor;
}

std::vector<meta::BucketState> TwoBuckets() {
  return {{.replicas = {3}, .leader = 3, .isr = {3}, .leader_epoch = 5},
          {.replicas = {3}, .leader = -1, .isr = {}}};
}

struct MetadataServiceTest : testing::Test {
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(catalog, meta::Catalog::Open(*store, world.clock()));
    Create("orders", false, false);
    Create("lake_orders", false, true);
    Create("days", true, false);
    ASSERT_OK_AND_ASSIGN(const auto first,
                         catalog->CreatePartition({"fluss", "days"}, {"mon"}, TwoBuckets(), ""));
    partition_id = first->info.partition_id;
    ASSERT_OK(catalog->CreatePartition({"fluss", "days"}, {"tue"}, TwoBuckets(), ""));
    membership.Set(
        {.coordinator = {{0, {{"CLIENT", "10.0.0.1", 9123}, {"INNER", "10.1.0.1", 8123}}}},
         .tablet_servers = {{3, {{"CLIENT", "10.0.0.1", 9124}}}}});
    coordinator::ClusterSettings settings;
    settings.lake_format = "paimon";
    service = std::make_unique<MetadataService>(MetadataService::Options{
        .catalog = catalog.get(),
        .membership = &membership,
        .files = &files,
        .pool = pool.get(),
        .settings = settings,
        .lake_properties = {{"warehouse", "/wh"}, {"s3.access-key", "hidden"}},
        .configs = &configs});
  }
  void Create(const std::string& name, bool partitioned, bool lake) {
    ASSERT_OK(catalog->CreateTable(
        {.path = {"fluss", name},
         .descriptor = OrdersDescriptor(partitioned, lake),
         .buckets = partitioned ? std::vector<meta::BucketState>{} : TwoBuckets(),
         .remote_data_dir = "/remote"}));
  }

  template <typename Response, typename Request>
  Result<Response> Ask(ApiKey key, const Request& request, const std::string& listener = "CLIENT") {
    auto principal = std::make_shared<io::Principal>();
    principal->listener = listener;
    const auto answered = io::SyncWait(
        loop,
        service->Handle(loop, principal, {static_cast<int16_t>(key), 0, wire::Serialize(request)}));
    RETURN_NOT_OK(answered.status());
    ASSIGN_OR_RAISE(const std::string body, answered->Flatten());
    return wire::ParseMessage<Response>(body);
  }
  Result<wire::MetadataResponse> Metadata(const wire::MetadataRequest& request,
                                          const std::string& listener = "CLIENT") {
    return Ask<wire::MetadataResponse>(ApiKey::kGetMetadata, request, listener);
  }
  static wire::MetadataRequest About(const std::string& table) {
    wire::MetadataRequest request;
    auto* path = request.add_table_path();
    path->set_database_name("fluss");
    path->set_table_name(table);
    return request;
  }
  template <typename Request>
  static Request Named(const std::string& table) {
    Request request;
    request.mutable_table_path()->set_database_name("fluss");
    request.mutable_table_path()->set_table_name(table);
    return request;
  }

  io::SimWorld world{1};
  io::Loop& loop = world.NewLoop();
  io::SimFileSystem files{world.clock()};
  std::unique_ptr<io::Pool> pool = world.NewPool({.name = "read"});
  std::unique_ptr<meta::MetaStore> store = meta::NewMemoryMetaStore();
  std::unique_ptr<meta::Catalog> catalog;
  Membership membership;
  const coordinator::ClusterConfigs configs{{{"data.dir", "/data"}, {"fs.s3.secret", "x"}},
                                            nullptr};
  std::unique_ptr<MetadataService> service;
  int64_t partition_id = -1;
};

TEST_F(MetadataServiceTest, ServersAreNamedByTheListenerOfTheCaller) {
  ASSERT_OK_AND_ASSIGN(const auto by_client, Metadata({}));
  EXPECT_EQ(by_client.coordinator_server().node_id(), 0);
  EXPECT_EQ(by_client.coordinator_server().host(), "10.0.0.1");
  EXPECT_EQ(by_client.coordinator_server().port(), 9123);
  ASSERT_EQ(by_client.tablet_servers_size(), 1);
  EXPECT_EQ(by_client.tablet_servers(0).node_id(), 3);
  EXPECT_EQ(by_client.tablet_servers(0).port(), 9124);
  EXPECT_FALSE(by_client.tablet_servers(0).has_listeners());
  EXPECT_EQ(by_client.table_metadata_size(), 0);

  ASSERT_OK_AND_ASSIGN(const auto by_inner, Metadata({}, "INNER"));
  EXPECT_EQ(by_inner.coordinator_server().port(), 8123);
  EXPECT_EQ(by_inner.tablet_servers_size(), 0);

  ASSERT_OK_AND_ASSIGN(const auto in_process, Metadata({}, ""));
  EXPECT_EQ(in_process.coordinator_server().port(), 9123);
  EXPECT_EQ(in_process.tablet_servers_size(), 1);
}

TEST_F(MetadataServiceTest, ATableComesWithItsBuckets) {
  ASSERT_OK_AND_ASSIGN(const auto response, Metadata(About("orders")));
  ASSERT_EQ(response.table_metadata_size(), 1);
  const auto& table = response.table_metadata(0);
  EXPECT_EQ(table.table_path().table_name(), "orders");
  EXPECT_EQ(table.schema_id(), 1);
  EXPECT_EQ(table.remote_data_dir(), "/remote");
  ASSERT_EQ(table.bucket_metadata_size(), 2);
  EXPECT_EQ(table.bucket_metadata(0).leader_id(), 3);
  EXPECT_EQ(table.bucket_metadata(0).leader_epoch(), 5);
  EXPECT_EQ(table.bucket_metadata(0).replica_id(0), 3);
  EXPECT_FALSE(table.bucket_metadata(1).has_leader_id());
  ASSERT_OK_AND_ASSIGN(const auto descriptor, types::TableDescriptor::FromJson(table.table_json()));
  EXPECT_EQ(descriptor.bucket_count, 2);
}

// A few bytes of a request ask for thousands of the answer.
TEST_F(MetadataServiceTest, AskedTwiceIsAnsweredOnceAndTheAnswerIsBounded) {
  wire::MetadataRequest request;
  for (int i = 0; i < 3; ++i) {
    for (const char* name : {"orders", "days"}) {
      auto* path = request.add_table_path();
      path->set_database_name("fluss");
      path->set_table_name(name);
    }
    auto* partition = request.add_partitions_path();
    partition->set_database_name("fluss");
    partition->set_table_name("days");
    partition->set_partition_name("mon");
    request.add_partitions_id(partition_id);
  }
  const auto answer = [&](uint64_t bytes_max) {
    return MetadataReply(*catalog->state(), *membership.Get(), "CLIENT", {}, request, bytes_max);
  };
  ASSERT_OK_AND_ASSIGN(const auto reply, answer(kMetadataReplyBytesMax));
  EXPECT_EQ(reply.table_metadata_size(), 2);
  EXPECT_EQ(reply.partition_metadata_size(), 1);
  EXPECT_OK(answer(reply.ByteSizeLong()));
  EXPECT_CODE(ErrorCode::kRecordTooLarge, answer(reply.table_metadata(0).ByteSizeLong()));
}

TEST_F(MetadataServiceTest, UnknownNamesHaveTheCodesThatWritersBranchOn) {
  EXPECT_CODE(ErrorCode::kTableNotExist, Metadata(About("nothing")));
  wire::MetadataRequest by_path;
  auto* path = by_path.add_partitions_path();
  path->set_database_name("fluss");
  path->set_table_name("days");
  path->set_partition_name("sun");
  EXPECT_CODE(ErrorCode::kPartitionNotExists, Metadata(by_path));
  wire::MetadataRequest by_id = About("days");
  by_id.add_partitions_id(partition_id + 1000);
  EXPECT_CODE(ErrorCode::kPartitionNotExists, Metadata(by_id));
}

TEST_F(MetadataServiceTest, OnlyPartitionsThatWereAskedForComeBack) {
  ASSERT_OK_AND_ASSIGN(const auto table_only, Metadata(About("days")));
  EXPECT_EQ(table_only.partition_metadata_size(), 0);
  wire::MetadataRequest request = About("days");
  request.add_partitions_id(partition_id);
  ASSERT_OK_AND_ASSIGN(const auto response, Metadata(request));
  ASSERT_EQ(response.partition_metadata_size(), 1);
  EXPECT_EQ(response.partition_metadata(0).partition_name(), "mon");
  EXPECT_EQ(response.partition_metadata(0).bucket_metadata_size(), 2);
  EXPECT_EQ(response.partition_metadata(0).bucket_count(), 2);
  wire::MetadataRequest without_table;
  without_table.add_partitions_id(partition_id);
  EXPECT_CODE(ErrorCode::kPartitionNotExists, Metadata(without_table));
}

TEST_F(MetadataServiceTest, LakeTablesShowTheCatalogsPropertiesButNoSecrets) {
  const auto json_of = [&](const std::string& table) {
    const auto info = Ask<wire::GetTableInfoResponse>(ApiKey::kGetTableInfo,
                                                      Named<wire::GetTableInfoRequest>(table));
    EXPECT_OK(info);
    return types::TableDescriptor::FromJson(info->table_json()).ValueOrDie();
  };
  const auto lake = json_of("lake_orders");
  EXPECT_EQ(lake.Property("table.datalake.paimon.warehouse"), "/wh");
  EXPECT_FALSE(lake.properties.contains("table.datalake.paimon.s3.access-key"));
  EXPECT_FALSE(json_of("orders").properties.contains("table.datalake.paimon.warehouse"));
}

TEST_F(MetadataServiceTest, ListsAndExistence) {
  ASSERT_OK_AND_ASSIGN(const auto names, Ask<wire::ListDatabasesResponse>(
                                             ApiKey::kListDatabases, wire::ListDatabasesRequest()));
  EXPECT_THAT(names.database_name(), testing::ElementsAre("fluss"));
  wire::ListDatabasesRequest with_summary;
  with_summary.set_include_summary(true);
  ASSERT_OK_AND_ASSIGN(const auto summaries,
                       Ask<wire::ListDatabasesResponse>(ApiKey::kListDatabases, with_summary));
  ASSERT_EQ(summaries.database_summary_size(), 1);
  EXPECT_EQ(summaries.database_summary(0).table_count(), 3);
  EXPECT_EQ(summaries.database_name_size(), 0);

  wire::ListTablesRequest tables;
  tables.set_database_name("fluss");
  ASSERT_OK_AND_ASSIGN(const auto listed,
                       Ask<wire::ListTablesResponse>(ApiKey::kListTables, tables));
  EXPECT_THAT(listed.table_name(), testing::ElementsAre("days", "lake_orders", "orders"));
  tables.set_database_name("nothing");
  EXPECT_CODE(ErrorCode::kDatabaseNotExist,
              Ask<wire::ListTablesResponse>(ApiKey::kListTables, tables));

  ASSERT_OK_AND_ASSIGN(const auto there,
                       Ask<wire::TableExistsResponse>(ApiKey::kTableExists,
                                                      Named<wire::TableExistsRequest>("orders")));
  EXPECT_TRUE(there.exists());
  ASSERT_OK_AND_ASSIGN(const auto absent,
                       Ask<wire::TableExistsResponse>(ApiKey::kTableExists,
                                                      Named<wire::TableExistsRequest>("nothing")));
  EXPECT_FALSE(absent.exists());
}

TEST_F(MetadataServiceTest, SchemasComeByIdOrNewest) {
  auto request = Named<wire::GetTableSchemaRequest>("orders");
  ASSERT_OK_AND_ASSIGN(const auto newest,
                       Ask<wire::GetTableSchemaResponse>(ApiKey::kGetTableSchema, request));
  EXPECT_EQ(newest.schema_id(), 1);
  EXPECT_OK(types::Schema::FromJson(newest.schema_json()));
  request.set_schema_id(9);
  EXPECT_CODE(ErrorCode::kSchemaNotExist,
              Ask<wire::GetTableSchemaResponse>(ApiKey::kGetTableSchema, request));
}

TEST_F(MetadataServiceTest, PartitionsAreListedAndFiltered) {
  auto request = Named<wire::ListPartitionInfosRequest>("days");
  ASSERT_OK_AND_ASSIGN(const auto all,
                       Ask<wire::ListPartitionInfosResponse>(ApiKey::kListPartitionInfos, request));
  EXPECT_EQ(all.partitions_info_size(), 2);
  EXPECT_EQ(all.partitions_info(0).bucket_count(), 2);
  auto* pair = request.mutable_partial_partition_spec()->add_partition_key_values();
  pair->set_key("day");
  pair->set_value("tue");
  ASSERT_OK_AND_ASSIGN(const auto one,
                       Ask<wire::ListPartitionInfosResponse>(ApiKey::kListPartitionInfos, request));
  ASSERT_EQ(one.partitions_info_size(), 1);
  EXPECT_EQ(one.partitions_info(0).partition_spec().partition_key_values(0).value(), "tue");
  pair->set_key("id");
  EXPECT_CODE(ErrorCode::kPartitionSpecInvalid,
              Ask<wire::ListPartitionInfosResponse>(ApiKey::kListPartitionInfos, request));
  EXPECT_CODE(ErrorCode::kTableNotPartitioned,
              Ask<wire::ListPartitionInfosResponse>(
                  ApiKey::kListPartitionInfos, Named<wire::ListPartitionInfosRequest>("orders")));
}

TEST_F(MetadataServiceTest, ATableNeverTieredHasNoLakeSnapshot) {
  EXPECT_CODE(ErrorCode::kLakeSnapshotNotExist,
              Ask<wire::GetLakeSnapshotResponse>(
                  ApiKey::kGetLakeSnapshot, Named<wire::GetLakeSnapshotRequest>("lake_orders")));
}

TEST_F(MetadataServiceTest, TheRestAnswersAsTheDocumentsSay) {
  ASSERT_OK_AND_ASSIGN(const auto token, Ask<wire::GetFileSystemSecurityTokenResponse>(
                                             ApiKey::kGetFileSystemSecurityToken,
                                             wire::GetFileSystemSecurityTokenRequest()));
  EXPECT_EQ(token.schema(), "file");
  EXPECT_FALSE(token.has_expiration_time());
  ASSERT_OK_AND_ASSIGN(const auto health,
                       Ask<wire::GetClusterHealthResponse>(ApiKey::kGetClusterHealth,
                                                           wire::GetClusterHealthRequest()));
  EXPECT_EQ(health.num_replicas(), 8);
  EXPECT_EQ(health.active_leader_replicas(), 4);
  EXPECT_EQ(health.status(), 2);
  ASSERT_OK_AND_ASSIGN(const auto configs,
                       Ask<wire::DescribeClusterConfigsResponse>(
                           ApiKey::kDescribeClusterConfigs, wire::DescribeClusterConfigsRequest()));
  ASSERT_EQ(configs.configs_size(), 2);
  EXPECT_EQ(configs.configs(0).config_value(), "/data");
  EXPECT_NE(configs.configs(1).config_value(), "x");
  EXPECT_CODE(
      ErrorCode::kNonPrimaryKeyTable,
      Ask<wire::GetLatestKvSnapshotsResponse>(ApiKey::kGetLatestKvSnapshots,
                                              Named<wire::GetLatestKvSnapshotsRequest>("orders")));
  EXPECT_CODE(ErrorCode::kUnsupportedVersion,
              Ask<wire::TableExistsResponse>(ApiKey::kProduceLog,
                                             Named<wire::TableExistsRequest>("orders")));
}

TEST_F(MetadataServiceTest, KvSnapshotsAreListedWithTheirFiles) {
  auto descriptor = OrdersDescriptor(false, false);
  descriptor.schema.primary_key = {"id"};
  ASSERT_OK_AND_ASSIGN(const auto table, catalog->CreateTable({.path = {"fluss", "keys"},
                                                               .descriptor = descriptor,
                                                               .buckets = TwoBuckets(),
                                                               .remote_data_dir = "/remote"}));
  types::KvSnapshot snapshot;
  snapshot.bucket = {.table_id = table->info.table_id, .bucket = 1};
  snapshot.snapshot_id = 3;
  snapshot.log_offset = 40;
  snapshot.private_files = {{"file:/remote/snap-3/CURRENT", 16, "CURRENT"}};
  snapshot.shared_files = {{"file:/remote/shared/3-000009.sst", 100, "000009.sst"}};
  ASSERT_OK(files.MakeFolders("/remote"));
  ASSERT_OK(files.ReplaceFile("/remote/whole", snapshot.ToJson()));
  ASSERT_OK(catalog->RecordKvSnapshot(snapshot.bucket,
                                      meta::KvSnapshotEntry{3, 40, "file:/remote/whole"}, {}));
  ASSERT_OK(catalog->RecordKvSnapshot(snapshot.bucket,
                                      meta::KvSnapshotEntry{4, 50, "file:/remote/gone"}, {}));

  ASSERT_OK_AND_ASSIGN(const auto latest, Ask<wire::GetLatestKvSnapshotsResponse>(
                                              ApiKey::kGetLatestKvSnapshots,
                                              Named<wire::GetLatestKvSnapshotsRequest>("keys")));
  ASSERT_EQ(latest.latest_snapshots_size(), 2);
  EXPECT_FALSE(latest.latest_snapshots(0).has_snapshot_id());
  EXPECT_FALSE(latest.latest_snapshots(0).has_log_offset());
  EXPECT_EQ(latest.latest_snapshots(1).snapshot_id(), 4);
  EXPECT_EQ(latest.latest_snapshots(1).log_offset(), 50);

  wire::GetKvSnapshotMetadataRequest request;
  request.set_table_id(table->info.table_id);
  request.set_bucket_id(1);
  request.set_snapshot_id(3);
  ASSERT_OK_AND_ASSIGN(const auto metadata, Ask<wire::GetKvSnapshotMetadataResponse>(
                                                ApiKey::kGetKvSnapshotMetadata, request));
  EXPECT_EQ(metadata.log_offset(), 40);
  ASSERT_EQ(metadata.snapshot_files_size(), 2);
  EXPECT_EQ(metadata.snapshot_files(0).local_file_name(), "CURRENT");
  EXPECT_EQ(metadata.snapshot_files(1).remote_path(), "file:/remote/shared/3-000009.sst");
  for (const int64_t missing : {2, 4}) {  // Never made, and with a file that is not there.
    request.set_snapshot_id(missing);
    EXPECT_CODE(ErrorCode::kKvSnapshotNotExist,
                Ask<wire::GetKvSnapshotMetadataResponse>(ApiKey::kGetKvSnapshotMetadata, request));
  }
}

TEST(SecretsTest, AreKnownByTheirKeysHoweverTheyAreWritten) {
  for (const char* key : {"s3.access-key", "s3.secret.key", "fs.oss.accessKeySecret", "dlf.Token",
                          "jdbc.PASSWORD", "azure.credential", "fs.azure.account.key.name"}) {
    EXPECT_TRUE(coordinator::IsSecret(key)) << key;
  }
  for (const char* key : {"warehouse", "metastore", "data.dir", "http.port", "table.type"}) {
    EXPECT_FALSE(coordinator::IsSecret(key)) << key;
  }
}

}  // namespace
}  // namespace sluice::server
