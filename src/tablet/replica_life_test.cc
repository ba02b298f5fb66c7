// Leadership, restarts, removal: what happens to buckets over time.
#include "log/checkpoint.h"
#include "tablet/testing_internal.h"

namespace sluice::tablet {
namespace {

using internal::kKeyTable;
using internal::kLogTable;
using internal::TestRow;

using ReplicaLifeTest = internal::TabletTest;
using Rows = std::vector<std::optional<TestRow>>;

TEST_F(ReplicaLifeTest, OnlyTheLeaderAnswers) {
  EXPECT_CODE(ErrorCode::kUnknownTableOrBucket, Produce(0, LogBatch({{1, "a", 1}})));
  ASSERT_OK(Lead(kLogTable, 0, 0, 0, /*leader=*/5));
  EXPECT_CODE(ErrorCode::kNotLeaderOrFollower, Produce(0, LogBatch({{1, "a", 1}})));
  EXPECT_EQ(Fetch({{0, 0}}).ValueOrDie()[0].error_code(), 12);
  ASSERT_OK(Lead(kLogTable, 0, 1, 1));
  EXPECT_OK(Produce(0, LogBatch({{1, "a", 1}})));
  ASSERT_OK(Lead(kLogTable, 0, 2, 2, /*leader=*/5));
  EXPECT_CODE(ErrorCode::kNotLeaderOrFollower, Produce(0, LogBatch({{1, "a", 1}})));
}

TEST_F(ReplicaLifeTest, OldEpochsAreRefused) {
  ASSERT_OK(Lead(kLogTable, 0, 3, 5));
  EXPECT_CODE(ErrorCode::kInvalidUpdateVersion, Lead(kLogTable, 0, 3, 4));
  EXPECT_CODE(ErrorCode::kFencedLeaderEpoch, Lead(kLogTable, 0, 2, 6));
  EXPECT_OK(Lead(kLogTable, 0, 3, 5));  // The same news again.
  EXPECT_OK(Lead(kLogTable, 0, 3, 6));
  coordinator_epoch = 0;
  EXPECT_CODE(ErrorCode::kInvalidCoordinator, Lead(kLogTable, 0, 9, 9));
}

TEST_F(ReplicaLifeTest, UnknownTableIsNamed) {
  EXPECT_CODE(ErrorCode::kTableNotExist, Lead(77, 0, 0, 0));
}

// A log that is damaged below its recovery point is for a person to see, however often it is tried.
TEST_F(ReplicaLifeTest, ADamagedLogIsNotCutByTheSecondTry) {
  auto& real = io::LocalFileSystem();
  ASSERT_OK(Lead(kLogTable, 0, 0, 0));
  for (int i = 0; i < 3; ++i) ASSERT_OK(Produce(0, LogBatch({{i, "log", i}})));
  Stop();
  // As after a kill that came before the first writer snapshot, but after a checkpoint file.
  const std::string log = io::JoinPath(folder.path(), "db/log-3/log-0");
  ASSERT_OK(real.Remove(io::JoinPath(folder.path(), log::kCleanShutdownFile)));
  ASSERT_OK(real.Remove(io::JoinPath(log, "00000000000000000003.writer_snapshot")));
  const types::BucketId id{kLogTable, std::nullopt, 0};
  ASSERT_OK(
      log::WriteCheckpoint(real, io::JoinPath(folder.path(), log::kRecoveryPointFile), {{id, 3}}));
  const std::string path = io::JoinPath(log, "00000000000000000000.log");
  ASSERT_OK_AND_ASSIGN(const std::string whole, real.ReadFile(path));
  const std::string half = whole.substr(0, whole.size() / 2);
  ASSERT_OK(real.ReplaceFile(path, half));
  Start();
  for (int i = 0; i < 3; ++i) EXPECT_CODE(ErrorCode::kCorruptRecord, Lead(kLogTable, 0, 1, 1));
  EXPECT_TRUE(real.ReadFile(path).ValueOrDie() == half);
}

// Files that are no database and no folder of segments.
TEST_F(ReplicaLifeTest, WhatCannotBeOpenedSaysWhy) {
  const std::string keys = io::JoinPath(folder.path(), "db/keys-4/kv-0/db/CURRENT");
  const std::string log = io::JoinPath(folder.path(), "db/log-3/log-1");
  for (const std::string& path : {keys, log}) {
    ASSERT_OK(files->MakeFolders(io::FolderOf(path)));
    ASSERT_OK(files->ReplaceFile(path, "a file"));
  }
  EXPECT_FALSE(Lead(kKeyTable, 0, 0, 0).ok());
  EXPECT_FALSE(Lead(kLogTable, 1, 0, 0).ok());
  const Status put = Put(0, {{1, "a", 1}}).status();
  EXPECT_CODE(ErrorCode::kNotLeaderOrFollower, put);
  const Status produced = Produce(1, LogBatch({{1, "a", 1}})).status();
  EXPECT_CODE(ErrorCode::kUnknownTableOrBucket, produced);
  for (const Status& refused : {put, produced}) {
    EXPECT_THAT(refused.message(), testing::HasSubstr("cause="));
    EXPECT_THAT(refused.message(), testing::Not(testing::HasSubstr(folder.path())));
  }
  for (const std::string& path : {keys, log}) ASSERT_OK(files->Remove(path));
  ASSERT_OK(Lead(kKeyTable, 0, 0, 0));
  ASSERT_OK(Lead(kLogTable, 1, 0, 0));
  EXPECT_OK(Put(0, {{1, "a", 1}}));
  EXPECT_OK(Produce(1, LogBatch({{1, "a", 1}})));
}

class RestartTest : public internal::TabletTest, public testing::WithParamInterface<bool> {
 protected:
  void Restart() {
    if (GetParam()) {
      Stop();
    } else {
      Drop();
    }
    Start();
    LeadAll();
  }
};

TEST_P(RestartTest, NothingAcknowledgedIsLost) {
  LeadAll();
  for (int round = 0; round < 3; ++round) {
    for (int bucket = 0; bucket < 4; ++bucket) {
      ASSERT_OK(Produce(bucket, LogBatch({{round, "log", bucket}})));
      ASSERT_OK(
          Put(bucket, {{round, "key", bucket}, {100, "round" + std::to_string(round), round}}));
    }
    Restart();
    for (int bucket = 0; bucket < 4; ++bucket) {
      const auto records = ReadAll(kLogTable, bucket);
      ASSERT_EQ(records.size(), static_cast<size_t>(round + 1));
      for (int i = 0; i <= round; ++i) EXPECT_EQ(records[i].row, (TestRow{i, "log", bucket}));
      ASSERT_OK_AND_ASSIGN(const auto found, Lookup(bucket, {round, 100, 55}));
      EXPECT_EQ(found, (Rows{TestRow{round, "key", bucket},
                             TestRow{100, "round" + std::to_string(round), round}, std::nullopt}));
    }
  }
}

TEST_P(RestartTest, WritersContinueWhereTheyWere) {
  LeadAll();
  const std::string repeated = LogBatch({{1, "a", 1}}, {.writer_id = 7, .batch_sequence = 1});
  ASSERT_OK(Produce(0, LogBatch({{0, "a", 0}}, {.writer_id = 7, .batch_sequence = 0})));
  ASSERT_OK(Produce(0, repeated));
  ASSERT_OK(Put(0, {{1, "a", 1}}, {}, 8, 0));
  ASSERT_OK(Put(0, {{1, "b", 2}}, {}, 8, 1));
  Restart();
  EXPECT_EQ(Produce(0, repeated).ValueOr(-1), 1);
  EXPECT_EQ(Produce(0, LogBatch({{2, "a", 2}}, {.writer_id = 7, .batch_sequence = 2})).ValueOr(-1),
            2);
  EXPECT_EQ(Put(0, {{1, "a", 1}}, {}, 8, 0).ValueOr(-1), 1);
  EXPECT_EQ(Lookup(0, {1}).ValueOrDie(), (Rows{TestRow{1, "b", 2}}));
  ASSERT_OK(Put(0, {{1, "c", 3}}, {}, 8, 2));
  EXPECT_EQ(Lookup(0, {1}).ValueOrDie(), (Rows{TestRow{1, "c", 3}}));
}

INSTANTIATE_TEST_SUITE_P(Ends, RestartTest, testing::Values(true, false),
                         [](const auto& info) { return info.param ? "clean" : "killed"; });

TEST_F(ReplicaLifeTest, FolderIsHeldByOneProcess) {
  TabletService second(options);
  EXPECT_FALSE(io::SyncWait(loop(), second.Start(loop())).ok());
}

// Else the tables that come and go would pile up.
TEST_F(ReplicaLifeTest, ADroppedTableIsForgotten) {
  ASSERT_OK(Lead(kKeyTable, 0, 0, 0));
  ASSERT_OK(Put(0, {{1, "a", 1}}, {2}));
  tables.SetProperty(kKeyTable, "table.delete.behavior", "disable");
  wire::StopReplicaRequest request;
  request.set_coordinator_epoch(1);
  auto* entry = request.add_stop_replicas_req();
  entry->mutable_table_bucket()->set_table_id(kKeyTable);
  entry->mutable_table_bucket()->set_bucket_id(0);
  entry->set_leader_epoch(0);
  entry->set_delete_(true);
  ASSERT_OK(Ask<wire::StopReplicaResponse>(wire::ApiKey::kStopReplica, request));
  ASSERT_OK(Lead(kKeyTable, 0, 1, 1));
  EXPECT_CODE(ErrorCode::kDeletionDisabled, Put(0, {{1, "a", 1}}, {2}));  // Read anew.
}

TEST_F(ReplicaLifeTest, StopReplicaRemovesFilesWhenTold) {
  LeadAll();
  ASSERT_OK(Put(0, {{1, "a", 1}}));
  ASSERT_OK(Put(1, {{1, "a", 1}}));
  auto& files = io::LocalFileSystem();
  const std::string table = io::JoinPath(folder.path(), "db/keys-4");
  EXPECT_TRUE(files.Exists(table + "/log-0").ValueOrDie());
  const auto stop = [&](int bucket, bool remove, int32_t epoch) {
    wire::StopReplicaRequest request;
    request.set_coordinator_epoch(1);
    auto* entry = request.add_stop_replicas_req();
    entry->mutable_table_bucket()->set_table_id(kKeyTable);
    entry->mutable_table_bucket()->set_bucket_id(bucket);
    entry->set_leader_epoch(epoch);
    entry->set_delete_(remove);
    const auto response =
        Ask<wire::StopReplicaResponse>(wire::ApiKey::kStopReplica, request).ValueOrDie();
    return wire::ErrorOf(response.stop_replicas_resp(0));
  };
  ASSERT_OK(Lead(kKeyTable, 0, 3, 3));
  EXPECT_CODE(ErrorCode::kFencedLeaderEpoch, stop(0, true, 2));
  ASSERT_OK(stop(0, true, 3));
  EXPECT_FALSE(files.Exists(table + "/log-0").ValueOrDie());
  EXPECT_FALSE(files.Exists(table + "/kv-0").ValueOrDie());
  EXPECT_CODE(ErrorCode::kUnknownTableOrBucket, Put(0, {{1, "a", 1}}));
  // Stopped but kept, then led again.
  ASSERT_OK(stop(1, false, 0));
  EXPECT_CODE(ErrorCode::kUnknownTableOrBucket, Lookup(1, {1}));
  EXPECT_TRUE(files.Exists(table + "/log-1").ValueOrDie());
  ASSERT_OK(Lead(kKeyTable, 1, 1, 1));
  EXPECT_EQ(Lookup(1, {1}).ValueOrDie(), (Rows{TestRow{1, "a", 1}}));
  // A bucket that is not open goes too: its table is dropped, and only the ids in the names still
  // tell.
  ASSERT_OK(stop(2, false, 1));
  EXPECT_TRUE(files.Exists(table + "/log-2").ValueOrDie());
  ASSERT_OK(stop(2, true, 1));
  EXPECT_FALSE(files.Exists(table + "/log-2").ValueOrDie());
  for (const int bucket : {1, 3}) ASSERT_OK(stop(bucket, true, 1));
  EXPECT_FALSE(files.Exists(table).ValueOrDie());
  ASSERT_OK(stop(1, true, 1));  // Gone already.
}

TEST_F(ReplicaLifeTest, StatusesShowLakeProgress) {
  LeadAll();
  ASSERT_OK(Produce(0, LogBatch({{1, "a", 1}, {2, "b", 2}})));
  wire::NotifyLakeTableOffsetRequest request;
  request.set_coordinator_epoch(1);
  auto* bucket = request.add_notify_buckets_req();
  bucket->set_table_id(kLogTable);
  bucket->set_bucket_id(0);
  bucket->set_snapshot_id(3);
  bucket->set_log_end_offset(2);
  ASSERT_OK(
      Ask<wire::NotifyLakeTableOffsetResponse>(wire::ApiKey::kNotifyLakeTableOffset, request));
  int seen = 0;
  for (const BucketStatus& status : io::SyncWait(loop(), service->Buckets(loop()))) {
    EXPECT_TRUE(status.leader);
    if (status.id != types::BucketId{kLogTable, std::nullopt, 0}) continue;
    ++seen;
    EXPECT_EQ(status.lake_end_offset, 2);
    EXPECT_EQ(status.high_watermark, 2);
  }
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace sluice::tablet
