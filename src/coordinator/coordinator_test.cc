#include "coordinator/coordinator.h"

#include "coordinator/catalog_reads.h"
#include "coordinator/coordinator_testing.h"
#include "meta/lake_offsets.h"
#include "wire/proto/acl.pb.h"
#include "wire/proto/snapshot.pb.h"

namespace sluice::coordinator {
namespace {

using types::DataType;
using types::TablePath;
using types::TypeKind;
using wire::ApiKey;

const TablePath kPath{"fluss", "t"};

class CoordinatorTest : public testing::Test {
 protected:
  CoordinatorTest() { h_.Start(); }
  meta::TablePtr Table(const TablePath& path = kPath) { return h_.state()->FindTable(path); }
  Harness h_;
};

TEST_F(CoordinatorTest, CreatesDatabasesOnce) {
  EXPECT_OK(h_.CreateDatabase("db"));
  EXPECT_CODE(ErrorCode::kDatabaseAlreadyExist, h_.CreateDatabase("db"));
  EXPECT_OK(h_.CreateDatabase("db", /*ignore=*/true));
  for (const char* name : {"", "__x", "a b", ".."}) {
    SCOPED_TRACE(name);
    EXPECT_CODE(ErrorCode::kInvalidDatabase, h_.CreateDatabase(name));
  }
  wire::CreateDatabaseRequest broken;
  broken.set_database_name("other");
  broken.set_ignore_if_exists(false);
  broken.set_database_json("{nonsense");
  EXPECT_CODE(ErrorCode::kInvalidDatabase, h_.Call(ApiKey::kCreateDatabase, broken));
}

TEST_F(CoordinatorTest, AltersDatabases) {
  wire::AlterDatabaseRequest request;
  request.set_database_name("db");
  request.set_ignore_if_not_exists(false);
  request.set_comment("new");
  auto* set = request.add_config_changes();
  set->set_config_key("k");
  set->set_config_value("v");
  set->set_op_type(0);
  EXPECT_CODE(ErrorCode::kDatabaseNotExist, h_.Call(ApiKey::kAlterDatabase, request));
  ASSERT_OK(h_.CreateDatabase("db"));
  ASSERT_OK(h_.Call(ApiKey::kAlterDatabase, request));
  EXPECT_EQ(h_.state()->FindDatabase("db")->descriptor.comment, "new");
  EXPECT_EQ(h_.state()->FindDatabase("db")->descriptor.custom_properties.at("k"), "v");
  set->set_op_type(2);
  EXPECT_CODE(ErrorCode::kInvalidConfig, h_.Call(ApiKey::kAlterDatabase, request));
}

TEST_F(CoordinatorTest, DropsDatabases) {
  EXPECT_CODE(ErrorCode::kUnknownServer, h_.DropDatabase("fluss", false));
  EXPECT_CODE(ErrorCode::kDatabaseNotExist, h_.DropDatabase("db", false));
  EXPECT_OK(h_.DropDatabase("db", false, /*ignore=*/true));
  ASSERT_OK(h_.CreateDatabase("db"));
  ASSERT_OK(h_.CreateTable({"db", "t"}, LogTable()));
  EXPECT_CODE(ErrorCode::kDatabaseNotEmpty, h_.DropDatabase("db", false));
  EXPECT_EQ(h_.tablet->files.size(), 1u);
  EXPECT_OK(h_.DropDatabase("db", /*cascade=*/true));
  EXPECT_TRUE(h_.tablet->files.empty());
  EXPECT_TRUE(h_.state()->intents.empty());
}

TEST_F(CoordinatorTest, ACreatedTableIsLedWhenTheReplyComes) {
  auto descriptor = LogTable();
  descriptor.bucket_count = 4;
  ASSERT_OK(h_.CreateTable(kPath, descriptor));
  const auto table = Table();
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->buckets.size(), 4u);
  EXPECT_EQ(table->info.remote_data_dir, "/remote");
  EXPECT_EQ(h_.tablet->replicas.size(), 4u);
  const auto& told = h_.tablet->replicas.at({table->info.table_id, std::nullopt, 2});
  EXPECT_EQ(told.physical_table_path().table_name(), "t");
  EXPECT_EQ(told.leader(), 0);
  EXPECT_EQ(told.leader_epoch(), 0);
  EXPECT_EQ(told.bucket_epoch(), 0);
  EXPECT_EQ(h_.tablet->tables.at(table->info.table_id).ToJson(), table->info.descriptor.ToJson());
  EXPECT_TRUE(h_.lake.tables.empty());
}

TEST_F(CoordinatorTest, RefusesBucketsThatTheMachineHasNoRoomFor) {
  h_.Stop();
  h_.settings.check_room = [](int64_t buckets) {
    return buckets <= 4 ? Status::OK() : Error(ErrorCode::kBucketMaxNum, "no room");
  };
  h_.Start();
  auto descriptor = LogTable();
  descriptor.bucket_count = 5;
  EXPECT_CODE(ErrorCode::kBucketMaxNum, h_.CreateTable(kPath, descriptor));
  EXPECT_EQ(Table(), nullptr);
  descriptor.bucket_count = 4;
  EXPECT_OK(h_.CreateTable(kPath, descriptor));
  h_.Stop();
  h_.settings.check_room = [](int64_t) { return Error(ErrorCode::kBucketMaxNum, "no room"); };
  h_.Start();
  EXPECT_OK(h_.CreateTable(kPath, descriptor, /*ignore=*/true));  // It is there.
}

TEST_F(CoordinatorTest, RefusesTablesWithTheDocumentedCodes) {
  ASSERT_OK(h_.CreateTable(kPath, LogTable()));
  EXPECT_CODE(ErrorCode::kTableAlreadyExist, h_.CreateTable(kPath, LogTable()));
  EXPECT_OK(h_.CreateTable(kPath, KeyTable(), /*ignore=*/true));
  EXPECT_FALSE(Table()->info.descriptor.has_primary_key());
  EXPECT_CODE(ErrorCode::kDatabaseNotExist, h_.CreateTable({"none", "t"}, LogTable()));
  EXPECT_CODE(ErrorCode::kInvalidTable, h_.CreateTable({"fluss", "__t"}, LogTable()));
  auto replicated = LogTable();
  replicated.properties["table.replication.factor"] = "2";
  EXPECT_CODE(ErrorCode::kInvalidReplicationFactor, h_.CreateTable({"fluss", "u"}, replicated));
  auto unknown = LogTable();
  unknown.properties["table.colour"] = "red";
  EXPECT_CODE(ErrorCode::kInvalidConfig, h_.CreateTable({"fluss", "u"}, unknown));
  wire::CreateTableRequest broken;
  Harness::SetPath({"fluss", "u"}, broken.mutable_table_path());
  broken.set_table_json("[]");
  broken.set_ignore_if_exists(false);
  EXPECT_CODE(ErrorCode::kInvalidTable, h_.Call(ApiKey::kCreateTable, broken));
  EXPECT_EQ(h_.state()->tables_by_id.size(), 1u);
}

TEST_F(CoordinatorTest, ALakeTableIsMadeOnBothSides) {
  ASSERT_OK(h_.CreateTable(kPath, InLake(KeyTable())));
  ASSERT_TRUE(h_.lake.tables.contains(kPath));
  EXPECT_EQ(h_.lake.tables.at(kPath).descriptor.ToJson(), Table()->info.descriptor.ToJson());
  ASSERT_OK(h_.DropTable(kPath));
  EXPECT_TRUE(h_.lake.tables.contains(kPath));           // Lake data stays.
  ASSERT_OK(h_.CreateTable(kPath, InLake(KeyTable())));  // Taken up again, since it is empty.
  ASSERT_OK(h_.DropTable(kPath));
  h_.lake.tables.at(kPath).has_snapshot = true;
  EXPECT_CODE(ErrorCode::kLakeTableAlreadyExist, h_.CreateTable(kPath, InLake(KeyTable())));
  EXPECT_EQ(Table(), nullptr);
  auto refused = InLake(LogTable());
  refused.custom_properties["paimon.bucket"] = "3";
  EXPECT_CODE(ErrorCode::kInvalidConfig, h_.CreateTable({"fluss", "u"}, refused));
  EXPECT_TRUE(h_.state()->intents.empty());
}

TEST(CoordinatorWithoutLakeTest, RefusesLakeTables) {
  Harness h;
  h.with_lake = false;
  h.settings.lake_enabled = false;
  h.settings.lake_format.clear();
  h.Start();
  EXPECT_CODE(ErrorCode::kInvalidTable, h.CreateTable(kPath, InLake(LogTable())));
  ASSERT_OK(h.CreateTable(kPath, LogTable()));
  EXPECT_CODE(ErrorCode::kInvalidAlterTable, h.SetOption(kPath, "table.datalake.enabled", "true"));
}

TEST_F(CoordinatorTest, DroppingATableDeletesItsReplicas) {
  ASSERT_OK(h_.CreateTable(kPath, LogTable()));
  EXPECT_EQ(h_.tablet->files.size(), 1u);
  ASSERT_OK(h_.DropTable(kPath));
  EXPECT_TRUE(h_.tablet->files.empty());
  EXPECT_CODE(ErrorCode::kTableNotExist, h_.DropTable(kPath));
  EXPECT_OK(h_.DropTable(kPath, /*ignore=*/true));
}

TEST_F(CoordinatorTest, AddsNullableColumnsAtTheEnd) {
  ASSERT_OK(h_.CreateTable(kPath, InLake(LogTable())));
  ASSERT_OK(h_.AddColumn(kPath, "extra",
                         DataType::Row({{.name = "x", .type = DataType::Of(TypeKind::kInteger)}})));
  const auto table = Table();
  EXPECT_EQ(table->info.schema_id, 2);
  const types::Column& added = table->info.descriptor.schema.columns.back();
  EXPECT_EQ(added.name, "extra");
  EXPECT_EQ(added.id, 2);
  EXPECT_EQ(added.type->fields()[0].field_id, 3);
  EXPECT_EQ(table->info.descriptor.schema.highest_field_id, 3);
  EXPECT_EQ(h_.lake.tables.at(kPath).descriptor.schema.columns.size(), 3u);
  EXPECT_EQ(h_.tablet->tables.at(table->info.table_id).schema.columns.size(), 3u);

  EXPECT_CODE(ErrorCode::kInvalidAlterTable,
              h_.AddColumn(kPath, "extra", DataType::Of(TypeKind::kInteger)));
  EXPECT_CODE(ErrorCode::kUnknownServer,
              h_.AddColumn(kPath, "strict", DataType::Of(TypeKind::kInteger, false)));
  EXPECT_CODE(ErrorCode::kInvalidTable,
              h_.AddColumn(kPath, "__offset", DataType::Of(TypeKind::kInteger)));
  EXPECT_CODE(ErrorCode::kTableNotExist,
              h_.AddColumn({"fluss", "u"}, "x", DataType::Of(TypeKind::kInteger)));
  EXPECT_EQ(Table()->info.schema_id, 2);
}

TEST_F(CoordinatorTest, RefusesOtherSchemaChanges) {
  ASSERT_OK(h_.CreateTable(kPath, LogTable()));
  auto drop = Harness::Alter(kPath);
  drop.add_drop_columns()->set_column_name("name");
  EXPECT_CODE(ErrorCode::kUnknownServer, h_.Call(ApiKey::kAlterTable, drop));
  auto first = Harness::Alter(kPath);
  auto* column = first.add_add_columns();
  column->set_column_name("x");
  column->set_data_type_json(DataType::Of(TypeKind::kInteger)->ToJson());
  column->set_column_position_type(1);
  EXPECT_CODE(ErrorCode::kUnknownServer, h_.Call(ApiKey::kAlterTable, first));
  auto both = Harness::Alter(kPath);
  *both.add_add_columns() = *column;
  both.mutable_add_columns(0)->set_column_position_type(0);
  auto* config = both.add_config_changes();
  config->set_config_key("k");
  config->set_config_value("v");
  config->set_op_type(0);
  EXPECT_CODE(ErrorCode::kInvalidAlterTable, h_.Call(ApiKey::kAlterTable, both));
  auto buckets = Harness::Alter(kPath);
  buckets.mutable_modify_bucket_count()->set_new_bucket_count(9);
  EXPECT_CODE(ErrorCode::kInvalidAlterTable, h_.Call(ApiKey::kAlterTable, buckets));
  auto broken = Harness::Alter(kPath);
  *broken.add_add_columns() = both.add_columns(0);
  broken.mutable_add_columns(0)->set_data_type_json("{}");
  EXPECT_CODE(ErrorCode::kInvalidTable, h_.Call(ApiKey::kAlterTable, broken));
}

TEST_F(CoordinatorTest, AltersOptions) {
  ASSERT_OK(h_.CreateTable(kPath, LogTable()));
  EXPECT_OK(h_.SetOption(kPath, "table.log.ttl", "1 d"));
  EXPECT_OK(h_.SetOption(kPath, "owner", "me"));
  EXPECT_EQ(Table()->info.descriptor.Property("table.log.ttl"), "1 d");
  EXPECT_EQ(Table()->info.schema_id, 1);
  EXPECT_CODE(ErrorCode::kInvalidAlterTable,
              h_.SetOption(kPath, "table.datalake.freshness", "5 s"));
  EXPECT_CODE(ErrorCode::kInvalidAlterTable,
              h_.SetOption(kPath, "table.datalake.format", "iceberg"));
  EXPECT_CODE(ErrorCode::kInvalidAlterTable, h_.SetOption(kPath, "table.replication.factor", "1"));
  EXPECT_CODE(ErrorCode::kInvalidAlterTable, h_.SetOption(kPath, "table.colour", "red"));
  EXPECT_CODE(ErrorCode::kInvalidConfig, h_.SetOption(kPath, "table.log.ttl", "soon"));
  EXPECT_CODE(ErrorCode::kInvalidConfig, h_.SetOption(kPath, "table.log.ttl", "-1 s"));
  EXPECT_OK(h_.SetOption(kPath, "table.log.ttl", "0 s"));
  auto append = Harness::Alter(kPath);
  auto* config = append.add_config_changes();
  config->set_config_key("owner");
  config->set_config_value("you");
  config->set_op_type(2);
  EXPECT_CODE(ErrorCode::kInvalidConfig, h_.Call(ApiKey::kAlterTable, append));
  config->set_op_type(1);
  EXPECT_OK(h_.Call(ApiKey::kAlterTable, append));
  EXPECT_TRUE(Table()->info.descriptor.custom_properties.empty());
}

TEST_F(CoordinatorTest, SwitchesTheLakeOnAndOff) {
  ASSERT_OK(h_.CreateTable(kPath, LogTable()));
  ASSERT_OK(h_.SetOption(kPath, "table.datalake.enabled", "true"));
  EXPECT_TRUE(h_.lake.tables.contains(kPath));
  h_.lake.tables.at(kPath).has_snapshot = true;
  ASSERT_OK(h_.SetOption(kPath, "table.datalake.enabled", "false"));
  // The lake table follows while it is off, so that it fits when it is on again.
  ASSERT_OK(h_.AddColumn(kPath, "extra", DataType::Of(TypeKind::kInteger)));
  EXPECT_EQ(h_.lake.tables.at(kPath).descriptor.schema.columns.size(), 3u);
  EXPECT_OK(h_.SetOption(kPath, "table.datalake.enabled", "true"));
  // Switched on for the first time over somebody else's rows.
  ASSERT_OK(h_.CreateTable({"fluss", "u"}, LogTable()));
  h_.lake.tables[{"fluss", "u"}] = {Table({"fluss", "u"})->info.descriptor, /*has_snapshot=*/true};
  EXPECT_CODE(ErrorCode::kLakeTableAlreadyExist,
              h_.SetOption({"fluss", "u"}, "table.datalake.enabled", "true"));
  EXPECT_FALSE(Table({"fluss", "u"})->lake_enabled());
  EXPECT_TRUE(h_.state()->intents.empty());
}

TEST_F(CoordinatorTest, OptionsOfTheLakeNeedARecordedFormat) {
  ASSERT_OK(h_.CreateTable({"fluss", "keyed"}, KeyTable()));
  // A table from the time when the cluster had no lake.
  auto descriptor = Table({"fluss", "keyed"})->info.descriptor;
  descriptor.properties.erase("table.datalake.format");
  ASSERT_OK(h_.catalog->AlterTable({"fluss", "keyed"}, descriptor));
  EXPECT_CODE(ErrorCode::kInvalidAlterTable,
              h_.SetOption({"fluss", "keyed"}, "table.datalake.enabled", "true"));
  ASSERT_OK(h_.CreateTable(kPath, LogTable()));
  descriptor = Table()->info.descriptor;
  descriptor.properties.erase("table.datalake.format");
  ASSERT_OK(h_.catalog->AlterTable(kPath, descriptor));
  EXPECT_CODE(ErrorCode::kInvalidAlterTable,
              h_.SetOption(kPath, "table.datalake.auto-compaction", "true"));
  EXPECT_OK(h_.SetOption(kPath, "table.datalake.enabled", "true"));
  EXPECT_EQ(Table()->info.descriptor.Property("table.datalake.format"), "paimon");
}

TEST_F(CoordinatorTest, PartitionsByHand) {
  ASSERT_OK(h_.CreateTable(kPath, PartitionedTable()));
  ASSERT_OK(h_.CreatePartition(kPath, {{"name", "a"}}));
  EXPECT_EQ(h_.tablet->replicas.size(), 1u);
  EXPECT_EQ(h_.tablet->replicas.begin()->second.physical_table_path().partition_name(), "a");
  EXPECT_CODE(ErrorCode::kPartitionAlreadyExists, h_.CreatePartition(kPath, {{"name", "a"}}));
  EXPECT_OK(h_.CreatePartition(kPath, {{"name", "a"}}, /*ignore=*/true));
  EXPECT_CODE(ErrorCode::kPartitionSpecInvalid, h_.CreatePartition(kPath, {{"id", "1"}}));
  EXPECT_CODE(ErrorCode::kTableNotExist, h_.CreatePartition({"fluss", "u"}, {{"name", "a"}}));
  ASSERT_OK(h_.CreateTable({"fluss", "plain"}, LogTable()));
  EXPECT_CODE(ErrorCode::kTableNotPartitioned,
              h_.CreatePartition({"fluss", "plain"}, {{"name", "a"}}));
  EXPECT_CODE(ErrorCode::kPartitionNotExists, h_.DropPartition(kPath, {{"name", "b"}}));
  EXPECT_OK(h_.DropPartition(kPath, {{"name", "b"}}, /*ignore=*/true));

  wire::ListPartitionInfosRequest list;
  Harness::SetPath(kPath, list.mutable_table_path());
  ASSERT_OK(h_.CreatePartition(kPath, {{"name", "b"}}));
  ASSERT_OK_AND_ASSIGN(auto all, ListPartitions(*h_.state(), list));
  ASSERT_EQ(all.partitions_info_size(), 2);
  EXPECT_EQ(all.partitions_info(0).partition_spec().partition_key_values(0).value(), "a");
  EXPECT_EQ(all.partitions_info(0).bucket_count(), 1);
  Harness::SetSpec({{"name", "b"}}, list.mutable_partial_partition_spec());
  ASSERT_OK_AND_ASSIGN(auto one, ListPartitions(*h_.state(), list));
  EXPECT_EQ(one.partitions_info_size(), 1);

  ASSERT_OK(h_.DropPartition(kPath, {{"name", "a"}}));
  EXPECT_EQ(h_.tablet->files.size(), 2u);
}

TEST_F(CoordinatorTest, ANewPartitionIsNewsOfNothingElse) {
  ASSERT_OK(h_.CreateTable(kPath, PartitionedTable()));
  const int tables = h_.tablet->table_news;
  for (int i = 0; i < 50; ++i) {
    ASSERT_OK(h_.CreatePartition(kPath, {{"name", "p" + std::to_string(i)}}));
    const size_t calls = h_.tablet->calls.size();
    EXPECT_EQ(h_.tablet->partition_news, i + 1);
    ASSERT_OK(h_.DropPartition(kPath, {{"name", "p" + std::to_string(i)}}));
    EXPECT_EQ(h_.tablet->calls.size(), calls + 1);
    ASSERT_OK(h_.CreatePartition(kPath, {{"name", "p" + std::to_string(i)}}));
    h_.tablet->partition_news = i + 1;
  }
  EXPECT_EQ(h_.tablet->table_news, tables);
}

TEST_F(CoordinatorTest, AKeyedPartitionIsNotMadeOverRowsOfTheLake) {
  types::TableDescriptor keyed = InLake(PartitionedTable());
  keyed.schema.primary_key = {"id", "name"};
  const types::TablePath logged{"fluss", "logged"};
  ASSERT_OK(h_.CreateTable(kPath, keyed));
  ASSERT_OK(h_.CreateTable(logged, InLake(PartitionedTable())));
  for (const types::TablePath& path : {kPath, logged}) {
    ASSERT_OK(h_.CreatePartition(path, {{"name", "a"}}));
    h_.lake.tables[path].partitions = {{"a"}};
    EXPECT_OK(h_.CreatePartition(path, {{"name", "a"}}, /*ignore=*/true));
    ASSERT_OK(h_.DropPartition(path, {{"name", "a"}}));
  }
  for (const bool ignore : {false, true}) {
    EXPECT_CODE(ErrorCode::kLakeTableAlreadyExist,
                h_.CreatePartition(kPath, {{"name", "a"}}, ignore));
  }
  EXPECT_OK(h_.CreatePartition(kPath, {{"name", "b"}}));
  EXPECT_OK(h_.CreatePartition(logged, {{"name", "a"}}));
  h_.lake.reachable = false;
  EXPECT_FALSE(h_.CreatePartition(kPath, {{"name", "c"}}).ok());  // Nobody knows.
  h_.lake.reachable = true;
  h_.lake.tables[kPath].partitions.clear();  // Deleted there.
  EXPECT_OK(h_.CreatePartition(kPath, {{"name", "a"}}));
}

TEST(CoordinatorLimitsTest, BoundsThePartitions) {
  Harness h;
  h.settings.max_partition_number = 2;
  h.Start();
  ASSERT_OK(h.CreateTable(kPath, PartitionedTable()));
  ASSERT_OK(h.CreatePartition(kPath, {{"name", "a"}}));
  ASSERT_OK(h.CreatePartition(kPath, {{"name", "b"}}));
  EXPECT_CODE(ErrorCode::kPartitionMaxNum, h.CreatePartition(kPath, {{"name", "c"}}));
  EXPECT_OK(h.CreatePartition(kPath, {{"name", "b"}}, /*ignore=*/true));
}

TEST_F(CoordinatorTest, ARestartRaisesTheEpochAndTellsEverything) {
  ASSERT_OK(h_.CreateTable(kPath, InLake(PartitionedTable())));
  ASSERT_OK(h_.CreatePartition(kPath, {{"name", "a"}}));
  const int32_t epoch = h_.tablet->coordinator_epoch;
  h_.Restart();
  EXPECT_EQ(h_.tablet->coordinator_epoch, epoch + 1);
  EXPECT_EQ(h_.tablet->replicas.size(), 1u);
  ASSERT_GE(h_.tablet->calls.size(), 2u);
  EXPECT_EQ(h_.tablet->calls[0], ApiKey::kUpdateMetadata);
  EXPECT_EQ(h_.tablet->calls[1], ApiKey::kNotifyLeaderAndIsr);
}

TEST_F(CoordinatorTest, WriterIdsAreNeverGivenTwice) {
  io::Loop& loop = h_.world.NewLoop();
  std::set<int64_t> ids;
  for (int run = 0; run < 3; ++run) {
    for (int i = 0; i < 1500; ++i) {
      const auto id = io::SyncWait(loop, h_.coordinator->NewWriterId(loop));
      ASSERT_OK(id);
      EXPECT_GE(*id, 0);
      EXPECT_TRUE(ids.insert(*id).second);
    }
    h_.Restart();
  }
}

TEST_F(CoordinatorTest, ProducerOffsetsLiveUntilTheirTimeIsOver) {
  wire::RegisterProducerOffsetsRequest request;
  request.set_producer_id("job/1");
  request.set_ttl_ms(1000);
  auto* table = request.add_table_offsets();
  table->set_table_id(4);
  auto* bucket = table->add_bucket_offsets();
  bucket->set_bucket_id(2);
  bucket->set_log_end_offset(77);
  const auto registered = [&] {
    return h_
        .Call<wire::RegisterProducerOffsetsResponse>(ApiKey::kRegisterProducerOffsets, request)
        ->result();
  };
  EXPECT_EQ(registered(), 0);
  EXPECT_EQ(registered(), 1);
  wire::GetProducerOffsetsRequest get;
  get.set_producer_id("job/1");
  ASSERT_OK_AND_ASSIGN(auto offsets,
                       h_.Call<wire::GetProducerOffsetsResponse>(ApiKey::kGetProducerOffsets, get));
  EXPECT_EQ(offsets.producer_id(), "job/1");
  EXPECT_EQ(offsets.table_offsets(0).bucket_offsets(0).log_end_offset(), 77);
  h_.world.RunFor(std::chrono::seconds(2));
  ASSERT_OK_AND_ASSIGN(auto gone,
                       h_.Call<wire::GetProducerOffsetsResponse>(ApiKey::kGetProducerOffsets, get));
  EXPECT_FALSE(gone.has_producer_id());
  EXPECT_EQ(registered(), 0);
  wire::DeleteProducerOffsetsRequest remove;
  remove.set_producer_id("job/1");
  ASSERT_OK(h_.Call(ApiKey::kDeleteProducerOffsets, remove));
  EXPECT_EQ(registered(), 0);
  request.set_producer_id("");
  EXPECT_CODE(ErrorCode::kInvalidProducerId, h_.Call<wire::RegisterProducerOffsetsResponse>(
                                                 ApiKey::kRegisterProducerOffsets, request));
}

TEST_F(CoordinatorTest, ProducerOffsetsHaveABoundedLifeAndGoByThemselves) {
  const auto registered = [this](const std::string& id, int64_t ttl_ms) {
    wire::RegisterProducerOffsetsRequest request;
    request.set_producer_id(id);
    request.set_ttl_ms(ttl_ms);
    return h_.Call<wire::RegisterProducerOffsetsResponse>(ApiKey::kRegisterProducerOffsets,
                                                          request);
  };
  EXPECT_CODE(ErrorCode::kInvalidConfig, registered("past", 0));
  EXPECT_CODE(ErrorCode::kInvalidConfig, registered("past", -5));
  ASSERT_OK(registered("long", INT64_MAX));
  wire::GetProducerOffsetsRequest get;
  get.set_producer_id("long");
  ASSERT_OK_AND_ASSIGN(const auto offsets,
                       h_.Call<wire::GetProducerOffsetsResponse>(ApiKey::kGetProducerOffsets, get));
  EXPECT_GT(offsets.expiration_time(), h_.world.clock().NowMs());
  for (int i = 0; i < 50; ++i) ASSERT_OK(registered("short" + std::to_string(i), 1000));
  EXPECT_EQ(h_.catalog->ListValues("producers")->size(), 51u);
  h_.world.RunFor(std::chrono::minutes(11));
  EXPECT_EQ(h_.catalog->ListValues("producers")->size(), 1u);
}

TEST_F(CoordinatorTest, ADefinitionThatIsTooLargeIsRefused) {
  auto descriptor = LogTable();
  descriptor.comment = std::string(9 << 20, 'x');
  EXPECT_CODE(ErrorCode::kRecordTooLarge, h_.CreateTable({"fluss", "large"}, descriptor));
  EXPECT_CODE(ErrorCode::kRecordTooLarge, h_.CreateDatabase(std::string(9 << 20, 'x')));
  EXPECT_EQ(h_.state()->FindTable({"fluss", "large"}), nullptr);
}

TEST_F(CoordinatorTest, SettingsChangeWhereTheApplicationAllowsIt) {
  wire::AlterClusterConfigsRequest alter;
  EXPECT_OK(h_.Call(ApiKey::kAlterClusterConfigs, alter));
  alter.add_alter_configs()->set_config_key("kv.snapshot.interval");
  alter.mutable_alter_configs(0)->set_config_value("1s");
  alter.mutable_alter_configs(0)->set_op_type(0);
  EXPECT_CODE(ErrorCode::kConfig, h_.Call(ApiKey::kAlterClusterConfigs, alter));
}

TEST_F(CoordinatorTest, CountsReplicasForTheClustersHealth) {
  auto descriptor = LogTable();
  descriptor.bucket_count = 4;
  ASSERT_OK(h_.CreateTable(kPath, descriptor));
  const auto health = ClusterHealth(*h_.state());
  EXPECT_EQ(health.num_replicas(), 4);
  EXPECT_EQ(health.active_leader_replicas(), 4);
  EXPECT_EQ(health.status(), 0);
}

TEST_F(CoordinatorTest, NoCallOfItsScopeIsMetWithSilence) {
  const std::map<ApiKey, ErrorCode> without_effect = {
      {ApiKey::kCreateAcls, ErrorCode::kSecurityDisabled},
      {ApiKey::kDropAcls, ErrorCode::kSecurityDisabled},
      {ApiKey::kRebalance, ErrorCode::kRebalanceFailure},
      {ApiKey::kCancelRebalance, ErrorCode::kNoRebalanceInProgress},
      {ApiKey::kListRebalanceProgress, ErrorCode::kNone},
      {ApiKey::kAdjustIsr, ErrorCode::kUnsupportedVersion},
      {ApiKey::kControlledShutdown, ErrorCode::kUnsupportedVersion},
      {ApiKey::kProduceLog, ErrorCode::kUnsupportedVersion},
      {static_cast<ApiKey>(9), ErrorCode::kUnsupportedVersion},
  };
  for (const auto& [key, code] : without_effect) {
    SCOPED_TRACE(static_cast<int>(key));
    EXPECT_CODE(code, h_.Call(key, wire::DescribeClusterConfigsRequest()));
  }
  // Each call that only a coordinator offers is answered, if with an error that an empty body is
  // none.
  for (const wire::ApiInfo& api : wire::Apis()) {
    if (!api.coordinator || api.tablet) continue;
    const auto reply = h_.Call(api.key, wire::DescribeClusterConfigsRequest());
    EXPECT_EQ(reply.status().message().find("has no such call"), std::string::npos) << api.name;
  }
  wire::AddServerTagRequest tag;
  tag.add_server_ids(7);
  tag.set_server_tag(0);
  EXPECT_CODE(ErrorCode::kServerNotExist, h_.Call(ApiKey::kAddServerTag, tag));
}

TEST_F(CoordinatorTest, RefusesCallsWhenItHasLeftOffice) {
  io::Loop& loop = h_.world.NewLoop();
  const auto stop = [](Coordinator* coordinator, io::Loop* on) -> io::Task<bool> {
    co_await coordinator->Stop(*on);
    co_return true;
  };
  io::SyncWait(loop, stop(h_.coordinator.get(), &loop));
  EXPECT_CODE(ErrorCode::kNetwork, h_.CreateDatabase("db"));
}

}  // namespace
}  // namespace sluice::coordinator
