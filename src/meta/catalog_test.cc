#include "meta/catalog.h"

#include "base/testing.h"
#include "meta/lake_offsets.h"
#include "meta/memory_store.h"
#include "meta/rocks_store.h"

namespace sluice::meta {
namespace {

using types::TablePath;

class FixedClock : public io::Clock {
 public:
  int64_t NowMs() const override { return now_ms; }
  std::chrono::nanoseconds Monotonic() const override { return std::chrono::milliseconds(now_ms); }
  int64_t now_ms = 1000;
};

/// A memory store that refuses to write when told to.
class FailingStore : public MetaStore {
 public:
  Result<std::optional<Node>> Get(const std::string& path) override { return inner_->Get(path); }
  Result<std::vector<std::string>> Children(const std::string& path) override {
    return inner_->Children(path);
  }
  Status Apply(std::vector<Op> ops) override {
    if (broken) return Error(ErrorCode::kStorage, "disk is full");
    return inner_->Apply(std::move(ops));
  }
  bool broken = false;

 private:
  std::unique_ptr<MetaStore> inner_ = NewMemoryMetaStore();
};

types::TableDescriptor Descriptor(bool partitioned = false) {
  types::TableDescriptor descriptor;
  descriptor.schema.columns = {
      {.name = "id", .type = types::DataType::Of(types::TypeKind::kInteger, false)},
      {.name = "day", .type = types::DataType::Of(types::TypeKind::kString)}};
  EXPECT_OK(descriptor.schema.AssignIds());
  descriptor.comment = "some \"table\"";
  descriptor.bucket_count = 2;
  descriptor.bucket_keys = {"id"};
  if (partitioned) descriptor.partition_keys = {"day"};
  descriptor.properties = {{"table.replication.factor", "1"}};
  descriptor.custom_properties = {{"owner", "me"}};
  return descriptor;
}

std::vector<BucketState> Buckets() {
  return std::vector<BucketState>(
      2, {.replicas = {0}, .leader = 0, .isr = {0}, .coordinator_epoch = 1});
}

Catalog::NewTable NewTable(TablePath path) {
  return {.path = std::move(path),
          .descriptor = Descriptor(),
          .buckets = Buckets(),
          .remote_data_dir = "/remote"};
}

class CatalogTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    store_ = NewMemoryMetaStore();
    Restart();
  }
  void Restart() {
    catalog_.reset();
    if (std::string_view(GetParam()) == "rocks") {
      store_.reset();
      ASSERT_OK_AND_ASSIGN(store_, OpenRocksMetaStore(folder_.path()));
    }
    ASSERT_OK_AND_ASSIGN(catalog_, Catalog::Open(*store_, clock_));
  }

  TempDir folder_;
  FixedClock clock_;
  std::unique_ptr<MetaStore> store_;
  std::unique_ptr<Catalog> catalog_;
};

INSTANTIATE_TEST_SUITE_P(Both, CatalogTest, testing::Values("memory", "rocks"),
                         [](const auto& param) { return std::string(param.param); });

TEST_P(CatalogTest, HasTheDefaultDatabaseFromTheStart) {
  EXPECT_NE(catalog_->state()->FindDatabase("fluss"), nullptr);
  Restart();
  EXPECT_EQ(catalog_->state()->databases.size(), 1u);
}

TEST_P(CatalogTest, DatabasesSurviveARestart) {
  clock_.now_ms = 5;
  ASSERT_OK(catalog_->CreateDatabase("db", {.comment = "c", .custom_properties = {{"k", "v"}}}));
  EXPECT_CODE(ErrorCode::kDatabaseAlreadyExist, catalog_->CreateDatabase("db", {}));
  clock_.now_ms = 9;
  ASSERT_OK(catalog_->AlterDatabase("db", {.comment = "d", .custom_properties = {{"k", "w"}}}));
  EXPECT_CODE(ErrorCode::kDatabaseNotExist, catalog_->AlterDatabase("none", {}));
  Restart();
  const auto state = catalog_->state();
  const DatabaseState* database = state->FindDatabase("db");
  ASSERT_NE(database, nullptr);
  EXPECT_EQ(database->descriptor.comment, "d");
  EXPECT_EQ(database->descriptor.custom_properties.at("k"), "w");
  EXPECT_EQ(database->created_ms, 5);
  EXPECT_EQ(database->modified_ms, 9);
}

