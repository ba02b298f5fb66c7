#include "server/byte_budget.h"

#include "server/connection_testing.h"
#include "wire/api.h"

namespace sluice::server {
namespace {

using std::chrono::milliseconds;

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kSmall = ByteBudget::kSmallBytes;

// A call that may be large.
constexpr auto kLargeKey = static_cast<int16_t>(wire::ApiKey::kProduceLog);

// A head that announces `size_bytes`, and a hundred of them.
std::string StalledHead(int32_t size_bytes) {
  std::string frame = Request(1, std::string(100, 'x'), kLargeKey);
  StoreBe(frame.data(), size_bytes);
  return frame;
}

void WriteLater(ServedWorld* served, io::Connection* connection, std::string bytes) {
  served->client.Post([connection, bytes = std::move(bytes)] {
    io::Spawn([](io::Connection* to, std::string all) -> io::Task<void> {
      const Status ignored = co_await Write(*to, std::move(all));
      (void)ignored;
    }(connection, bytes));
  });
}

TEST(ByteBudgetTest, HeadsThatNoBodyFollowsHoldUpNobodyAndEnd) {
  ServedWorld served({}, /*budget_bytes=*/16 * kMiB);
  std::vector<std::unique_ptr<io::Connection>> stalled;
  for (int i = 0; i < 30; ++i) {
    stalled.push_back(served.Connect());
    ASSERT_OK(io::SyncWait(served.client, Write(*stalled.back(), StalledHead(90 << 20))));
  }
  served.world.RunFor(milliseconds(100));
  EXPECT_EQ(served.budget.used_bytes(), 0u);
  const auto another = served.Connect();
  ASSERT_OK(io::SyncWait(served.client, Write(*another, Request(2, "small"))));
  EXPECT_EQ(Next(served, *another).request_id, 2);
  ASSERT_OK(io::SyncWait(served.client, Write(*another, Request(3, std::string(kMiB, '0')))));
  EXPECT_EQ(Next(served, *another).request_id, 3);
  EXPECT_EQ(served.listener->counters().refused_frames, 0);  // They are still there.
  served.world.RunFor(milliseconds(31'000));
  EXPECT_EQ(served.listener->counters().refused_frames, 30);
  EXPECT_EQ(served.listener->counters().open, 1);
}

TEST(ByteBudgetTest, ABodyHoldsLittleMoreThanWhatCameOfIt) {
  ServedWorld served({}, /*budget_bytes=*/64 * kMiB);
  const auto silent = served.Connect();
  std::string frame = Request(1, std::string(3 * kMiB, 'x'), kLargeKey);
  StoreBe(frame.data(), int32_t{50 << 20});
  ASSERT_OK(io::SyncWait(served.client, Write(*silent, frame)));
  served.world.RunFor(milliseconds(1000));
  EXPECT_GE(served.budget.used_bytes(), 3 * kMiB);
  EXPECT_LE(served.budget.used_bytes(), 4 * kMiB + 100);
  served.world.RunFor(milliseconds(35'000));
  EXPECT_EQ(served.budget.used_bytes(), 0u);
  EXPECT_TRUE(AtEnd(served, *silent));
}

// All of them together are several times what there is, and each is half there before one is whole.
TEST(ByteBudgetTest, BodiesThatWaitForOneAnotherAllCome) {
  constexpr uint64_t kBudget = 4 * kMiB;
  constexpr size_t kBody = 1500 << 10;
  ServedWorld served({}, kBudget);
  std::vector<std::unique_ptr<io::Connection>> clients;
  for (int i = 0; i < 12; ++i) {
    clients.push_back(served.Connect());
    WriteLater(&served, clients.back().get(), Request(i, std::string(kBody, '0')));
  }
  uint64_t most = 0;
  while (served.echo.started.size() < clients.size()) {
    served.world.RunFor(milliseconds(1));
    most = std::max(most, served.budget.used_bytes());
    ASSERT_EQ(served.listener->counters().refused_frames, 0);
  }
  EXPECT_LE(most, kBudget - kBudget / 8 - kBudget / 4 + kBody + 100);
  EXPECT_GE(most, kBody);
  for (size_t i = 0; i < clients.size(); ++i)
    EXPECT_EQ(Next(served, *clients[i]).request_id, static_cast<int32_t>(i));
  EXPECT_EQ(served.budget.used_bytes(), 0u);
  EXPECT_EQ(served.budget.waiting(), 0u);
}

// Calls that run long hold all that larger requests may have.
TEST(ByteBudgetTest, SmallRequestsPassWhatWaits) {
  ServedWorld served({}, /*budget_bytes=*/4 * kMiB);
  std::vector<std::unique_ptr<io::Connection>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(served.Connect());
    WriteLater(&served, clients.back().get(), Request(i, "20000:" + std::string(kMiB, 'x')));
  }
  served.world.RunFor(milliseconds(2000));
  EXPECT_GT(served.budget.waiting(), 0u);
  const auto another = served.Connect();
  ASSERT_OK(io::SyncWait(served.client, Write(*another, Request(99, std::string(1000, '0')))));
  EXPECT_EQ(Next(served, *another).request_id, 99);
  EXPECT_GT(served.budget.waiting(), 0u);
  for (auto& client : clients) EXPECT_TRUE(Next(served, *client).body.ok());
}

TEST(ByteBudgetTest, AWaiterEndsWhenItsClientLeaves) {
  ServedWorld served({}, /*budget_bytes=*/kMiB);
  std::vector<std::unique_ptr<io::Connection>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(served.Connect());
    WriteLater(&served, clients.back().get(), Request(i, "60000:" + std::string(200 << 10, 'x')));
    served.world.RunFor(milliseconds(1000));
  }
  // Bodies that are there whole run their course, whoever has left.
  ASSERT_EQ(served.echo.started.size(), 2u);  // Half of its part, and the one that goes beyond.
  ASSERT_EQ(served.budget.waiting(), 1u);
  const auto half = served.Connect();
  std::string frame = Request(9, std::string(100 << 10, 'x'));
  StoreBe(frame.data(), int32_t{1 << 20});
  ASSERT_OK(io::SyncWait(served.client, Write(*half, frame)));
  served.world.RunFor(milliseconds(1000));
  ASSERT_EQ(served.budget.waiting(), 2u);
  clients[2]->Close();
  half->Close();
  served.world.RunFor(milliseconds(2000));
  EXPECT_EQ(served.budget.waiting(), 1u);
  EXPECT_EQ(served.listener->counters().open, 3);
}

TEST(ByteBudgetTest, StopEndsThoseWhoWait) {
  ServedWorld served({}, /*budget_bytes=*/kMiB);
  std::vector<std::unique_ptr<io::Connection>> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(served.Connect());
    WriteLater(&served, clients.back().get(), Request(i, "500:" + std::string(200 << 10, 'x')));
  }
  served.world.RunFor(milliseconds(100));
  ASSERT_GT(served.budget.waiting(), 0u);
  served.Stop();
  EXPECT_EQ(served.budget.waiting(), 0u);
  EXPECT_EQ(served.budget.used_bytes(), 0u);
}

TEST(ByteBudgetTest, OneAddressHoldsHalfOfAPartAtMost) {
  ByteBudget budget(80 * kMiB);  // Small 10, larger 50, beyond 20.
  auto mine = budget.Open("10.0.0.1:1", 60 * kMiB);
  EXPECT_TRUE(mine.TryGrowTo(25 * kMiB));
  EXPECT_TRUE(mine.TryGrowTo(26 * kMiB));  // Beyond its part.
  auto also_mine = budget.Open("10.0.0.1:2", 60 * kMiB);
  EXPECT_FALSE(also_mine.TryGrowTo(1));
  auto yours = budget.Open("[fe80::2]:1", 60 * kMiB);
  EXPECT_TRUE(yours.TryGrowTo(25 * kMiB));
  EXPECT_FALSE(yours.TryGrowTo(26 * kMiB));
  EXPECT_TRUE(mine.TryGrowTo(60 * kMiB));
  EXPECT_EQ(budget.used_bytes(), 85 * kMiB);
  mine = {};
  EXPECT_TRUE(yours.TryGrowTo(26 * kMiB));

  std::vector<ByteBudget::Grant> small;
  for (uint64_t i = 0; i < 5 * kMiB / kSmall; ++i) {
    small.push_back(budget.Open("10.0.0.1:3", kSmall));
    ASSERT_TRUE(small.back().TryGrowTo(kSmall));
  }
  small.push_back(budget.Open("10.0.0.1:4", kSmall));
  EXPECT_FALSE(small.back().TryGrowTo(kSmall));
  small.push_back(budget.Open("10.0.0.2:4", kSmall));
  EXPECT_TRUE(small.back().TryGrowTo(kSmall));
  small.clear();
  yours = {};
  EXPECT_EQ(budget.used_bytes(), 0u);
}

}  // namespace
}  // namespace sluice::server
