// KV snapshots: what is recorded, what goes and when, and who holds it.
#include "base/bytes.h"
#include "base/log.h"
#include "coordinator/coordinator_testing.h"
#include "coordinator/kv_snapshot_leases_internal.h"
#include "io/crash_point.h"
#include "types/kv_snapshot.h"
#include "wire/proto/snapshot.pb.h"

namespace sluice::coordinator {
namespace {

using testing::ElementsAre;
using wire::ApiKey;

const types::TablePath kKeys{"fluss", "keys"};

class KvSnapshotsTest : public testing::Test {
 protected:
  KvSnapshotsTest() {
    h_.settings.kv_lease_check_interval_ms = 1000;
    h_.Start();
    auto descriptor = KeyTable();
    descriptor.bucket_count = 2;
    EXPECT_OK(h_.CreateTable(kKeys, descriptor));
    bucket_.table_id = h_.state()->FindTable(kKeys)->info.table_id;
  }
  ~KvSnapshotsTest() override { io::SetCrashHook({}); }

  std::string Folder() {
    const auto root = types::KvRemoteFolder("/remote", kKeys, bucket_.table_id);
    return types::KvBucketFolder(root, bucket_.bucket);
  }
  // What a tablet server leaves in the remote folder: of the tables named, those with this
  // snapshot's number are new.
  types::KvSnapshot Upload(int64_t id, const std::vector<std::string>& tables) {
    types::KvSnapshot snapshot;
    snapshot.bucket = bucket_;
    snapshot.snapshot_id = id;
    snapshot.log_offset = 10 * (id + 1);
    const std::string own = types::KvSnapshotFolder(Folder(), id);
    snapshot.location = types::RemoteUri(own);
    const std::string shared = io::JoinPath(Folder(), types::kKvSharedFolder);
    EXPECT_OK(h_.files.MakeFolders(own));
    EXPECT_OK(h_.files.MakeFolders(shared));
    for (const std::string& table : tables) {
      const std::string path = io::JoinPath(shared, table);
      if (types::KvSharedNameId(table) == id) {
        EXPECT_OK(h_.files.ReplaceFile(path, "rows"));
      }
      snapshot.shared_files.push_back({types::RemoteUri(path), 4, table});
    }
    EXPECT_OK(
        h_.files.ReplaceFile(io::JoinPath(own, types::kKvSnapshotMetadataFile), snapshot.ToJson()));
    return snapshot;
  }
  Status Commit(const types::KvSnapshot& snapshot, int32_t leader_epoch = 0) {
    wire::CommitKvSnapshotRequest request;
    request.set_completed_snapshot(snapshot.ToJson());
    request.set_coordinator_epoch(h_.state()->coordinator_epoch);
    request.set_bucket_leader_epoch(leader_epoch);
    return h_.Call<wire::CommitKvSnapshotResponse>(ApiKey::kCommitKvSnapshot, request).status();
  }
  void Make(int64_t id, const std::vector<std::string>& tables) {
    ASSERT_OK(Commit(Upload(id, tables)));
  }
  std::vector<std::string> Names(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : h_.files.List(folder).ValueOr({})) names.push_back(entry.name);
    return names;
  }
  std::vector<std::string> Shared() {
    return Names(io::JoinPath(Folder(), types::kKvSharedFolder));
  }
  std::vector<int64_t> Listed() {
    wire::ListKvSnapshotsRequest request;
    request.set_table_id(bucket_.table_id);
    const auto response = h_.Call<wire::ListKvSnapshotsResponse>(ApiKey::kListKvSnapshots, request);
    EXPECT_OK(response);
    std::vector<int64_t> ids;
    for (const auto& one : response->active_snapshots()) ids.push_back(one.snapshot_id());
    return ids;
  }
  // Number of snapshots that could not be had.
  int Acquire(const std::string& lease, std::vector<int64_t> ids, int64_t duration_ms = 60'000) {
    wire::AcquireKvSnapshotLeaseRequest request;
    request.set_lease_id(lease);
    request.set_lease_duration_ms(duration_ms);
    auto* table = request.add_snapshots_to_lease();
    table->set_table_id(bucket_.table_id);
    for (const int64_t id : ids) {
      auto* wanted = table->add_bucket_snapshots();
      wanted->set_bucket_id(bucket_.bucket);
      wanted->set_snapshot_id(id);
    }
    const auto response =
        h_.Call<wire::AcquireKvSnapshotLeaseResponse>(ApiKey::kAcquireKvSnapshotLease, request);
    EXPECT_OK(response);
    int missing = 0;
    for (const auto& one : response->unavailable_snapshots())
      missing += one.bucket_snapshots_size();
    return missing;
  }
  void Release(const std::string& lease) {
    wire::ReleaseKvSnapshotLeaseRequest request;
    request.set_lease_id(lease);
    auto* bucket = request.add_buckets_to_release();
    bucket->set_table_id(bucket_.table_id);
    bucket->set_bucket_id(bucket_.bucket);
    ASSERT_OK(
        h_.Call<wire::ReleaseKvSnapshotLeaseResponse>(ApiKey::kReleaseKvSnapshotLease, request));
  }
  void Drop(const std::string& lease) {
    wire::DropKvSnapshotLeaseRequest request;
    request.set_lease_id(lease);
    ASSERT_OK(h_.Call<wire::DropKvSnapshotLeaseResponse>(ApiKey::kDropKvSnapshotLease, request));
  }

