#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>

#include "lake/workload_testing.h"

namespace sluice::lake {
namespace {

using types::DataType;
using types::TypeKind;

class PaimonTableTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(catalog_, LakeCatalog::Open({.properties = {{"warehouse", folder_.path()}},
                                                      .files = &io::LocalFileSystem(),
                                                      .clock = &clock_,
                                                      .random = &random_}));
  }

  std::unique_ptr<LakeWorkload> Make(const std::string& name, bool primary_key,
                                     int32_t buckets = 1) {
    auto descriptor = AllTypesTable(primary_key, false, false, buckets, false);
    descriptor.schema.columns.resize(5);  // id, c_bool, c_tiny, c_small, c_int.
    return LakeWorkload::Create(catalog_.get(), {{"db", name}, descriptor, 50}, 3).ValueOrDie();
  }

  TempDir folder_;
  HandClock clock_;
  io::SeededRandom random_{11};
  std::unique_ptr<LakeCatalog> catalog_;
};

std::shared_ptr<arrow::RecordBatch> IdBatch(const std::vector<int32_t>& ids,
                                            const std::vector<int32_t>& values) {
  arrow::Int32Builder id, value;
  EXPECT_OK(id.AppendValues(ids));
  EXPECT_OK(value.AppendValues(values));
  return arrow::RecordBatch::Make(
      arrow::schema({arrow::field("id", arrow::int32(), false), arrow::field("v", arrow::int32())}),
      static_cast<int64_t>(ids.size()), {id.Finish().ValueOrDie(), value.Finish().ValueOrDie()});
}

types::TableDescriptor IdTable(bool primary_key) {
  types::TableDescriptor descriptor;
  descriptor.schema.columns = {{"id", DataType::Of(TypeKind::kInteger, false), ""},
                               {"v", DataType::Of(TypeKind::kInteger), ""}};
  if (primary_key) descriptor.schema.primary_key = {"id"};
  descriptor.bucket_count = 1;
  return descriptor;
}

Result<int64_t> CommitRows(LakeTable& table, const std::shared_ptr<arrow::RecordBatch>& rows,
                           std::vector<RowKind> kinds = {}, const CommitOptions& options = {}) {
  ASSIGN_OR_RAISE(const auto writer, table.OpenWriter({.columns = {"id", "v"}}));
  RETURN_NOT_OK(writer->Write({rows, kinds, 0, 1000}));
  std::vector<std::unique_ptr<PreparedFiles>> files;
  ASSIGN_OR_RAISE(auto prepared, writer->Finish());
  files.push_back(std::move(prepared));
  return table.Commit(std::move(files), options);
}

// As upserts of one row each come.
TEST_F(PaimonTableTest, SmallBatchesOfAKeyTableTakeTheMemoryOfTheirRows) {
  ASSERT_OK(catalog_->CreateTable({"db", "small"}, IdTable(true), false));
  ASSERT_OK_AND_ASSIGN(const auto table, catalog_->OpenTable({"db", "small"}));
  ASSERT_OK_AND_ASSIGN(const auto writer, table->OpenWriter({.columns = {"id", "v"}}));
  constexpr int32_t kRows = 5000;
  const std::vector<RowKind> kinds{RowKind::kUpdateAfter};
  for (int32_t i = 0; i < kRows; ++i)
    ASSERT_OK(writer->Write({IdBatch({i % 1000}, {i}), kinds, i, 1000}));
  EXPECT_LT(writer->buffered_bytes(), kRows * 100);
  std::vector<std::unique_ptr<PreparedFiles>> files;
  files.push_back(writer->Finish().ValueOrDie());
  ASSERT_OK(table->Commit(std::move(files), {}));
  ASSERT_OK_AND_ASSIGN(const auto snapshot, table->LatestSnapshot());
  ASSERT_OK_AND_ASSIGN(const auto rows, ReadAll(*table, *snapshot, {"id", "v"}));
  EXPECT_EQ(rows.size(), 1000u);
  EXPECT_THAT(rows, testing::Contains(R"({"id":999,"v":4999})"));
}

TEST_F(PaimonTableTest, EmptyCommitsKeepTheirProperties) {
  const auto workload = Make("empty", false);
  EXPECT_EQ(workload->table().LatestSnapshot().ValueOrDie(), std::nullopt);
  ASSERT_OK_AND_ASSIGN(const int64_t id,
                       workload->table().Commit({}, {.properties = {{"fluss-offsets", "/a"}}}));
  EXPECT_EQ(id, 1);
  ASSERT_OK_AND_ASSIGN(const auto snapshot, workload->table().NewestSnapshotOf(kTieringUser));
  ASSERT_TRUE(snapshot.has_value());
  EXPECT_EQ(snapshot->properties.at("fluss-offsets"), "/a");
  EXPECT_EQ(snapshot->total_records, 0);
  ASSERT_OK_AND_ASSIGN(const auto rows, ReadAll(workload->table(), *snapshot, {"id"}));
  EXPECT_TRUE(rows.empty());
}

