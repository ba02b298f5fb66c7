#include "coordinator/coordinator_testing.h"
#include "wire/proto/replication.pb.h"
#include "wire/proto/snapshot.pb.h"

namespace sluice::coordinator {
namespace {

using types::TablePath;
using wire::ApiKey;

const TablePath kCopiedTable{"fluss", "t"};

class RemoteLogTest : public testing::Test {
 protected:
  RemoteLogTest() { h_.Start(); }
  meta::TablePtr Table() { return h_.state()->FindTable(kCopiedTable); }
  wire::CommitRemoteLogManifestRequest Manifest(int64_t end_offset, const std::string& path) {
    wire::CommitRemoteLogManifestRequest request;
    request.set_table_id(Table()->info.table_id);
    request.set_bucket_id(0);
    request.set_remote_log_manifest_path(path);
    request.set_remote_log_start_offset(3);
    request.set_remote_log_end_offset(end_offset);
    request.set_coordinator_epoch(h_.state()->coordinator_epoch);
    request.set_bucket_leader_epoch(0);
    return request;
  }
  Status Commit(const wire::CommitRemoteLogManifestRequest& request) {
    ASSIGN_OR_RAISE(const auto response, h_.Call<wire::CommitRemoteLogManifestResponse>(
                                             ApiKey::kCommitRemoteLogManifest, request));
    EXPECT_TRUE(response.commitsuccess());
    return Status::OK();
  }
  Result<wire::ListRemoteLogManifestsResponse> List(std::optional<int64_t> partition_id = {}) {
    wire::ListRemoteLogManifestsRequest request;
    request.set_table_id(Table()->info.table_id);
    if (partition_id) request.set_partition_id(*partition_id);
    return h_.Call<wire::ListRemoteLogManifestsResponse>(ApiKey::kListRemoteLogManifests, request);
  }

  Harness h_;
};

TEST_F(RemoteLogTest, TheNewestManifestIsOnRecordAlsoAfterARestart) {
  ASSERT_OK(h_.CreateTable(kCopiedTable, LogTable()));
  EXPECT_EQ(List().ValueOrDie().manifests_size(), 0);
  ASSERT_OK(Commit(Manifest(10, "/remote/one")));
  auto second = Manifest(20, "/remote/two");
  second.set_highest_copied_end_offset(25);
  ASSERT_OK(Commit(second));
  for (int round = 0; round < 2; ++round) {
    ASSERT_OK_AND_ASSIGN(const auto listed, List());
    ASSERT_EQ(listed.manifests_size(), 1);
    EXPECT_EQ(listed.manifests(0).table_bucket().bucket_id(), 0);
    EXPECT_EQ(listed.manifests(0).remote_log_manifest_path(), "/remote/two");
    EXPECT_EQ(listed.manifests(0).remote_log_end_offset(), 20);
    const auto& remote = Table()->buckets[0].remote_log;
    EXPECT_EQ(*remote, (meta::RemoteLogState{"/remote/two", 3, 20, 25}));
    h_.Restart();
  }
}

TEST_F(RemoteLogTest, CommitsOfOlderReignsAreRefused) {
  ASSERT_OK(h_.CreateTable(kCopiedTable, LogTable()));
  auto request = Manifest(10, "/remote/one");
  request.set_coordinator_epoch(h_.state()->coordinator_epoch - 1);
  EXPECT_CODE(ErrorCode::kInvalidCoordinator, Commit(request));
  request = Manifest(10, "/remote/one");
  request.set_bucket_leader_epoch(-1);
  EXPECT_CODE(ErrorCode::kFencedLeaderEpoch, Commit(request));
  request = Manifest(10, "/remote/one");
  request.set_bucket_id(7);
  EXPECT_CODE(ErrorCode::kUnknownTableOrBucket, Commit(request));
  request.set_table_id(77);
  EXPECT_CODE(ErrorCode::kTableNotExist, Commit(request));
  EXPECT_EQ(List().ValueOrDie().manifests_size(), 0);
}

TEST_F(RemoteLogTest, PartitionsHaveTheirOwn) {
  ASSERT_OK(h_.CreateTable(kCopiedTable, PartitionedTable()));
  ASSERT_OK(h_.CreatePartition(kCopiedTable, {{"name", "a"}}));
  ASSERT_OK(h_.CreatePartition(kCopiedTable, {{"name", "b"}}));
  const int64_t a = Table()->FindPartition("a")->info.partition_id;
  const int64_t b = Table()->FindPartition("b")->info.partition_id;
  auto request = Manifest(10, "/remote/a");
  request.set_partition_id(a);
  ASSERT_OK(Commit(request));
  EXPECT_EQ(List().ValueOrDie().manifests_size(), 1);
  EXPECT_EQ(List(a).ValueOrDie().manifests(0).table_bucket().partition_id(), a);
  EXPECT_EQ(List(b).ValueOrDie().manifests_size(), 0);
  EXPECT_CODE(ErrorCode::kPartitionNotExists, List(b + 1).status());
  h_.Restart();
  EXPECT_EQ(List(a).ValueOrDie().manifests_size(), 1);
}

TEST_F(RemoteLogTest, ADropRemovesTheFolders) {
  ASSERT_OK(h_.CreateTable(kCopiedTable, PartitionedTable()));
  ASSERT_OK(h_.CreatePartition(kCopiedTable, {{"name", "a"}}));
  ASSERT_OK(h_.CreatePartition(kCopiedTable, {{"name", "b"}}));
  const std::string table = "/remote/log/fluss/t-" + std::to_string(Table()->info.table_id);
  const auto folder = [&](const char* name) {
    return table + "/" + name + "-p" +
           std::to_string(Table()->FindPartition(name)->info.partition_id);
  };
  const std::string a = folder("a"), b = folder("b");
  for (const std::string& partition : {a, b}) {
    ASSERT_OK(h_.files.MakeFolders(partition + "/0/metadata"));
    ASSERT_OK(h_.files.ReplaceFile(partition + "/0/metadata/one.manifest", "{}"));
  }
  ASSERT_OK(h_.DropPartition(kCopiedTable, {{"name", "a"}}));
  EXPECT_FALSE(*h_.files.Exists(a));
  EXPECT_TRUE(*h_.files.Exists(b));
  ASSERT_OK(h_.DropTable(kCopiedTable));
  EXPECT_FALSE(*h_.files.Exists(table));
}

}  // namespace
}  // namespace sluice::coordinator
