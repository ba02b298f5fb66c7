#include "base/testing.h"
#include "io/sim/sim_world.h"
#include "shard/gate.h"
#include "shard/shards.h"

namespace sluice::shard {
namespace {

struct ShardsTest : testing::Test {
  io::SimWorld world{1};
  Shards shards{{.loops = {&world.NewLoop(), &world.NewLoop()}, .mailbox_bytes_max = 100}};
};

TEST_F(ShardsTest, WorkRunsOnItsShardInOrder) {
  std::vector<int> order;
  EXPECT_EQ(shards.current(), 2u);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(shards.TryPost(1, 10, [&, i] {
      EXPECT_EQ(shards.current(), 1u);
      order.push_back(i);
    }));
  }
  world.RunUntilIdle();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

TEST_F(ShardsTest, AFullMailboxRefusesUntilItsWorkHasRun) {
  EXPECT_TRUE(shards.TryPost(0, 60, [] {}));
  EXPECT_FALSE(shards.TryPost(0, 60, [] {}));
  EXPECT_TRUE(shards.TryPost(0, 40, [] {}));
  EXPECT_TRUE(shards.TryPost(1, 60, [] {}));
  bool control_ran = false;
  shards.Post(0, [&] { control_ran = true; });
  world.RunUntilIdle();
  EXPECT_TRUE(control_ran);
  EXPECT_EQ(shards.mailbox_bytes(0), 0u);
  EXPECT_TRUE(shards.TryPost(0, 60, [] {}));
}

TEST_F(ShardsTest, AnEmptyMailboxTakesWorkOfAnySize) {
  EXPECT_TRUE(shards.TryPost(0, 1000, [] {}));
  EXPECT_FALSE(shards.TryPost(0, 1, [] {}));
}

io::Task<void> CloseAndTell(Gate& gate, io::Loop& loop, bool* closed) {
  co_await gate.CloseAndWait(loop);
  *closed = true;
}

TEST(GateTest, ClosingRefusesNewWorkAndWaitsForRunningWork) {
  io::SimWorld world(1);
  io::Loop& loop = world.NewLoop();
  Gate gate;
  auto first = gate.Enter();
  auto second = gate.Enter();
  ASSERT_TRUE(first.has_value() && second.has_value());
  bool closed = false;
  loop.Post([&] { io::Spawn(CloseAndTell(gate, loop, &closed)); });
  world.RunUntilIdle();
  EXPECT_FALSE(gate.Enter().has_value());
  EXPECT_FALSE(closed);
  first.reset();
  world.RunUntilIdle();
  EXPECT_FALSE(closed);
  std::optional<Gate::Pass> moved(std::move(*second));
  second.reset();
  EXPECT_EQ(gate.inside(), 1u);
  moved.reset();
  world.RunUntilIdle();
  EXPECT_TRUE(closed);
}

TEST(GateTest, AnEmptyGateClosesAtOnceAndAgain) {
  io::SimWorld world(1);
  io::Loop& loop = world.NewLoop();
  Gate gate;
  for (int i = 0; i < 2; ++i) {
    bool closed = false;
    loop.Post([&] { io::Spawn(CloseAndTell(gate, loop, &closed)); });
    world.RunUntilIdle();
    EXPECT_TRUE(closed);
  }
}

// A sanitizer sees it when the pass reports to a gate that is gone.
TEST(GateTest, APassMayOutliveItsGate) {
  auto gate = std::make_unique<Gate>();
  auto pass = gate->Enter();
  ASSERT_TRUE(pass.has_value());
  gate.reset();
  pass.reset();
}

}  // namespace
}  // namespace sluice::shard
