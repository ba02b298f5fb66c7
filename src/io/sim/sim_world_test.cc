#include "io/sim/sim_world.h"

#include "base/testing.h"
#include "io/task.h"

namespace sluice::io {
namespace {

using std::chrono::milliseconds;

Task<int64_t> SleepTwice(Loop& loop) {
  const int64_t start_ms = loop.clock().NowMs();
  Sleep hour(loop, std::chrono::hours(1));
  co_await hour;
  Sleep second(loop, std::chrono::seconds(1));
  co_await second;
  co_return loop.clock().NowMs() - start_ms;
}

TEST(SimWorldTest, HoursPassAtOnce) {
  SimWorld world(1);
  Loop& loop = world.NewLoop();
  EXPECT_EQ(SyncWait(loop, SleepTwice(loop)), 3'601'000);
}

// The order in which the callbacks of three loops ran.
std::string Interleaving(uint64_t seed) {
  SimWorld world(seed);
  std::string order;
  for (char name = 'a'; name < 'd'; ++name) {
    Loop& loop = world.NewLoop();
    for (int i = 0; i < 10; ++i) loop.Post([&order, name] { order += name; });
  }
  world.RunUntilIdle();
  return order;
}

TEST(SimWorldTest, TheSeedAloneDecidesTheOrder) {
  EXPECT_EQ(Interleaving(7), Interleaving(7));
  EXPECT_NE(Interleaving(7), Interleaving(8));
  EXPECT_EQ(Interleaving(7).size(), 30u);
}

TEST(SimWorldTest, ALoopKeepsTheOrderOfItsPostsAndTimers) {
  SimWorld world(3);
  Loop& loop = world.NewLoop();
  std::vector<int> seen;
  loop.Post([&] {
    loop.After(milliseconds(5), [&] { seen.push_back(5); });
    loop.After(milliseconds(3), [&] { seen.push_back(3); });
    loop.After(milliseconds(5), [&] { seen.push_back(6); });
    const auto cancelled = loop.After(milliseconds(4), [&] { seen.push_back(4); });
    loop.Cancel(cancelled);
    loop.Post([&] { seen.push_back(1); });
  });
  world.RunUntilIdle();
  EXPECT_EQ(seen, (std::vector<int>{1, 3, 5, 6}));
}

TEST(SimWorldTest, RunForStopsAtItsTime) {
  SimWorld world(3);
  Loop& loop = world.NewLoop();
  int ticks = 0;
  std::function<void()> tick = [&] {
    ++ticks;
    loop.After(milliseconds(10), tick);
  };
  loop.Post(tick);
  world.RunFor(milliseconds(1000));
  EXPECT_NEAR(ticks, 100, 2);
}

Task<Result<int>> WorkThatWaitsForALoop(Pool& pool, Loop& home, Loop& other) {
  co_return co_await pool.Run(home, [&other]() -> Result<int> {
    return static_cast<int>(SyncWait(other, SleepTwice(other)) / 1000);
  });
}

TEST(SimWorldTest, PoolWorkMayWaitForALoop) {
  SimWorld world(5);
  Loop& home = world.NewLoop();
  Loop& other = world.NewLoop();
  const auto pool = world.NewPool({.name = "work"});
  ASSERT_OK_AND_ASSIGN(const int seconds,
                       SyncWait(home, WorkThatWaitsForALoop(*pool, home, other)));
  EXPECT_EQ(seconds, 3601);
}

TEST(SimWorldTest, APoolRefusesWhenFullAndFinishesWhenItGoes) {
  SimWorld world(5);
  int ran = 0;
  auto pool = world.NewPool({.name = "work", .queue_max = 2});
  EXPECT_TRUE(pool->TryPost([&] { ++ran; }));
  EXPECT_TRUE(pool->TryPost([&] { ++ran; }));
  EXPECT_FALSE(pool->TryPost([&] { ++ran; }));
  pool.reset();
  EXPECT_EQ(ran, 2);
}

TEST(SimClockTest, SkewMovesTheWallClockOnly) {
  SimClock clock;
  clock.SetSkew(milliseconds(-5000));
  EXPECT_EQ(clock.NowMs(), SimClock::kStartMs - 5000);
  EXPECT_EQ(clock.Monotonic().count(), 0);
}

TEST(SeededRandomTest, RepeatsItself) {
  SeededRandom first(9);
  SeededRandom second(9);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(first.Next(), second.Next());
  EXPECT_THAT(
      first.Uuid(),
      testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
}

}  // namespace
}  // namespace sluice::io
