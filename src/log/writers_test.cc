#include "log/log_testing.h"
#include "log/writer_states.h"

// Idempotent writers, as Java's WriterStateManager judges them.

namespace sluice::log {

using internal::AllBodies;
using internal::MakeBatch;
using WritersTest = internal::LogFixture;

TEST_F(WritersTest, ARetryGetsItsFirstOffsets) {
  ASSERT_OK(Reopen());
  Fill(5);
  for (int i = 0; i < 5; ++i) {
    clock_.Advance(std::chrono::seconds(1));
    ASSERT_OK_AND_ASSIGN(const auto again, Append({.writer_id = 7, .sequence = i, .records = 2}));
    EXPECT_TRUE(again.duplicate);
    EXPECT_EQ(again.base_offset, 2 * i);
    EXPECT_EQ(again.last_offset, 2 * i + 1);
    EXPECT_EQ(again.commit_timestamp_ms, io::SimClock::kStartMs + 10 * (i + 1));
  }
  EXPECT_EQ(log_->end_offset(), 10);
}

TEST_F(WritersTest, AGapIsRefused) {
  ASSERT_OK(Reopen());
  EXPECT_CODE(ErrorCode::kOutOfOrderSequence, Append({.writer_id = 1, .sequence = 1}));
  ASSERT_OK(Append({.writer_id = 1, .sequence = 0}).status());
  EXPECT_CODE(ErrorCode::kOutOfOrderSequence, Append({.writer_id = 1, .sequence = 2}));
  ASSERT_OK(Append({.writer_id = 1, .sequence = 1}).status());
  EXPECT_EQ(log_->end_offset(), 2);
}

TEST_F(WritersTest, OnlyTheLastFiveBatchesAreKnown) {
  ASSERT_OK(Reopen());
  Fill(6);
  EXPECT_CODE(ErrorCode::kOutOfOrderSequence, Append({.writer_id = 7, .sequence = 0}));
  ASSERT_OK_AND_ASSIGN(const auto again, Append({.writer_id = 7, .sequence = 1}));
  EXPECT_TRUE(again.duplicate);
}

TEST_F(WritersTest, OneRequestMayHoldSeveralBatchesOfAWriter) {
  ASSERT_OK(Reopen());
  const auto batch = [](int32_t sequence) {
    return MakeBatch({.writer_id = 1, .sequence = sequence, .body = std::to_string(sequence)});
  };
  EXPECT_CODE(ErrorCode::kOutOfOrderSequence, log_->AppendAsLeader(batch(0) + batch(2), 0));
  EXPECT_EQ(log_->end_offset(), 0) << "all or none";
  ASSERT_OK(log_->AppendAsLeader(batch(0) + batch(1), 0).status());
  ASSERT_OK_AND_ASSIGN(const auto mixed, log_->AppendAsLeader(batch(1) + batch(2) + batch(2), 0));
  EXPECT_FALSE(mixed.duplicate);
  EXPECT_EQ(mixed.base_offset, 1);
  EXPECT_EQ(AllBodies(*log_), (std::vector<std::string>{"0", "1", "2"}));
}

// Whoever invents writer ids fills neither memory nor snapshots, and those who write go on.
TEST_F(WritersTest, TheOldestOfTooManyAreForgotten) {
  WriterStates states;
  wire::LogBatchHeader header;
  header.batch_sequence = 0;
  header.commit_timestamp_ms = 5;  // Those of one moment go by their offsets.
  for (size_t i = 0; i <= WriterStates::kWritersMax; ++i) {
    header.writer_id = 1000 + static_cast<int64_t>(i);
    header.base_offset = static_cast<int64_t>(i);
    states.Add(header);
    EXPECT_LE(states.size(), WriterStates::kWritersMax);
  }
  EXPECT_EQ(states.size(), WriterStates::kWritersMax - WriterStates::kWritersMax / 8 + 1);
  EXPECT_EQ(states.Find(1000), nullptr);
  EXPECT_NE(states.Find(header.writer_id), nullptr);
  EXPECT_NE(states.Find(1000 + WriterStates::kWritersMax / 8), nullptr);
}

TEST_F(WritersTest, SequencesWrap) {
  WriterStates states;
  EXPECT_EQ(WriterStates::NextSequence(INT32_MAX), 0);
  EXPECT_EQ(WriterStates::NextSequence(0), 1);
}

TEST_F(WritersTest, StatesSurviveWithAndWithoutASnapshot) {
  for (const bool flushed : {false, true}) {
    ASSERT_OK(Reopen());
    Fill(10);
    if (flushed) ASSERT_OK(log_->Flush());
    Fill(2);
    ASSERT_OK(Reopen());
    for (int i = filled_ - 5; i < filled_; ++i) {
      ASSERT_OK_AND_ASSIGN(const auto again, Append({.writer_id = 7, .sequence = i}));
      EXPECT_TRUE(again.duplicate) << i;
      EXPECT_EQ(again.base_offset, 2 * i);
    }
    EXPECT_CODE(ErrorCode::kOutOfOrderSequence, Append({.writer_id = 7, .sequence = filled_ + 1}));
  }
}

TEST_F(WritersTest, SilentWritersAreForgotten) {
  options_.writer_expiry_ms = 60'000;
  ASSERT_OK(Reopen());
  ASSERT_OK(Append({.writer_id = 1, .sequence = 0}).status());
  clock_.Advance(std::chrono::seconds(50));
  ASSERT_OK(Append({.writer_id = 2, .sequence = 0}).status());
  clock_.Advance(std::chrono::seconds(20));
  log_->ExpireWriters();
  EXPECT_CODE(ErrorCode::kOutOfOrderSequence, Append({.writer_id = 1, .sequence = 1}));
  ASSERT_OK(Append({.writer_id = 2, .sequence = 1}).status());
}

TEST(WriterStatesTest, SnapshotsComeBack) {
  WriterStates states;
  for (int i = 0; i < 7; ++i) {
    states.Add({.base_offset = 10 * i,
                .commit_timestamp_ms = 1000 + i,
                .last_offset_delta = 9,
                .writer_id = 4,
                .batch_sequence = i});
  }
  ASSERT_OK_AND_ASSIGN(const auto back, WriterStates::FromJson(states.ToJson()));
  ASSERT_NE(back.Find(4), nullptr);
  EXPECT_EQ(*back.Find(4), *states.Find(4));
  EXPECT_EQ(back.Find(4)->size(), WriterStates::kBatchesKept);
}

// As the Java server writes it: only the last batch of each writer.
TEST(WriterStatesTest, ReadsJavaSnapshots) {
  ASSERT_OK_AND_ASSIGN(
      const auto states,
      WriterStates::FromJson(
          R"({"version":1,"writer_id_entries":[{"writer_id":9,"last_batch_sequence":3,"last_batch_base_offset":40,)"
          R"("offset_delta":9,"last_batch_timestamp":1234}]})"));
  ASSERT_NE(states.Find(9), nullptr);
  EXPECT_EQ(*states.Find(9), (WriterStates::Writer{{3, 40, 9, 1234}}));
}

TEST(WriterStatesTest, RefusesEveryCut) {
  WriterStates states;
  states.Add({.writer_id = 4, .batch_sequence = 0});
  const std::string json = states.ToJson();
  for (size_t size = 0; size < json.size(); ++size) {
    EXPECT_CODE(ErrorCode::kCorruptRecord, WriterStates::FromJson(json.substr(0, size)));
  }
}

}  // namespace sluice::log
