// A shard never waits for the device, whatever its buckets do: others live on it too.
#include <pthread.h>

#include "tablet/cold_files_testing.h"
#include "tablet/testing_internal.h"

namespace sluice::tablet {
namespace {

using internal::kKeyTable;
using internal::kLogTable;
using internal::TestRow;

class NoWaitTest : public internal::TabletTest {
 protected:
  void SetUp() override {
    files = &cold_;
    options.log.segment_bytes = 2000;
    options.log.loaded_indexes_max = 1;
    options.retention_interval = std::chrono::milliseconds(20);
    options.recovery_checkpoint_interval = std::chrono::milliseconds(20);
    TabletTest::SetUp();
    LeadAll();
  }
  // Enough batches for several segments of bucket 0.
  void FillLog() {
    for (int i = 0; i < 20; ++i) ASSERT_OK(Produce(0, LogBatch({{i, std::string(200, 'x'), i}})));
  }
  static bool OnShard() {
    char name[16] = {};
    pthread_getname_np(pthread_self(), name, sizeof name);
    return std::string_view(name).starts_with("shard");
  }

  internal::ColdFiles cold_{[] { return !OnShard(); }};
};

TEST_F(NoWaitTest, ColdRecordsAreFetched) {
  FillLog();
  EXPECT_EQ(ReadAll(kLogTable, 0).size(), 20u);
  EXPECT_THAT(cold_.Waits(), ::testing::IsEmpty());
}

TEST_F(NoWaitTest, OffsetsOfTimesAreFound) {
  FillLog();
  EXPECT_EQ(OffsetOf(kLogTable, 0, /*type=*/2, /*timestamp_ms=*/1).ValueOr(-1), 0);
  EXPECT_THAT(cold_.Waits(), ::testing::IsEmpty());
}

TEST_F(NoWaitTest, ANewEpochIsOnRecordBeforeItsFirstAppend) {
  LeadAll(/*epoch=*/1);
  FillLog();
  ASSERT_OK(Put(0, {{1, "name", 1}}));
  EXPECT_THAT(cold_.Waits(), ::testing::IsEmpty());
}

// The time indexes of all closed segments are torn.
TEST_F(NoWaitTest, DamagedIndexesAreBuiltAnew) {
  FillLog();
  Stop();
  const std::string folder_of_log = io::JoinPath(folder.path(), "db/log-3/log-0");
  ASSERT_OK_AND_ASSIGN(const auto entries, cold_.List(folder_of_log));
  int damaged = 0;
  for (const auto& entry : entries) {
    if (!entry.name.ends_with(".timeindex") || entry.size_bytes == 0) continue;
    ASSERT_OK_AND_ASSIGN(const auto file, cold_.Open(io::JoinPath(folder_of_log, entry.name),
                                                     io::FileSystem::Mode::kReadWrite));
    ASSERT_OK(file->Truncate(entry.size_bytes - 1));
    ++damaged;
  }
  ASSERT_GT(damaged, 1);
  Start();
  LeadAll();
  EXPECT_EQ(ReadAll(kLogTable, 0).size(), 20u);
  EXPECT_THAT(cold_.Waits(), ::testing::IsEmpty());
}

TEST_F(NoWaitTest, ExpiredSegmentsGo) {
  FillLog();
  tables.SetProperty(kLogTable, "table.log.ttl", "1 ms");
  Stop();
  TabletTest::Start();
  LeadAll();
  while (OffsetOf(kLogTable, 0, 0).ValueOr(0) == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  Stop();
  EXPECT_THAT(cold_.Waits(), ::testing::IsEmpty());
}

TEST_F(NoWaitTest, ReplicasCloseAndOpenAgain) {
  FillLog();
  for (int32_t id = 0; id < 10; ++id) ASSERT_OK(Put(0, {{id, "name", id}}));
  Drop();  // Leaves a changelog to replay.
  Start();
  LeadAll();
  Stop();
  Start();
  LeadAll();
  EXPECT_EQ(Lookup(0, {7}).ValueOrDie()[0], (TestRow{7, "name", 7}));
  EXPECT_EQ(ReadAll(kLogTable, 0).size(), 20u);
  Stop();
  EXPECT_THAT(cold_.Waits(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace sluice::tablet