TEST_P(CatalogTest, DropsADatabaseOnlyWhenEmptyOrWithItsTables) {
  ASSERT_OK(catalog_->CreateDatabase("db", {}));
  ASSERT_OK(catalog_->CreateTable(NewTable({"db", "t"})));
  EXPECT_CODE(ErrorCode::kDatabaseNotEmpty, catalog_->DropDatabase("db", false));
  EXPECT_CODE(ErrorCode::kDatabaseNotExist, catalog_->DropDatabase("none", true));
  ASSERT_OK(catalog_->DropDatabase("db", true));
  EXPECT_TRUE(catalog_->state()->tables_by_id.empty());
  Restart();
  EXPECT_EQ(catalog_->state()->FindDatabase("db"), nullptr);
  EXPECT_TRUE(catalog_->state()->tables_by_id.empty());
  ASSERT_OK_AND_ASSIGN(const auto assignments, store_->Children("/tabletservers/tables"));
  EXPECT_TRUE(assignments.empty());
}

TEST_P(CatalogTest, TablesSurviveARestart) {
  ASSERT_OK_AND_ASSIGN(const TablePtr made, catalog_->CreateTable(NewTable({"fluss", "t"})));
  EXPECT_CODE(ErrorCode::kTableAlreadyExist, catalog_->CreateTable(NewTable({"fluss", "t"})));
  EXPECT_CODE(ErrorCode::kDatabaseNotExist, catalog_->CreateTable(NewTable({"none", "t"})));
  Restart();
  ASSERT_OK_AND_ASSIGN(const TablePtr table, catalog_->state()->Table(TablePath{"fluss", "t"}));
  EXPECT_EQ(table->info.table_id, made->info.table_id);
  EXPECT_EQ(table->info.descriptor.ToJson(), Descriptor().ToJson());
  EXPECT_EQ(table->info.created_ms, 1000);
  EXPECT_EQ(table->info.remote_data_dir, "/remote");
  EXPECT_EQ(table->buckets, Buckets());
  EXPECT_EQ(catalog_->state()->FindTable(made->info.table_id), table);
  EXPECT_CODE(ErrorCode::kTableNotExist, catalog_->state()->Table(TablePath{"fluss", "u"}));
}

TEST_P(CatalogTest, IdsAreNeverReused) {
  ASSERT_OK_AND_ASSIGN(const TablePtr first, catalog_->CreateTable(NewTable({"fluss", "t"})));
  ASSERT_OK(catalog_->DropTable({"fluss", "t"}));
  EXPECT_CODE(ErrorCode::kTableNotExist, catalog_->DropTable({"fluss", "t"}));
  Restart();
  ASSERT_OK_AND_ASSIGN(const TablePtr second, catalog_->CreateTable(NewTable({"fluss", "t"})));
  EXPECT_GT(second->info.table_id, first->info.table_id);

  ASSERT_OK_AND_ASSIGN(const int64_t writer, catalog_->NextWriterIds(100));
  Restart();
  ASSERT_OK_AND_ASSIGN(const int64_t next_writer, catalog_->NextWriterIds(1));
  EXPECT_GE(next_writer, writer + 100);

  EXPECT_CODE(ErrorCode::kInvalidTable, catalog_->NextColumnIds(second->info.table_id, 1));
  auto counting = NewTable({"fluss", "counting"});
  counting.descriptor.schema.primary_key = {"day"};
  counting.descriptor.schema.auto_increment = {"id"};
  ASSERT_OK_AND_ASSIGN(const TablePtr third, catalog_->CreateTable(counting));
  EXPECT_EQ(catalog_->NextColumnIds(third->info.table_id, 100).ValueOr(-1), 1);
  Restart();
  EXPECT_EQ(catalog_->NextColumnIds(third->info.table_id, 1).ValueOr(-1), 101);
  EXPECT_EQ(catalog_->NextColumnIds(third->info.table_id, 1).ValueOr(-1), 102);
  EXPECT_CODE(ErrorCode::kTableNotExist, catalog_->NextColumnIds(99, 1));

  ASSERT_OK_AND_ASSIGN(const int32_t epoch, catalog_->RaiseCoordinatorEpoch());
  Restart();
  EXPECT_EQ(catalog_->state()->coordinator_epoch, epoch);
  ASSERT_OK_AND_ASSIGN(const int32_t next_epoch, catalog_->RaiseCoordinatorEpoch());
  EXPECT_EQ(next_epoch, epoch + 1);
}

