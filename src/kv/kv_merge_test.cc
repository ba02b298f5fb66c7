// What a put makes of the row that is there: partial updates, merge engines, deletes.
#include "base/log.h"
#include "kv/changelog.h"
#include "kv/key_rows.h"
#include "kv/kv_tablet_testing.h"

namespace sluice::kv {
namespace {

using testing::ElementsAre;

TEST_F(KvTabletTest, PartialUpdateKeepsOtherColumnsAndDeletesOnlyItsOwn) {
  TestBucket& bucket = Open();
  const TestRow full{1, "a", 10, 5};
  ASSERT_OK(bucket.Put({Up(full)}));
  ASSERT_OK_AND_ASSIGN(auto changes, bucket.Put({Up({1, {}, 11, {}}), Up({2, {}, 7, {}})}, {0, 2}));
  EXPECT_THAT(changes, ElementsAre(Before(full), After({1, "a", 11, 5}), Plus({2, {}, 7, {}})));
  ASSERT_OK_AND_ASSIGN(changes, bucket.Put({Del(1), Del(2), Del(3)}, {0, 2}));
  EXPECT_THAT(changes,
              ElementsAre(Before({1, "a", 11, 5}), After({1, "a", {}, 5}), Minus({2, {}, 7, {}})));
  EXPECT_EQ(*bucket.tablet().RowCount(), 1);
}

TEST_F(KvTabletTest, PartialUpdateRefusesWrongTargets) {
  TestBucket& bucket = Open();
  EXPECT_CODE(ErrorCode::kInvalidTargetColumn, bucket.Prepare({Up({1, "a", {}, {}})}, {1}));
  EXPECT_CODE(ErrorCode::kInvalidTargetColumn, bucket.Prepare({Up({1, "a", {}, {}})}, {0, 4}));
}

TEST_F(KvTabletTest, FirstRowKeepsTheFirst) {
  TestBucket& bucket = Open({{"table.merge-engine", "first_row"}});
  const TestRow one{1, "one", {}, {}};
  ASSERT_OK_AND_ASSIGN(const auto changes, bucket.Put({Up(one), Up({1, "two", {}, {}}), Del(1)}));
  EXPECT_THAT(changes, ElementsAre(Plus(one)));
  EXPECT_EQ(bucket.Lookup(1), one);
  ASSERT_OK_AND_ASSIGN(Prepared over,
                       bucket.Prepare({Up({1, "two", {}, {}})}, {}, 0, PutMode::kOverwrite));
  ASSERT_OK(bucket.Finish(std::move(over)));
  EXPECT_EQ(bucket.Lookup(1)->name, "two");
}

// name is a list, amount a sum; version takes the last value that is none.
types::TableInfo AggregatedTable(const std::string& deletes) {
  types::TableInfo table =
      TestTable({{"table.merge-engine", "aggregation"}, {"table.delete.behavior", deletes}});
  table.descriptor.schema.columns[1].agg_function = "listagg";
  table.descriptor.schema.columns[1].agg_parameters = {{"delimiter", "|"}};
  table.descriptor.schema.columns[2].agg_function = "sum";
  return table;
}

TEST_F(KvTabletTest, AggregationFoldsEachColumn) {
  TestBucket bucket(stores_, "kv-0", AggregatedTable("IGNORE"), &pool_);
  ASSERT_OK(bucket.Reopen());
  const TestRow a{1, "a", 5, {}}, b{1, "a|b", 12, 3}, c{1, "a|b|c", 13, 3};
  ASSERT_OK_AND_ASSIGN(auto changes,
                       bucket.Put({Up(a), Up({1, "b", 7, 3}), Up({1, "c", 1, {}}), Del(1)}));
  EXPECT_THAT(changes, ElementsAre(Plus(a), Before(a), After(b), Before(b), After(c)));
  // A partial update folds its columns alone.
  const TestRow d{1, "a|b|c", 15, 3};
  ASSERT_OK_AND_ASSIGN(changes, bucket.Put({Up({1, "no", 2, 9}), Up({2, "no", 4, {}})}, {0, 2}));
  EXPECT_THAT(changes, ElementsAre(Before(c), After(d), Plus({2, {}, 4, {}})));
  // What was folded is what a replay gives, and nothing is folded twice.
  ASSERT_OK(bucket.Reopen());
  EXPECT_EQ(bucket.Lookup(1), d);
  // Who takes back what it wrote overwrites and deletes, whatever the table says.
  const TestRow e{1, {}, 1, {}};
  ASSERT_OK_AND_ASSIGN(Prepared over, bucket.Prepare({Up(e), Del(2)}, {}, 0, PutMode::kOverwrite));
  ASSERT_OK_AND_ASSIGN(changes, bucket.Finish(std::move(over)));
  EXPECT_THAT(changes, ElementsAre(Before(d), After(e), Minus({2, {}, 4, {}})));
}

TEST_F(KvTabletTest, BitmapsAreCheckedWhenTheyArrive) {
  types::TableInfo table = AggregatedTable("ALLOW");
  types::Column& bitmap = table.descriptor.schema.columns[1];
  bitmap.type = types::DataType::Of(types::TypeKind::kBytes);
  bitmap.agg_function = "rbm64";
  bitmap.agg_parameters.clear();
  const RowVersions versions(types::RowFormat::kCompacted, table, nullptr);
  ASSERT_OK_AND_ASSIGN(const MergeRules rules, MergeRules::Of(table.descriptor));
  ASSERT_OK_AND_ASSIGN(const RowMerger merger,
                       RowMerger::Make(rules, table.descriptor, versions.latest()));
  MergeScratch scratch;
  const auto put = [&](std::string_view part, PutMode mode, std::vector<int> targets) {
    const Parts parts{std::string_view("\1", 1), part, std::nullopt, std::nullopt};
    const std::string bytes = versions.latest().codec.Join(parts);
    const std::string_view row = bytes;
    const PutShape shape = *merger.ShapeOf(versions.latest(), targets, mode, true);
    return merger.Put(shape, std::nullopt, parts, &row, &scratch).status();
  };
  const std::string_view empty("\1\0", 2), none("\2\1x", 3);  // Each behind its size.
  for (const PutMode mode : {PutMode::kMerge, PutMode::kOverwrite}) {
    for (const auto& targets : {std::vector<int>{}, std::vector<int>{0, 1}}) {
      EXPECT_OK(put(empty, mode, targets));
      EXPECT_CODE(ErrorCode::kInvalidTable, put(none, mode, targets));
    }
    EXPECT_OK(put(none, mode, {0, 2}));  // Which is not looked at.
  }
}

TEST_F(KvTabletTest, AggregationDeletesAsThePutDoes) {
  TestBucket bucket(stores_, "kv-0", AggregatedTable("ALLOW"), &pool_);
  ASSERT_OK(bucket.Reopen());
  ASSERT_OK(bucket.Put({Up({1, "a", 5, {}}), Up({2, {}, 6, {}}), Up({3, "c", 7, {}})}));
  ASSERT_OK_AND_ASSIGN(auto changes, bucket.Put({Del(1), Del(2)}, {0, 2}));
  EXPECT_THAT(changes,
              ElementsAre(Before({1, "a", 5, {}}), After({1, "a", {}, {}}), Minus({2, {}, 6, {}})));
  ASSERT_OK_AND_ASSIGN(changes, bucket.Put({Del(3), Up({3, "d", 1, {}})}));
  EXPECT_THAT(changes, ElementsAre(Minus({3, "c", 7, {}}), Plus({3, "d", 1, {}})));
}

TEST_F(KvTabletTest, AbsentKeysGetRowsOfNothingElse) {
  types::TableInfo table = TestTable();
  table.descriptor.schema.auto_increment = {"version"};
  TestBucket bucket(stores_, "kv-0", table, &pool_);
  ASSERT_OK(bucket.Reopen());
  bucket.tablet().AddIds(100, 10);
  ASSERT_OK(bucket.Put({Up({1, "a", 5, {}})}, {0, 1, 2}));
  const std::string one = bucket.Key(1), two = bucket.Key(2);
  const std::vector<std::string_view> keys{one, two, two};
  ASSERT_OK_AND_ASSIGN(const auto rows, bucket.tablet().BatchOfKeys(keys));
  ASSERT_OK_AND_ASSIGN(const auto batch, wire::KvBatchView::Parse(rows.batch));
  ASSERT_OK_AND_ASSIGN(Prepared prepared,
                       bucket.tablet().Prepare(batch, rows.target_columns, PutMode::kIfAbsent));
  ASSERT_OK_AND_ASSIGN(const auto changes, bucket.Finish(std::move(prepared)));
  EXPECT_THAT(changes, ElementsAre(Plus({2, {}, {}, 101})));
  const std::vector<std::string_view> none{"no key"};
  EXPECT_CODE(ErrorCode::kCorruptRecord, bucket.tablet().BatchOfKeys(none));
}

TEST_F(KvTabletTest, RowsOfKeysKnowTheirPartition) {
  types::TableInfo table = TestTable();
  table.descriptor.schema.primary_key = {"id", "version"};
  table.descriptor.schema.columns[3].type =
      types::DataType::Of(types::TypeKind::kInteger, /*nullable=*/false);
  table.descriptor.partition_keys = {"version"};
  const std::vector<std::string> values{"-7"};
  RowVersions versions(types::RowFormat::kIndexed, table, nullptr);
  ASSERT_OK_AND_ASSIGN(const auto rows, KeyRows::Make(table.descriptor, versions.latest(), values));
  TestBucket bucket(stores_, "kv-0", TestTable(), &pool_);
  ASSERT_OK(bucket.Reopen());
  const std::string key = bucket.Key(3);
  const std::vector<std::string_view> keys{key};
  ASSERT_OK_AND_ASSIGN(const auto made, rows.RowsOf(keys));
  const std::vector<std::string_view> views(made.begin(), made.end());
  ASSERT_OK_AND_ASSIGN(const auto batch, versions.latest().codec.Decode(views));
  EXPECT_THAT(FromArrow(*batch), ElementsAre(TestRow{3, {}, {}, -7}));
  EXPECT_THAT(rows.key_columns(), ElementsAre(0, 3));
  EXPECT_CODE(ErrorCode::kInvalidTable, KeyRows::Make(table.descriptor, versions.latest(), {}));
}

TEST_F(KvTabletTest, ChangelogsInRowsSayTheSame) {
  for (const char* format : {"INDEXED", "COMPACTED"}) {
    SCOPED_TRACE(format);
    TestBucket& bucket = Open({{"table.log.format", format}});
    const TestRow a{1, "a", 10, {}}, b{2, {}, {}, 7}, a2{1, "a", 11, {}};
    ASSERT_OK_AND_ASSIGN(const auto changes,
                         bucket.Put({Up(a), Up(b), Up(a2), Del(2), Up({3, {}, {}, {}})}));
    EXPECT_THAT(changes, ElementsAre(Plus(a), Plus(b), Before(a), After(a2), Minus(b),
                                     Plus({3, {}, {}, {}})));
    ASSERT_OK(bucket.Put({Del(9)}));  // An empty batch.
    ASSERT_OK(bucket.Reopen());
    EXPECT_EQ(bucket.Scan(), bucket.Folded());
    EXPECT_EQ(bucket.Lookup(1), a2);
    EXPECT_EQ(*bucket.tablet().RowCount(), 2);
  }
}

// A row of a bit per NULL is many times larger when it is taken apart.
TEST_F(KvTabletTest, ValuesOfOnePutAreBounded) {
  types::TableInfo table = TestTable();
  for (int i = 4; i < 1600; ++i) {
    table.descriptor.schema.columns.push_back(
        {"c" + std::to_string(i), types::DataType::Of(types::TypeKind::kInteger), "", i, "", {}});
  }
  TestBucket bucket(stores_, "kv-0", table, &pool_);
  ASSERT_OK(bucket.Reopen());
  const std::string row(200, '\xff');
  const std::vector<wire::KvRecord> records(11'000, {"key", row});
  const std::string bytes = wire::BuildKvBatch(1, -1, -1, records);
  EXPECT_CODE(ErrorCode::kRecordTooLarge,
              bucket.tablet().Prepare(*wire::KvBatchView::Parse(bytes), {}, PutMode::kMerge));
}

// What cannot be decoded later would keep the bucket from opening.
TEST_F(KvTabletTest, ChangelogsTooLargeToDecodeAreRefused) {
  types::TableInfo table = TestTable();
  table.descriptor.schema.columns[1].type = types::DataType::Binary(300'000'000);
  const RowVersions versions(types::RowFormat::kCompacted, table, nullptr);
  const std::string row = versions.latest().codec.Join(Parts(4));
  for (const auto format : {types::LogFormat::kCompacted, types::LogFormat::kIndexed}) {
    const std::vector<std::string_view> rows{row};
    const std::vector<wire::ChangeType> changes{wire::ChangeType::kInsert};
    EXPECT_CODE(ErrorCode::kRecordTooLarge,
                BuildChangelogBatch(versions.latest(), format, changes, rows, {}));
  }
}

TEST_F(KvTabletTest, VersionedTakesEqualOrNewerVersions) {
  TestBucket& bucket = Open({{"table.merge-engine", "versioned"},
                             {"table.merge-engine.versioned.ver-column", "version"}});
  ASSERT_OK(bucket.Put(
      {Up({1, "a", {}, {}}), Up({1, "b", {}, -3}), Up({1, "c", {}, {}}), Up({1, "d", {}, -4})}));
  EXPECT_EQ(bucket.Lookup(1)->name, "b");
  ASSERT_OK(bucket.Put({Up({1, "e", {}, -3}), Up({1, "f", {}, 2}), Up({1, "g", {}, 1})}));
  EXPECT_EQ(bucket.Lookup(1)->name, "f");
}

TEST_F(KvTabletTest, DeleteBehaviorIsTheTables) {
  TestBucket& ignoring = Open({{"table.delete.behavior", "IGNORE"}});
  ASSERT_OK_AND_ASSIGN(const auto changes, ignoring.Put({Up({1, {}, {}, {}}), Del(1)}));
  EXPECT_THAT(changes, ElementsAre(Plus({1, {}, {}, {}})));
  TestBucket& refusing = Open({{"table.delete.behavior", "DISABLE"}});
  EXPECT_CODE(ErrorCode::kDeletionDisabled, refusing.Prepare({Up({9, {}, {}, {}}), Del(1)}));
  EXPECT_EQ(refusing.tablet().log_offset(), 0);
}

}  // namespace
}  // namespace sluice::kv
