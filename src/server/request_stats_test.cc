#include "server/request_stats.h"

#include "server/connection_testing.h"

namespace sluice::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kProduce = static_cast<int16_t>(wire::ApiKey::kProduceLog);

struct StatsTest : public testing::Test {
  RequestStats::Options Options(int64_t lines_per_second = 10) {
    return {.slow_from = milliseconds(100),
            .lines_per_second = lines_per_second,
            .name_of = [](int64_t id) { return id == 3 ? "db.t" : ""; },
            .write = [this](const std::string& line) { lines.push_back(line); }};
  }
  static ServedRequest Slow() {
    return {.api_key = kProduce,
            .listener = "CLIENT",
            .peer = "1.2.3.4:5",
            .notes = {.table_id = 3, .partition_id = 7, .bucket = 2, .buckets = 4},
            .queued = milliseconds(60),
            .handled = milliseconds(40),
            .received_bytes = 70,
            .sent_bytes = 9};
  }
  static double ValueOf(const RequestStats& stats, const std::string& name) {
    std::vector<MetricSample> samples;
    stats.Collect(&samples);
    double value = -1;
    for (const MetricSample& sample : samples) {
      if (sample.name == name) value = sample.value;
    }
    return value;
  }
  std::vector<std::string> lines;
};

TEST_F(StatsTest, ALineNamesWhoAskedWhatAndWhereTheTimeWent) {
  RequestStats stats(Options());
  stats.Count(Slow(), seconds(1));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0],
            "slow request api=PRODUCE_LOG key=1014 listener=CLIENT peer=1.2.3.4:5 table=db.t "
            "partition_id=7 bucket=2 buckets=4 queue_ms=60.0 handle_ms=40.0 asked_wait_ms=0.0 "
            "received_bytes=70 sent_bytes=9 failed=false");
  EXPECT_EQ(ValueOf(stats, "sluice_api_slow_requests_total"), 1);
}

TEST_F(StatsTest, AWaitThatTheCallerAskedForIsNotSlow) {
  RequestStats stats(Options());
  ServedRequest fetch = Slow();
  fetch.handled += seconds(30);
  fetch.notes.waited = seconds(30) + milliseconds(1);
  stats.Count(fetch, seconds(1));
  EXPECT_TRUE(lines.empty());
  fetch.notes.waited = seconds(30);
  stats.Count(fetch, seconds(1));
  EXPECT_EQ(lines.size(), 1u);
  EXPECT_NE(lines.at(0).find("asked_wait_ms=30000.0"), std::string::npos);
}

TEST_F(StatsTest, LinesAreFewAndSayWhatTheyLeftOut) {
  RequestStats stats(Options(/*lines_per_second=*/2));
  for (int i = 0; i < 10; ++i) stats.Count(Slow(), milliseconds(5000 + i));
  EXPECT_EQ(lines.size(), 2u);
  EXPECT_EQ(ValueOf(stats, "sluice_api_slow_requests_total"), 10);
  stats.Count(Slow(), milliseconds(6000));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(lines[2].ends_with(" not_shown=8")) << lines[2];
  stats.Count(Slow(), milliseconds(6001));
  EXPECT_FALSE(lines[3].ends_with(" not_shown=8"));
}

TEST_F(StatsTest, ZeroTurnsItOff) {
  auto options = Options();
  options.slow_from = milliseconds(0);
  RequestStats stats(std::move(options));
  stats.Count(Slow(), seconds(1));
  EXPECT_TRUE(lines.empty());
  EXPECT_EQ(ValueOf(stats, "sluice_api_slow_requests_total"), 0);
  EXPECT_EQ(ValueOf(stats, "sluice_api_requests_total"), 1);
}

TEST_F(StatsTest, SeriesAreBoundedWhateverKeysCome) {
  RequestStats stats(Options());
  for (int key = INT16_MIN; key <= INT16_MAX; ++key) {
    ServedRequest request = Slow();
    request.api_key = static_cast<int16_t>(key);
    stats.Count(request, seconds(1));
  }
  std::vector<MetricSample> samples;
  stats.Collect(&samples);
  EXPECT_LE(samples.size(), 4 * (wire::Apis().size() + 1));
}

// Answers after 150 ms; of a call "poll" it says that the caller asked for the wait.
class PollService : public io::Service {
 public:
  io::Task<Result<io::Payload>> Handle(io::Loop& loop, std::shared_ptr<const io::Principal>,
                                       io::Call call) override {
    io::Sleep wait(loop, milliseconds(150));
    co_await wait;
    if (call.body == "poll") call.notes->waited = milliseconds(150);
    if (call.body == "fail") co_return Error(ErrorCode::kTableNotExist, "no such table");
    co_return io::Payload("done");
  }
};

TEST_F(StatsTest, AConnectionTellsOfItsCalls) {
  RequestStats stats(Options());
  PollService service;
  ConnectionSettings settings;
  settings.stats = &stats;
  ServedWorld served(std::move(settings), 1 << 20, 1, /*serve=*/false);
  served.listener->Serve(service);
  const auto connection = served.Connect();
  for (const char* body : {"poll", "work", "fail"}) {
    ASSERT_OK(io::SyncWait(served.client, Write(*connection, Request(1, body, kProduce))));
    Next(served, *connection);
  }
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find("api=PRODUCE_LOG key=1014 listener=CLIENT peer="), std::string::npos);
  EXPECT_NE(lines[0].find("received_bytes=12 sent_bytes="), std::string::npos) << lines[0];
  EXPECT_TRUE(lines[0].ends_with("failed=false"));
  EXPECT_TRUE(lines[1].ends_with("failed=true"));
  EXPECT_EQ(ValueOf(stats, "sluice_api_requests_total"), 3);
  EXPECT_EQ(ValueOf(stats, "sluice_api_failed_requests_total"), 1);
}

}  // namespace
}  // namespace sluice::server
