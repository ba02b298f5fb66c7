#include "io/crash_point.h"

#include <cstdlib>

#include "base/testing.h"

namespace sluice::io {
namespace {

void Step() { CRASH_POINT("test.step"); }

TEST(CrashPointTest, PointsAreListedBeforeTheyArePassed) {
  EXPECT_THAT(CrashPoints(), testing::Contains("test.step"));
}

TEST(CrashPointTest, TheHookSeesEachPass) {
  std::vector<std::string> seen;
  SetCrashHook([&](std::string_view name) { seen.emplace_back(name); });
  Step();
  Step();
  SetCrashHook(nullptr);
  Step();
  EXPECT_EQ(seen, (std::vector<std::string>{"test.step", "test.step"}));
}

// Each runs in a process of its own, because the environment is read once.
struct CrashPointDeathTest : testing::Test {
  void SetUp() override { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }
};

TEST_F(CrashPointDeathTest, TheEnvironmentNamesWhereToDie) {
  EXPECT_EXIT(
      {
        setenv("SLUICE_CRASH_POINT", "test.step", 1);
        Step();
      },
      testing::ExitedWithCode(137), "");
}

TEST_F(CrashPointDeathTest, ANumberNamesThePass) {
  EXPECT_EXIT(
      {
        setenv("SLUICE_CRASH_POINT", "test.step:3", 1);
        Step();
        Step();
        std::fputs("two passes\n", stderr);
        Step();
      },
      testing::ExitedWithCode(137), "two passes");
}

TEST_F(CrashPointDeathTest, OtherPointsArePassed) {
  EXPECT_EXIT(
      {
        setenv("SLUICE_CRASH_POINT", "test.other", 1);
        Step();
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sluice::io