TEST_F(PaimonTableTest, NewestSnapshotOfAUserIsFoundBelowOthers) {
  const auto workload = Make("users", false);
  ASSERT_OK(workload->Round(5));
  ASSERT_OK(workload->table().Commit({}, {.user = "someone-else"}));
  ASSERT_OK_AND_ASSIGN(const auto mine, workload->table().NewestSnapshotOf(kTieringUser));
  EXPECT_EQ(mine->id, 1);
  ASSERT_OK_AND_ASSIGN(const auto none, workload->table().NewestSnapshotOf("nobody"));
  EXPECT_FALSE(none.has_value());
}

TEST_F(PaimonTableTest, TimeTravelFindsTheNewestSnapshotNotYounger) {
  const auto workload = Make("travel", true);
  std::vector<int64_t> times;
  for (int i = 0; i < 5; ++i) {
    times.push_back(clock_.NowMs());
    ASSERT_OK(workload->Round(10));
    clock_.Advance(1000);
  }
  for (int i = 0; i < 5; ++i) {
    for (const int64_t later : {0, 1, 999}) {
      ASSERT_OK_AND_ASSIGN(const auto snapshot,
                           workload->table().SnapshotAtTime(times[static_cast<size_t>(i)] + later));
      EXPECT_EQ(snapshot.id, i + 1);
    }
  }
  const auto early = workload->table().SnapshotAtTime(times[0] - 1);
  EXPECT_CODE(ErrorCode::kLakeSnapshotNotExist, early.status());
  EXPECT_NE(early.status().message().find(std::to_string(times[0] - 1)), std::string::npos);
  EXPECT_CODE(ErrorCode::kLakeSnapshotNotExist, workload->table().SnapshotById(99));
}

TEST_F(PaimonTableTest, SnapshotTimesNeverGoBack) {
  const auto workload = Make("clock", false);
  ASSERT_OK(workload->Round(5));
  clock_.Advance(-5000);
  ASSERT_OK_AND_ASSIGN(const int64_t id, workload->Round(5));
  EXPECT_EQ(workload->table().SnapshotById(id)->time_ms,
            workload->table().SnapshotById(1)->time_ms);
}

TEST_F(PaimonTableTest, LateUpdatesWinOverCompactedRows) {
  ASSERT_OK(catalog_->CreateTable({"db", "late"}, IdTable(true), true));
  ASSERT_OK_AND_ASSIGN(const auto table, catalog_->OpenTable({"db", "late"}));
  ASSERT_OK(CommitRows(*table, IdBatch({1, 2, 3}, {10, 20, 30})));
  ASSERT_OK(CommitRows(*table, IdBatch({2, 2}, {21, 22})));
  ASSERT_OK_AND_ASSIGN(const auto compacted, table->Compact({.full = true}));
  ASSERT_TRUE(compacted.has_value());
  ASSERT_OK_AND_ASSIGN(const auto plan, table->Plan(*table->SnapshotById(*compacted), {}));
  ASSERT_EQ(plan.splits.size(), 1u);
  EXPECT_TRUE(plan.splits[0].raw);
  EXPECT_EQ(plan.splits[0].record_count, 3);
  EXPECT_TRUE(plan.splits[0].files[0].readable_by_name);
  EXPECT_EQ(plan.splits[0].files[0].level, 5);
  ASSERT_OK_AND_ASSIGN(const int64_t id, CommitRows(*table, IdBatch({3, 1}, {0, 11}),
                                                    {RowKind::kDelete, RowKind::kUpdateAfter}));
  ASSERT_OK_AND_ASSIGN(const auto snapshot, table->SnapshotById(id));
  ASSERT_OK_AND_ASSIGN(const auto rows, ReadAll(*table, snapshot, {"id", "v"}));
  EXPECT_EQ(rows, (std::vector<std::string>{R"({"id":1,"v":11})", R"({"id":2,"v":22})"}));
  ASSERT_OK_AND_ASSIGN(const auto counted, ReadAll(*table, snapshot, {}));
  EXPECT_EQ(counted.size(), 2u);
}

