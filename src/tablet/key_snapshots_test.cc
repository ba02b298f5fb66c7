#include "tablet/key_snapshots.h"

#include "base/log.h"
#include "tablet/testing_internal.h"
#include "types/kv_snapshot.h"

namespace sluice::tablet {
namespace {

using internal::kKeyTable;
using internal::TestRow;
using testing::ElementsAre;

// A tablet server whose coordinator records what it is told.
class KeySnapshotsTest : public internal::TabletTest {
 protected:
  static constexpr std::chrono::milliseconds kInterval{30};

  void SetUp() override {
    remote_ = io::JoinPath(folder.path(), "remote");
    ASSERT_OK(files->MakeFolders(remote_));
    tables.SetRemoteDataDir(kKeyTable, remote_);
    options.live->kv_snapshot_interval = kInterval;
    options.call_coordinator = [this](io::Loop&, io::Call call) {
      return Record(this, std::move(call));
    };
    TabletTest::SetUp();
    LeadAll();
  }

  static io::Task<Result<std::string>> Record(KeySnapshotsTest* test, io::Call call) {
    const std::lock_guard lock(test->mutex_);
    EXPECT_EQ(call.api_key, static_cast<int16_t>(wire::ApiKey::kCommitKvSnapshot));
    CO_ASSIGN_OR_RETURN(const auto request,
                        wire::ParseMessage<wire::CommitKvSnapshotRequest>(call.body));
    EXPECT_EQ(request.coordinator_epoch(), 1);
    if (!test->refusal_.ok()) co_return test->refusal_;
    CO_ASSIGN_OR_RETURN(auto snapshot, types::KvSnapshot::FromJson(request.completed_snapshot()));
    test->tables.SetKvSnapshot(snapshot.bucket,
                               {snapshot.snapshot_id, snapshot.log_offset,
                                snapshot.location + "/" + types::kKvSnapshotMetadataFile});
    test->made_.push_back(std::move(snapshot));
    co_return std::string();
  }
  std::vector<types::KvSnapshot> Made() {
    const std::lock_guard lock(mutex_);
    return made_;
  }
  void Refuse(Status refusal) {
    const std::lock_guard lock(mutex_);
    refusal_ = std::move(refusal);
  }
  // The newest snapshot of bucket 0 once it holds the log below `offset`.
  types::KvSnapshot WaitFor(int64_t offset) {
    EXPECT_TRUE(Soon([&] {
      const auto made = Made();
      return !made.empty() && made.back().log_offset >= offset;
    }));
    return Made().back();
  }
  // Rows of a snapshot, by another store over copies of its files.
  std::vector<TestRow> RowsOf(const types::KvSnapshot& snapshot) {
    const TempDir copy;
    const std::string db = io::JoinPath(copy.path(), "db");
    EXPECT_OK(files->MakeFolders(db));
    for (const auto* list : {&snapshot.shared_files, &snapshot.private_files}) {
      for (const auto& file : *list) {
        const auto bytes = files->ReadFile(types::RemotePath(file.remote_path));
        EXPECT_OK(bytes);
        EXPECT_OK(files->ReplaceFile(io::JoinPath(db, file.local_name), *bytes));
      }
    }
    const auto store = stores->Open(copy.path()).ValueOrDie();
    EXPECT_EQ(store->applied().ValueOrDie().log_offset, snapshot.log_offset);
    std::vector<TestRow> rows;
    const auto cursor = store->NewCursor(kv::KeyStore::CursorUse::kWhole).ValueOrDie();
    for (cursor->Seek(""); cursor->valid(); cursor->Next())
      rows.push_back(DecodeValue(cursor->value()));
    return rows;
  }

