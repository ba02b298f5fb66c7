#include "kv/kv_tablet.h"

#include "base/log.h"
#include "kv/changelog.h"
#include "kv/key_rows.h"
#include "kv/kv_tablet_testing.h"

namespace sluice::kv {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(KvTabletTest, ChangelogNamesWhatHappenedToEachKey) {
  TestBucket& bucket = Open();
  const TestRow a{1, "a", 10, {}}, b{2, {}, {}, {}}, a2{1, "a", 11, {}};
  ASSERT_OK_AND_ASSIGN(auto changes, bucket.Put({Up(a), Up(b)}));
  EXPECT_THAT(changes, ElementsAre(Plus(a), Plus(b)));
  ASSERT_OK_AND_ASSIGN(changes, bucket.Put({Up(a2), Up(b), Del(2), Del(3)}));
  // An equal update shows as well; the delete of a missing key does not.
  EXPECT_THAT(changes, ElementsAre(Before(a), After(a2), Before(b), After(b), Minus(b)));
  EXPECT_EQ(bucket.Lookup(1), a2);
  EXPECT_EQ(bucket.Lookup(2), std::nullopt);
  EXPECT_EQ(*bucket.tablet().RowCount(), 1);
}

TEST_F(KvTabletTest, NewRowsGetIdsAndKeepThem) {
  for (const char* column : {"amount", "version"}) {  // BIGINT and INT.
    SCOPED_TRACE(column);
    types::TableInfo table = TestTable();
    table.descriptor.schema.auto_increment = {column};
    const bool wide = std::string(column) == "amount";
    TestBucket bucket(stores_, std::string("kv-") + column, table, &pool_);
    ASSERT_OK(bucket.Reopen());
    const auto row = [wide](int32_t id, std::string name, int32_t number) {
      return wide ? TestRow{id, std::move(name), number, {}}
                  : TestRow{id, std::move(name), {}, number};
    };
    const std::vector<int> targets{0, 1};
    bucket.tablet().AddIds(200, 3);
    bucket.tablet().AddIds(1000, 100);
    ASSERT_OK_AND_ASSIGN(
        auto changes,
        bucket.Put({Up({1, "a", 9, 9}), Up({2, "b", {}, {}}), Up({1, "c", {}, {}})}, targets));
    EXPECT_THAT(changes, ElementsAre(Plus(row(1, "a", 200)), Plus(row(2, "b", 201)),
                                     Before(row(1, "a", 200)), After(row(1, "c", 200))));
    // A deleted key that comes back is a new row; a partial delete leaves the id.
    ASSERT_OK(bucket.Put({Del(1)}, targets));
    EXPECT_EQ(bucket.Lookup(1)->name, std::nullopt);
    ASSERT_OK(bucket.Put({Up({3, "d", {}, {}}), Up({4, "e", {}, {}})}, targets));
    EXPECT_EQ(bucket.Lookup(3), row(3, "d", 202));
    EXPECT_EQ(bucket.Lookup(4), row(4, "e", 1000));
    // What is in the log is what a replay gives; ids that were not used are lost.
    ASSERT_OK(bucket.Reopen());
    EXPECT_EQ(bucket.Lookup(4), row(4, "e", 1000));
    const std::string batch = bucket.KvBatch({Up({5, "f", {}, {}}), Up({6, "g", {}, {}})});
    ASSERT_OK_AND_ASSIGN(const auto view, wire::KvBatchView::Parse(batch));
    EXPECT_EQ(bucket.tablet().IdsLacking(view), 2);
    bucket.tablet().AddIds(5000, 1);
    EXPECT_EQ(bucket.tablet().IdsLacking(view), 1);
    EXPECT_CODE(ErrorCode::kInvalidTargetColumn, Targets(bucket, {}));
    EXPECT_CODE(ErrorCode::kInvalidTargetColumn, Targets(bucket, {0, wide ? 2 : 3}));
    bucket.tablet().AddIds(int64_t{1} << 31, 1);
    ASSERT_OK(bucket.Put({Up({7, "h", {}, {}})}, targets));
    const auto last = bucket.Put({Up({8, "i", {}, {}})}, targets);
    if (wide) {
      EXPECT_EQ(bucket.Lookup(8)->amount, int64_t{1} << 31);
    } else {
      EXPECT_CODE(ErrorCode::kInvalidTable, last);
    }
    // Deletes bring no column, so they may say none; rows beside them may not.
    bucket.tablet().AddIds(9000, 10);
    EXPECT_CODE(ErrorCode::kInvalidTargetColumn,
                bucket.Prepare({Del(3), Up({9, "x", {}, {}})}, {}));
    ASSERT_OK(bucket.Put({Del(3)}));
    EXPECT_EQ(bucket.Lookup(3), std::nullopt);
  }
}

TEST_F(KvTabletTest, BatchThatChangesNothingTakesOneOffset) {
  TestBucket& bucket = Open();
  ASSERT_OK_AND_ASSIGN(const auto changes, bucket.Put({Del(1)}));
  EXPECT_THAT(changes, IsEmpty());
  EXPECT_EQ(bucket.end_offset(), 1);
  EXPECT_EQ(bucket.tablet().log_offset(), 1);
}

TEST_F(KvTabletTest, StagedRowsAreSeenByTheNextBatchButNotByReaders) {
  TestBucket& bucket = Open();
  const TestRow one{1, "one", {}, {}}, two{1, "two", {}, {}}, three{1, "three", {}, {}};
  ASSERT_OK_AND_ASSIGN(Prepared first, bucket.Prepare({Up(one)}));
  ASSERT_OK_AND_ASSIGN(Prepared second, bucket.Prepare({Up(two)}));
  ASSERT_OK_AND_ASSIGN(Prepared third, bucket.Prepare({Del(1), Up(three)}));
  EXPECT_EQ(bucket.Lookup(1), std::nullopt);
  ASSERT_OK_AND_ASSIGN(auto changes, bucket.Finish(std::move(first)));
  EXPECT_THAT(changes, ElementsAre(Plus(one)));
  EXPECT_EQ(bucket.Lookup(1), one);
  ASSERT_OK_AND_ASSIGN(changes, bucket.Finish(std::move(second)));
  EXPECT_THAT(changes, ElementsAre(Before(one), After(two)));
  ASSERT_OK_AND_ASSIGN(changes, bucket.Finish(std::move(third)));
  EXPECT_THAT(changes, ElementsAre(Minus(two), Plus(three)));
  EXPECT_EQ(bucket.Lookup(1), three);
  EXPECT_EQ(*bucket.tablet().RowCount(), 1);
}

TEST_F(KvTabletTest, AbortedBatchLeavesNoTrace) {
  TestBucket& bucket = Open();
  const TestRow one{1, "one", {}, {}}, two{1, "two", {}, {}};
  ASSERT_OK(bucket.Put({Up(one)}));
  ASSERT_OK_AND_ASSIGN(Prepared first, bucket.Prepare({Del(1)}));
  ASSERT_OK_AND_ASSIGN(Prepared second, bucket.Prepare({Up(two)}));
  bucket.tablet().Abort(std::move(second));
  bucket.tablet().Abort(std::move(first));
  EXPECT_EQ(bucket.Lookup(1), one);
  ASSERT_OK_AND_ASSIGN(const auto changes, bucket.Put({Up(two)}));
  EXPECT_THAT(changes, ElementsAre(Before(one), After(two)));
  EXPECT_EQ(*bucket.tablet().RowCount(), 1);
}

TEST_F(KvTabletTest, WalImageWritesNoOldRowsButDeletes) {
  TestBucket& bucket = Open({{"table.changelog.image", "WAL"}});
  const TestRow a{1, "a", {}, {}}, b{1, "b", {}, {}};
  ASSERT_OK_AND_ASSIGN(auto changes, bucket.Put({Up(a), Up(b), Del(1), Del(1)}));
  EXPECT_THAT(changes, ElementsAre(After(a), After(b), Minus(b)));
  ASSERT_OK_AND_ASSIGN(changes, bucket.Put({Up({1, {}, 3, {}}), Up({1, {}, 4, {}})}, {0, 2}));
  EXPECT_THAT(changes, ElementsAre(Plus({1, {}, 3, {}}), After({1, {}, 4, {}})));
  EXPECT_CODE(ErrorCode::kInvalidTable, bucket.tablet().RowCount());
  ASSERT_OK(bucket.Reopen());
  EXPECT_EQ(bucket.Lookup(1), (TestRow{1, {}, 4, {}}));
}

TEST_F(KvTabletTest, RowsOfAnOlderSchemaAreReadByColumnId) {
  auto old_table = TestTable();
  old_table.descriptor.schema.columns.pop_back();
  bucket_.emplace(stores_, "kv-0", old_table, &pool_);
  TestBucket& bucket = *bucket_;
  ASSERT_OK(bucket.Reopen());
  ASSERT_OK(bucket.Put({Up({1, "a", 1, {}}), Up({2, "b", 2, {}})}));
  auto new_table = TestTable();
  new_table.schema_id = 2;
  ASSERT_OK(bucket.AddSchema(new_table));
  ASSERT_OK_AND_ASSIGN(const auto changes, bucket.Put({Up({1, "c", 3, 9}), Del(2)}));
  EXPECT_THAT(changes,
              ElementsAre(Before({1, "a", 1, {}}), After({1, "c", 3, 9}), Minus({2, "b", 2, {}})));
  // A writer that has not noticed yet: its rows are widened with NULL.
  ASSERT_OK(bucket.Put({Up({1, "d", 4, 77})}, {}, /*schema_id=*/1));
  EXPECT_EQ(bucket.Lookup(1), (TestRow{1, "d", 4, {}}));
  EXPECT_CODE(ErrorCode::kSchemaNotExist, [&] {
    std::string bytes = bucket.KvBatch({Up({1, "d", 4, 77})});
    const auto records = wire::KvBatchView::Parse(bytes)->records();
    bytes = wire::BuildKvBatch(3, -1, -1, records);
    return bucket.tablet().Prepare(*wire::KvBatchView::Parse(bytes), {}, PutMode::kMerge);
  }());
  ASSERT_OK(bucket.Reopen());
  EXPECT_EQ(bucket.Scan(), bucket.Folded());
}

TEST_F(KvTabletTest, RefusesNullKeysForeignKeysAndDamage) {
  TestBucket& bucket = Open();
  const std::string good = bucket.KvBatch({Up({1, "a", {}, {}}), Up({2, "b", {}, {}})});
  const auto records = wire::KvBatchView::Parse(good)->records();
  const auto prepare = [&](const std::string& bytes) {
    return bucket.tablet().Prepare(*wire::KvBatchView::Parse(bytes), {}, PutMode::kMerge);
  };
  const std::vector<wire::KvRecord> swapped{{records[1].key, records[0].row}};
  EXPECT_CODE(ErrorCode::kInvalidTable, prepare(wire::BuildKvBatch(1, -1, -1, swapped)));
  std::string null_key(*records[0].row);
  null_key[0] = static_cast<char>(null_key[0] | 1);
  null_key.erase(1, 1);  // NULL takes no bytes.
  const std::vector<wire::KvRecord> nulls{{records[0].key, null_key}};
  EXPECT_CODE(ErrorCode::kInvalidTable, prepare(wire::BuildKvBatch(1, -1, -1, nulls)));
  std::string flipped = good;
  flipped.back() = static_cast<char>(flipped.back() ^ 1);
  EXPECT_CODE(ErrorCode::kCorruptRecord, prepare(flipped));
  EXPECT_EQ(bucket.tablet().write_back_bytes(), 0u);
}

TEST_F(KvTabletTest, ScanShowsOneOffsetWhileRowsChangeAndMove) {
  TestBucket& bucket = Open();
  for (int32_t id = 0; id < 100; ++id) ASSERT_OK(bucket.Put({Up({id, "old", id, {}})}));
  Flush();
  for (int32_t id = 0; id < 50; id += 2) ASSERT_OK(bucket.Put({Del(id)}));
  const auto expected = bucket.Folded();
  ASSERT_OK_AND_ASSIGN(const auto scan, bucket.tablet().OpenScan());
  EXPECT_EQ(scan->log_offset(), bucket.end_offset());
  const auto first = bucket.Next(*scan, 1);
  EXPECT_EQ(first.size(), 1u);  // At least one, however small the limit.
  for (int32_t id = 0; id < 200; ++id) ASSERT_OK(bucket.Put({Up({id, "new", id, {}})}));
  Flush();
  auto rows = bucket.Drain(*scan, 100);
  rows.emplace(1, first.front());
  EXPECT_EQ(rows, expected);
  EXPECT_EQ(bucket.Scan().size(), 200u);
}

TEST_F(KvTabletTest, ScanStopsAtItsRows) {
  TestBucket& bucket = Open();
  for (int32_t id = 0; id < 5; ++id) ASSERT_OK(bucket.Put({Up({id, "x", id, {}})}));
  ASSERT_OK_AND_ASSIGN(const auto scan, bucket.tablet().OpenScan());
  EXPECT_EQ(bucket.Next(*scan, 1 << 20, 2).size(), 2u);
  EXPECT_EQ(bucket.Next(*scan, 1 << 20, 3).size(), 3u);
  EXPECT_TRUE(scan->done());
}

TEST_F(KvTabletTest, PutThatWouldWaitForTheStoreChangesNothing) {
  TestBucket& bucket = Open();
  const TestRow old{1, "old", {}, {}}, fresh{1, "new", {}, {}};
  ASSERT_OK(bucket.Put({Up(old)}));
  Flush();
  stores_.Cool(true);
  const std::string bytes = bucket.KvBatch({Up(fresh)});
  ASSERT_OK_AND_ASSIGN(const auto batch, wire::KvBatchView::Parse(bytes));
  const auto refused =
      bucket.tablet().Prepare(batch, {}, PutMode::kMerge, KvTablet::Reads::kCachedOnly);
  EXPECT_TRUE(refused.status().IsCancelled());
  const std::string key = bucket.Key(1);
  const std::vector<std::string_view> keys{key};
  EXPECT_TRUE(bucket.tablet().Lookup(keys, KvTablet::Reads::kCachedOnly).status().IsCancelled());
  ASSERT_OK_AND_ASSIGN(const auto changes, bucket.Put({Up(fresh)}));  // One that may wait.
  EXPECT_THAT(changes, ElementsAre(Before(old), After(fresh)));
}

// The changelog rows are the batch's own: later batches write over values where they stand.
TEST_F(KvTabletTest, PreparedRowsOutliveWhatTheyCameFrom) {
  TestBucket& bucket = Open();
  const TestRow one{1, "one", {}, {}}, two{1, "two", {}, {}}, six{1, "six", {}, {}};
  ASSERT_OK(bucket.Put({Up(one)}));
  ASSERT_OK_AND_ASSIGN(Prepared second, bucket.Prepare({Up(two), Up(six), Up(two)}));
  ASSERT_OK_AND_ASSIGN(Prepared third, bucket.Prepare({Up(six)}));
  ASSERT_OK_AND_ASSIGN(auto changes, bucket.Finish(std::move(second)));
  EXPECT_THAT(changes, ElementsAre(Before(one), After(two), Before(two), After(six), Before(six),
                                   After(two)));
  ASSERT_OK_AND_ASSIGN(changes, bucket.Finish(std::move(third)));
  EXPECT_THAT(changes, ElementsAre(Before(two), After(six)));
}

TEST_F(KvTabletTest, LimitScanAndPrefixLookupFollowKeyOrder) {
  TestBucket& bucket = Open();
  for (int32_t id = 0; id < 20; ++id) ASSERT_OK(bucket.Put({Up({id, "x", id, {}})}));
  Flush();
  ASSERT_OK(bucket.Put({Del(3), Up({5, "y", {}, {}}), Up({300, "z", {}, {}})}));
  // From memory and by the pool: the same.
  const auto read = [&](const KeyRanges& ranges) {
    const auto later = bucket.tablet().ReadLater(ranges).ValueOrDie();
    const auto cached = bucket.tablet().ReadCached(ranges).ValueOrDie().value();
    EXPECT_OK(bucket.Put({Up({400, "late", {}, {}}), Del(400)}));
    EXPECT_EQ(later().ValueOrDie(), cached);
    return cached;
  };
  const auto some = read({{""}, 4}).front();
  EXPECT_EQ(some.size(), 4u);
  EXPECT_TRUE(read({{""}, 0}).front().empty());
  const auto all = read({{""}, 1000}).front();
  EXPECT_EQ(all.size(), 20u);
  EXPECT_EQ(std::vector(all.begin(), all.begin() + 4), some);
  for (const size_t limit : {size_t{0}, size_t{4}, size_t{1000}}) {
    const auto values = read({{""}, limit}).front();
    EXPECT_EQ(bucket.tablet().FirstCached(limit).ValueOrDie(), wire::BuildValueBatch(values));
  }
  const std::string whole = bucket.Key(5), none = bucket.Key(3);
  const std::string common =
      bucket.Key(0).substr(0, 8);  // Row kind and null bits: the same for all.
  const auto found = read({{whole, none, common}});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_THAT(bucket.DecodeValues(found[0]), ElementsAre(TestRow{5, "y", {}, {}}));
  EXPECT_THAT(found[1], IsEmpty());
  EXPECT_EQ(found[2], all);
}

// However much a client asks for, one read takes a bounded amount of memory.
TEST_F(KvTabletTest, ReadsAreBoundedInBytes) {
  TestBucket& bucket = Open();
  for (int32_t id = 0; id < 200; ++id)
    ASSERT_OK(bucket.Put({Up({id, std::string(100, 'x'), id, {}})}));
  for (const bool stored : {false, true}) {
    if (stored) Flush();
    const KeyRanges enough{{""}, 1000, 40'000}, less{{""}, 1000, 10'000}, some{{""}, 50, 10'000};
    EXPECT_EQ(bucket.tablet().ReadCached(enough).ValueOrDie()->front().size(), 200u);
    EXPECT_EQ(bucket.tablet().ReadCached(some).ValueOrDie()->front().size(), 50u);
    EXPECT_CODE(ErrorCode::kRecordTooLarge, bucket.tablet().ReadCached(less));
    EXPECT_EQ(bucket.tablet().ReadLater(enough).ValueOrDie()().ValueOrDie()[0].size(), 200u);
    EXPECT_CODE(ErrorCode::kRecordTooLarge, bucket.tablet().ReadLater(less).ValueOrDie()());
    const std::string key = bucket.Key(1);
    const std::vector<std::string_view> keys(200, key);  // One key again and again counts too.
    using Reads = KvTablet::Reads;
    for (const Reads reads : {Reads::kMayWait, Reads::kCachedOnly}) {
      EXPECT_EQ(bucket.tablet().Lookup(keys, reads, 40'000).ValueOrDie().size(), 200u);
      EXPECT_CODE(ErrorCode::kRecordTooLarge, bucket.tablet().Lookup(keys, reads, 10'000));
    }
  }
}

// A small batch can change a large row many times.
TEST_F(KvTabletTest, ChangesOfOnePutAreBoundedInBytes) {
  TestBucket& bucket = Open();
  ASSERT_OK(bucket.Put({Up({1, std::string(4 << 20, 'x'), 0, {}})}));
  std::vector<TestPut> puts;
  for (int i = 0; i < 100; ++i) puts.push_back(Up({1, {}, i, {}}));
  EXPECT_CODE(ErrorCode::kRecordTooLarge, bucket.Prepare(puts, /*targets=*/{0, 2}));
  puts.resize(2);
  EXPECT_OK(bucket.Put(puts, /*targets=*/{0, 2}));
}

TEST_F(KvTabletTest, UnsupportedTablesAreRefusedAtOpen) {
  const auto open = [&](std::map<std::string, std::string> properties) {
    return TestBucket(stores_, "kv-x", TestTable(std::move(properties)), &pool_).Reopen();
  };
  EXPECT_CODE(ErrorCode::kInvalidTable, open({{"table.merge-engine", "nonsense"}}));
}

}  // namespace
}  // namespace sluice::kv