TEST_P(CatalogTest, AChangedSchemaGetsTheNextIdAndTheOldOneStays) {
  ASSERT_OK_AND_ASSIGN(const TablePtr made, catalog_->CreateTable(NewTable({"fluss", "t"})));
  auto descriptor = Descriptor();
  descriptor.properties["table.datalake.enabled"] = "true";
  ASSERT_OK(catalog_->AlterTable({"fluss", "t"}, descriptor));
  EXPECT_EQ(catalog_->state()->FindTable(made->info.table_id)->info.schema_id, 1);
  descriptor.schema.columns.push_back(
      {.name = "x", .type = types::DataType::Of(types::TypeKind::kBigInt), .id = 2});
  descriptor.schema.highest_field_id = 2;
  clock_.now_ms = 2000;
  ASSERT_OK(catalog_->AlterTable({"fluss", "t"}, descriptor));
  EXPECT_CODE(ErrorCode::kTableNotExist, catalog_->AlterTable({"fluss", "none"}, descriptor));
  Restart();
  const auto state = catalog_->state();
  const TablePtr table = state->FindTable(made->info.table_id);
  EXPECT_EQ(table->info.schema_id, 2);
  EXPECT_TRUE(table->lake_enabled());
  EXPECT_EQ(table->info.created_ms, 1000);
  EXPECT_EQ(table->info.modified_ms, 2000);
  ASSERT_OK_AND_ASSIGN(const auto old, state->SchemaOf(made->info.table_id, 1));
  EXPECT_EQ(old->columns.size(), 2u);
  ASSERT_OK_AND_ASSIGN(const auto latest, state->SchemaOf(made->info.table_id, 2));
  EXPECT_EQ(latest->columns.size(), 3u);
  EXPECT_CODE(ErrorCode::kSchemaNotExist, state->SchemaOf(made->info.table_id, 3));
}

TEST_P(CatalogTest, PartitionsSurviveARestart) {
  const TablePath path{"fluss", "p"};
  Catalog::NewTable table{.path = path, .descriptor = Descriptor(true)};
  ASSERT_OK_AND_ASSIGN(const TablePtr made, catalog_->CreateTable(table));
  ASSERT_OK_AND_ASSIGN(const PartitionPtr one,
                       catalog_->CreatePartition(path, {"2013-01-01"}, Buckets(), "/r"));
  ASSERT_OK_AND_ASSIGN(const PartitionPtr two,
                       catalog_->CreatePartition(path, {"2013-01-02"}, Buckets(), "/r"));
  EXPECT_CODE(ErrorCode::kPartitionAlreadyExists,
              catalog_->CreatePartition(path, {"2013-01-01"}, Buckets(), "/r"));
  ASSERT_OK(catalog_->DropPartition(path, "2013-01-01"));
  EXPECT_CODE(ErrorCode::kPartitionNotExists, catalog_->DropPartition(path, "2013-01-01"));
  Restart();
  const auto state = catalog_->state();
  EXPECT_EQ(state->FindTableOfPartition(one->info.partition_id), nullptr);
  const TablePtr found = state->FindTableOfPartition(two->info.partition_id);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->info.table_id, made->info.table_id);
  const PartitionState* partition = found->FindPartition(two->info.partition_id);
  ASSERT_NE(partition, nullptr);
  EXPECT_EQ(partition->info.values, std::vector<std::string>{"2013-01-02"});
  EXPECT_EQ(partition->remote_data_dir, "/r");
  int visited = 0;
  found->ForEachBucket(
      [&](const types::BucketId& id, const PartitionState* of, const BucketState&) {
        EXPECT_EQ(id.partition_id, of->info.partition_id);
        ++visited;
      });
  EXPECT_EQ(visited, 2);
}

