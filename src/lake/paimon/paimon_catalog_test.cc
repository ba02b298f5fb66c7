#include "lake/workload_testing.h"

namespace sluice::lake {
namespace {

using types::DataType;
using types::TypeKind;

class PaimonCatalogTest : public testing::Test {
 protected:
  Result<std::unique_ptr<LakeCatalog>> Open(std::map<std::string, std::string> properties) {
    return LakeCatalog::Open({.properties = std::move(properties),
                              .files = &io::LocalFileSystem(),
                              .clock = &clock_,
                              .random = &random_});
  }
  void SetUp() override {
    catalog_ = Open({{"warehouse", "file:" + folder_.path() + "/wh/"}}).ValueOrDie();
  }

  static types::TableDescriptor Descriptor() {
    auto descriptor = AllTypesTable(true, false, true, 4, true);
    descriptor.properties["paimon.file.compression"] = "snappy";
    descriptor.properties["table.datalake.paimon.warehouse"] = "/secret";
    descriptor.custom_properties["mine"] = "1";
    return descriptor;
  }

  TempDir folder_;
  HandClock clock_;
  io::SeededRandom random_{5};
  std::unique_ptr<LakeCatalog> catalog_;
  const types::TablePath path_{"db", "t"};
};

TEST_F(PaimonCatalogTest, CreatesTablesAsFlussDoes) {
  ASSERT_OK_AND_ASSIGN(const auto taken, catalog_->CreateTable(path_, Descriptor(), true));
  EXPECT_EQ(taken, LakeCatalog::Taken::kCreated);
  ASSERT_OK_AND_ASSIGN(const auto table, catalog_->OpenTable(path_));
  const LakeSchema& schema = table->schema();
  EXPECT_EQ(schema.primary_keys, (std::vector<std::string>{"id", "dt"}));
  EXPECT_EQ(schema.partition_keys, std::vector<std::string>{"dt"});
  EXPECT_EQ(schema.TrimmedPrimaryKey(), std::vector<std::string>{"id"});
  const std::map<std::string, std::string> options{{"bucket", "4"},
                                                   {"bucket-key", "id"},
                                                   {"changelog-producer", "input"},
                                                   {"partition.legacy-name", "false"},
                                                   {"file.compression", "snappy"},
                                                   {"fluss.mine", "1"},
                                                   {"fluss.table.datalake.enabled", "true"},
                                                   {"fluss.table.datalake.freshness", "5s"}};
  EXPECT_EQ(schema.options, options);
  const size_t size = schema.columns.size();
  EXPECT_EQ(schema.columns[size - 3].name, "__bucket");
  EXPECT_EQ(schema.columns[size - 2].name, "__offset");
  EXPECT_EQ(schema.columns[size - 1].name, "__timestamp");
  EXPECT_EQ(schema.columns[size - 1].type->ToString(), "TIMESTAMP_LTZ(3)");
  EXPECT_EQ(schema.columns[static_cast<size_t>(schema.IndexOf("c_time"))].type->precision(), 0);
  EXPECT_EQ(table->location(), folder_.path() + "/wh/db.db/t");
}

TEST_F(PaimonCatalogTest, TablesWithoutBucketKeyAreUnaware) {
  ASSERT_OK(catalog_->CreateTable(path_, AllTypesTable(false, false, false, 4, false), true));
  ASSERT_OK_AND_ASSIGN(const auto table, catalog_->OpenTable(path_));
  EXPECT_EQ(table->schema().bucket_count(), -1);
  EXPECT_EQ(table->schema().Option("bucket-key", "none"), "none");
  EXPECT_EQ(table->schema().Option("changelog-producer", "none"), "none");
}

TEST_F(PaimonCatalogTest, TakesUpOnlyTheSameEmptyTable) {
  ASSERT_OK(catalog_->CreateTable(path_, Descriptor(), true));
  ASSERT_OK_AND_ASSIGN(const auto again, catalog_->CreateTable(path_, Descriptor(), true));
  EXPECT_EQ(again, LakeCatalog::Taken::kExisted);
  auto other = Descriptor();
  other.schema.columns[3].type = DataType::Of(TypeKind::kBigInt);
  const Status different = catalog_->CreateTable(path_, other, true).status();
  EXPECT_CODE(ErrorCode::kLakeTableAlreadyExist, different);
  EXPECT_THAT(different.message(), testing::HasSubstr("it stays when the table is dropped"));
  EXPECT_NE(different.message().find("db.t"), std::string::npos);
  EXPECT_NE(different.message().find("c_small"), std::string::npos);
  other = Descriptor();
  other.bucket_count = 5;
  EXPECT_CODE(ErrorCode::kLakeTableAlreadyExist, catalog_->CreateTable(path_, other, true));
  ASSERT_OK_AND_ASSIGN(const auto table, catalog_->OpenTable(path_));
  ASSERT_OK(table->Commit({}, {}));
  EXPECT_CODE(ErrorCode::kLakeTableAlreadyExist, catalog_->CreateTable(path_, Descriptor(), true));
  EXPECT_OK(catalog_->CreateTable(path_, Descriptor(), false));
}

TEST_F(PaimonCatalogTest, RefusesWhatTheLakeCannotHold) {
  for (const char* key :
       {"bucket", "paimon.bucket", "paimon.bucket-key", "partition.legacy-name"}) {
    auto descriptor = Descriptor();
    descriptor.custom_properties[key] = "1";
    EXPECT_CODE(ErrorCode::kInvalidConfig, catalog_->Validate(descriptor));
  }
  for (const auto& [key, value] :
       std::map<std::string, std::string>{{"paimon.merge-engine", "aggregation"},
                                          {"paimon.deletion-vectors.enabled", "true"},
                                          {"paimon.changelog-producer", "lookup"}}) {
    auto descriptor = Descriptor();
    descriptor.properties[key] = value;
    EXPECT_CODE(ErrorCode::kInvalidConfig, catalog_->Validate(descriptor));
  }
  for (const char* name :
       {"__bucket", "__offset", "__timestamp", "_KEY_id", "rowkind", "_VALUE_KIND"}) {
    auto descriptor = Descriptor();
    descriptor.schema.columns.push_back({name, DataType::Of(TypeKind::kInteger), ""});
    EXPECT_CODE(ErrorCode::kInvalidTable, catalog_->CreateTable(path_, descriptor, true));
  }
  ASSERT_OK_AND_ASSIGN(const bool exists, catalog_->TableExists(path_));
  EXPECT_FALSE(exists);
}

TEST_F(PaimonCatalogTest, AlterIsRepeatable) {
  ASSERT_OK(catalog_->CreateTable(path_, Descriptor(), true));
  const std::vector<LakeChange> changes{LakeChange::AddColumn({"extra", DataType::Time(3), "x"}),
                                        LakeChange::SetOption("mine", "2"),
                                        LakeChange::SetOption("paimon.write-only", "true"),
                                        LakeChange::ResetOption("table.datalake.freshness")};
  ASSERT_OK(catalog_->AlterTable(path_, changes));
  ASSERT_OK(catalog_->AlterTable(path_, changes));
  ASSERT_OK_AND_ASSIGN(const auto table, catalog_->OpenTable(path_));
  EXPECT_EQ(table->schema().id, 1);  // The second time nothing was left to do.
  EXPECT_EQ(table->schema().Option("fluss.mine"), "2");
  EXPECT_EQ(table->schema().Option("write-only"), "true");
  EXPECT_EQ(table->schema().Option("fluss.table.datalake.freshness", "gone"), "gone");
  EXPECT_EQ(table->schema().columns[table->schema().columns.size() - 4].name, "extra");
  EXPECT_CODE(ErrorCode::kInvalidConfig,
              catalog_->AlterTable(path_, {LakeChange::SetOption("paimon.merge-engine", "x")}));
  EXPECT_CODE(ErrorCode::kInvalidAlterTable,
              catalog_->AlterTable(path_, {LakeChange::SetOption("paimon.path", "x")}));
  EXPECT_CODE(
      ErrorCode::kInvalidAlterTable,
      catalog_->AlterTable(
          path_, {LakeChange::AddColumn({"must", DataType::Of(TypeKind::kInteger, false), ""})}));
  EXPECT_CODE(ErrorCode::kInvalidAlterTable,
              catalog_->AlterTable(
                  path_, {LakeChange::AddColumn({"extra", DataType::Of(TypeKind::kInteger), ""})}));
  EXPECT_CODE(ErrorCode::kTableNotExist, catalog_->AlterTable({"db", "none"}, changes));
}

TEST_F(PaimonCatalogTest, AlterIsTakenBackByOneMoreSchema) {
  ASSERT_OK(catalog_->CreateTable(path_, Descriptor(), true));
  const std::vector<LakeChange> changes{LakeChange::AddColumn({"extra", DataType::Time(3), "x"}),
                                        LakeChange::SetOption("mine", "2")};
  const auto schema_id = [&] { return catalog_->OpenTable(path_).ValueOrDie()->schema().id; };
  ASSERT_OK(catalog_->TakeBackAlter(path_, changes));  // It never had them.
  EXPECT_EQ(schema_id(), 0);
  ASSERT_OK_AND_ASSIGN(const auto before, catalog_->OpenTable(path_));
  ASSERT_OK(catalog_->AlterTable(path_, changes));
  EXPECT_EQ(schema_id(), 1);
  ASSERT_OK_AND_ASSIGN(const auto changed, catalog_->OpenTable(path_));
  ASSERT_OK(catalog_->TakeBackAlter(path_, changes));
  ASSERT_OK(catalog_->TakeBackAlter(path_, changes));
  EXPECT_EQ(schema_id(), 2);  // The second time nothing was left to do.
  ASSERT_OK_AND_ASSIGN(const auto after, catalog_->OpenTable(path_));
  EXPECT_EQ(Names(after->schema().columns), Names(before->schema().columns));
  EXPECT_EQ(after->schema().options, before->schema().options);
  // A column that comes later is another one, also under the same name.
  ASSERT_OK(catalog_->AlterTable(path_, changes));
  ASSERT_OK_AND_ASSIGN(const auto again, catalog_->OpenTable(path_));
  const auto id_of_extra = [](const LakeTable& table) {
    return table.schema().columns[static_cast<size_t>(table.schema().IndexOf("extra"))].id;
  };
  EXPECT_GT(id_of_extra(*again), id_of_extra(*changed));
}

TEST_F(PaimonCatalogTest, UndoRemovesOnlyTheEmptyTableThatWasMade) {
  constexpr int64_t kMadeMs = 1'790'000'000'123;
  ASSERT_OK(catalog_->CreateTable(path_, Descriptor(), true, kMadeMs));
  EXPECT_FALSE(*catalog_->RemoveMade(path_, Descriptor(), kMadeMs + 1));  // Another's.
  EXPECT_FALSE(*catalog_->RemoveMade(path_, TwoColumnTable(false), kMadeMs));
  EXPECT_TRUE(*catalog_->RemoveMade(path_, Descriptor(), kMadeMs));
  EXPECT_CODE(ErrorCode::kTableNotExist, catalog_->OpenTable(path_));
  EXPECT_TRUE(*catalog_->RemoveMade(path_, Descriptor(), kMadeMs));
  // A table that was taken up stays, and so does one that was changed or written since.
  ASSERT_OK(catalog_->CreateTable(path_, Descriptor(), true, kMadeMs));
  ASSERT_OK_AND_ASSIGN(const auto taken,
                       catalog_->CreateTable(path_, Descriptor(), true, kMadeMs + 5));
  EXPECT_EQ(taken, LakeCatalog::Taken::kExisted);
  EXPECT_FALSE(*catalog_->RemoveMade(path_, Descriptor(), kMadeMs + 5));
  ASSERT_OK_AND_ASSIGN(const auto table, catalog_->OpenTable(path_));
  ASSERT_OK(table->Commit({}, {}));
  EXPECT_FALSE(*catalog_->RemoveMade(path_, Descriptor(), kMadeMs));
  const types::TablePath changed{"db", "changed"};
  ASSERT_OK(catalog_->CreateTable(changed, Descriptor(), true, kMadeMs));
  ASSERT_OK(catalog_->AlterTable(changed, {LakeChange::SetOption("mine", "2")}));
  EXPECT_FALSE(*catalog_->RemoveMade(changed, Descriptor(), kMadeMs));
  ASSERT_OK_AND_ASSIGN(const auto databases, catalog_->ListDatabases());
  EXPECT_EQ(databases, std::vector<std::string>{"db"});
  ASSERT_OK_AND_ASSIGN(const auto tables, catalog_->ListTables("db"));
  EXPECT_EQ(tables, (std::vector<std::string>{"changed", "t"}));
}

TEST_F(PaimonCatalogTest, OpenNamesWhatIsWrong) {
  EXPECT_CODE(ErrorCode::kInvalidConfig, Open({}));
  EXPECT_CODE(ErrorCode::kInvalidConfig, Open({{"warehouse", "s3://bucket/x"}}));
  EXPECT_CODE(ErrorCode::kInvalidConfig,
              Open({{"warehouse", folder_.path()}, {"metastore", "hive"}}));
  const Status unwritable = Open({{"warehouse", "/proc/nowhere"}}).status();
  EXPECT_CODE(ErrorCode::kInvalidConfig, unwritable);
  EXPECT_NE(unwritable.message().find("/proc/nowhere"), std::string::npos);
}

TEST_F(PaimonCatalogTest, AWarehouseThatIsGoneIsNotMadeAnew) {
  const std::string warehouse = folder_.path() + "/wh";
  const auto open_known = [&] {
    return LakeCatalog::Open({.properties = {{"warehouse", warehouse}},
                              .files = &io::LocalFileSystem(),
                              .clock = &clock_,
                              .random = &random_,
                              .may_make_warehouse = false})
        .status();
  };
  EXPECT_OK(open_known());
  ASSERT_OK(io::LocalFileSystem().Rename(warehouse, warehouse + ".away"));
  ASSERT_OK(io::LocalFileSystem().MakeFolders(warehouse));  // An empty mount point.
  const Status gone = catalog_->CreateTable(path_, Descriptor(), true).status();
  EXPECT_CODE(ErrorCode::kStorage, gone);
  EXPECT_NE(gone.message().find(warehouse), std::string::npos);
  EXPECT_CODE(ErrorCode::kInvalidConfig, open_known());
  EXPECT_TRUE(io::LocalFileSystem().List(warehouse)->empty());
}

// A reader takes what is there, also a warehouse that others made, and leaves no trace.
TEST_F(PaimonCatalogTest, AReaderOfAWarehouseWritesNothing) {
  const std::string warehouse = folder_.path() + "/others";
  const auto open_to_read = [&] {
    return LakeCatalog::Open({.properties = {{"warehouse", warehouse}},
                              .files = &io::LocalFileSystem(),
                              .clock = &clock_,
                              .random = &random_,
                              .read_only = true})
        .status();
  };
  const Status gone = open_to_read();
  EXPECT_CODE(ErrorCode::kInvalidConfig, gone);
  EXPECT_NE(gone.message().find(warehouse), std::string::npos);
  ASSERT_OK(io::LocalFileSystem().MakeFolders(warehouse));
  EXPECT_OK(open_to_read());
  EXPECT_TRUE(io::LocalFileSystem().List(warehouse)->empty());
}

}  // namespace
}  // namespace sluice::lake
