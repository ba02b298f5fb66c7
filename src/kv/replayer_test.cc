#include "kv/replayer.h"

#include <gtest/gtest.h>

#include "kv/tablet_fixture.h"

namespace sluice::kv {
namespace {

class ReplayerTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(bucket_.Reopen());
    ASSERT_OK_AND_ASSIGN(replayer_, bucket_.tablet().MakeReplayer());
  }

  MemoryKeyStores stores_;
  std::unique_ptr<io::Pool> pool_ = io::Pool::Inline();
  TestBucket bucket_{stores_, "kv-0", TestTable(), pool_.get()};
  std::unique_ptr<Replayer> replayer_;
};

TEST_F(ReplayerTest, RefusesAGap) {
  std::string batch = wire::BuildEmptyLogBatch({}, /*append_only=*/false);
  wire::StampBatch(batch.data(), 5, 0);
  EXPECT_CODE(ErrorCode::kKvStorage, replayer_->Fold(batch, 0));
  EXPECT_OK(replayer_->Fold(batch, 5));
}

// Several batches in one piece: old values and removals among new ones.
TEST_F(ReplayerTest, FoldsAPieceOfTheLogFromAnyOffset) {
  ASSERT_OK(bucket_.Put({Up({1, "a", {}, {}}), Up({2, "b", {}, {}}), Up({3, "c", {}, {}})}));
  ASSERT_OK(bucket_.Put({Del(2), Up({1, "d", {}, {}}), Up({4, "e", {}, {}})}));
  const std::string log = bucket_.log() + "fragment";
  ASSERT_OK_AND_ASSIGN(const Replayed whole, replayer_->Fold(log, 0));
  EXPECT_EQ(whole.next_offset, bucket_.tablet().log_offset());
  EXPECT_EQ(whole.row_count_delta, 3);
  ASSERT_EQ(whole.changes.list.size(), 6);  // +I +I +I, -D +U +I.
  for (size_t i = 0; i < 6; ++i)
    EXPECT_EQ(whole.changes.list[i].value.has_value(), i != 3) << "change " << i;
  ASSERT_OK_AND_ASSIGN(const Replayed tail, replayer_->Fold(log, 2));
  EXPECT_EQ(tail.row_count_delta, 1);
  ASSERT_EQ(tail.changes.list.size(), 4);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(tail.changes.list[i].key, whole.changes.list[i + 2].key);
    EXPECT_EQ(tail.changes.list[i].value, whole.changes.list[i + 2].value);
  }
}

}  // namespace
}  // namespace sluice::kv