TEST_F(PaimonTableTest, DeletesSurviveCompactionBelowOlderRows) {
  ASSERT_OK(catalog_->CreateTable({"db", "deletes"}, IdTable(true), true));
  ASSERT_OK_AND_ASSIGN(const auto table, catalog_->OpenTable({"db", "deletes"}));
  std::vector<int32_t> ids(2000), values(2000);
  for (int32_t i = 0; i < 2000; ++i) ids[static_cast<size_t>(i)] = i;
  std::ranges::generate(values, [this] { return static_cast<int32_t>(random_.Next()); });
  ASSERT_OK(CommitRows(*table, IdBatch(ids, values)));
  ASSERT_OK(CommitRows(*table, IdBatch({5000}, {1})));
  ASSERT_OK(table->Compact({.full = true}));  // All on the top level now.
  ASSERT_OK(CommitRows(*table, IdBatch({7}, {0}), {RowKind::kDelete}));
  ASSERT_OK(CommitRows(*table, IdBatch({8}, {1})));
  ASSERT_OK_AND_ASSIGN(
      const auto id,
      table->Compact({.files_min = 2}));  // The two small files, below the large one.
  ASSERT_TRUE(id.has_value());
  ASSERT_OK_AND_ASSIGN(const auto snapshot, table->SnapshotById(*id));
  ASSERT_OK_AND_ASSIGN(const auto plan, table->Plan(snapshot, {}));
  int64_t below_top = 0;
  for (const LakeSplit& split : plan.splits) {
    for (const LakeFile& file : split.files) below_top += file.level > 0 && file.level < 5;
  }
  EXPECT_EQ(below_top, 1);
  ASSERT_OK_AND_ASSIGN(const auto rows, ReadAll(*table, snapshot, {"id"}));
  EXPECT_EQ(rows.size(), 2000u);
  EXPECT_FALSE(std::ranges::binary_search(rows, R"({"id":7})"));
}

TEST_F(PaimonTableTest, NullInAKeyOrOfAnotherTypeIsRefused) {
  ASSERT_OK(catalog_->CreateTable({"db", "nulls"}, IdTable(true), true));
  ASSERT_OK_AND_ASSIGN(const auto table, catalog_->OpenTable({"db", "nulls"}));
  EXPECT_CODE(ErrorCode::kInvalidTable, table->OpenWriter({.columns = {"id", "nope"}}));
  EXPECT_CODE(ErrorCode::kInvalidTable, table->OpenWriter({.columns = {"id"}, .bucket = 1}));
  EXPECT_CODE(ErrorCode::kPartitionSpecInvalid,
              table->OpenWriter({.columns = {"id"}, .partition = {"x"}}));
  ASSERT_OK_AND_ASSIGN(const auto writer, table->OpenWriter({.columns = {"v", "id"}}));
  arrow::Int32Builder null_id;
  ASSERT_OK(null_id.AppendNull());
  const auto one = IdBatch({1}, {1});
  const auto nulls =
      arrow::RecordBatch::Make(one->schema(), 1, {one->column(0), null_id.Finish().ValueOrDie()});
  const Status refused = writer->Write({nulls, {}, 0, 0});
  EXPECT_CODE(ErrorCode::kInvalidTable, refused);
  EXPECT_NE(refused.message().find("column=id"), std::string::npos);
  arrow::StringBuilder text;
  ASSERT_OK(text.Append("1"));
  const auto texts =
      arrow::RecordBatch::Make(one->schema(), 1, {text.Finish().ValueOrDie(), one->column(0)});
  EXPECT_CODE(ErrorCode::kInvalidTable, writer->Write({texts, {}, 0, 0}));
}

TEST_F(PaimonTableTest, AbandonedFilesAreRemoved) {
  ASSERT_OK(catalog_->CreateTable({"db", "abandoned"}, IdTable(true), true));
  ASSERT_OK_AND_ASSIGN(const auto table, catalog_->OpenTable({"db", "abandoned"}));
  const std::string bucket = table->location() + "/bucket-0";
  {
    ASSERT_OK_AND_ASSIGN(const auto writer, table->OpenWriter({.columns = {"id", "v"}}));
    ASSERT_OK(writer->Write({IdBatch({1}, {1}), {}, 0, 0}));
    std::vector<std::unique_ptr<PreparedFiles>> files;
    ASSERT_OK_AND_ASSIGN(auto prepared, writer->Finish());
    EXPECT_EQ(prepared->record_count(), 1);
    EXPECT_EQ(io::LocalFileSystem().List(bucket)->size(), 2u);  // Data and changelog.
    files.push_back(std::move(prepared));
    table->Discard(std::move(files));
  }
  EXPECT_EQ(io::LocalFileSystem().List(bucket)->size(), 0u);
}

