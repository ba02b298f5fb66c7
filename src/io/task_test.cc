#include "io/task.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/testing.h"
#include "io/pool.h"

namespace sluice::io {
namespace {

using std::chrono::milliseconds;

struct TaskTest : testing::Test {
  std::unique_ptr<LoopThreads> threads = LoopThreads::Start("task", 2);
  Loop& first = threads->at(0);
  Loop& second = threads->at(1);
};

Task<int> Ready(int value) { co_return value; }

Task<int> SumOfReady(int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += co_await Ready(1);
  co_return sum;
}

TEST_F(TaskTest, AMillionTasksThatNeverWaitDoNotDeepenTheStack) {
  EXPECT_EQ(SyncWait(first, SumOfReady(1'000'000)), 1'000'000);
}

Task<int> Nested(int depth) {
  if (depth == 0) co_return 0;
  const int below = co_await Nested(depth - 1);
  co_return below + 1;
}

TEST_F(TaskTest, TasksNest) { EXPECT_EQ(SyncWait(first, Nested(1000)), 1000); }

Task<Result<int>> FailsAtTheMacro(Status status) {
  CO_RETURN_NOT_OK(status);
  co_return 1;
}

TEST_F(TaskTest, ErrorsComeBackAsValues) {
  EXPECT_CODE(ErrorCode::kStorage,
              SyncWait(first, FailsAtTheMacro(Error(ErrorCode::kStorage, "full"))));
  EXPECT_OK(SyncWait(first, FailsAtTheMacro(Status::OK())));
}

Task<bool> HopsBetween(Loop& first, Loop& second, int times) {
  bool right = true;
  for (int i = 0; i < times; ++i) {
    co_await SwitchTo(second);
    right &= second.IsCurrent() && !first.IsCurrent();
    co_await SwitchTo(first);
    right &= first.IsCurrent() && !second.IsCurrent();
  }
  co_return right;
}

TEST_F(TaskTest, SwitchToMovesToTheOtherThread) {
  EXPECT_TRUE(SyncWait(first, HopsBetween(first, second, 1000)));
}

Task<std::string> WaitOn(Completion<std::string> completion, Loop& loop) {
  const std::string value = co_await completion;
  CHECK(loop.IsCurrent());
  co_return value;
}

TEST_F(TaskTest, ACompletionSetBeforeIsTakenAtOnce) {
  Completion<std::string> completion(first);
  EXPECT_TRUE(completion.Set("early"));
  EXPECT_FALSE(completion.Set("again"));
  EXPECT_EQ(SyncWait(first, WaitOn(completion, first)), "early");
  EXPECT_FALSE(completion.Set("after it was taken"));
}

Task<int> CountRaces(Loop& mine, Loop& other, int times) {
  int sum = 0;
  for (int i = 0; i < times; ++i) {
    Completion<int> completion(mine);
    other.Post([completion] { completion.Set(1); });
    sum += co_await completion;
    CHECK(mine.IsCurrent());
  }
  co_return sum;
}

TEST_F(TaskTest, ACompletionSetByAnotherThreadWhileAwaitedIsNeverLost) {
  EXPECT_EQ(SyncWait(first, CountRaces(first, second, 20'000)), 20'000);
}

// Counts its live instances, to see frames freed.
class Counted {
 public:
  explicit Counted(std::atomic<int>* live) : live_(live) { ++*live_; }
  Counted(const Counted& other) : live_(other.live_) { ++*live_; }
  ~Counted() { --*live_; }

 private:
  std::atomic<int>* live_;
};

Task<int> Holds(Counted counted, int value) {
  (void)counted;
  co_return value;
}

TEST_F(TaskTest, ATaskThatIsNeverAwaitedFreesItsArguments) {
  std::atomic<int> live{0};
  {
    const auto task = Holds(Counted(&live), 1);
  }
  EXPECT_EQ(live, 0);
}

TEST_F(TaskTest, SyncWaitReturnsAfterTheFrameIsGone) {
  for (int i = 0; i < 200; ++i) {
    std::atomic<int> live{0};
    ASSERT_EQ(SyncWait(first, Holds(Counted(&live), i)), i);
    ASSERT_EQ(live, 0);
  }
}

Task<void> AddOnOther(Counted counted, Loop& home, Loop& other, std::atomic<int>* sum,
                      Completion<bool> done) {
  (void)counted;
  co_await SwitchTo(other);
  co_await SwitchTo(home);
  if (++*sum == 100) done.Set(true);
}

Task<bool> SpawnHundred(Loop& home, Loop& other, std::atomic<int>* live, std::atomic<int>* sum) {
  Completion<bool> done(home);
  for (int i = 0; i < 100; ++i) Spawn(AddOnOther(Counted(live), home, other, sum, done));
  co_return co_await done;
}

TEST_F(TaskTest, SpawnedTasksRunByThemselvesAndFreeTheirFrames) {
  std::atomic<int> live{0};
  std::atomic<int> sum{0};
  EXPECT_TRUE(SyncWait(first, SpawnHundred(first, second, &live, &sum)));
  threads.reset();
  EXPECT_EQ(sum, 100);
  EXPECT_EQ(live, 0);
}

Task<int64_t> SleepFor(Loop& loop, milliseconds delay) {
  const auto start = loop.clock().Monotonic();
  Sleep sleep(loop, delay);
  co_await sleep;
  co_return std::chrono::duration_cast<milliseconds>(loop.clock().Monotonic() - start).count();
}

TEST_F(TaskTest, SleepWaitsAtLeastAsLong) {
  EXPECT_GE(SyncWait(first, SleepFor(first, milliseconds(20))), 20);
}

TEST_F(TaskTest, PostsFromOneThreadKeepTheirOrder) {
  std::vector<int> seen;
  for (int i = 0; i < 1000; ++i) first.Post([&seen, i] { seen.push_back(i); });
  threads.reset();  // Runs what is posted.
  ASSERT_EQ(seen.size(), 1000u);
  EXPECT_TRUE(std::ranges::is_sorted(seen));
}

TEST_F(TaskTest, ACancelledTimerDoesNotRun) {
  std::atomic<bool> cancelled_ran{false};
  Completion<bool> later(first);
  first.Post([&] {
    const auto timer = first.After(milliseconds(5), [&] { cancelled_ran = true; });
    first.After(milliseconds(20), [later] { later.Set(true); });
    first.Cancel(timer);
    first.Cancel(timer);
  });
  (void)SyncWait(first,
                 [](Completion<bool> done) -> Task<bool> { co_return co_await done; }(later));
  EXPECT_FALSE(cancelled_ran);
}

TEST_F(TaskTest, ADelayPastAllTimeIsLongAndNotOver) {
  for (const milliseconds delay : {milliseconds(std::chrono::hours(24 * 500'000)),
                                   milliseconds::max(), milliseconds(Loop::kDelayMax)}) {
    std::atomic<bool> ran{false};
    Completion<bool> later(first);
    first.Post([&] {
      const auto timer = first.After(delay, [&] { ran = true; });
      first.After(milliseconds(20), [&, later, timer] {
        first.Cancel(timer);
        later.Set(true);
      });
    });
    (void)SyncWait(first,
                   [](Completion<bool> done) -> Task<bool> { co_return co_await done; }(later));
    EXPECT_FALSE(ran) << delay.count();
  }
}

TEST_F(TaskTest, TheLongestPauseIsMeasured) {
  (void)threads->TakeLongestPause();
  first.Post([] { std::this_thread::sleep_for(milliseconds(30)); });
  (void)SyncWait(first, Ready(1));
  EXPECT_GE(threads->TakeLongestPause(), milliseconds(30));
  EXPECT_LT(threads->TakeLongestPause(), milliseconds(30));
}

Task<Result<int>> RunOnPool(Pool& pool, Loop& loop, std::thread::id* ran_on) {
  CO_ASSIGN_OR_RETURN(const int value, co_await pool.Run(loop, [ran_on]() -> Result<int> {
    *ran_on = std::this_thread::get_id();
    return 7;
  }));
  CHECK(loop.IsCurrent());
  co_return value;
}

TEST_F(TaskTest, PoolWorkRunsElsewhereAndComesBack) {
  const auto pool = Pool::Start({.name = "work", .threads = 2});
  std::thread::id ran_on;
  ASSERT_OK_AND_ASSIGN(const int value, SyncWait(first, RunOnPool(*pool, first, &ran_on)));
  EXPECT_EQ(value, 7);
  EXPECT_NE(ran_on, std::this_thread::get_id());
  EXPECT_NE(ran_on, std::thread::id());
}

TEST_F(TaskTest, APoolsThreadsStandBehindTheirMakers) {
  const int mine = ::getpriority(PRIO_PROCESS, 0);
  std::atomic<int> theirs{-100};
  auto pool = Pool::Start({.name = "work", .threads = 1, .nice = 3});
  ASSERT_TRUE(pool->TryPost(
      [&] { theirs = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid))); }));
  pool.reset();
  EXPECT_EQ(theirs, std::min(mine + 3, 19));  // The pool has come to its end.
}

TEST_F(TaskTest, InlinePoolRunsAtOnce) {
  const auto pool = Pool::Inline();
  std::thread::id ran_on;
  EXPECT_OK(SyncWait(first, RunOnPool(*pool, first, &ran_on)));
}

TEST_F(TaskTest, AFullPoolRefusesAndFinishesWhatItTook) {
  std::atomic<bool> release{false};
  std::atomic<int> ran{0};
  auto pool = Pool::Start({.name = "work", .threads = 1, .queue_max = 2});
  ASSERT_TRUE(pool->TryPost([&] {
    while (!release) std::this_thread::yield();
    ++ran;
  }));
  while (pool->queued() > 0) std::this_thread::yield();
  EXPECT_TRUE(pool->TryPost([&] { ++ran; }));
  EXPECT_TRUE(pool->TryPost([&] { ++ran; }));
  EXPECT_FALSE(pool->TryPost([&] { ++ran; }));
  std::thread::id unused;
  EXPECT_CODE(ErrorCode::kStorage, SyncWait(first, RunOnPool(*pool, first, &unused)));
  release = true;
  pool.reset();
  EXPECT_EQ(ran, 3);
}

}  // namespace
}  // namespace sluice::io
