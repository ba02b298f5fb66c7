#include "log/log.h"

#include "log/log_testing.h"

namespace sluice::log {

using internal::AllBatches;
using internal::AllBodies;
using internal::BytesOf;
using internal::MakeBatch;
using internal::TestBatch;
using LogTest = internal::LogFixture;

TEST_F(LogTest, GivesDenseOffsetsAndKeepsTheBytes) {
  ASSERT_OK(Reopen());
  EXPECT_EQ(log_->end_offset(), 0);
  ASSERT_OK_AND_ASSIGN(const auto first, Append({.records = 3, .body = "abc"}));
  ASSERT_OK_AND_ASSIGN(const auto second, Append({.records = 0, .body = ""}));
  ASSERT_OK_AND_ASSIGN(const auto third, Append({.records = 2, .body = "de"}));
  EXPECT_EQ(first.base_offset, 0);
  EXPECT_EQ(first.last_offset, 2);
  EXPECT_EQ(second.base_offset, 3) << "an empty batch takes one offset";
  EXPECT_EQ(third.base_offset, 4);
  EXPECT_EQ(third.last_offset, 5);
  EXPECT_EQ(log_->end_offset(), 6);

  const auto batches = AllBatches(*log_);
  ASSERT_EQ(batches.size(), 3u);
  std::string expected = MakeBatch({.records = 2, .body = "de"});
  wire::StampBatch(expected.data(), 4, clock_.NowMs());
  EXPECT_EQ(batches[2], expected);
}

TEST_F(LogTest, AppendsSeveralBatchesAtOnceOrNone) {
  ASSERT_OK(Reopen());
  std::string batches =
      MakeBatch({.records = 2, .body = "a"}) + MakeBatch({.records = 2, .body = "b"});
  ASSERT_OK_AND_ASSIGN(const auto appended, log_->AppendAsLeader(batches, 0));
  EXPECT_EQ(appended.base_offset, 0);
  EXPECT_EQ(appended.last_offset, 3);
  batches.back() ^= 1;
  EXPECT_CODE(ErrorCode::kCorruptRecord, log_->AppendAsLeader(batches, 0));
  EXPECT_CODE(ErrorCode::kCorruptRecord,
              log_->AppendAsLeader(batches.substr(0, batches.size() - 1), 0));
  EXPECT_CODE(ErrorCode::kCorruptRecord, log_->AppendAsLeader("", 0));
  EXPECT_EQ(AllBodies(*log_), (std::vector<std::string>{"a", "b"}));
}

TEST_F(LogTest, CommitTimestampsNeverFall) {
  ASSERT_OK(Reopen());
  clock_.Advance(std::chrono::seconds(10));
  ASSERT_OK_AND_ASSIGN(const auto first, Append({}));
  clock_.SetSkew(std::chrono::seconds(-5));
  ASSERT_OK_AND_ASSIGN(const auto second, Append({}));
  EXPECT_EQ(second.commit_timestamp_ms, first.commit_timestamp_ms);
  ASSERT_OK(Reopen());
  ASSERT_OK_AND_ASSIGN(const auto third, Append({}));
  EXPECT_EQ(third.commit_timestamp_ms, first.commit_timestamp_ms) << "across a restart";
}

TEST_F(LogTest, RollsWhenASegmentIsFull) {
  ASSERT_OK(Reopen());
  Fill(40);
  const auto segments = log_->Segments();
  ASSERT_GT(segments.size(), 3u);
  for (size_t i = 0; i < segments.size(); ++i) {
    EXPECT_LE(segments[i].size_bytes, options_.segment_bytes);
    EXPECT_EQ(segments[i].end_offset, i + 1 < segments.size() ? segments[i + 1].base_offset : 80);
  }
  ASSERT_OK(Append({.body = std::string(5000, 'y')}).status());
  EXPECT_GT(log_->Segments().back().size_bytes, options_.segment_bytes)
      << "a batch larger than a segment";
  EXPECT_EQ(AllBodies(*log_).size(), 41u);
}

TEST_F(LogTest, OneAppendMaySpanSegments) {
  ASSERT_OK(Reopen());
  std::string batches;
  for (int i = 0; i < 40; ++i) batches += MakeBatch({.records = 2, .body = BodyOf(i)});
  ASSERT_OK_AND_ASSIGN(const auto appended, log_->AppendAsLeader(batches, 0));
  EXPECT_EQ(appended.last_offset, 79);
  EXPECT_GT(log_->Segments().size(), 3u);
  EXPECT_EQ(AllBodies(*log_).size(), 40u);
}

TEST_F(LogTest, ReadsWholeBatchesFromTheOneThatContainsTheOffset) {
  ASSERT_OK(Reopen());
  Fill(40);
  for (int64_t offset = 0; offset < 80; ++offset) {
    ASSERT_OK_AND_ASSIGN(const auto slice, log_->Read(offset, 1, INT64_MAX, /*at_least_one=*/true));
    EXPECT_EQ(slice.first_offset, offset / 2 * 2);
    EXPECT_EQ(slice.next_offset, offset / 2 * 2 + 2);
    const std::string bytes = BytesOf(slice);
    ASSERT_OK_AND_ASSIGN(const auto batch, wire::LogBatchView::Parse(bytes));
    EXPECT_EQ(batch.bytes().size(), bytes.size());
    EXPECT_EQ(batch.header().base_offset, slice.first_offset);
    EXPECT_TRUE(batch.CrcMatches());
  }
}

// Every start, limit and bound against the list of batches.
TEST_F(LogTest, HonoursSizeAndUpperBound) {
  ASSERT_OK(Reopen());
  Fill(30);
  const auto batches = AllBatches(*log_);
  for (size_t first = 0; first < batches.size(); first += 3) {
    for (const uint64_t max_bytes : {0u, 100u, 150u, 333u, 1000u, 1700u, 100'000u}) {
      for (int64_t upper = 0; upper <= 62; upper += 5) {
        for (const bool at_least_one : {false, true}) {
          std::string expected;
          for (size_t i = first; i < batches.size() && static_cast<int64_t>(2 * i + 2) <= upper;
               ++i) {
            const bool forced = at_least_one && expected.empty();
            if (!forced && expected.size() + batches[i].size() > max_bytes) break;
            expected += batches[i];
          }
          ASSERT_OK_AND_ASSIGN(const auto slice,
                               log_->Read(2 * first, max_bytes, upper, at_least_one));
          ASSERT_EQ(slice.size_bytes, expected.size())
              << first << " " << max_bytes << " " << upper << " " << at_least_one;
          ASSERT_EQ(BytesOf(slice), expected);
        }
      }
    }
  }
}

TEST_F(LogTest, RefusesOffsetsOutsideTheLog) {
  ASSERT_OK(Reopen());
  Fill(2);
  EXPECT_CODE(ErrorCode::kLogOffsetOutOfRange, log_->Read(-1, 1, INT64_MAX, true));
  EXPECT_CODE(ErrorCode::kLogOffsetOutOfRange, log_->Read(5, 1, INT64_MAX, true));
  ASSERT_OK_AND_ASSIGN(const auto at_end, log_->Read(4, 1, INT64_MAX, true));
  EXPECT_EQ(at_end.size_bytes, 0u);
  EXPECT_EQ(at_end.next_offset, 4);
}

TEST_F(LogTest, ARangeOutlivesItsSegment) {
  ASSERT_OK(Reopen());
  Fill(40);
  ASSERT_OK_AND_ASSIGN(const auto slice, log_->Read(0, 300, INT64_MAX, true));
  const std::string before = BytesOf(slice);
  log_->AdvanceHighWatermark(80);
  ASSERT_OK(log_->Flush());
  ASSERT_OK_AND_ASSIGN(const size_t gone, log_->DeleteSegments({.delete_before_ms = INT64_MAX}));
  EXPECT_GT(gone, 2u);
  EXPECT_EQ(BytesOf(slice), before);
}

TEST_F(LogTest, FindsOffsetsByTimestamp) {
  ASSERT_OK(Reopen());
  Fill(40);  // Batch i was committed 10 * (i + 1) ms after the start.
  const auto at = [](int i) { return io::SimClock::kStartMs + 10 * (i + 1); };
  for (const bool again : {false, true}) {
    if (again) ASSERT_OK(Reopen());
    for (int i = 0; i < 40; ++i) {
      ASSERT_OK_AND_ASSIGN(const int64_t exact, log_->OffsetOfTimestamp(at(i)));
      ASSERT_OK_AND_ASSIGN(const int64_t just_before, log_->OffsetOfTimestamp(at(i) - 9));
      EXPECT_EQ(exact, 2 * i);
      EXPECT_EQ(just_before, 2 * i);
      ASSERT_OK_AND_ASSIGN(const auto timestamp, log_->TimestampOf(2 * i + 1));
      EXPECT_EQ(timestamp, at(i));
    }
    ASSERT_OK_AND_ASSIGN(const int64_t after, log_->OffsetOfTimestamp(at(39) + 1));
    EXPECT_EQ(after, 80);
    ASSERT_OK_AND_ASSIGN(const auto none, log_->TimestampOf(80));
    EXPECT_EQ(none, std::nullopt);
  }
}

TEST_F(LogTest, TheHighWatermarkOnlyRises) {
  ASSERT_OK(Reopen());
  Fill(5);
  log_->AdvanceHighWatermark(4);
  log_->AdvanceHighWatermark(2);
  EXPECT_EQ(log_->high_watermark(), 4);
  log_->AdvanceHighWatermark(100);
  EXPECT_EQ(log_->high_watermark(), 10);
}

TEST_F(LogTest, FollowersKeepTheLeadersBytes) {
  ASSERT_OK(Reopen());
  Fill(10);
  const auto batches = AllBatches(*log_);
  const std::string folder = io::JoinPath(dir_.path(), "follower");
  ASSERT_OK_AND_ASSIGN(const auto follower,
                       Log::Open(io::LocalFileSystem(), clock_, folder, options_, Log::kScanAll));
  EXPECT_CODE(ErrorCode::kLogOffsetOutOfRange, follower->AppendAsFollower(batches[1], 0));
  for (const std::string& batch : batches) ASSERT_OK(follower->AppendAsFollower(batch, 0));
  EXPECT_EQ(AllBatches(*follower), batches);
  EXPECT_EQ(follower->largest_timestamp_ms(), log_->largest_timestamp_ms());
  std::string again = batches[9];
  wire::StampBatch(again.data(), 20, clock_.NowMs());
  EXPECT_CODE(ErrorCode::kDuplicateSequence, follower->AppendAsFollower(again, 0));
}

TEST_F(LogTest, TruncatesAndGoesOn) {
  ASSERT_OK(Reopen());
  Fill(40);
  for (const int64_t cut : {79, 44, 5, 0}) {
    ASSERT_OK(log_->TruncateTo(cut));
    const int64_t boundary = cut / 2 * 2;
    EXPECT_EQ(log_->end_offset(), boundary);
    EXPECT_EQ(AllBodies(*log_).size(), static_cast<size_t>(boundary / 2));
    ASSERT_OK(Reopen());
    EXPECT_EQ(log_->end_offset(), boundary);
    filled_ = static_cast<int>(boundary / 2);  // Writer 7 is where it was then.
    Fill(1);
    EXPECT_EQ(log_->end_offset(), boundary + 2);
    EXPECT_EQ(AllBodies(*log_).back(), BodyOf(filled_ - 1));
  }
}

TEST_F(LogTest, TruncatesBelowTheRecoveryPoint) {
  ASSERT_OK(Reopen());
  Fill(40);
  ASSERT_OK(log_->Flush());
  EXPECT_EQ(log_->recovery_point(), 80);
  ASSERT_OK(log_->TruncateTo(30));
  EXPECT_EQ(log_->recovery_point(), 30);
  ASSERT_OK(Reopen(/*recovery_point=*/80));  // The checkpoint file is older than the cut.
  EXPECT_EQ(log_->end_offset(), 30);
  EXPECT_CODE(ErrorCode::kOutOfOrderSequence, Append({.writer_id = 7, .sequence = 16}));
  ASSERT_OK(Append({.writer_id = 7, .sequence = 15}).status());
}

TEST_F(LogTest, RestartsEmptyAtAnOffset) {
  for (const int64_t start : {1000, 3}) {
    ASSERT_OK(Reopen());
    Fill(20);
    ASSERT_OK(log_->Flush());
    ASSERT_OK(log_->TruncateFullyAndStartAt(start));
    EXPECT_EQ(log_->start_offset(), start);
    EXPECT_EQ(log_->end_offset(), start);
    ASSERT_OK(Reopen(/*recovery_point=*/40));
    EXPECT_EQ(log_->start_offset(), start);
    ASSERT_OK_AND_ASSIGN(const auto appended, Append({.body = "first"}));
    EXPECT_EQ(appended.base_offset, start);
    EXPECT_EQ(AllBodies(*log_), std::vector<std::string>{"first"});
    filled_ = 0;
  }
}

TEST_F(LogTest, RetentionDropsOldSegmentsOnly) {
  ASSERT_OK(Reopen());
  Fill(40);
  const auto segments = log_->Segments();
  ASSERT_EQ(segments.size(), 4u);
  const auto expire_all = Log::Retention{.delete_before_ms = INT64_MAX};
  ASSERT_OK_AND_ASSIGN(size_t gone, log_->DeleteSegments(expire_all));
  EXPECT_EQ(gone, 0u) << "nothing is below the high watermark yet";
  log_->AdvanceHighWatermark(80);
  ASSERT_OK_AND_ASSIGN(gone, log_->DeleteSegments(expire_all));
  EXPECT_EQ(gone, 0u) << "no snapshot remembers the writers yet";
  ASSERT_OK(log_->Flush());

  const int64_t second_ends_ms = io::SimClock::kStartMs + 10 * (segments[1].end_offset / 2);
  ASSERT_OK_AND_ASSIGN(gone, log_->DeleteSegments({.delete_before_ms = second_ends_ms}));
  EXPECT_EQ(gone, 1u) << "the second segment's newest record is not older";
  EXPECT_EQ(log_->start_offset(), segments[1].base_offset);

  ASSERT_OK_AND_ASSIGN(gone, log_->DeleteSegments({.delete_before_ms = INT64_MAX,
                                                   .floor_offset = segments[1].end_offset}));
  EXPECT_EQ(gone, 1u) << "the floor holds the rest";
  ASSERT_OK_AND_ASSIGN(gone,
                       log_->DeleteSegments({.delete_before_ms = INT64_MAX, .segments_min = 2}));
  EXPECT_EQ(log_->Segments().size(), 2u);
  ASSERT_OK_AND_ASSIGN(gone, log_->DeleteSegments(expire_all));
  EXPECT_EQ(log_->Segments().size(), 1u) << "the newest stays";

  const int64_t start = log_->start_offset();
  ASSERT_OK(Reopen());
  EXPECT_EQ(log_->start_offset(), start);
  EXPECT_CODE(ErrorCode::kLogOffsetOutOfRange, log_->Read(0, 1, INT64_MAX, true));
  log_->AdvanceHighWatermark(80);
  ASSERT_OK_AND_ASSIGN(gone,
                       log_->DeleteSegments({.delete_before_ms = INT64_MAX, .roll_active = true}));
  EXPECT_EQ(log_->start_offset(), 80);
  EXPECT_EQ(log_->end_offset(), 80);
  ASSERT_OK(Reopen());
  EXPECT_EQ(log_->end_offset(), 80);
}

TEST_F(LogTest, ADeletionThatStoppedHalfWayIsFinished) {
  ASSERT_OK(Reopen());
  Fill(40);
  const int64_t second = log_->Segments()[1].base_offset;
  ASSERT_OK_AND_ASSIGN(const std::string first, io::LocalFileSystem().ReadFile(PathOf(0, ".log")));
  log_->AdvanceHighWatermark(80);
  ASSERT_OK(log_->Flush());
  ASSERT_OK_AND_ASSIGN(const size_t gone, log_->DeleteSegments({.delete_before_ms = INT64_MAX,
                                                                .floor_offset = second}));
  ASSERT_EQ(gone, 1u);
  ASSERT_OK(io::LocalFileSystem().ReplaceFile(PathOf(0, ".log"),
                                              first));  // As if its removal had been lost.
  ASSERT_OK(Reopen());
  EXPECT_EQ(log_->start_offset(), second);
  ASSERT_OK_AND_ASSIGN(const bool back, io::LocalFileSystem().Exists(PathOf(0, ".log")));
  EXPECT_FALSE(back);
}

// Else a bucket with nothing to save would count as one that has, and be saved for ever.
TEST_F(LogTest, AnUndoneAppendLeavesNothingUnsaved) {
  std::string batches;
  for (int i = 0; i < 30; ++i) batches += MakeBatch({.records = 2, .body = BodyOf(i)});
  int undone = 0;
  for (bool failed = true; failed; ++undone) {
    io::SimFileSystem files(clock_);
    ASSERT_OK_AND_ASSIGN(log_, Log::Open(files, clock_, "/log-0", options_, Log::kScanAll));
    ASSERT_OK(Append({}).status());
    ASSERT_OK(log_->Flush());
    files.FailOperation(static_cast<uint64_t>(undone + 1));
    failed = !log_->AppendAsLeader(batches, 0).ok();
    EXPECT_EQ(log_->unsaved_bytes() == 0, failed) << undone;
    EXPECT_EQ(log_->end_offset() == log_->recovery_point(), failed) << undone;
  }
  EXPECT_GT(undone, 5);
}

TEST_F(LogTest, ADeletionThatFailedHalfWayLeavesWhatIsThere) {
  int failures = 0;
  for (bool failed = true; failed; ++failures) {
    io::SimFileSystem files(clock_);
    ASSERT_OK_AND_ASSIGN(log_, Log::Open(files, clock_, "/log-0", options_, Log::kScanAll));
    for (int i = 0; i < 40; ++i) ASSERT_OK(Append({.records = 2, .body = BodyOf(i)}).status());
    log_->AdvanceHighWatermark(80);
    ASSERT_OK(log_->Flush());
    files.FailOperation(static_cast<uint64_t>(failures + 1));
    failed = !log_->DeleteSegments({.delete_before_ms = INT64_MAX}).ok();
    const auto left = static_cast<size_t>(log_->end_offset() - log_->start_offset()) / 2;
    EXPECT_EQ(AllBodies(*log_).size(), left) << failures;
    ASSERT_OK(log_->DeleteSegments({.delete_before_ms = INT64_MAX}).status());
    EXPECT_EQ(log_->Segments().size(), 1u);
  }
  EXPECT_GT(failures, 9);
}

TEST_F(LogTest, OldLeadersAreFenced) {
  ASSERT_OK(Reopen());
  ASSERT_OK(log_->AppendAsLeader(MakeBatch({}), 3).status());
  ASSERT_OK(Reopen());
  EXPECT_EQ(log_->leader_epoch(), 3);
  EXPECT_CODE(ErrorCode::kFencedLeaderEpoch, log_->AppendAsLeader(MakeBatch({}), 2));
  EXPECT_EQ(log_->end_offset(), 1);
}

TEST_F(LogTest, KeepsFewFilesOpen) {
  ASSERT_OK(Reopen());
  Fill(200);
  EXPECT_GT(log_->Segments().size(), 10u);
  EXPECT_EQ(AllBodies(*log_).size(), 200u);
  size_t open = 0;
  ASSERT_OK_AND_ASSIGN(const auto descriptors, io::LocalFileSystem().List("/proc/self/fd"));
  for (const auto& entry : descriptors) {
    char target[4096];
    const ssize_t size = readlink(("/proc/self/fd/" + entry.name).c_str(), target, sizeof target);
    if (size > 0 && std::string_view(target, size).starts_with(folder_)) ++open;
  }
  EXPECT_LE(open, 12u);
  EXPECT_GT(open, 0u);
}

}  // namespace sluice::log
