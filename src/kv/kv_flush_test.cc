// How rows move from the write-back table into the store.
#include "base/log.h"
#include "kv/kv_tablet_testing.h"

namespace sluice::kv {
namespace {

using testing::ElementsAre;

TEST_F(KvTabletTest, FlushWritesEachKeyOnceAndAdvancesTheAppliedOffset) {
  TestBucket& bucket = Open();
  for (int round = 0; round < 10; ++round) {
    ASSERT_OK(bucket.Put({Up({1, "a", round, {}}), Up({2, "b", round, {}})}));
    if (round == 5) bucket.Scan();  // Freezes: two layers to merge.
  }
  EXPECT_EQ(bucket.tablet().applied_offset(), 0);
  Flush();
  EXPECT_EQ(stores_.keys_written(), 2);
  EXPECT_EQ(bucket.tablet().applied_offset(), bucket.end_offset());
  EXPECT_EQ(bucket.tablet().write_back_bytes(), 0u);
  EXPECT_EQ(bucket.Lookup(2)->amount, 9);
  ASSERT_OK(bucket.Reopen());
  EXPECT_EQ(bucket.replayed_from, bucket.end_offset());
  EXPECT_EQ(*bucket.tablet().RowCount(), 2);
}

TEST_F(KvTabletTest, PutsDuringAFlushStayOnTop) {
  TestBucket& bucket = Open();
  ASSERT_OK(bucket.Put({Up({1, "old", {}, {}}), Up({2, "old", {}, {}})}));
  bucket.tablet().StartFlush();
  ASSERT_OK(bucket.Put({Up({1, "new", {}, {}}), Del(2)}));
  pool_.RunAll();  // Written, not yet told.
  EXPECT_EQ(bucket.Lookup(1)->name, "new");
  bucket.loop().RunPosted();
  EXPECT_EQ(bucket.tablet().applied_offset(), 2);
  EXPECT_EQ(bucket.Lookup(1)->name, "new");
  EXPECT_EQ(bucket.Lookup(2), std::nullopt);
  ASSERT_OK(bucket.Reopen());
  EXPECT_EQ(bucket.replayed_from, 2);
  EXPECT_EQ(bucket.Scan(), bucket.Folded());
  EXPECT_EQ(*bucket.tablet().RowCount(), 1);
}

TEST_F(KvTabletTest, FullWriteBackTableRefusesUntilItHasMoved) {
  TestBucket& bucket = Open({}, /*bytes_max=*/8 << 10);
  Status refused;
  int32_t id = 0;
  while (refused.ok() && id < 1000) {
    refused = bucket.Put({Up({++id, std::string(100, 'x'), {}, {}})}).status();
    EXPECT_LT(bucket.tablet().write_back_bytes(), 9u << 10);
  }
  EXPECT_CODE(ErrorCode::kStorageBackpressure, refused);
  EXPECT_TRUE(bucket.tablet().flushing());
  while (bucket.tablet().flushing()) {
    pool_.RunAll();
    bucket.loop().RunPosted();
  }
  ASSERT_OK(bucket.Put({Up({id, std::string(100, 'x'), {}, {}})}));
  EXPECT_EQ(bucket.Scan(), bucket.Folded());
}

TEST_F(KvTabletTest, FailedFlushIsTriedAgainAndLosesNothing) {
  TestBucket& bucket = Open({}, /*bytes_max=*/8 << 10);
  stores_.FailWrites(true);
  const auto warnings = WarningCount();
  int32_t id = 0;
  while (bucket.Put({Up({++id, std::string(100, 'x'), {}, {}})}).ok()) {
    pool_.RunAll();
    bucket.loop().RunPosted();
  }
  EXPECT_GT(WarningCount(), warnings);
  EXPECT_EQ(bucket.tablet().applied_offset(), 0);
  EXPECT_EQ(bucket.Scan(), bucket.Folded());
  stores_.FailWrites(false);
  bucket.loop().now += std::chrono::seconds(5);
  EXPECT_CODE(ErrorCode::kStorageBackpressure,
              bucket.Put({Up({id, {}, {}, {}})}));  // Starts the next try.
  pool_.RunAll();
  bucket.loop().RunPosted();
  ASSERT_OK(bucket.Put({Up({id, {}, {}, {}})}));
  ASSERT_OK(bucket.Reopen());
  EXPECT_EQ(bucket.Scan(), bucket.Folded());
}

TEST_F(KvTabletTest, LogIsMadeDurableBeforeTheStore) {
  bucket_.emplace(stores_, "kv-0", TestTable(), &pool_);
  std::vector<int64_t> synced;
  bucket_->before_flush = [&](int64_t offset) {
    EXPECT_EQ(stores_.keys_written(), 0);
    synced.push_back(offset);
    return Status::OK();
  };
  ASSERT_OK(bucket_->Reopen());
  ASSERT_OK(bucket_->Put({Up({1, {}, {}, {}})}));
  Flush();
  EXPECT_THAT(synced, ElementsAre(1));
  EXPECT_EQ(stores_.keys_written(), 1);
}

}  // namespace
}  // namespace sluice::kv