// A tree without the node, as older servers left it, is that of a bucket that was never copied.
TEST_P(CatalogTest, WhatIsKnownOfRemoteLogsSurvivesARestart) {
  const TablePath path{"fluss", "t"};
  ASSERT_OK_AND_ASSIGN(const TablePtr made, catalog_->CreateTable(NewTable(path)));
  const int64_t table_id = made->info.table_id;
  ASSERT_OK(catalog_->RecordRemoteLog(table_id, {std::nullopt, 1}, {"/r/one", 0, 5, 5}));
  ASSERT_OK(catalog_->RecordRemoteLog(table_id, {std::nullopt, 1}, {"/r/two", -1, -1, 5}));
  EXPECT_CODE(ErrorCode::kUnknownTableOrBucket,
              catalog_->RecordRemoteLog(table_id, {std::nullopt, 2}, {}));
  EXPECT_CODE(ErrorCode::kTableNotExist,
              catalog_->RecordRemoteLog(table_id + 1, {std::nullopt, 1}, {}));
  Restart();
  const TablePtr table = catalog_->state()->FindTable(table_id);
  EXPECT_EQ(table->buckets[0].remote_log, nullptr);
  ASSERT_NE(table->buckets[1].remote_log, nullptr);
  EXPECT_EQ(*table->buckets[1].remote_log, (RemoteLogState{"/r/two", -1, -1, 5}));
  ASSERT_OK(catalog_->DropTable(path));
  ASSERT_OK_AND_ASSIGN(const auto assignments, store_->Children("/tabletservers/tables"));
  EXPECT_TRUE(assignments.empty());
}

LakeSnapshot Snapshot(int64_t id, bool readable) {
  LakeSnapshot snapshot{.snapshot_id = id, .tiered_offsets_path = "/r/" + std::to_string(id)};
  snapshot.tiered =
      std::make_shared<const BucketOffsets>(BucketOffsets{{{std::nullopt, 1}, id * 10}});
  if (readable) {
    snapshot.readable = snapshot.tiered;
    snapshot.readable_offsets_path = snapshot.tiered_offsets_path;
  }
  return snapshot;
}

std::vector<int64_t> IdsOf(const std::vector<LakeSnapshot>& snapshots) {
  std::vector<int64_t> ids;
  for (const LakeSnapshot& snapshot : snapshots) ids.push_back(snapshot.snapshot_id);
  return ids;
}

TEST_P(CatalogTest, LakeSnapshotsFollowTheKeepRule) {
  ASSERT_OK_AND_ASSIGN(const TablePtr made, catalog_->CreateTable(NewTable({"fluss", "t"})));
  const int64_t id = made->info.table_id;
  const auto kept = [&] { return IdsOf(catalog_->state()->FindTable(id)->lake_snapshots); };
  ASSERT_OK(catalog_->RecordLakeSnapshot(id, Snapshot(1, true), -1));
  ASSERT_OK(catalog_->RecordLakeSnapshot(id, Snapshot(2, false), -1));
  ASSERT_OK(catalog_->RecordLakeSnapshot(id, Snapshot(3, false), 99));
  EXPECT_THAT(kept(), testing::ElementsAre(1, 2, 3));
  ASSERT_OK_AND_ASSIGN(const auto forgotten,
                       catalog_->RecordLakeSnapshot(id, Snapshot(4, false), 3));
  EXPECT_THAT(IdsOf(forgotten), testing::ElementsAre(1, 2));
  ASSERT_OK(catalog_->RecordLakeSnapshot(id, Snapshot(4, true), -1));
  Restart();
  const TablePtr table = catalog_->state()->FindTable(id);
  EXPECT_THAT(kept(), testing::ElementsAre(3, 4));
  EXPECT_EQ(table->LatestLakeSnapshot()->snapshot_id, 4);
  EXPECT_EQ(table->ReadableLakeSnapshot()->snapshot_id, 4);
  EXPECT_EQ(*table->FindLakeSnapshot(3)->tiered, *Snapshot(3, false).tiered);
  EXPECT_EQ(table->FindLakeSnapshot(3)->readable, nullptr);
  EXPECT_EQ(table->FindLakeSnapshot(1), nullptr);
  ASSERT_OK(catalog_->RecordLakeSnapshot(id, Snapshot(5, false), std::nullopt));
  EXPECT_THAT(kept(), testing::ElementsAre(5));
  EXPECT_EQ(catalog_->state()->FindTable(id)->ReadableLakeSnapshot(), nullptr);
  ASSERT_OK_AND_ASSIGN(const auto nodes,
                       store_->Children("/sluice/lake_offsets/" + std::to_string(id)));
  EXPECT_THAT(nodes, testing::ElementsAre("5"));
}

