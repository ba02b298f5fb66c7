#include "types/kv_snapshot.h"

#include "base/testing.h"

namespace sluice::types {
namespace {

// Of the form that the Java server 0.9.1 writes.
constexpr char kFromJava[] =
    R"({"version":1,"table_id":4,"partition_id":9,"bucket_id":2,"snapshot_id":7,)"
    R"("snapshot_location":"file:/r/kv/db/t-4/mon-p9/2/snap-7","kv_snapshot_handle":)"
    R"({"shared_file_handles":[{"kv_file_handle":{"path":"file:/r/kv/db/t-4/mon-p9/2/shared/u",)"
    R"("size":1200},"local_path":"000009.sst"}],"private_file_handles":[{"kv_file_handle":)"
    R"({"path":"file:/r/kv/db/t-4/mon-p9/2/snap-7/v","size":16},"local_path":"CURRENT"}],)"
    R"("snapshot_incremental_size":1216},"log_offset":30,"row_count":12})";

TEST(KvSnapshotTest, ReadsAndWritesJavasDocument) {
  ASSERT_OK_AND_ASSIGN(const KvSnapshot snapshot, KvSnapshot::FromJson(kFromJava));
  EXPECT_EQ(snapshot.bucket, (BucketId{4, 9, 2}));
  EXPECT_EQ(snapshot.snapshot_id, 7);
  EXPECT_EQ(snapshot.location, "file:/r/kv/db/t-4/mon-p9/2/snap-7");
  const KvSnapshotFile shared{"file:/r/kv/db/t-4/mon-p9/2/shared/u", 1200, "000009.sst"};
  EXPECT_THAT(snapshot.shared_files, testing::ElementsAre(shared));
  EXPECT_EQ(snapshot.private_files.at(0).local_name, "CURRENT");
  EXPECT_EQ(snapshot.incremental_bytes, 1216u);
  EXPECT_EQ(snapshot.log_offset, 30);
  EXPECT_EQ(snapshot.row_count, 12);
  EXPECT_EQ(snapshot.store_id, "");
  EXPECT_EQ(snapshot.ToJson(), kFromJava);
}

TEST(KvSnapshotTest, KeepsTheStoreAndLeavesOutWhatIsNotKnown) {
  KvSnapshot snapshot;
  snapshot.bucket = {4, std::nullopt, 0};
  snapshot.store_id = "abc";
  ASSERT_OK_AND_ASSIGN(const KvSnapshot again, KvSnapshot::FromJson(snapshot.ToJson()));
  EXPECT_EQ(again.store_id, "abc");
  EXPECT_EQ(again.bucket, snapshot.bucket);
  EXPECT_EQ(again.row_count, std::nullopt);
}

TEST(KvSnapshotTest, RefusesEveryCutDocument) {
  const std::string_view whole = kFromJava;
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(KvSnapshot::FromJson(whole.substr(0, size)).ok()) << size;
  for (const char* member : {"table_id", "bucket_id", "snapshot_location", "private_file_handles",
                             "size", "local_path", "log_offset"}) {
    std::string other = kFromJava;
    other.replace(other.find(member), 1, "X");
    EXPECT_FALSE(KvSnapshot::FromJson(other).ok()) << member;
  }
}

TEST(KvSnapshotTest, NamesPlaces) {
  const std::string table = KvRemoteFolder("/r", {"db", "t"}, 4);
  EXPECT_EQ(table, "/r/kv/db/t-4");
  const PartitionInfo partition{.partition_id = 9, .values = {"mon", "x"}};
  EXPECT_EQ(KvRemoteFolder("/r", {"db", "t"}, 4, partition), "/r/kv/db/t-4/mon$x-p9");
  EXPECT_EQ(KvSnapshotFolder(KvBucketFolder(table, 3), 7), "/r/kv/db/t-4/3/snap-7");
  EXPECT_EQ(KvSnapshotIdOf("snap-7"), 7);
  for (const char* name : {"snap-", "snap-7x", "shared", "snap--7", "snap-99999999999999999999"})
    EXPECT_EQ(KvSnapshotIdOf(name), std::nullopt) << name;
  EXPECT_EQ(KvSharedNameId(KvSharedName(12, "000009.sst")), 12);
  for (const char* name : {"000009.sst", "x-1", "-1-x", ""})
    EXPECT_EQ(KvSharedNameId(name), std::nullopt) << name;
}

TEST(KvSnapshotTest, PathsAndUris) {
  EXPECT_EQ(RemoteUri("/r/x"), "file:/r/x");
  EXPECT_EQ(RemoteUri("file:///r/x"), "file:///r/x");
  EXPECT_EQ(RemoteUri("s3://bucket/x"), "s3://bucket/x");
  EXPECT_EQ(RemoteUri("/odd:/x"), "file:/odd:/x");
  EXPECT_EQ(RemotePath("file:/r/x"), "/r/x");
  EXPECT_EQ(RemotePath("file:///r/x"), "/r/x");
  EXPECT_EQ(RemotePath("/r/x"), "/r/x");
}

}  // namespace
}  // namespace sluice::types
