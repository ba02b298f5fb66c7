// Which records are which leader's: what the log remembers of it, and what a cut or a stop leaves.
#include "log/log_state.h"
#include "log/log_testing.h"

namespace sluice::log {

inline void PrintTo(const LeaderEpoch& epoch, std::ostream* out) {
  *out << "{" << epoch.epoch << ", " << epoch.start_offset << "}";
}

namespace {

using internal::MakeBatch;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kEpochFolder[] = "/data/log-0";

class EpochsTest : public ::testing::Test {
 protected:
  EpochsTest() : files_(clock_) { Open(); }
  void Open() {
    log_.reset();
    ASSERT_OK_AND_ASSIGN(log_, Log::Open(files_, clock_, kEpochFolder, {}, Log::kScanAll));
  }
  void Lead(int32_t epoch, int records) {
    ASSERT_OK(log_->AppendAsLeader(MakeBatch({.records = records}), epoch));
  }
  Status Follow(int32_t epoch, int records) {
    std::string batch = MakeBatch({.records = records});
    wire::StampBatch(batch.data(), log_->end_offset(), clock_.NowMs());
    return log_->AppendAsFollower(batch, epoch);
  }
  // Epochs 1 from offset 0, 2 from 10, 5 from 20; the end is 30.
  void LeadThree() {
    for (const int32_t epoch : {1, 2, 5}) {
      for (int i = 0; i < 5; ++i) Lead(epoch, 2);
    }
  }
  const std::vector<LeaderEpoch>& epochs() const { return log_->leader_epochs(); }

  io::SimClock clock_;
  io::SimFileSystem files_;
  std::unique_ptr<Log> log_;
};

TEST_F(EpochsTest, ALeaderNotesWhereItsRecordsStart) {
  Lead(0, 3);
  EXPECT_THAT(epochs(), IsEmpty());
  Lead(1, 2);
  Lead(1, 2);
  Lead(4, 1);
  const auto expected = ElementsAre(LeaderEpoch{1, 3}, LeaderEpoch{4, 7});
  EXPECT_THAT(epochs(), expected);
  Open();
  EXPECT_THAT(epochs(), expected);
  EXPECT_EQ(log_->leader_epoch(), 4);
}

TEST_F(EpochsTest, AFollowerNotesWhoseRecordsItTook) {
  ASSERT_OK(Follow(0, 2));
  ASSERT_OK(Follow(3, 2));
  ASSERT_OK(Follow(3, 2));
  ASSERT_OK(Follow(4, 1));
  const auto expected = ElementsAre(LeaderEpoch{3, 2}, LeaderEpoch{4, 6});
  EXPECT_THAT(epochs(), expected);
  EXPECT_CODE(ErrorCode::kFencedLeaderEpoch, Follow(3, 1));
  Open();
  EXPECT_THAT(epochs(), expected);
  EXPECT_CODE(ErrorCode::kFencedLeaderEpoch, Follow(3, 1));
  Lead(5, 1);  // It is elected.
  EXPECT_THAT(epochs(), ElementsAre(LeaderEpoch{3, 2}, LeaderEpoch{4, 6}, LeaderEpoch{5, 7}));
}

TEST_F(EpochsTest, ALeaderWithoutRecordsIsForgottenForTheNext) {
  Lead(1, 2);
  for (int32_t epoch = 2; epoch < 9; ++epoch) ASSERT_OK(log_->AddEpoch(epoch));
  EXPECT_THAT(epochs(), ElementsAre(LeaderEpoch{1, 0}, LeaderEpoch{8, 2}));
  files_.FailOperation(1);
  EXPECT_FALSE(log_->AddEpoch(9).ok());
  EXPECT_THAT(epochs(), ElementsAre(LeaderEpoch{1, 0}, LeaderEpoch{8, 2}));
  Open();
  EXPECT_EQ(log_->leader_epoch(), 8);
}

TEST_F(EpochsTest, ACutForgetsTheEpochsThatItCutsWhole) {
  struct Case {
    int64_t cut;
    std::vector<LeaderEpoch> left;
  };
  for (const Case& given :
       {Case{30, {{1, 0}, {2, 10}, {5, 20}}}, Case{22, {{1, 0}, {2, 10}, {5, 20}}},
        Case{20, {{1, 0}, {2, 10}}}, Case{12, {{1, 0}, {2, 10}}}, Case{10, {{1, 0}}},
        Case{2, {{1, 0}}}, Case{0, {}}}) {
    SCOPED_TRACE(given.cut);
    log_.reset();
    ASSERT_OK(files_.RemoveTree(kEpochFolder));
    Open();
    LeadThree();
    ASSERT_OK(log_->TruncateTo(given.cut));
    EXPECT_EQ(epochs(), given.left);
    Open();
    EXPECT_EQ(epochs(), given.left);
  }
}

TEST_F(EpochsTest, ACutThatWasStoppedForgetsThemAtTheNextOpening) {
  bool stopped = true;
  for (uint64_t nth = 1; stopped; ++nth) {
    SCOPED_TRACE(nth);
    log_.reset();
    ASSERT_OK(files_.RemoveTree(kEpochFolder));
    Open();
    LeadThree();
    const uint64_t stop_at = files_.operations() + nth;
    files_.SetHook(
        [&](std::string_view, const std::string&) { return files_.operations() < stop_at; });
    stopped = !log_->TruncateTo(12).ok();
    files_.SetHook({});
    files_.Restart();
    Open();
    if (log_->end_offset() == 12)
      EXPECT_THAT(epochs(), ElementsAre(LeaderEpoch{1, 0}, LeaderEpoch{2, 10}));
    else
      EXPECT_THAT(epochs(), ElementsAre(LeaderEpoch{1, 0}, LeaderEpoch{2, 10}, LeaderEpoch{5, 20}));
  }
}

TEST_F(EpochsTest, ARestartForgetsTheEpochsFromItsOffsetOn) {
  LeadThree();
  ASSERT_OK(log_->TruncateFullyAndStartAt(15));
  EXPECT_THAT(epochs(), ElementsAre(LeaderEpoch{1, 0}, LeaderEpoch{2, 10}));
  ASSERT_OK(Follow(6, 2));
  Open();
  EXPECT_THAT(epochs(), ElementsAre(LeaderEpoch{1, 0}, LeaderEpoch{2, 10}, LeaderEpoch{6, 15}));
}

// The epoch is durable before its records are. What comes in their place is not of the epoch
// before.
TEST_F(EpochsTest, AnEpochOutlivesTheLossOfItsRecords) {
  for (uint64_t seed = 1; seed == 1 || log_->end_offset() >= 12; ++seed) {
    ASSERT_LT(seed, 1000u) << "no power loss took the records";
    log_.reset();
    ASSERT_OK(files_.RemoveTree(kEpochFolder));
    Open();
    Lead(1, 4);
    ASSERT_OK(log_->Flush());
    for (const int32_t epoch : {1, 2, 3}) Lead(epoch, 4);
    io::SeededRandom random(seed);
    files_.Crash(random);
    Open();
  }
  EXPECT_EQ(log_->leader_epoch(), 3);
  EXPECT_EQ(epochs().back(), (LeaderEpoch{3, log_->end_offset()}));
  EXPECT_CODE(ErrorCode::kFencedLeaderEpoch, Follow(2, 1));
  Lead(3, 1);
  EXPECT_EQ(epochs().back(), (LeaderEpoch{3, log_->end_offset() - 1}));
}

}  // namespace
}  // namespace sluice::log