types::TableDescriptor WithKey(types::TableDescriptor descriptor) {
  descriptor.schema.primary_key = {"id"};
  if (descriptor.partitioned()) descriptor.schema.primary_key.push_back("day");
  return descriptor;
}

TEST_P(CatalogTest, KvSnapshotsSurviveARestartAndGoWithTheirTable) {
  Catalog::NewTable made = NewTable({"fluss", "keys"});
  made.descriptor = WithKey(made.descriptor);
  ASSERT_OK_AND_ASSIGN(const TablePtr table, catalog_->CreateTable(made));
  const types::BucketId bucket{.table_id = table->info.table_id, .bucket = 1};
  EXPECT_EQ(catalog_->state()->LatestKvSnapshot(bucket), nullptr);
  for (int64_t id = 0; id < 12; ++id) {  // Ids of two digits: names are sorted by bytes.
    std::set<int64_t> forgotten;
    if (id > 1) forgotten.insert(id - 2);
    ASSERT_OK(
        catalog_->RecordKvSnapshot(bucket, KvSnapshotEntry{id, 10 * id, "file:/m"}, forgotten));
  }
  EXPECT_EQ(CodeOf(catalog_->RecordKvSnapshot(bucket, KvSnapshotEntry{11, 0, ""}, {})),
            ErrorCode::kInvalidUpdateVersion);
  EXPECT_EQ(CodeOf(catalog_->RecordKvSnapshot({.table_id = 99}, KvSnapshotEntry{}, {})),
            ErrorCode::kUnknownTableOrBucket);
  Restart();
  ASSERT_NE(catalog_->state()->LatestKvSnapshot(bucket), nullptr);
  EXPECT_EQ(*catalog_->state()->LatestKvSnapshot(bucket), (KvSnapshotEntry{11, 110, "file:/m"}));
  ASSERT_NE(catalog_->state()->FindKvSnapshot(bucket, 10), nullptr);
  EXPECT_EQ(catalog_->state()->FindKvSnapshot(bucket, 9), nullptr);
  ASSERT_OK(catalog_->RecordKvSnapshot(bucket, std::nullopt, {10}));
  EXPECT_EQ(catalog_->state()->FindKvSnapshot(bucket, 10), nullptr);
  ASSERT_OK(catalog_->DropTable({"fluss", "keys"}));
  EXPECT_TRUE(catalog_->state()->kv_snapshots.empty());
  Restart();
  EXPECT_TRUE(catalog_->state()->kv_snapshots.empty());
}

TEST_P(CatalogTest, KvSnapshotsGoWithTheirPartition) {
  Catalog::NewTable made = NewTable({"fluss", "keys"});
  made.descriptor = WithKey(Descriptor(/*partitioned=*/true));
  made.buckets.clear();
  ASSERT_OK_AND_ASSIGN(const TablePtr table, catalog_->CreateTable(made));
  std::vector<types::BucketId> buckets;
  for (const char* day : {"mon", "tue"}) {
    ASSERT_OK_AND_ASSIGN(const PartitionPtr partition,
                         catalog_->CreatePartition({"fluss", "keys"}, {day}, Buckets(), "/remote"));
    buckets.push_back({table->info.table_id, partition->info.partition_id, 0});
    ASSERT_OK(catalog_->RecordKvSnapshot(buckets.back(), KvSnapshotEntry{0, 5, "m"}, {}));
  }
  Restart();
  EXPECT_NE(catalog_->state()->LatestKvSnapshot(buckets[0]), nullptr);
  ASSERT_OK(catalog_->DropPartition({"fluss", "keys"}, "mon"));
  EXPECT_EQ(catalog_->state()->LatestKvSnapshot(buckets[0]), nullptr);
  EXPECT_NE(catalog_->state()->LatestKvSnapshot(buckets[1]), nullptr);
}