TEST_F(PaimonTableTest, TwoWritersBothCommit) {
  ASSERT_OK(catalog_->CreateTable({"db", "race"}, IdTable(false), true));
  ASSERT_OK_AND_ASSIGN(const auto one, catalog_->OpenTable({"db", "race"}));
  ASSERT_OK_AND_ASSIGN(const auto two, catalog_->OpenTable({"db", "race"}));
  ASSERT_OK_AND_ASSIGN(const auto writer_one, one->OpenWriter({.columns = {"id", "v"}}));
  ASSERT_OK_AND_ASSIGN(const auto writer_two, two->OpenWriter({.columns = {"id", "v"}}));
  std::vector<std::unique_ptr<PreparedFiles>> files_one, files_two;
  ASSERT_OK(writer_one->Write({IdBatch({1}, {1}), {}, 0, 0}));
  ASSERT_OK(writer_two->Write({IdBatch({2}, {2}), {}, 0, 0}));
  files_one.push_back(writer_one->Finish().ValueOrDie());
  files_two.push_back(writer_two->Finish().ValueOrDie());
  ASSERT_OK(one->Commit(std::move(files_one), {}));
  ASSERT_OK_AND_ASSIGN(const int64_t id, two->Commit(std::move(files_two), {}));
  EXPECT_EQ(id, 2);
  ASSERT_OK_AND_ASSIGN(const auto rows, ReadAll(*one, *one->SnapshotById(2), {"id"}));
  EXPECT_EQ(rows, (std::vector<std::string>{R"({"id":1})", R"({"id":2})"}));
}

TEST_F(PaimonTableTest, ManyCommitsKeepTheManifestListShort) {
  ASSERT_OK(catalog_->CreateTable({"db", "many"}, IdTable(false), true));
  ASSERT_OK_AND_ASSIGN(const auto table, catalog_->OpenTable({"db", "many"}));
  for (int32_t i = 0; i < 40; ++i) ASSERT_OK(CommitRows(*table, IdBatch({i}, {i})));
  ASSERT_OK_AND_ASSIGN(const auto latest, table->LatestSnapshot());
  EXPECT_EQ(latest->total_records, 40);
  // 29 manifests were kept apart at most, then joined into one.
  ASSERT_OK_AND_ASSIGN(
      const auto list,
      io::LocalFileSystem().Stat(table->location() + "/manifest/" + latest->base_manifest_list));
  ASSERT_OK_AND_ASSIGN(const auto fresh, catalog_->OpenTable({"db", "many"}));
  ASSERT_OK_AND_ASSIGN(const auto rows, ReadAll(*fresh, *latest, {"id"}));
  EXPECT_EQ(rows.size(), 40u);
  ASSERT_OK_AND_ASSIGN(const auto small, table->Compact({.files_min = 5}));
  ASSERT_TRUE(small.has_value());
  ASSERT_OK_AND_ASSIGN(const auto plan, fresh->Plan(*fresh->SnapshotById(*small), {}));
  EXPECT_EQ(plan.splits[0].files.size(), 1u);
  EXPECT_EQ(plan.splits[0].files[0].record_count, 40);
}

