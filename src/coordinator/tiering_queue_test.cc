#include "coordinator/tiering_queue.h"

#include "base/testing.h"

namespace sluice::coordinator {
namespace {

using namespace std::chrono_literals;
using Time = TieringQueue::Time;

constexpr Time kFreshness = 5s;

/// Probe whatever is due, with one answer for all; returns how many were probed.
size_t ProbeAll(TieringQueue* queue, bool rows, Time now) {
  const auto due = queue->TakeProbes(now);
  for (const int64_t table_id : due) queue->Probed(table_id, rows, now);
  return due.size();
}

TEST(TieringQueueTest, ANewTableWithRowsIsHandedOutAtOnce) {
  TieringQueue queue;
  queue.Add(7, {"db", "t"}, kFreshness, 100s);
  EXPECT_EQ(ProbeAll(&queue, true, 100s), 1u);
  queue.Advance(100s);
  const auto handout = queue.Take(100s);
  ASSERT_TRUE(handout.has_value());
  EXPECT_EQ(handout->table_id, 7);
  EXPECT_EQ(handout->path, (types::TablePath{"db", "t"}));
  EXPECT_EQ(handout->tiering_epoch, 1);
  EXPECT_FALSE(queue.Take(100s).has_value());
}

TEST(TieringQueueTest, AnIdleTableIsProbedAndNeverHandedOut) {
  TieringQueue queue;
  queue.Add(7, {"db", "t"}, kFreshness, 0s);
  size_t probes = 0;
  for (Time now = 0s; now < 60s; now += 100ms) {
    probes += ProbeAll(&queue, false, now);
    queue.Advance(now);
    EXPECT_FALSE(queue.Take(now).has_value());
  }
  EXPECT_LE(probes, 60s / (kFreshness / 4) + 1);
  EXPECT_GE(probes, 40u);
}

// A row at any moment of the probe cycle is handed out early enough for a round of a second to end
// within freshness.
TEST(TieringQueueTest, FreshnessBoundsTheAgeOfARow) {
  for (Time arrives = 20s; arrives < 22s; arrives += 50ms) {
    TieringQueue queue;
    queue.Add(7, {"db", "t"}, kFreshness, 0s);
    ASSERT_EQ(ProbeAll(&queue, true, 0s), 1u);
    queue.Advance(0s);
    ASSERT_TRUE(queue.Take(0s).has_value());
    ASSERT_OK(queue.Finish(7, 1, false, 1s));  // A round takes a second.
    Time handed_out{};
    for (Time now = 1s; handed_out == Time{} && now < 60s; now += 25ms) {
      ProbeAll(&queue, now >= arrives, now);
      queue.Advance(now);
      if (queue.Take(now).has_value()) handed_out = now;
    }
    EXPECT_GE(handed_out, arrives);
    EXPECT_LE(handed_out + 1s, arrives + kFreshness) << arrives.count();
  }
}

TEST(TieringQueueTest, ABusyTableIsNotTieredWithoutPause) {
  TieringQueue queue;
  queue.Add(7, {"db", "t"}, kFreshness, 0s);
  int rounds = 0;
  for (Time now = 0s; now < 60s; now += 50ms) {
    ProbeAll(&queue, true, now);
    queue.Advance(now);
    if (const auto handout = queue.Take(now)) {
      ++rounds;
      ASSERT_OK(queue.Finish(7, handout->tiering_epoch, false, now + 10ms));
    }
  }
  EXPECT_LE(rounds, 60s / (kFreshness / 2) + 1);
  EXPECT_GE(rounds, 60s / kFreshness);
}

TEST(TieringQueueTest, WaitsForNothingLongerThanNextEventSays) {
  TieringQueue queue;
  EXPECT_FALSE(queue.NextEvent().has_value());
  queue.Add(7, {"db", "t"}, kFreshness, 10s);
  EXPECT_EQ(queue.NextEvent(), 10s);
  ASSERT_EQ(queue.TakeProbes(10s).size(), 1u);
  EXPECT_FALSE(queue.NextEvent().has_value());  // Until the probe's answer.
  queue.Probed(7, false, 10s);
  EXPECT_EQ(queue.NextEvent(), 10s + kFreshness / 4);
}

TEST(TieringQueueTest, AProbeWithoutAnAnswerIsRepeated) {
  TieringQueue queue;
  queue.Add(7, {"db", "t"}, kFreshness, 10s);
  ASSERT_EQ(queue.TakeProbes(10s).size(), 1u);
  queue.Probed(7, std::nullopt, 10s);
  EXPECT_EQ(queue.TakeProbes(10s).size(), 0u);
  EXPECT_EQ(queue.TakeProbes(12s).size(), 1u);
  queue.Probed(7, true, 12s);
  queue.Advance(12s);  // Nobody knows how old the rows are, so it is due.
  EXPECT_TRUE(queue.Take(12s).has_value());
}

TieringQueue TieringSeven() {
  TieringQueue queue;
  queue.Add(7, {"db", "t"}, kFreshness, 0s);
  ProbeAll(&queue, true, 0s);
  queue.Advance(0s);
  EXPECT_TRUE(queue.Take(0s).has_value());
  return queue;
}

TEST(TieringQueueTest, RefusesWhoDoesNotHoldTheTable) {
  TieringQueue queue = TieringSeven();
  EXPECT_CODE(ErrorCode::kTableNotExist, queue.Heartbeat(8, 1, 0s));
  EXPECT_CODE(ErrorCode::kFencedTieringEpoch, queue.Heartbeat(7, 0, 0s));
  EXPECT_CODE(ErrorCode::kFencedTieringEpoch, queue.Finish(7, 2, false, 0s));
  EXPECT_OK(queue.Heartbeat(7, 1, 0s));
  EXPECT_OK(queue.Finish(7, 1, false, 1s));
  EXPECT_CODE(ErrorCode::kUnknownServer, queue.Finish(7, 1, false, 1s));
  EXPECT_CODE(ErrorCode::kUnknownServer, queue.Fail(7, 1, 1s));
}

TEST(TieringQueueTest, ASilentServiceLosesTheTableAfterTwoMinutes) {
  TieringQueue queue = TieringSeven();
  ASSERT_OK(queue.Heartbeat(7, 1, 60s));
  queue.Advance(179s);
  EXPECT_FALSE(queue.Take(179s).has_value());
  EXPECT_EQ(queue.NextEvent(), 180s);
  queue.Advance(180s);
  const auto again = queue.Take(180s);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->tiering_epoch, 2);
  EXPECT_CODE(ErrorCode::kFencedTieringEpoch, queue.Finish(7, 1, false, 181s));
  EXPECT_OK(queue.Finish(7, 2, false, 181s));
}

TEST(TieringQueueTest, AForceFinishedTableIsQueuedAtOnceWithANewEpoch) {
  TieringQueue queue = TieringSeven();
  ASSERT_OK(queue.Finish(7, 1, true, 1s));
  const auto again = queue.Take(1s);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->tiering_epoch, 2);
}