TEST_P(CatalogTest, AnIntentGoesInTheBatchThatFulfilsIt) {
  ASSERT_OK_AND_ASSIGN(
      const int64_t first,
      catalog_->AddIntent({.kind = "create_table", .path = {"fluss", "t"}, .payload = "{}"}));
  ASSERT_OK_AND_ASSIGN(
      const int64_t second,
      catalog_->AddIntent({.kind = "create_table", .path = {"fluss", "u"}, .payload = "{}"}));
  Restart();
  ASSERT_EQ(catalog_->state()->intents.size(), 2u);
  EXPECT_EQ(catalog_->state()->intents[0].path, (TablePath{"fluss", "t"}));
  auto table = NewTable({"fluss", "t"});
  table.intent = first;
  ASSERT_OK(catalog_->CreateTable(table));
  ASSERT_OK(catalog_->RemoveIntent(second));
  Restart();
  EXPECT_TRUE(catalog_->state()->intents.empty());
  ASSERT_OK_AND_ASSIGN(const int64_t left,
                       catalog_->DropTable({"fluss", "t"}, DdlIntent{.kind = "delete_replicas",
                                                                     .path = {"fluss", "t"}}));
  Restart();
  ASSERT_EQ(catalog_->state()->intents.size(), 1u);
  EXPECT_EQ(catalog_->state()->intents[0].id, left);
}

TEST_P(CatalogTest, ViewsShareNamesWithTables) {
  ASSERT_OK(catalog_->CreateTable(NewTable({"fluss", "t"})));
  ASSERT_OK(catalog_->CreateView({{"fluss", "v"}, "SELECT 1"}, false));
  EXPECT_CODE(ErrorCode::kTableAlreadyExist,
              catalog_->CreateView({{"fluss", "v"}, "SELECT 2"}, false));
  EXPECT_CODE(ErrorCode::kTableAlreadyExist,
              catalog_->CreateView({{"fluss", "t"}, "SELECT 2"}, true));
  EXPECT_CODE(ErrorCode::kTableAlreadyExist, catalog_->CreateTable(NewTable({"fluss", "v"})));
  EXPECT_CODE(ErrorCode::kInvalidTable,
              catalog_->CreateView({{"fluss", "a/b"}, "SELECT 2"}, false));
  ASSERT_OK(catalog_->CreateView({{"fluss", "v"}, "SELECT 3"}, true));
  Restart();
  ASSERT_NE(catalog_->state()->FindView({"fluss", "v"}), nullptr);
  EXPECT_EQ(catalog_->state()->FindView({"fluss", "v"})->definition, "SELECT 3");
  ASSERT_OK(catalog_->DropView({"fluss", "v"}));
  EXPECT_CODE(ErrorCode::kTableNotExist, catalog_->DropView({"fluss", "v"}));
}

TEST_P(CatalogTest, KeepsSmallValues) {
  ASSERT_OK(catalog_->PutValue("jobs", "a", "1"));
  ASSERT_OK(catalog_->PutValue("jobs", "a", "2"));
  Restart();
  ASSERT_OK_AND_ASSIGN(const auto value, catalog_->GetValue("jobs", "a"));
  EXPECT_EQ(value, "2");
  ASSERT_OK_AND_ASSIGN(const auto keys, catalog_->ListValues("jobs"));
  EXPECT_THAT(keys, testing::ElementsAre("a"));
  ASSERT_OK(catalog_->ChangeValues("jobs", {{"b", "3"}, {"c", "4"}, {"gone", std::nullopt}}));
  ASSERT_OK(catalog_->ChangeValues("jobs", {{"b", std::nullopt}, {"c", "5"}}));
  EXPECT_THAT(catalog_->ListValues("jobs").ValueOrDie(), testing::ElementsAre("a", "c"));
  EXPECT_EQ(catalog_->GetValue("jobs", "c").ValueOrDie(), "5");
  ASSERT_OK(catalog_->DeleteValue("jobs", "a"));
  ASSERT_OK_AND_ASSIGN(const auto gone, catalog_->GetValue("jobs", "a"));
  EXPECT_FALSE(gone.has_value());
}

