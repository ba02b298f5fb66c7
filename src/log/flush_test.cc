// What failed and what came in between leaves of flushes, cuts and the state file.
#include "log/log_testing.h"
#include "log/segment.h"

namespace sluice::log {
namespace {

using internal::MakeBatch;

constexpr char kFlushFolder[] = "/data/log-0";

class FlushTest : public ::testing::Test {
 protected:
  FlushTest() : files_(clock_) {
    options_.segment_bytes = 1000;
    options_.index_interval_bytes = 100;
  }
  void Open() {
    log_.reset();
    ASSERT_OK_AND_ASSIGN(log_, Log::Open(files_, clock_, kFlushFolder, options_, Log::kScanAll));
  }
  void Append(int count) {
    for (int i = 0; i < count; ++i) {
      clock_.Advance(std::chrono::milliseconds(10));
      ASSERT_OK(log_->AppendAsLeader(MakeBatch({.body = std::string(50, 'x')}), epoch_));
    }
  }

  io::SimClock clock_;
  io::SimFileSystem files_;
  LogOptions options_;
  std::unique_ptr<Log> log_;
  int32_t epoch_ = 0;
};

// Else the next save of the log's state would carry the cut along, and what was acknowledged after
// it would be cut at the next opening.
TEST_F(FlushTest, ACutThatFailedCutsNothingLater) {
  bool cut_failed = true;
  for (uint64_t nth = 1; cut_failed; ++nth) {
    log_.reset();
    ASSERT_OK(files_.RemoveTree(kFlushFolder));
    Open();
    epoch_ = 0;
    Append(20);
    ASSERT_OK(log_->Flush());
    files_.FailOperation(nth);
    cut_failed = !log_->TruncateTo(7).ok();
    files_.FailOperation(0);
    const auto appended = log_->AppendAsLeader(MakeBatch({}), /*leader_epoch=*/1);
    const int64_t acknowledged_end = appended.ok() ? appended->last_offset + 1 : 7;
    Open();
    EXPECT_GE(log_->end_offset(), acknowledged_end) << "failed operation " << nth;
  }
}

TEST_F(FlushTest, AnEpochThatWasNotSavedIsSavedByTheNextAppend) {
  Open();
  Append(1);
  files_.FailOperation(1);
  EXPECT_CODE(ErrorCode::kLogStorage, log_->AppendAsLeader(MakeBatch({}), /*leader_epoch=*/3));
  EXPECT_EQ(log_->leader_epoch(), 0);
  epoch_ = 3;
  Append(1);
  Open();
  EXPECT_EQ(log_->leader_epoch(), 3);
}

// The end of a time index is written when its segment is closed, which may be under a flush.
TEST_F(FlushTest, ASegmentClosedUnderAFlushIsSyncedByTheNext) {
  options_.index_interval_bytes = 1 << 20;  // Only the closing writes to the time index.
  Open();
  Append(3);
  ASSERT_OK_AND_ASSIGN(const auto flush, log_->BeginFlush(Log::FlushKind::kCheckpoint));
  const Status ran = flush.Run();
  ASSERT_OK(log_->Roll());
  ASSERT_OK(log_->FinishFlush(flush, ran));
  EXPECT_FALSE(log_->IsSaved());
  ASSERT_OK(log_->Close());
  const std::string index = SegmentPath(kFlushFolder, 0, kTimeIndexSuffix);
  ASSERT_OK_AND_ASSIGN(const auto written, files_.Stat(index));
  ASSERT_GT(written.size_bytes, 0u);
  io::SeededRandom random(1);
  for (int loss = 0; loss < 8; ++loss) {
    files_.Crash(random);
    ASSERT_OK_AND_ASSIGN(const auto left, files_.ReadFile(index));
    EXPECT_EQ(left.size(), written.size_bytes) << "power loss " << loss;
  }
}

// Many logs stop at once: two syncs of everything, and none of a file in between.
TEST_F(FlushTest, ACheckpointBetweenTwoSyncsOfEverythingWaitsForNothing) {
  io::SeededRandom random(1);
  const auto sync_all = [&] {
    ASSERT_OK_AND_ASSIGN(const auto lock, files_.LockFile("/lock"));
    ASSERT_OK(lock->SyncAll());
  };
  const auto checkpoint = [&] {
    sync_all();
    std::vector<std::string> waits;
    files_.SetHook([&](std::string_view operation, const std::string& path) {
      if (operation.starts_with("sync")) waits.push_back(path);
      return true;
    });
    ASSERT_OK(log_->Flush(Log::FlushKind::kBetweenSyncs));
    files_.SetHook(nullptr);
    EXPECT_THAT(waits, testing::IsEmpty());
    EXPECT_TRUE(log_->IsSaved());
  };
  Open();
  Append(20);
  ASSERT_OK(log_->Flush());
  Append(20);
  checkpoint();
  // Power that is lost before the second sync leaves the checkpoint before, or this one.
  files_.Crash(random);
  Open();
  EXPECT_EQ(log_->end_offset(), 40);
  EXPECT_GE(log_->recovery_point(), 20);
  Append(20);
  checkpoint();
  sync_all();
  files_.Crash(random);
  Open();
  EXPECT_EQ(log_->end_offset(), 60);
  EXPECT_EQ(log_->scanned_bytes(), 0u);
}

}  // namespace
}  // namespace sluice::log