TEST(TieringQueueTest, AFailingTableWaitsLongerEachTimeAndHoldsUpNobody) {
  TieringQueue queue;
  queue.Add(1, {"db", "bad"}, kFreshness, 0s);
  queue.Add(2, {"db", "good"}, kFreshness, 0s);
  int bad = 0;
  int good = 0;
  for (Time now = 0s; now < 120s; now += 50ms) {
    ProbeAll(&queue, true, now);
    queue.Advance(now);
    while (const auto handout = queue.Take(now)) {
      const bool fails = handout->table_id == 1;
      ++(fails ? bad : good);
      ASSERT_OK(fails ? queue.Fail(1, handout->tiering_epoch, now)
                      : queue.Finish(2, handout->tiering_epoch, false, now));
    }
  }
  EXPECT_LT(bad, 15);
  EXPECT_GT(bad, 5);
  EXPECT_GE(good, 120s / kFreshness);
}

TEST(TieringQueueTest, SaysWhenAFailedTableIsTriedAgain) {
  TieringQueue queue = TieringSeven();
  EXPECT_TRUE(queue.NextTries(1s).empty());
  ASSERT_OK(queue.Fail(7, 1, 1s));
  using Tries = std::map<int64_t, TieringQueue::Time>;
  EXPECT_EQ(queue.NextTries(1s), (Tries{{7, TieringQueue::kRetryFirst}}));
  EXPECT_EQ(queue.NextTries(1100ms), (Tries{{7, TieringQueue::kRetryFirst - 100ms}}));
  EXPECT_EQ(queue.NextTries(10s), (Tries{{7, 0ms}}));
  queue.Advance(10s);
  EXPECT_TRUE(queue.NextTries(10s).empty());  // It waits for a service now.
}

TEST(TieringQueueTest, ARemovedTableIsForgottenInEveryState) {
  TieringQueue queue = TieringSeven();
  queue.Remove(7);
  EXPECT_CODE(ErrorCode::kTableNotExist, queue.Heartbeat(7, 1, 0s));
  queue.Add(7, {"db", "t"}, kFreshness, 0s);
  ProbeAll(&queue, true, 0s);
  queue.Advance(0s);
  queue.Remove(7);
  EXPECT_FALSE(queue.Take(0s).has_value());
  queue.Remove(7);
}

TEST(TieringQueueTest, AnEpochIsNotGivenAgainWhenTieringIsSwitchedOffAndOn) {
  TieringQueue queue = TieringSeven();
  queue.Remove(7);
  queue.Add(7, {"db", "t"}, kFreshness, 0s);
  ProbeAll(&queue, true, 0s);
  queue.Advance(0s);
  EXPECT_EQ(queue.Take(0s)->tiering_epoch, 2);
  EXPECT_CODE(ErrorCode::kFencedTieringEpoch, queue.Finish(7, 1, false, 0s));
}

}  // namespace
}  // namespace sluice::coordinator
