#include "gateway/overview.h"

#include <nlohmann/json.hpp>

#include "base/testing.h"

namespace sluice::gateway {
namespace {

class FixedClock : public io::Clock {
 public:
  int64_t NowMs() const override { return now_ms + step_ms; }
  std::chrono::nanoseconds Monotonic() const override { return std::chrono::milliseconds(now_ms); }
  int64_t now_ms = 1'000'000;
  int64_t step_ms = 0;  // How far the wall clock was set.
};

class FixedSource : public StatusSource {
 public:
  Result<std::vector<TableStatus>> Tables() override {
    if (fails) return Error(ErrorCode::kNetwork, "no server");
    return tables;
  }
  std::vector<TableStatus> tables{
      {.database = "fluss", .table = "t", .buckets = 2, .log_end_offset = 100}};
  bool fails = false;
};

TEST(OverviewTest, CountsRevisionsAndReusesAnAnswerForAMoment) {
  FixedClock clock;
  FixedSource source;
  Overview overview(source, clock, "0.1.0");
  ASSERT_OK_AND_ASSIGN(const std::string first, overview.Json());
  clock.now_ms += Overview::kReuseMs - 1;
  ASSERT_OK_AND_ASSIGN(const std::string same, overview.Json());
  EXPECT_EQ(first, same);
  clock.now_ms += 1;
  ASSERT_OK_AND_ASSIGN(const std::string next, overview.Json());
  EXPECT_EQ(nlohmann::json::parse(next)["revision"], 2);
}

TEST(OverviewTest, MeasuresRowsPerSecondOverItsWindow) {
  FixedClock clock;
  FixedSource source;
  Overview overview(source, clock, "0.1.0");
  ASSERT_OK(overview.Json());
  for (int second = 0; second < 20; ++second) {
    clock.now_ms += 1000;
    source.tables[0].log_end_offset += second < 10 ? 300 : 50;
    ASSERT_OK(overview.Json());
  }
  clock.now_ms += 1000;
  source.tables[0].log_end_offset += 50;
  ASSERT_OK_AND_ASSIGN(const std::string answer, overview.Json());
  EXPECT_DOUBLE_EQ(nlohmann::json::parse(answer)["tables"][0]["rows_per_second"], 50);
}

TEST(OverviewTest, GoesOnWhenTheWallClockIsSetBack) {
  FixedClock clock;
  FixedSource source;
  Overview overview(source, clock, "0.1.0");
  ASSERT_OK(overview.Json());
  clock.step_ms = -3600 * 1000;
  clock.now_ms += 1000;
  source.tables[0].log_end_offset += 300;
  ASSERT_OK_AND_ASSIGN(const std::string answer, overview.Json());
  const auto document = nlohmann::json::parse(answer);
  EXPECT_EQ(document["revision"], 2);
  EXPECT_EQ(document["uptime_ms"], 1000);
  EXPECT_EQ(document["tables"][0]["log_end_offset"], 400);
  EXPECT_DOUBLE_EQ(document["tables"][0]["rows_per_second"], 300);
}

TEST(OverviewTest, ATableMadeAnewDoesNotCountBackwards) {
  FixedClock clock;
  FixedSource source;
  Overview overview(source, clock, "0.1.0");
  ASSERT_OK(overview.Json());
  clock.now_ms += 1000;
  source.tables[0].log_end_offset = 0;
  ASSERT_OK_AND_ASSIGN(const std::string answer, overview.Json());
  EXPECT_DOUBLE_EQ(nlohmann::json::parse(answer)["tables"][0]["rows_per_second"], 0);
}

TEST(OverviewTest, NothingIsKeptOfATableThatIsGone) {
  FixedClock clock;
  FixedSource source;
  Overview overview(source, clock, "0.1.0");
  ASSERT_OK(overview.Json());
  clock.now_ms += 1000;
  const auto tables = std::exchange(source.tables, {});
  ASSERT_OK(overview.Json());
  clock.now_ms += 1000;
  source.tables = tables;
  source.tables[0].log_end_offset += 300;
  ASSERT_OK_AND_ASSIGN(const std::string answer, overview.Json());
  EXPECT_DOUBLE_EQ(nlohmann::json::parse(answer)["tables"][0]["rows_per_second"], 0);
}

TEST(OverviewTest, ShowsTheGapsOfATable) {
  FixedClock clock;
  FixedSource source;
  Overview overview(source, clock, "0.1.0");
  source.tables[0].gaps = {{"2024", 1, 5, 9}};
  ASSERT_OK_AND_ASSIGN(const std::string answer, overview.Json());
  EXPECT_EQ(nlohmann::json::parse(answer)["tables"][0]["gaps"].dump(),
            R"([{"bucket":1,"from":5,"partition":"2024","to":9}])");
}

TEST(OverviewTest, ShowsWhatIsUnknownAsNull) {
  FixedClock clock;
  FixedSource source;
  Overview overview(source, clock, "0.1.0");
  ASSERT_OK_AND_ASSIGN(const std::string answer, overview.Json());
  const auto row = nlohmann::json::parse(answer)["tables"][0];
  EXPECT_TRUE(row["lake_offset"].is_null());
  EXPECT_EQ(row["kind"], "log");
}

TEST(OverviewTest, SaysWhichTablesAreLate) {
  FixedClock clock;
  FixedSource source;
  source.tables.push_back(source.tables[0]);
  source.tables[1].late = true;
  Overview overview(source, clock, "0.1.0");
  ASSERT_OK_AND_ASSIGN(const std::string answer, overview.Json());
  const auto tables = nlohmann::json::parse(answer)["tables"];
  EXPECT_EQ(tables[0]["late"], false);
  EXPECT_EQ(tables[1]["late"], true);
}

TEST(OverviewTest, PassesOnTheSourcesError) {
  FixedClock clock;
  FixedSource source;
  source.fails = true;
  Overview overview(source, clock, "0.1.0");
  EXPECT_CODE(ErrorCode::kNetwork, overview.Json());
}

}  // namespace
}  // namespace sluice::gateway