  Harness h_;
  types::BucketId bucket_{.table_id = 0, .bucket = 1};
};

TEST_F(KvSnapshotsTest, TheNewestTwoStayWithTheFilesThatTheyName) {
  Make(0, {"0-a", "0-b"});
  Make(1, {"0-a", "0-b", "1-c"});
  EXPECT_THAT(Shared(), ElementsAre("0-a", "0-b", "1-c"));
  Make(2, {"0-b", "2-d"});
  EXPECT_THAT(Listed(), ElementsAre(1, 2));
  EXPECT_THAT(Names(Folder()), ElementsAre("shared", "snap-1", "snap-2"));
  EXPECT_THAT(Shared(), ElementsAre("0-a", "0-b", "1-c", "2-d"));
  Make(3, {"2-d"});
  EXPECT_THAT(Shared(), ElementsAre("0-b", "2-d"));
  EXPECT_THAT(Names(Folder()), ElementsAre("shared", "snap-2", "snap-3"));
  EXPECT_EQ(h_.state()->LatestKvSnapshot(bucket_)->log_offset, 40);
}

TEST_F(KvSnapshotsTest, WhoIsOutOfDateIsRefused) {
  Make(4, {"4-a"});
  EXPECT_CODE(ErrorCode::kInvalidUpdateVersion, Commit(Upload(4, {"4-a"})));
  EXPECT_CODE(ErrorCode::kFencedLeaderEpoch, Commit(Upload(5, {}), /*leader_epoch=*/7));
  types::KvSnapshot elsewhere = Upload(5, {});
  elsewhere.location = "file:/etc";
  EXPECT_CODE(ErrorCode::kStorage, Commit(elsewhere));
  types::KvSnapshot unknown = Upload(5, {});
  unknown.bucket.bucket = 7;
  EXPECT_CODE(ErrorCode::kUnknownTableOrBucket, Commit(unknown));
  wire::CommitKvSnapshotRequest request;
  request.set_completed_snapshot(Upload(5, {}).ToJson());
  request.set_coordinator_epoch(h_.state()->coordinator_epoch - 1);
  request.set_bucket_leader_epoch(0);
  EXPECT_CODE(ErrorCode::kInvalidCoordinator,
              h_.Call<wire::CommitKvSnapshotResponse>(ApiKey::kCommitKvSnapshot, request));
  EXPECT_THAT(Listed(), ElementsAre(4));
}

TEST_F(KvSnapshotsTest, WhatALeaseHoldsStaysUntilItIsLetGo) {
  Make(0, {"0-a"});
  EXPECT_EQ(Acquire("reader", {0}), 0);
  EXPECT_EQ(Acquire("other", {0}), 0);
  for (int64_t id = 1; id < 5; ++id) Make(id, {std::to_string(id) + "-x"});
  EXPECT_THAT(Listed(), ElementsAre(0, 3, 4));
  EXPECT_THAT(Shared(), ElementsAre("0-a", "3-x", "4-x"));
  Release("reader");
  EXPECT_THAT(Listed(), ElementsAre(0, 3, 4));  // The other one still reads it.
  Drop("other");
  Drop("other");  // There is none any more.
  EXPECT_THAT(Listed(), ElementsAre(3, 4));
  EXPECT_THAT(Shared(), ElementsAre("3-x", "4-x"));
  EXPECT_THAT(Names(Folder()), ElementsAre("shared", "snap-3", "snap-4"));
}

TEST_F(KvSnapshotsTest, ALeaseHoldsOneSnapshotOfABucketAndNoneThatIsGone) {
  Make(0, {});
  Make(1, {});
  EXPECT_EQ(Acquire("reader", {0}), 0);
  Make(2, {});
  EXPECT_EQ(Acquire("reader", {2}), 0);  // In place of 0.
  EXPECT_THAT(Listed(), ElementsAre(1, 2));
  EXPECT_EQ(Acquire("reader", {0}), 1);
  EXPECT_EQ(Acquire("reader", {99, 2}), 1);
  EXPECT_EQ(Acquire("nobody", {}), 0);
}

TEST_F(KvSnapshotsTest, LeasesOutliveARestartAndEnd) {
  Make(0, {"0-a"});
  EXPECT_EQ(Acquire("reader", {0}, 10'000), 0);
  h_.Restart();
  for (int64_t id = 1; id < 4; ++id) Make(id, {});
  EXPECT_THAT(Listed(), ElementsAre(0, 2, 3));
  h_.world.RunFor(std::chrono::seconds(8));
  EXPECT_EQ(Acquire("reader", {}, 10'000), 0);  // Renewed.
  h_.world.RunFor(std::chrono::seconds(8));
  EXPECT_THAT(Listed(), ElementsAre(0, 2, 3));
  h_.world.RunFor(std::chrono::seconds(4));
  EXPECT_THAT(Listed(), ElementsAre(2, 3));
  EXPECT_THAT(Shared(), ElementsAre());
  EXPECT_THAT(h_.catalog->ListValues("kv_snapshot_leases").ValueOrDie(), ElementsAre());
}

// As many as end in one write.
TEST_F(KvSnapshotsTest, ManyLeasesEndInFewWrites) {
  Make(0, {});
  const int leases = 3 * static_cast<int>(KvSnapshotLeases::kLeasesAtOnce);
  for (int i = 0; i < leases; ++i) Acquire("over" + std::to_string(i), {0}, 10'000);
  int before = h_.store.writes;
  h_.world.RunFor(std::chrono::seconds(12));
  EXPECT_THAT(h_.catalog->ListValues("kv_snapshot_leases").ValueOrDie(), ElementsAre());
  EXPECT_LE(h_.store.writes - before, 5);
  for (int i = 0; i < leases; ++i) Acquire("gone" + std::to_string(i), {0});
  ASSERT_OK(h_.DropTable(kKeys));
  before = h_.store.writes;
  h_.world.RunFor(std::chrono::seconds(2));
  EXPECT_THAT(h_.catalog->ListValues("kv_snapshot_leases").ValueOrDie(), ElementsAre());
  EXPECT_LE(h_.store.writes - before, 5);
}

TEST_F(KvSnapshotsTest, ACallForTooManySnapshotsIsRefused) {
  wire::AcquireKvSnapshotLeaseRequest request;
  request.set_lease_id("greedy");
  request.set_lease_duration_ms(60'000);
  auto* table = request.add_snapshots_to_lease();
  table->set_table_id(bucket_.table_id);
  for (size_t i = 0; i <= KvSnapshotLeases::kSnapshotsMax; ++i) {
    auto* wanted = table->add_bucket_snapshots();
    wanted->set_bucket_id(0);
    wanted->set_snapshot_id(static_cast<int64_t>(i));
  }
  EXPECT_CODE(ErrorCode::kUnknownServer, h_.Call<wire::AcquireKvSnapshotLeaseResponse>(
                                             ApiKey::kAcquireKvSnapshotLease, request));
  table->mutable_bucket_snapshots()->RemoveLast();
  EXPECT_OK(
      h_.Call<wire::AcquireKvSnapshotLeaseResponse>(ApiKey::kAcquireKvSnapshotLease, request));
}

TEST_F(KvSnapshotsTest, ABrokenLeaseEndsWithAWarning) {
  Make(0, {});
  ASSERT_OK(h_.catalog->PutValue("kv_snapshot_leases", "7265", "{"));
  const uint64_t before = WarningCount();
  h_.Restart();
  EXPECT_EQ(WarningCount(), before + 1);
  EXPECT_THAT(h_.catalog->ListValues("kv_snapshot_leases").ValueOrDie(), ElementsAre());
}

TEST_F(KvSnapshotsTest, FilesOfAnUploadThatFailedGoWithTheNextSnapshot) {
  Make(0, {"0-a"});
  Upload(1, {"0-a", "1-lost"});  // Never committed; the next one has its number.
  ASSERT_OK(h_.files.RemoveTree(types::KvSnapshotFolder(Folder(), 1)));
  Upload(2, {"2-now"});  // Of somebody who is at work.
  Make(1, {"0-a"});
  EXPECT_THAT(Shared(), ElementsAre("0-a", "2-now"));
  EXPECT_THAT(Names(Folder()), ElementsAre("shared", "snap-0", "snap-1", "snap-2"));
}

// The machine stops after the record, or half way through the removal.
TEST_F(KvSnapshotsTest, AStopLeavesAtMostFilesThatTheNextSnapshotRemoves) {
  for (const std::string point : {"kv.snapshot.after-record", "kv.snapshot.between-removals"}) {
    SCOPED_TRACE(point);
    const auto* latest = h_.state()->LatestKvSnapshot(bucket_);
    const int64_t first = latest == nullptr ? 0 : latest->snapshot_id + 1;
    const auto name = [](int64_t id) { return std::to_string(id) + "-x"; };
    Make(first, {name(first)});
    Make(first + 1, {name(first + 1)});
    const types::KvSnapshot cut = Upload(first + 2, {name(first + 2)});
    h_.files.SetHook([&](std::string_view, const std::string&) { return h_.power.on; });
    io::SetCrashHook([&](std::string_view at) {
      if (at == point) h_.power.on = false;
    });
    (void)Commit(cut);
    io::SetCrashHook({});
    h_.files.SetHook({});
    h_.files.Restart();
    h_.Restart();
    EXPECT_THAT(Listed(), ElementsAre(first + 1, first + 2));
    Make(first + 3, {name(first + 3)});
    EXPECT_THAT(Shared(), testing::UnorderedElementsAre(name(first + 2), name(first + 3)));
    EXPECT_EQ(Names(Folder()).size(), 3u);
  }
}

TEST_F(KvSnapshotsTest, LeasesAreBoundedInTimeAndNumber) {
  Make(0, {});
  EXPECT_EQ(Acquire("forever", {0}, INT64_MAX), 0);
  const auto stored = *h_.catalog->GetValue("kv_snapshot_leases", ToHex("forever"));
  ASSERT_TRUE(stored.has_value());
  const int64_t latest_ms = h_.world.clock().NowMs() + int64_t{3650} * 24 * 3600 * 1000;
  const std::string field = "\"expiration_time\":";
  EXPECT_LE(std::stoll(stored->substr(stored->find(field) + field.size())), latest_ms);
  for (int i = 1; i < 10'000; ++i)
    ASSERT_EQ(Acquire("reader-" + std::to_string(i), {0}, 3'600'000), 0);
  wire::AcquireKvSnapshotLeaseRequest request;
  request.set_lease_id("one-more");
  request.set_lease_duration_ms(1000);
  auto* table = request.add_snapshots_to_lease();
  table->set_table_id(bucket_.table_id);
  auto* wanted = table->add_bucket_snapshots();
  wanted->set_bucket_id(bucket_.bucket);
  wanted->set_snapshot_id(0);
  const auto refused =
      h_.Call<wire::AcquireKvSnapshotLeaseResponse>(ApiKey::kAcquireKvSnapshotLease, request);
  EXPECT_CODE(ErrorCode::kUnknownServer, refused);
  EXPECT_EQ(Acquire("forever", {0}, 1000), 0);  // Those that are there can be renewed.
}

TEST_F(KvSnapshotsTest, LeasesLetGoOfWhatWasDropped) {
  Make(0, {});
  EXPECT_EQ(Acquire("reader", {0}, INT64_MAX), 0);
  ASSERT_OK(h_.DropTable(kKeys));
  h_.world.RunFor(std::chrono::seconds(2));
  EXPECT_THAT(h_.catalog->ListValues("kv_snapshot_leases").ValueOrDie(), ElementsAre());
}

// The disk of the remote folder goes away and leaves its empty mount point.
TEST_F(KvSnapshotsTest, ADropForgetsNoFolderOfADiskThatIsAway) {
  Make(0, {"0-a"});
  ASSERT_OK(h_.files.Rename("/remote", "/away"));
  ASSERT_OK(h_.files.MakeFolders("/remote"));
  ASSERT_OK(h_.DropTable(kKeys));
  EXPECT_EQ(h_.state()->intents.size(), 1u);
  ASSERT_OK(h_.files.Remove("/remote"));
  ASSERT_OK(h_.files.Rename("/away", "/remote"));
  EXPECT_TRUE(*h_.files.Exists(Folder()));
  h_.world.RunFor(std::chrono::minutes(5));
  EXPECT_EQ(h_.state()->intents.size(), 0u);
  EXPECT_FALSE(*h_.files.Exists(Folder()));
}

TEST_F(KvSnapshotsTest, ADropTakesTheFolder) {
  Make(0, {"0-a"});
  EXPECT_EQ(Acquire("reader", {0}), 0);
  ASSERT_OK(h_.DropTable(kKeys));
  EXPECT_FALSE(*h_.files.Exists(types::KvRemoteFolder("/remote", kKeys, bucket_.table_id)));
  Drop("reader");
  EXPECT_CODE(ErrorCode::kUnknownTableOrBucket, Commit(Upload(1, {})));
}

TEST_F(KvSnapshotsTest, ADroppedPartitionTakesItsFolderAlone) {
  auto descriptor = PartitionedTable();
  descriptor.schema.primary_key = {"id", "name"};
  descriptor.bucket_count = 1;
  const types::TablePath path{"fluss", "parts"};
  ASSERT_OK(h_.CreateTable(path, descriptor));
  for (const char* name : {"a", "b"}) ASSERT_OK(h_.CreatePartition(path, {{"name", name}}));
  const auto table = h_.state()->FindTable(path);
  std::vector<std::string> folders;
  for (const char* name : {"a", "b"}) {
    folders.push_back(types::KvRemoteFolder("/remote", path, table->info.table_id,
                                            table->FindPartition(std::string_view(name))->info));
    ASSERT_OK(h_.files.MakeFolders(types::KvBucketFolder(folders.back(), 0)));
  }
  ASSERT_OK(h_.DropPartition(path, {{"name", "a"}}));
  EXPECT_FALSE(*h_.files.Exists(folders[0]));
  EXPECT_TRUE(*h_.files.Exists(folders[1]));
  ASSERT_OK(h_.DropTable(path));
  EXPECT_FALSE(*h_.files.Exists(folders[1]));
}

}  // namespace
}  // namespace sluice::coordinator
