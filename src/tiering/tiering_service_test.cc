#include "tiering/tiering_service.h"

#include "base/log.h"
#include "io/loop.h"
#include "tiering/door_testing.h"
#include "tiering/heartbeat_book.h"
#include "tiering/memory_cluster_testing.h"

namespace sluice::tiering {
namespace {

using std::chrono::milliseconds;

class TieringServiceTest : public testing::Test {
 protected:
  types::TablePath Make(int64_t table_id, const std::string& name, bool in_lake = true) {
    const auto table = LakeTestTable(table_id, name, false, 1);
    cluster_->AddTable(table);
    if (in_lake) lake_.Create(table);
    return table.path;
  }
  void Start(size_t bucket_threads = 2) {
    ServiceOptions options;
    options.bucket_threads = bucket_threads;
    options.link = cluster_;
    options.lake = &lake_.catalog();
    options.loop = &loops_->at(0);
    options.freshness_of = [](const types::TableDescriptor&) { return milliseconds(5000); };
    options.poll_interval = milliseconds(10);
    options.lag_interval = milliseconds(10);
    options.discovery_interval = milliseconds(20);
    service_.emplace(std::move(options));
    service_->Start();
  }
  void Pause() { io::SyncWait(loops_->at(0), PauseOn(&loops_->at(0))); }
  static io::Task<bool> PauseOn(io::Loop* loop) {
    co_await io::Sleep(*loop, milliseconds(5));
    co_return true;
  }
  // Wait until `done` holds of the table; false after ten seconds.
  template <typename Done>
  bool Await(const types::TablePath& path, Done done) {
    const auto end = io::SystemClock().Monotonic() + std::chrono::seconds(10);
    while (io::SystemClock().Monotonic() < end) {
      Pause();
      for (const TableState& state : service_->Tables()) {
        if (state.path == path && done(state)) return true;
      }
    }
    return false;
  }