TEST_P(CatalogTest, AnOldSnapshotStaysAsItWas) {
  ASSERT_OK(catalog_->CreateTable(NewTable({"fluss", "t"})));
  const auto before = catalog_->state();
  ASSERT_OK(catalog_->DropTable({"fluss", "t"}));
  EXPECT_NE(before->FindTable(TablePath{"fluss", "t"}), nullptr);
  EXPECT_EQ(catalog_->state()->FindTable(TablePath{"fluss", "t"}), nullptr);
  EXPECT_GT(catalog_->state()->revision, before->revision);
}

TEST_P(CatalogTest, IsReadAsItWasWritten) {
  ASSERT_OK(catalog_->CreateTable(NewTable({"fluss", "t"})));
  ASSERT_OK_AND_ASSIGN(const CatalogStatePtr read, Catalog::Read(*store_));
  ASSERT_NE(read->FindTable(TablePath{"fluss", "t"}), nullptr);
  EXPECT_EQ(read->tables_by_id.size(), catalog_->state()->tables_by_id.size());
}

TEST(CatalogFailureTest, ARefusedWriteChangesNothing) {
  FixedClock clock;
  FailingStore store;
  ASSERT_OK_AND_ASSIGN(const auto catalog, Catalog::Open(store, clock));
  ASSERT_OK(catalog->CreateTable(NewTable({"fluss", "t"})));
  const auto before = catalog->state();
  store.broken = true;
  EXPECT_CODE(ErrorCode::kStorage, catalog->CreateTable(NewTable({"fluss", "u"})));
  EXPECT_CODE(ErrorCode::kStorage, catalog->DropTable({"fluss", "t"}));
  EXPECT_CODE(ErrorCode::kStorage, catalog->NextWriterIds(1));
  EXPECT_EQ(catalog->state(), before);
  store.broken = false;
  ASSERT_OK_AND_ASSIGN(const auto reopened, Catalog::Open(store, clock));
  EXPECT_NE(reopened->state()->FindTable(TablePath{"fluss", "t"}), nullptr);
  EXPECT_EQ(reopened->state()->FindTable(TablePath{"fluss", "u"}), nullptr);
}

// Documents as the reference gives them (8.4): index = bucket, -1 = unknown, trailing buckets left
// out.
TEST(LakeOffsetsTest, WritesTheDocumentsOfTheReference) {
  EXPECT_EQ(LakeOffsetsToJson(3, {{{std::nullopt, 2}, 7}, {{std::nullopt, 0}, 5}}),
            R"({"bucket_offsets":[5,-1,7],"table_id":3,"version":1})");
  EXPECT_EQ(LakeOffsetsToJson(3, {{{9, 1}, 7}, {{8, 0}, 5}}),
            R"({"partition_offsets":[{"bucket_offsets":[5],"partition_id":8},)"
            R"({"bucket_offsets":[-1,7],"partition_id":9}],"table_id":3,"version":1})");
}

TEST(LakeOffsetsTest, ReadsBackWhatItWrote) {
  const BucketOffsets plain{{{std::nullopt, 0}, 5}, {{std::nullopt, 2}, 7}};
  const BucketOffsets partitioned{{{8, 0}, 5}, {{9, 1}, 7}};
  for (const BucketOffsets& offsets : {plain, partitioned, BucketOffsets{}}) {
    ASSERT_OK_AND_ASSIGN(const auto document, LakeOffsetsFromJson(LakeOffsetsToJson(3, offsets)));
    EXPECT_EQ(document.table_id, 3);
    EXPECT_EQ(document.offsets, offsets);
  }
}

TEST(LakeOffsetsTest, RefusesBrokenDocuments) {
  for (const char* text :
       {"", "[]", "{}", R"({"table_id":"x"})", R"({"table_id":1,"bucket_offsets":7})",
        R"({"table_id":1,"bucket_offsets":["a"]})", R"({"table_id":1,"bucket_offsets":[-2]})",
        R"({"table_id":1,"partition_offsets":[{"bucket_offsets":[1]}]})"}) {
    SCOPED_TRACE(text);
    EXPECT_CODE(ErrorCode::kCorruptRecord, LakeOffsetsFromJson(text));
  }
  std::string many = R"({"table_id":1,"bucket_offsets":[0)";
  for (int i = 0; i < 1 << 20; ++i) many += ",0";
  EXPECT_CODE(ErrorCode::kCorruptRecord, LakeOffsetsFromJson(many + "]}"));
}

}  // namespace
}  // namespace sluice::meta
