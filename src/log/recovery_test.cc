#include "io/sim/sim_file_system.h"
#include "log/log_testing.h"

namespace sluice::log {

using internal::AllBatches;
using internal::AllBodies;
using internal::MakeBatch;

class RecoveryTest : public internal::LogFixture {
 protected:
  static io::FileSystem& files() { return io::LocalFileSystem(); }
  std::string Image(int64_t base_offset, std::string_view suffix) const {
    return files().ReadFile(PathOf(base_offset, suffix)).ValueOrDie();
  }
  Status Replace(int64_t base_offset, std::string_view suffix, std::string_view image) const {
    ARROW_ASSIGN_OR_RAISE(const auto file,
                          files().Open(PathOf(base_offset, suffix), io::FileSystem::Mode::kCreate));
    ARROW_RETURN_NOT_OK(file->Truncate(0));
    return file->Append(image);
  }
};

TEST_F(RecoveryTest, KeepsEverythingAfterAKill) {
  ASSERT_OK(Reopen());
  Fill(40);
  const auto before = AllBatches(*log_);
  ASSERT_OK(Reopen());
  EXPECT_EQ(AllBatches(*log_), before);
  EXPECT_EQ(log_->high_watermark(), log_->start_offset()) << "the replica moves it";
  Fill(1);
  EXPECT_EQ(log_->end_offset(), 82);
}

TEST_F(RecoveryTest, CutsATornWriteAtTheLastWholeBatch) {
  options_.segment_bytes = 1'000'000;
  ASSERT_OK(Reopen());
  Fill(5);
  const auto batches = AllBatches(*log_);
  const std::string image = Image(0, ".log");
  std::vector<size_t> ends = {0};
  for (const std::string& batch : batches) ends.push_back(ends.back() + batch.size());
  for (size_t size = 0; size <= image.size(); ++size) {
    log_.reset();
    ASSERT_OK(Replace(0, ".log", std::string_view(image).substr(0, size)));
    ASSERT_OK(Reopen());
    const size_t whole = std::ranges::upper_bound(ends, size) - ends.begin() - 1;
    ASSERT_EQ(log_->end_offset(), static_cast<int64_t>(2 * whole)) << "cut to " << size << " bytes";
    ASSERT_EQ(AllBatches(*log_),
              (std::vector<std::string>(batches.begin(), batches.begin() + whole)));
    ASSERT_EQ(log_->size_bytes(), ends[whole]);
    ASSERT_OK(Append({.writer_id = 7, .sequence = static_cast<int32_t>(whole)})
                  .status());  // The writer goes on.
  }
}

TEST_F(RecoveryTest, CutsAtEveryDamagedByteThatWasNotSynced) {
  options_.segment_bytes = 1'000'000;
  ASSERT_OK(Reopen());
  Fill(3);
  const auto batches = AllBatches(*log_);
  const std::string image = Image(0, ".log");
  for (size_t at = batches[0].size(); at < image.size(); ++at) {
    const size_t in_batch = (at - batches[0].size()) % batches[1].size();
    if (in_batch >= 13 && in_batch < 21) continue;  // The commit timestamp: no checksum covers it.
    std::string damaged = image;
    damaged[at] ^= 0x20;
    log_.reset();
    ASSERT_OK(Replace(0, ".log", damaged));
    ASSERT_OK(Reopen());
    const size_t whole = at < batches[0].size() + batches[1].size() ? 1 : 2;
    ASSERT_EQ(AllBatches(*log_),
              (std::vector<std::string>(batches.begin(), batches.begin() + whole)))
        << "byte " << at;
  }
}

// The process that made the folder is killed at each step; the next one flushes, and then the power
// is lost.
TEST(LogFolderTest, AFlushedLogKeepsItsFolderThoughAKilledProcessMadeIt) {
  constexpr char kFolder[] = "/data/db/t-1/log-0";
  for (uint64_t seed = 0; seed < 200; ++seed) {
    io::SimClock clock;
    io::SimFileSystem files(clock);
    const uint64_t stop_at = 1 + seed % 12;
    files.SetHook(
        [&](std::string_view, const std::string&) { return files.operations() < stop_at; });
    {
      const auto killed = Log::Open(files, clock, kFolder, {}, Log::kScanAll);
    }
    files.SetHook(nullptr);
    files.Restart();
    ASSERT_OK_AND_ASSIGN(auto log, Log::Open(files, clock, kFolder, {}, Log::kScanAll));
    ASSERT_OK(log->AppendAsFollower(MakeBatch({}), 0));
    ASSERT_OK(log->Flush(Log::FlushKind::kData));
    io::SeededRandom random(seed);
    files.Crash(random);
    ASSERT_OK_AND_ASSIGN(log, Log::Open(files, clock, kFolder, {}, Log::kScanAll));
    ASSERT_EQ(log->end_offset(), 1) << "stopped at " << stop_at << " seed " << seed;
  }
}

// Whatever fails in a restart, the log still answers who asks it, and the next Open ends it.
TEST(LogFolderTest, ARestartThatFailsLeavesALogToAsk) {
  constexpr char kFolder[] = "/data/db/t-1/log-0";
  LogOptions options;
  options.segment_bytes = 300;
  bool failed = true;
  for (uint64_t nth = 1; failed; ++nth) {
    SCOPED_TRACE(nth);
    io::SimClock clock;
    io::SimFileSystem files(clock);
    ASSERT_OK_AND_ASSIGN(auto log, Log::Open(files, clock, kFolder, options, Log::kScanAll));
    for (int i = 0; i < 20; ++i) ASSERT_OK(log->AppendAsLeader(MakeBatch({}), 0));
    files.FailOperation(nth);
    failed = !log->TruncateFullyAndStartAt(7).ok();
    files.FailOperation(0);
    EXPECT_LE(log->start_offset(), log->end_offset());
    EXPECT_EQ(log->Segments().back().end_offset, log->end_offset());
    EXPECT_GE(log->size_bytes(), 0u);
    EXPECT_OK(log->Read(log->end_offset(), 1000, log->end_offset(), /*at_least_one=*/true));
    for (int64_t offset = 0; offset < 20; ++offset) {
      [[maybe_unused]] const auto read =
          log->Read(offset, 1000, log->end_offset(), /*at_least_one=*/true);
    }
    [[maybe_unused]] const auto by_time = log->OffsetOfTimestamp(0);
    EXPECT_EQ(log->Roll().ok(), !failed);
    log.reset();
    ASSERT_OK_AND_ASSIGN(log, Log::Open(files, clock, kFolder, options, Log::kScanAll));
    const bool begun = !failed || log->start_offset() != 0;
    EXPECT_EQ(log->start_offset(), begun ? 7 : 0);
    EXPECT_EQ(log->end_offset(), begun ? 7 : 20);
  }
}

// A segment of one batch, whose entry in the time index could not be written when it was to be
// closed: the file must not be filled up to it with zeros, which are an entry too.
TEST(LogFolderTest, ARollThatFailsLeavesIndexesAsTheyWere) {
  constexpr char kFolder[] = "/data/db/t-1/log-0";
  LogOptions options;
  options.segment_bytes = 200;
  const std::string batch = MakeBatch({.body = std::string(100, 'x')});
  bool failed = true;
  for (uint64_t nth = 1; failed; ++nth) {
    SCOPED_TRACE(nth);
    io::SimClock clock;
    io::SimFileSystem files(clock);
    ASSERT_OK_AND_ASSIGN(auto log, Log::Open(files, clock, kFolder, options, Log::kScanAll));
    clock.Advance(std::chrono::milliseconds(1000));
    ASSERT_OK(log->AppendAsLeader(batch, 0));
    ASSERT_OK(log->Flush());
    files.FailOperation(nth);
    failed = !log->AppendAsLeader(batch, 0).ok();
    files.FailOperation(0);
    log.reset();
    files.Restart();
    ASSERT_OK_AND_ASSIGN(log, Log::Open(files, clock, kFolder, options, Log::kScanAll));
    ASSERT_OK(log->AppendAsLeader(batch, 0));
    ASSERT_OK_AND_ASSIGN(const int64_t first, log->OffsetOfTimestamp(1));
    EXPECT_EQ(first, 0);
    EXPECT_GE(AllBatches(*log).size(), 2u);
  }
}

// A power loss leaves zeros where an entry of the time index was written and not synced: they say
// that the first batch was committed in 1970.
TEST_F(RecoveryTest, ZerosInTheTimeIndexAreNoEntry) {
  options_.segment_bytes = 200;
  ASSERT_OK(Reopen());
  clock_.Advance(std::chrono::milliseconds(1000));
  ASSERT_OK(Append({.body = std::string(100, 'x')}).status());
  ASSERT_OK(log_->Flush());
  log_.reset();
  ASSERT_OK(Replace(0, ".timeindex", std::string(12, '\0')));
  ASSERT_OK(Reopen());
  ASSERT_OK(Append({.body = std::string(100, 'y')}).status());
  EXPECT_EQ(log_->Segments().size(), 2u);
  ASSERT_OK_AND_ASSIGN(const int64_t first, log_->OffsetOfTimestamp(1));
  EXPECT_EQ(first, 0);
}

TEST_F(RecoveryTest, DropsSegmentsAfterATornOne) {
  ASSERT_OK(Reopen());
  Fill(40);
  const auto segments = log_->Segments();
  log_.reset();
  const std::string image = Image(segments[1].base_offset, ".log");
  ASSERT_OK(Replace(segments[1].base_offset, ".log", image.substr(0, image.size() - 1)));
  ASSERT_OK(Reopen());
  EXPECT_EQ(log_->end_offset(), segments[1].end_offset - 2);
  EXPECT_EQ(log_->Segments().size(), 2u);
  filled_ = static_cast<int>(log_->end_offset() / 2);
  Fill(40);
  ASSERT_OK(Reopen());
  EXPECT_EQ(static_cast<int>(AllBodies(*log_).size()), filled_);
}

TEST_F(RecoveryTest, ReportsDamageInWhatWasSynced) {
  ASSERT_OK(Reopen());
  Fill(40);
  ASSERT_OK(log_->Flush());
  const auto segments = log_->Segments();
  const auto last = segments.back();
  log_.reset();
  const std::string image = Image(last.base_offset, ".log");

  ASSERT_OK(Replace(last.base_offset, ".log", image.substr(0, image.size() - 1)));
  Status status = Reopen();
  EXPECT_CODE(ErrorCode::kCorruptRecord, status);
  EXPECT_THAT(status.message(), ::testing::HasSubstr(PathOf(last.base_offset, ".log")));
  EXPECT_THAT(status.message(), ::testing::HasSubstr("offset=78"));

  ASSERT_OK(files().Remove(PathOf(last.base_offset, ".log")));
  status = Reopen();
  EXPECT_CODE(ErrorCode::kCorruptRecord, status);

  ASSERT_OK(Replace(last.base_offset, ".log", image));
  ASSERT_OK(Reopen());
  EXPECT_EQ(AllBodies(*log_).size(), 40u);
}

TEST_F(RecoveryTest, WithoutASnapshotTheCheckpointIsBelieved) {
  ASSERT_OK(Reopen());
  Fill(40);
  log_.reset();
  ASSERT_OK(Reopen(/*recovery_point=*/80));
  EXPECT_CODE(ErrorCode::kCorruptRecord, Reopen(/*recovery_point=*/82));
  ASSERT_OK(Reopen(Log::kCleanlyClosed));
  EXPECT_EQ(log_->end_offset(), 80);
  EXPECT_EQ(log_->recovery_point(), 80);
  Fill(1);
}

TEST_F(RecoveryTest, ReadsOnlyWhatIsNewAfterAClose) {
  options_.segment_bytes = 1'000'000;
  ASSERT_OK(Reopen());
  Fill(40);
  ASSERT_OK(log_->Close());
  log_.reset();
  // Damage early in the file stays unseen at Open: proof that it was not read. A reader meets it.
  std::string image = Image(0, ".log");
  image[3 * image.size() / 40] = 'x';
  ASSERT_OK(Replace(0, ".log", image));
  ASSERT_OK(Reopen());
  EXPECT_EQ(log_->end_offset(), 80);
  EXPECT_CODE(ErrorCode::kCorruptRecord, log_->Read(6, 1, INT64_MAX, true));
  ASSERT_OK_AND_ASSIGN(const auto before, log_->Read(4, 1, INT64_MAX, true));
  EXPECT_EQ(before.next_offset, 6) << "what stands in front is given";
  ASSERT_OK(log_->Read(40, 1, INT64_MAX, true).status());
}

TEST_F(RecoveryTest, ADamagedSegmentTakesNoOtherWithIt) {
  ASSERT_OK(Reopen());
  Fill(40);
  ASSERT_OK(log_->Close());
  const auto segments = log_->Segments();
  ASSERT_GT(segments.size(), 2u);
  const int64_t base = segments[1].base_offset;
  log_.reset();
  std::string image = Image(base, ".log");
  image[0] ^= 1;
  ASSERT_OK(Replace(base, ".log", image));
  ASSERT_OK(Reopen());
  ASSERT_OK_AND_ASSIGN(const auto before, log_->Read(base - 2, UINT64_MAX, INT64_MAX, true));
  EXPECT_EQ(before.next_offset, base);
  const auto damaged = log_->Read(base, 1, INT64_MAX, true);
  EXPECT_CODE(ErrorCode::kCorruptRecord, damaged);
  EXPECT_THAT(damaged.status().message(), ::testing::HasSubstr(PathOf(base, ".log")));
  ASSERT_OK(log_->Read(segments[2].base_offset, 1, INT64_MAX, true).status());
}

TEST_F(RecoveryTest, ClosingALogThatLiesAsItWasCheckpointedWritesNothing) {
  const auto look = [&] {
    std::vector<std::pair<std::string, int64_t>> found;
    for (const auto& entry : *io::LocalFileSystem().List(folder_))
      found.emplace_back(entry.name, entry.modified_ms);
    return found;
  };
  ASSERT_OK(Reopen());
  ASSERT_OK(log_->Close());
  ASSERT_OK(Reopen(Log::kCleanlyClosed));
  auto before = look();
  ASSERT_OK(log_->Close());
  EXPECT_EQ(look(), before);
  ASSERT_OK(Reopen(Log::kCleanlyClosed));
  EXPECT_EQ(log_->end_offset(), 0);
  Fill(5);
  ASSERT_OK(log_->Close());
  EXPECT_NE(look(), before);
  before = look();
  const auto batches = AllBatches(*log_);
  ASSERT_OK(Reopen(Log::kCleanlyClosed));
  ASSERT_OK(log_->Close());
  EXPECT_EQ(look(), before);
  ASSERT_OK(Reopen(Log::kCleanlyClosed));
  EXPECT_EQ(AllBatches(*log_), batches);
  Fill(1);  // The writer is known.
}

TEST_F(RecoveryTest, MissingAndTornIndexesAreBuiltAnew) {
  ASSERT_OK(Reopen());
  Fill(40);
  ASSERT_OK(log_->Flush());
  const auto segments = log_->Segments();
  const auto batches = AllBatches(*log_);
  for (const auto suffix : {".index", ".timeindex"}) {
    for (const auto& segment : segments) {
      const std::string image = Image(segment.base_offset, suffix);
      for (size_t size = 0; size <= image.size(); ++size) {
        log_.reset();
        ASSERT_OK(Replace(segment.base_offset, suffix, std::string_view(image).substr(0, size)));
        ASSERT_OK(Reopen());
        ASSERT_EQ(AllBatches(*log_), batches);
        ASSERT_OK_AND_ASSIGN(
            const int64_t found,
            log_->OffsetOfTimestamp(io::SimClock::kStartMs + 10 * (segment.end_offset / 2)));
        ASSERT_EQ(found, segment.end_offset - 2) << suffix << " cut to " << size;
      }
      log_.reset();
      ASSERT_OK(files().Remove(PathOf(segment.base_offset, suffix)));
      ASSERT_OK(Reopen());
      ASSERT_EQ(AllBatches(*log_), batches);
    }
  }
}

TEST_F(RecoveryTest, AnIndexThatPointsAstrayIsBuiltAnew) {
  ASSERT_OK(Reopen());
  Fill(40);
  const auto batches = AllBatches(*log_);
  const int64_t base = log_->Segments()[1].base_offset;
  std::string image = Image(base, ".index");
  ASSERT_FALSE(image.empty());
  image.back() ^= 1;
  log_.reset();
  ASSERT_OK(Replace(base, ".index", image));
  ASSERT_OK(Reopen());
  EXPECT_EQ(AllBatches(*log_), batches);
  for (int64_t offset = 0; offset < 80; ++offset) {
    ASSERT_OK_AND_ASSIGN(const auto slice, log_->Read(offset, 1, INT64_MAX, true));
    EXPECT_EQ(slice.first_offset, offset / 2 * 2);
  }
}

TEST_F(RecoveryTest, ADamagedSnapshotFallsBackToTheLog) {
  ASSERT_OK(Reopen());
  Fill(10);
  ASSERT_OK(log_->Flush());
  log_.reset();
  ASSERT_OK(Replace(20, ".writer_snapshot", "{"));
  ASSERT_OK(Reopen());
  EXPECT_CODE(ErrorCode::kOutOfOrderSequence, Append({.writer_id = 7, .sequence = 11}));
  ASSERT_OK(Append({.writer_id = 7, .sequence = 10}).status());
}

TEST_F(RecoveryTest, AnInterruptedRestartIsFinished) {
  ASSERT_OK(Reopen());
  Fill(40);
  log_.reset();
  ASSERT_OK(
      files().ReplaceFile(io::JoinPath(folder_, "log-state.json"),
                          R"({"version":1,"start_offset":500,"restarting":true,"epochs":[]})"));
  ASSERT_OK(Reopen(/*recovery_point=*/80));
  EXPECT_EQ(log_->start_offset(), 500);
  EXPECT_EQ(log_->end_offset(), 500);
  Fill(0);
  ASSERT_OK(Append({.writer_id = 1, .sequence = 0}).status());
  ASSERT_OK(Reopen());
  EXPECT_EQ(log_->end_offset(), 501);
}

}  // namespace sluice::log