TEST_F(PaimonTableTest, ExpiryDropsOldSnapshotsAndOnlyTheirFiles) {
  const auto workload = Make("expiry", true);
  for (int i = 0; i < 6; ++i) {
    ASSERT_OK(workload->Round(30));
    ASSERT_OK(workload->table().Compact({.full = true}));
    clock_.Advance(60'000);
  }
  ASSERT_OK_AND_ASSIGN(const auto latest, workload->table().LatestSnapshot());
  LakeTable& table = workload->table();
  ASSERT_OK_AND_ASSIGN(const int64_t young,
                       table.Expire({.retained_min = 1, .retained_ms = 3'600'000}));
  EXPECT_EQ(young, 0);
  ASSERT_OK(table.Pin(latest->id - 2));
  ASSERT_OK_AND_ASSIGN(const int64_t pinned, table.Expire({.retained_min = 1, .retained_ms = 0}));
  EXPECT_EQ(pinned, latest->id - 3);
  EXPECT_CODE(ErrorCode::kLakeSnapshotNotExist, table.SnapshotById(1));
  EXPECT_CODE(ErrorCode::kLakeSnapshotNotExist, table.Pin(1));
  table.Unpin(latest->id - 2);
  clock_.Advance(10'000);
  for (int64_t id = latest->id - 2; id <= latest->id; ++id) {
    const int64_t round =
        id % 2 == 0 ? id - 1 : id;  // Compactions have even ids and the rows of the round before.
    ASSERT_OK_AND_ASSIGN(const auto rows,
                         ReadAll(table, *table.SnapshotById(id), workload->AllColumns()));
    EXPECT_EQ(rows, workload->ExpectedRowsAt(round)) << id;
  }
  ASSERT_OK_AND_ASSIGN(const int64_t rest, table.Expire({.retained_min = 1, .retained_ms = 0}));
  EXPECT_EQ(rest, 2);
  ASSERT_OK_AND_ASSIGN(const auto fresh, catalog_->OpenTable({"db", "expiry"}));
  ASSERT_OK_AND_ASSIGN(const auto rows, ReadAll(*fresh, *latest, workload->AllColumns()));
  EXPECT_EQ(rows, workload->ExpectedRows());
  // What is left: the newest snapshot's data alone, its manifests and two lists.
  ASSERT_OK_AND_ASSIGN(const auto plan, fresh->Plan(*latest, {}));
  EXPECT_EQ(io::LocalFileSystem().List(table.location() + "/bucket-0")->size(),
            plan.splits[0].files.size());
  ASSERT_OK_AND_ASSIGN(const std::string earliest,
                       io::LocalFileSystem().ReadFile(table.location() + "/snapshot/EARLIEST"));
  EXPECT_EQ(earliest, std::to_string(latest->id));
}

TEST_F(PaimonTableTest, AddedColumnsAreNullInOlderFiles) {
  const types::TablePath path{"db", "evolve"};
  ASSERT_OK(catalog_->CreateTable(path, IdTable(true), true));
  ASSERT_OK_AND_ASSIGN(auto table, catalog_->OpenTable(path));
  ASSERT_OK(CommitRows(*table, IdBatch({1, 2}, {10, 20})));
  ASSERT_OK(catalog_->AlterTable(
      path, {LakeChange::AddColumn({"note", DataType::Of(TypeKind::kString), ""})}));
  ASSERT_OK_AND_ASSIGN(table, catalog_->OpenTable(path));
  EXPECT_EQ(table->schema().columns[2].name, "note");
  EXPECT_EQ(table->schema().columns[3].name, kBucketColumn);
  ASSERT_OK_AND_ASSIGN(const auto writer, table->OpenWriter({.columns = {"id", "v", "note"}}));
  const auto base = IdBatch({2, 3}, {21, 30});
  arrow::StringBuilder notes;
  ASSERT_OK(notes.AppendValues({"two", "three"}));
  ASSERT_OK(writer->Write(
      {arrow::RecordBatch::Make(arrow::schema({base->schema()->field(0), base->schema()->field(1),
                                               arrow::field("note", arrow::utf8())}),
                                2, {base->column(0), base->column(1), notes.Finish().ValueOrDie()}),
       {},
       2,
       5}));
  std::vector<std::unique_ptr<PreparedFiles>> files;
  files.push_back(writer->Finish().ValueOrDie());
  ASSERT_OK_AND_ASSIGN(const int64_t id, table->Commit(std::move(files), {}));
  const std::vector<std::string> wanted{R"({"id":1,"v":10,"note":null})",
                                        R"({"id":2,"v":21,"note":"two"})",
                                        R"({"id":3,"v":30,"note":"three"})"};
  ASSERT_OK_AND_ASSIGN(const auto rows,
                       ReadAll(*table, *table->SnapshotById(id), {"id", "v", "note"}));
  EXPECT_EQ(rows, wanted);
  ASSERT_OK_AND_ASSIGN(const auto compacted, table->Compact({.full = true}));
  ASSERT_OK_AND_ASSIGN(const auto again,
                       ReadAll(*table, *table->SnapshotById(*compacted), {"id", "v", "note"}));
  EXPECT_EQ(again, wanted);
  EXPECT_EQ(table->SnapshotById(1)->schema_id, 0);
  EXPECT_EQ(table->SnapshotById(id)->schema_id, 1);
}

TEST_F(PaimonTableTest, ATableOpenedBeforeAnAlterCompactsNoFilesOfTheNewSchema) {
  const types::TablePath path{"db", "outdated"};
  ASSERT_OK(catalog_->CreateTable(path, IdTable(true), true));
  ASSERT_OK_AND_ASSIGN(const auto old, catalog_->OpenTable(path));
  ASSERT_OK(CommitRows(*old, IdBatch({1}, {10})));
  ASSERT_OK(catalog_->AlterTable(
      path, {LakeChange::AddColumn({"w", DataType::Of(TypeKind::kInteger), ""})}));
  ASSERT_OK_AND_ASSIGN(const auto fresh, catalog_->OpenTable(path));
  ASSERT_OK_AND_ASSIGN(const auto writer, fresh->OpenWriter({.columns = {"id", "w"}}));
  ASSERT_OK(writer->Write({IdBatch({2}, {20}), {}, 1, 1000}));
  std::vector<std::unique_ptr<PreparedFiles>> files;
  files.push_back(writer->Finish().ValueOrDie());
  ASSERT_OK(fresh->Commit(std::move(files), {}));
  ASSERT_OK_AND_ASSIGN(const auto none, old->Compact({.full = true}));
  EXPECT_EQ(none, std::nullopt);
  ASSERT_OK_AND_ASSIGN(const auto compacted, fresh->Compact({.full = true}));
  ASSERT_TRUE(compacted.has_value());
  ASSERT_OK_AND_ASSIGN(const auto rows,
                       ReadAll(*fresh, *fresh->SnapshotById(*compacted), {"id", "v", "w"}));
  EXPECT_EQ(rows, (std::vector<std::string>{R"({"id":1,"v":10,"w":null})",
                                            R"({"id":2,"v":null,"w":20})"}));
}

// A round opened the table between an ALTER and its undo, and commits behind it.
TEST_F(PaimonTableTest, FilesOfASchemaThatWasTakenBackStayReadable) {
  for (const bool primary_key : {false, true}) {
    const types::TablePath path{"db", primary_key ? "undone_keyed" : "undone"};
    ASSERT_OK(catalog_->CreateTable(path, IdTable(primary_key), true));
    const std::vector<LakeChange> changes{
        LakeChange::AddColumn({"note", DataType::Of(TypeKind::kString), ""})};
    ASSERT_OK(catalog_->AlterTable(path, changes));
    ASSERT_OK_AND_ASSIGN(const auto round, catalog_->OpenTable(path));
    ASSERT_OK_AND_ASSIGN(const auto writer, round->OpenWriter({.columns = {"id", "v"}}));
    ASSERT_OK(writer->Write({IdBatch({1}, {10}), {}, 0, 1000}));
    std::vector<std::unique_ptr<PreparedFiles>> files;
    files.push_back(writer->Finish().ValueOrDie());
    ASSERT_OK(catalog_->TakeBackAlter(path, changes));
    ASSERT_OK(round->Commit(std::move(files), {}));
    // The next ALTER adds another column, whose values the old file does not have.
    ASSERT_OK(catalog_->AlterTable(
        path, {LakeChange::AddColumn({"amount", DataType::Of(TypeKind::kBigInt), ""})}));
    ASSERT_OK_AND_ASSIGN(const auto table, catalog_->OpenTable(path));
    ASSERT_OK_AND_ASSIGN(const auto latest, table->LatestSnapshot());
    ASSERT_OK_AND_ASSIGN(const auto rows, ReadAll(*table, *latest, {"id", "v", "amount"}));
    EXPECT_EQ(rows, std::vector<std::string>{R"({"id":1,"v":10,"amount":null})"});
  }
}

// The schema, or the table, was removed by another engine while a round wrote.
TEST_F(PaimonTableTest, FilesOfASchemaThatIsNotThereAreNotCommitted) {
  const types::TablePath path{"db", "replaced"};
  for (const bool made_anew : {false, true}) {
    ASSERT_OK(catalog_->CreateTable(path, IdTable(false), true));
    ASSERT_OK(catalog_->AlterTable(
        path, {LakeChange::AddColumn({"note", DataType::Of(TypeKind::kString), ""})}));
    ASSERT_OK_AND_ASSIGN(const auto table, catalog_->OpenTable(path));
    ASSERT_OK_AND_ASSIGN(const auto writer, table->OpenWriter({.columns = {"id", "v"}}));
    ASSERT_OK(writer->Write({IdBatch({1}, {10}), {}, 0, 1000}));
    std::vector<std::unique_ptr<PreparedFiles>> files;
    files.push_back(writer->Finish().ValueOrDie());
    const std::string gone = table->location() + (made_anew ? "" : "/schema/schema-1");
    ASSERT_OK(io::LocalFileSystem().RemoveTree(gone));
    clock_.Advance(1);
    if (made_anew) ASSERT_OK(catalog_->CreateTable(path, IdTable(false), true));
    EXPECT_CODE(ErrorCode::kSchemaNotExist, table->Commit(std::move(files), {}));
    ASSERT_OK_AND_ASSIGN(const auto latest, table->LatestSnapshot());
    EXPECT_EQ(latest, std::nullopt);
    ASSERT_OK(io::LocalFileSystem().RemoveTree(table->location()));
  }
}

TEST_F(PaimonTableTest, SystemTablesShowTheSnapshots) {
  const auto workload = Make("system", true);
  ASSERT_OK(workload->Round(10));
  ASSERT_OK(workload->Round(10));
  ASSERT_OK_AND_ASSIGN(const auto columns, SystemTableColumns("snapshots"));
  ASSERT_OK_AND_ASSIGN(const auto rows, workload->table().SystemTable("snapshots"));
  ASSERT_EQ(rows->num_rows(), 2);
  EXPECT_EQ(static_cast<size_t>(rows->num_columns()), columns.size());
  const auto lines = JsonLines(*rows, columns);
  EXPECT_NE(lines[1].find(R"("snapshot_id":2,"schema_id":0,"commit_user":"__fluss_lake_tiering")"),
            std::string::npos)
      << lines[1];
  ASSERT_OK_AND_ASSIGN(const auto files, workload->table().SystemTable("files"));
  EXPECT_EQ(files->num_rows(), 2);
  ASSERT_OK_AND_ASSIGN(const auto options, workload->table().SystemTable("options"));
  EXPECT_GT(options->num_rows(), 3);
  ASSERT_OK_AND_ASSIGN(const auto schemas, workload->table().SystemTable("schemas"));
  EXPECT_EQ(schemas->num_rows(), 1);
  EXPECT_CODE(ErrorCode::kTableNotExist, workload->table().SystemTable("nope"));
}

TEST_F(PaimonTableTest, PlansCanBeCutToABucketOrPartition) {
  auto descriptor = AllTypesTable(true, false, true, 2, false);
  ASSERT_OK_AND_ASSIGN(const auto workload,
                       LakeWorkload::Create(catalog_.get(), {{"db", "cut"}, descriptor, 50}, 3));
  ASSERT_OK_AND_ASSIGN(const int64_t id, workload->Round(60));
  ASSERT_OK_AND_ASSIGN(const auto snapshot, workload->table().SnapshotById(id));
  ASSERT_OK_AND_ASSIGN(const auto all, workload->table().Plan(snapshot, {}));
  EXPECT_EQ(all.splits.size(), 4u);
  ASSERT_OK_AND_ASSIGN(
      const auto cut,
      workload->table().Plan(snapshot, {.bucket = 1, .partition = {{"dt", "2026-01-02"}}}));
  ASSERT_EQ(cut.splits.size(), 1u);
  EXPECT_EQ(cut.splits[0].bucket, 1);
  EXPECT_EQ(cut.splits[0].partition[0], "2026-01-02");
}

// A file behind the memory bound of the key buffer becomes several sorted runs of one commit.
TEST_F(PaimonTableTest, KeyWritersBeyondTheirBufferKeepTheNewestRow) {
  ASSERT_OK(catalog_->CreateTable({"db", "big"}, IdTable(true), true));
  ASSERT_OK_AND_ASSIGN(const auto table, catalog_->OpenTable({"db", "big"}));
  ASSERT_OK_AND_ASSIGN(const auto writer, table->OpenWriter({.columns = {"id", "v"}}));
  constexpr int32_t kRows =
      500'000;  // 28 bytes a row with the system columns: five batches fill the buffer.
  std::vector<int32_t> ids(kRows), values(kRows);
  for (int32_t i = 0; i < kRows; ++i) ids[static_cast<size_t>(i)] = kRows - i;
  for (int32_t round = 0; round < 7; ++round) {
    std::ranges::fill(values, round == 6 ? 1000 : round);
    ASSERT_OK(writer->Write({IdBatch(ids, values), {}, int64_t{round} * kRows, round}));
  }
  std::vector<std::unique_ptr<PreparedFiles>> files;
  files.push_back(writer->Finish().ValueOrDie());
  ASSERT_OK_AND_ASSIGN(const int64_t id, table->Commit(std::move(files), {}));
  ASSERT_OK_AND_ASSIGN(const auto plan, table->Plan(*table->SnapshotById(id), {}));
  EXPECT_GT(plan.splits[0].files.size(), 1u);
  int64_t rows = 0, old = 0;
  for (const LakeSplit& split : plan.splits) {
    ASSERT_OK_AND_ASSIGN(const auto reader, table->Read(split, {"v"}));
    while (true) {
      ASSERT_OK_AND_ASSIGN(const auto batch, reader->Next());
      if (batch == nullptr) break;
      rows += batch->num_rows();
      const auto& v = static_cast<const arrow::Int32Array&>(*batch->column(0));
      for (int64_t i = 0; i < v.length(); ++i) old += v.Value(i) != 1000;
    }
  }
  EXPECT_EQ(rows, kRows);
  EXPECT_EQ(old, 0);
}

// Ids from 0 on, and texts of 100 KB: the same in every row, or not.
std::shared_ptr<arrow::RecordBatch> WideRows(int32_t rows, char begin, bool same) {
  arrow::Int32Builder ids;
  arrow::StringBuilder texts;
  for (int32_t i = 0; i < rows; ++i) {
    EXPECT_OK(ids.Append(i));
    EXPECT_OK(texts.Append(begin + std::string(100'000, 'x') + std::to_string(same ? 0 : i)));
  }
  return arrow::RecordBatch::Make(
      arrow::schema({arrow::field("id", arrow::int32(), false), arrow::field("s", arrow::utf8())}),
      rows, {ids.Finish().ValueOrDie(), texts.Finish().ValueOrDie()});
}

// Whatever reads them holds a few batches, and batches what they are told to, but for the first
// ones of values that the file has once.
TEST_F(PaimonTableTest, WideRowsComeInBatchesOfTheirBytes) {
  constexpr int32_t kRows = 400;
  constexpr int64_t kBytesMax = 1 << 20;
  for (const bool keyed : {false, true}) {
    for (const bool same : {false, true}) {
      SCOPED_TRACE(testing::Message() << "keyed=" << keyed << " same=" << same);
      const types::TablePath path{"db", std::string(keyed ? "k" : "a") + (same ? "1" : "0")};
      ASSERT_OK(catalog_->CreateTable(path, TwoColumnTable(keyed), true));
      ASSERT_OK_AND_ASSIGN(const auto table, catalog_->OpenTable(path));
      for (const char begin : {'a', 'b'}) {  // Of keyed rows the second hides the first.
        ASSERT_OK_AND_ASSIGN(const auto writer, table->OpenWriter({.columns = {"id", "s"}}));
        ASSERT_OK(writer->Write({WideRows(kRows, begin, same), {}, 0, 1000}));
        std::vector<std::unique_ptr<PreparedFiles>> files;
        files.push_back(writer->Finish().ValueOrDie());
        ASSERT_OK(table->Commit(std::move(files), {}));
      }
      ASSERT_OK_AND_ASSIGN(const auto snapshot, table->LatestSnapshot());
      ASSERT_OK_AND_ASSIGN(const auto plan, table->Plan(*snapshot, {}));
      const int64_t before = arrow::default_memory_pool()->bytes_allocated();
      int64_t rows = 0, most = 0;
      for (const LakeSplit& split : plan.splits) {
        ASSERT_OK_AND_ASSIGN(const auto reader, table->Read(split, {"id", "s"}, kBytesMax));
        while (true) {
          ASSERT_OK_AND_ASSIGN(const auto batch, reader->Next());
          if (batch == nullptr) break;
          rows += batch->num_rows();
          EXPECT_LE(batch->num_rows(), 64);
          const auto& texts = static_cast<const arrow::StringArray&>(*batch->column(1));
          EXPECT_TRUE(!keyed || texts.GetView(0).front() == 'b');
          most = std::max(most, arrow::default_memory_pool()->bytes_allocated() - before);
        }
      }
      EXPECT_EQ(rows, keyed ? kRows : 2 * kRows);
      EXPECT_LT(most, 32 << 20);
    }
  }
}

// Others may remove snapshots, and a crash may bring some back that lie before those that it lost.
TEST_F(PaimonTableTest, ExpiryPassesGaps) {
  ASSERT_OK(catalog_->CreateTable({"db", "gaps"}, IdTable(true), true));
  ASSERT_OK_AND_ASSIGN(const auto table, catalog_->OpenTable({"db", "gaps"}));
  for (int32_t i = 0; i < 8; ++i) ASSERT_OK(CommitRows(*table, IdBatch({i}, {i})));
  clock_.Advance(60'000);
  for (const char* lost : {"/snapshot/snapshot-3", "/snapshot/snapshot-4"})
    ASSERT_OK(io::LocalFileSystem().Remove(table->location() + lost));
  const ExpireOptions two{.retained_min = 1, .retained_ms = 0, .limit = 2};
  EXPECT_EQ(table->Expire(two).ValueOr(-1), 2);  // The third would be the first to stay.
  ASSERT_OK_AND_ASSIGN(const auto left, table->Snapshots());
  ASSERT_EQ(left.size(), 4u);
  EXPECT_EQ(left.front().id, 5);
  EXPECT_EQ(table->Expire(two).ValueOr(-1), 2);
  ASSERT_OK_AND_ASSIGN(const auto rows, ReadAll(*table, left.back(), {"id", "v"}));
  EXPECT_EQ(rows.size(), 8u);
}

}  // namespace
}  // namespace sluice::lake
