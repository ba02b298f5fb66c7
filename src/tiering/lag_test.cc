#include "tiering/lag.h"

#include "io/sim/sim_world.h"
#include "tiering/memory_cluster_testing.h"
#include "tiering/state_board.h"

namespace sluice::tiering {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class LagTest : public testing::Test {
 protected:
  LagTest() : table_(LakeTestTable(5, "events", /*primary_key=*/false, /*buckets=*/1)) {
    cluster_.AddTable(table_);
  }
  void Append(int32_t rows) {
    std::vector<LogRow> batch;
    for (int32_t i = 0; i < rows; ++i) batch.push_back({wire::ChangeType::kAppendOnly, i, "v"});
    cluster_.Append(table_.path, 0, std::move(batch), clock().NowMs());
  }
  void Measure() {
    auto lags = meter_.Measure(table_);
    ASSERT_OK(lags);
    board_.Measured(table_.table_id, table_.path, /*freshness_ms=*/10'000, *std::move(lags));
  }
  // The table as it is shown now, with these offsets.
  TableState At(int64_t lake_offset, int64_t log_end_offset) {
    TableState table = board_.Tables().at(0);
    table.BringUpTo({{{table_.table_id, std::nullopt, 0}, lake_offset, log_end_offset}},
                    clock().Monotonic());
    return table;
  }
  io::SimClock& clock() { return world_.clock(); }

  io::SimWorld world_{1};
  MemoryCluster cluster_;
  types::TableInfo table_;
  LagMeter meter_{cluster_, world_.clock()};
  StateBoard board_;
};

TEST_F(LagTest, RowsAndAgeAreOfOneMoment) {
  Append(2);
  clock().Advance(seconds(1));
  Measure();
  EXPECT_EQ(board_.Tables()[0].lag_ms, 1000);
  clock().Advance(seconds(1));
  Append(3);  // At 2 s.
  clock().Advance(milliseconds(500));
  Measure();
  clock().Advance(milliseconds(500));  // 3 s.

  TableState table = At(0, 5);
  EXPECT_EQ(table.lag_rows, 5);
  EXPECT_EQ(table.lag_ms, 3000);
  // A round moved the first two: the next one came after the measurement at 1 s.
  table = At(2, 5);
  EXPECT_EQ(table.lag_rows, 3);
  EXPECT_EQ(table.lag_ms, 2000);
  // The lake has all that was measured: what came since came after 2.5 s.
  table = At(5, 7);
  EXPECT_EQ(table.lag_rows, 2);
  EXPECT_EQ(table.lag_ms, 500);
  // The lake has all, so that nothing is old, although a row was at the last measurement.
  table = At(7, 7);
  EXPECT_EQ(table.lag_rows, 0);
  EXPECT_EQ(table.lag_ms, 0);
  EXPECT_EQ(board_.Tables()[0].lag_ms, 2500);
}

TEST_F(LagTest, StateAndLatenessAreOfTheSameMoment) {
  Append(1);
  Measure();
  EXPECT_EQ(At(0, 1).state, State::kScheduled);
  clock().Advance(seconds(11));
  EXPECT_EQ(At(0, 1).state, State::kPending);
  EXPECT_FALSE(At(0, 1).late);
  clock().Advance(seconds(2));
  EXPECT_TRUE(At(0, 1).late);
  board_.RoundStarted(table_.table_id, table_.path);
  EXPECT_EQ(At(0, 1).state, State::kTiering);
  board_.RoundFinished(table_.table_id, {.snapshot_id = 1});
  EXPECT_EQ(At(1, 1).state, State::kTiered);
  EXPECT_FALSE(At(1, 1).late);
  const int64_t failed_ms = clock().NowMs();
  for (int i = 0; i < 2; ++i) {
    board_.RoundFailed(table_.table_id, Error(ErrorCode::kStorage, "disk is full"),
                       clock().NowMs());
    clock().Advance(seconds(1));
  }
  EXPECT_EQ(At(0, 1).state, State::kFailed);
  EXPECT_EQ(At(0, 1).failed_since_ms, failed_ms);
}

// However long the lake stands still, what is kept per bucket is bounded, and an age told from it
// is never too small.
TEST_F(LagTest, OldMeasurementsAreThinnedOut) {
  constexpr int64_t kSteps = 1000;
  for (int64_t i = 0; i < kSteps; ++i) {
    Append(1);
    clock().Advance(seconds(1));
    Measure();
  }
  EXPECT_LE(board_.Tables()[0].buckets[0].log_ends.size(), 32u);
  int64_t last_ms = INT64_MAX;
  for (int64_t offset = 0; offset < kSteps; ++offset) {
    const int64_t lag_ms = At(offset, kSteps).lag_ms;
    EXPECT_GE(lag_ms, (kSteps - offset) * 1000) << offset;
    EXPECT_LE(lag_ms, last_ms) << offset;
    last_ms = lag_ms;
  }
  EXPECT_LE(last_ms, 2000);
}

TEST_F(LagTest, DroppedBucketsAreForgotten) {
  Append(1);
  Measure();
  meter_.Forget(table_.table_id);
  clock().Advance(seconds(5));
  Measure();
  EXPECT_EQ(board_.Tables()[0].buckets[0].log_ends.size(), 1u);
}

}  // namespace
}  // namespace sluice::tiering