  std::shared_ptr<MemoryCluster> cluster_ = std::make_shared<MemoryCluster>();
  TestLake lake_;
  std::unique_ptr<io::LoopThreads> loops_ = io::LoopThreads::Start("test", 1);
  std::optional<TieringService> service_;
};

TEST_F(TieringServiceTest, TiersWhatTheCoordinatorHandsOutAndReportsIt) {
  const auto path = Make(1, "events");
  cluster_->Append(path, 0, {{wire::ChangeType::kAppendOnly, 1, "a"}});
  Start();
  ASSERT_TRUE(Await(path, [](const TableState& s) { return s.lag_rows == 1; }));
  cluster_->Queue(path);
  ASSERT_TRUE(Await(
      path, [](const TableState& s) { return s.state == State::kTiered && s.lag_rows == 0; }));
  cluster_->Append(
      path, 0, {{wire::ChangeType::kAppendOnly, 2, "b"}, {wire::ChangeType::kAppendOnly, 3, "c"}});
  ASSERT_TRUE(Await(path, [](const TableState& s) {
    // The rows are stamped 1970: due, but nobody has handed the table out.
    return s.state == State::kPending && s.lag_rows == 2 && s.late &&
           s.buckets[0].oldest_ms == 1000;
  }));
  cluster_->Queue(path);
  ASSERT_TRUE(Await(path, [](const TableState& s) {
    return s.records_tiered == 3 && s.lag_rows == 0 && !s.late;
  }));
  service_->Stop();
  EXPECT_THAT(cluster_->finished, testing::ElementsAre(1, 1));
  EXPECT_EQ(lake_.Read(path).size(), 3u);
}

TEST_F(TieringServiceTest, FailingTableShowsItsReasonAndHoldsUpNobody) {
  const auto warnings = WarningCount();
  const auto bad = Make(1, "bad", /*in_lake=*/false);
  const auto good = Make(2, "good");
  for (const auto& path : {bad, good})
    cluster_->Append(path, 0, {{wire::ChangeType::kAppendOnly, 1, "a"}});
  cluster_->Queue(bad);
  cluster_->Queue(good);
  Start();
  ASSERT_TRUE(Await(good, [](const TableState& s) { return s.state == State::kTiered; }));
  const auto failed = [](int64_t times) {
    return
        [times](const TableState& s) { return s.state == State::kFailed && s.failures == times; };
  };
  ASSERT_TRUE(Await(bad, failed(1)));
  cluster_->Queue(bad);
  ASSERT_TRUE(Await(bad, failed(2)));
  for (const TableState& state : service_->Tables())
    EXPECT_EQ(state.path == bad, !state.reason.empty());
  service_->Stop();
  EXPECT_THAT(cluster_->failed, testing::ElementsAre(1, 1));
  EXPECT_GT(WarningCount(), warnings);
}

// The log keeps a batch that nobody can decode: its table stands there until the batch is gone.
TEST_F(TieringServiceTest, ADamagedBatchHoldsItsTableAndNoOther) {
  const auto bad = Make(1, "bad");
  const auto good = Make(2, "good");
  for (const auto& path : {bad, good}) {
    cluster_->Append(path, 0, {{wire::ChangeType::kAppendOnly, 1, "a"}});
    cluster_->Append(path, 0, {{wire::ChangeType::kAppendOnly, 2, "b"}});
  }
  cluster_->DamageLast(bad, 0);
  cluster_->Queue(bad);
  cluster_->Queue(good);
  Start();
  ASSERT_TRUE(Await(good, [](const TableState& s) { return s.records_tiered == 2; }));
  ASSERT_TRUE(Await(bad, [](const TableState& s) {
    return s.state == State::kFailed && s.lag_rows == 2 &&
           s.reason.find("table=" + s.path.ToString() + " table_id=1 bucket=0 offset=1") !=
               std::string::npos;
  }));
  EXPECT_TRUE(lake_.Read(bad).empty());
  cluster_->DamageLast(bad, 0, /*damaged=*/false);
  cluster_->Queue(bad);
  ASSERT_TRUE(Await(bad, [](const TableState& s) {
    return s.state == State::kTiered && s.records_tiered == 2 && s.reason.empty();
  }));
  service_->Stop();
}

// Also when the batch is the first that the lake lacks, whose age the lag would be.
TEST_F(TieringServiceTest, LagIsShownInFrontOfADamagedBatch) {
  const auto path = Make(1, "events");
  cluster_->Append(path, 0, {{wire::ChangeType::kAppendOnly, 1, "a"}});
  cluster_->DamageLast(path, 0);
  Start();
  EXPECT_TRUE(Await(path, [](const TableState& s) { return s.lag_rows == 1; }));
  service_->Stop();
}

TEST_F(TieringServiceTest, ReportsOutliveACoordinatorThatDoesNotAnswer) {
  const auto path = Make(1, "events");
  cluster_->Append(path, 0, {{wire::ChangeType::kAppendOnly, 1, "a"}});
  cluster_->Queue(path);
  Start();
  ASSERT_TRUE(Await(path, [](const TableState& s) { return s.rounds == 1; }));
  cluster_->Fail("Beat");
  ASSERT_TRUE(Await(path, [](const TableState& s) { return s.lag_rows == 0; }));
  cluster_->Fail("Beat", false);
  service_->Stop();
  EXPECT_THAT(cluster_->finished, testing::ElementsAre(1));
}

TEST_F(TieringServiceTest, DroppedTableDisappears) {
  const auto path = Make(1, "events");
  Start();
  ASSERT_TRUE(Await(path, [](const TableState&) { return true; }));
  cluster_->DropTable(path);
  const auto end = io::SystemClock().Monotonic() + std::chrono::seconds(10);
  while (!service_->Tables().empty() && io::SystemClock().Monotonic() < end) Pause();
  EXPECT_TRUE(service_->Tables().empty());
}

// While two are under way the service goes on to ask the coordinator, for no table.
TEST_F(TieringServiceTest, TwoTablesAreTieredAtATimeAndNoMore) {
  std::vector<types::TablePath> paths;
  for (int64_t id = 1; id <= 4; ++id) {
    paths.push_back(Make(id, "events" + std::to_string(id)));
    cluster_->Append(paths.back(), 0, {{wire::ChangeType::kAppendOnly, 1, "a"}});
    cluster_->Queue(paths.back());
  }
  Door door;
  cluster_->before_open_log = [&] { door.Pass(); };
  Start(/*bucket_threads=*/4);
  EXPECT_TRUE(door.AwaitInside(2));
  const int64_t seen = cluster_->beats();
  EXPECT_TRUE(Await(paths[0], [&](const TableState&) { return cluster_->beats() > seen + 5; }));
  EXPECT_EQ(cluster_->queued(), 2u);
  door.Open();
  for (const auto& path : paths)
    EXPECT_TRUE(Await(path, [](const TableState& s) { return s.state == State::kTiered; }));
  service_->Stop();
  EXPECT_EQ(door.most(), 2u);
}

TEST(HeartbeatBookTest, TableHandedOutTwiceIsGivenBack) {
  HeartbeatBook book(2);
  EXPECT_TRUE(book.Started({7, {"db", "t"}, 3}));
  EXPECT_FALSE(book.Started({7, {"db", "t"}, 1}));
  auto heartbeat = book.Next(true);
  ASSERT_EQ(heartbeat.failed.size(), 1u);
  EXPECT_EQ(heartbeat.failed[0].tiering_epoch, 1);
  EXPECT_EQ(heartbeat.tiering.size(), 1u);
  EXPECT_TRUE(heartbeat.request_table);
  book.Finished(7, 1, 1, /*again=*/true);
  heartbeat = book.Next(true);
  EXPECT_EQ(heartbeat.finished[0].tiering_epoch, 3);
  EXPECT_EQ(heartbeat.force_finished_tables, std::vector<int64_t>{7});
  book.Lost(heartbeat);
  EXPECT_EQ(book.Next(false).finished.size(), 1u);
}

}  // namespace
}  // namespace sluice::tiering