  std::string remote_;
  int64_t end_ = 0;
  std::mutex mutex_;
  std::vector<types::KvSnapshot> made_;
  Status refusal_;
};

TEST_F(KeySnapshotsTest, ABucketThatChangedGetsOneAndAQuietOneDoesNot) {
  ASSERT_OK_AND_ASSIGN(const int64_t end, Put(0, {{1, "a", 10}, {2, "b", 20}}));
  const types::KvSnapshot first = WaitFor(end);
  EXPECT_EQ(first.bucket, (types::BucketId{.table_id = kKeyTable, .bucket = 0}));
  EXPECT_EQ(first.snapshot_id, 0);
  EXPECT_EQ(first.log_offset, end);
  EXPECT_EQ(first.row_count, 2);
  EXPECT_TRUE(first.location.starts_with("file:" + remote_ + "/kv/db/keys-4/0/snap-0"));
  EXPECT_THAT(RowsOf(first), ElementsAre(TestRow{1, "a", 10}, TestRow{2, "b", 20}));
  std::this_thread::sleep_for(kInterval * 5);
  EXPECT_EQ(Made().size(), 1u);

  ASSERT_OK_AND_ASSIGN(const int64_t later, Put(0, {{3, "c", 30}}, /*deleted=*/{1}));
  const types::KvSnapshot second = WaitFor(later);
  EXPECT_EQ(second.snapshot_id, 1);
  EXPECT_THAT(RowsOf(second), ElementsAre(TestRow{2, "b", 20}, TestRow{3, "c", 30}));
  EXPECT_THAT(RowsOf(first), ElementsAre(TestRow{1, "a", 10}, TestRow{2, "b", 20}));
  EXPECT_FALSE(*files->Exists(io::JoinPath(folder.path(), "db/keys-4/kv-0/checkpoint")));
}

TEST_F(KeySnapshotsTest, ARestartGoesOnFromTheRecordedOne) {
  for (const bool clean : {true, false}) {
    SCOPED_TRACE(clean);
    ASSERT_OK_AND_ASSIGN(const int64_t end, Put(0, {{1, std::string(3000, 'x'), end_ + 1}}));
    const types::KvSnapshot before = WaitFor(end);
    clean ? Stop() : Drop();
    Start();
    LeadAll();
    std::this_thread::sleep_for(kInterval * 5);
    EXPECT_EQ(Made().back().snapshot_id, before.snapshot_id);  // Nothing has changed.
    ASSERT_OK_AND_ASSIGN(end_, Put(0, {{2, "y", end + 1}}));
    const types::KvSnapshot after = WaitFor(end_);
    EXPECT_EQ(after.snapshot_id, before.snapshot_id + 1);
    EXPECT_EQ(RowsOf(after).size(), 2u);
  }
}

TEST_F(KeySnapshotsTest, AnotherIntervalTakesEffectWhileTheServerRuns) {
  ASSERT_OK_AND_ASSIGN(const int64_t first, Put(0, {{1, "a", 10}}));
  WaitFor(first);
  options.live->kv_snapshot_interval = std::chrono::hours(10);
  std::this_thread::sleep_for(kInterval * 5);  // A look under way may have seen the old one.
  ASSERT_OK_AND_ASSIGN(const int64_t second, Put(0, {{2, "b", 20}}));
  std::this_thread::sleep_for(kInterval * 10);
  EXPECT_EQ(Made().size(), 1u);
  options.live->kv_snapshot_interval = kInterval;
  WaitFor(second);
}

TEST_F(KeySnapshotsTest, WhatIsNotRecordedIsTriedAgain) {
  Refuse(Error(ErrorCode::kStorage, "the disk is full"));
  const uint64_t before = WarningCount();
  ASSERT_OK_AND_ASSIGN(const int64_t end, Put(0, {{1, "a", 10}}));
  EXPECT_TRUE(Soon([&] { return WarningCount() > before; }));
  EXPECT_TRUE(Made().empty());
  Refuse(Status::OK());
  const types::KvSnapshot made = WaitFor(end);
  EXPECT_EQ(made.snapshot_id, 0);
  EXPECT_THAT(RowsOf(made), ElementsAre(TestRow{1, "a", 10}));
}

TEST_F(KeySnapshotsTest, AFolderThatIsGoneIsToldAndHoldsUpNothing) {
  ASSERT_OK(files->RemoveTree(remote_));
  const uint64_t before = WarningCount();
  ASSERT_OK(Put(0, {{1, "a", 10}}));
  EXPECT_TRUE(Soon([&] { return WarningCount() > before; }));
  ASSERT_OK_AND_ASSIGN(const int64_t end, Put(0, {{2, "b", 20}}));
  EXPECT_FALSE(*files->Exists(remote_));
  ASSERT_OK(files->MakeFolders(remote_));
  EXPECT_EQ(RowsOf(WaitFor(end)).size(), 2u);
  EXPECT_TRUE(Soon([&] { return service->snapshot_counts().made > 0; }));
  EXPECT_GT(service->snapshot_counts().failed, 0u);
  EXPECT_GT(service->snapshot_counts().copied_bytes, 0u);
}

TEST_F(KeySnapshotsTest, NoneIsMadeWhileTheRemoteDiskIsFull) {
  Stop();
  io::DiskGuard guard({.files = files, .folder = remote_, .limit_ratio = 0, .recover_ratio = 0});
  guard.Look();
  EXPECT_CODE(ErrorCode::kDiskWriteLocked, guard.CheckWrite());
  options.remote_disk = &guard;
  Start();
  LeadAll();
  const uint64_t before = WarningCount();
  ASSERT_OK_AND_ASSIGN(const int64_t end, Put(0, {{1, "a", 10}}));
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_TRUE(Made().empty());
  EXPECT_EQ(WarningCount(), before);
  EXPECT_EQ(service->snapshot_counts().failed, 0u);
  guard.SetRatios(1, 1);
  guard.Look();
  EXPECT_EQ(WaitFor(end).snapshot_id, 0);
  Stop();
}

}  // namespace
}  // namespace sluice::tablet
