#include "coordinator/catalog_reads.h"
#include "coordinator/coordinator_testing.h"
#include "meta/lake_offsets.h"

// The calls by which tiering works: heartbeat, prepare, commit, and what readers get of it.
namespace sluice::coordinator {
namespace {

using wire::ApiKey;

const types::TablePath kTiered{"fluss", "t"};

class LakeTieringTest : public testing::Test {
 protected:
  LakeTieringTest() {
    h_.Start();
    auto descriptor = InLake(LogTable());
    descriptor.bucket_count = 2;
    descriptor.properties["table.datalake.freshness"] = "5s";
    EXPECT_OK(h_.CreateTable(kTiered, descriptor));
    table_id_ = h_.state()->FindTable(kTiered)->info.table_id;
  }

  wire::LakeTieringHeartbeatResponse Heartbeat(const wire::LakeTieringHeartbeatRequest& request) {
    auto response =
        h_.Call<wire::LakeTieringHeartbeatResponse>(ApiKey::kLakeTieringHeartbeat, request);
    EXPECT_OK(response);
    return response.ValueOr(wire::LakeTieringHeartbeatResponse());
  }
  std::optional<wire::PbLakeTieringTableInfo> Ask() {
    wire::LakeTieringHeartbeatRequest request;
    request.set_request_table(true);
    const auto response = Heartbeat(request);
    EXPECT_EQ(response.coordinator_epoch(), h_.state()->coordinator_epoch);
    if (!response.has_tiering_table()) return std::nullopt;
    return response.tiering_table();
  }
  std::optional<wire::PbLakeTieringTableInfo> AskWithin(std::chrono::milliseconds span) {
    for (auto waited = std::chrono::milliseconds(0); waited < span;
         waited += std::chrono::milliseconds(100)) {
      if (auto table = Ask()) return table;
      h_.world.RunFor(std::chrono::milliseconds(100));
    }
    return std::nullopt;
  }
  wire::PbHeartbeatReqForTable Entry(int64_t tiering_epoch) {
    wire::PbHeartbeatReqForTable entry;
    entry.set_table_id(table_id_);
    entry.set_coordinator_epoch(h_.state()->coordinator_epoch);
    entry.set_tiering_epoch(tiering_epoch);
    return entry;
  }
  void Finish(int64_t tiering_epoch) {
    wire::LakeTieringHeartbeatRequest request;
    *request.add_finished_tables() = Entry(tiering_epoch);
    const auto response = Heartbeat(request);
    ASSERT_EQ(response.finished_table_resp_size(), 1);
    EXPECT_FALSE(response.finished_table_resp(0).has_error());
  }

  wire::PbPrepareLakeTableRespForTable Prepare(const std::map<int32_t, int64_t>& offsets,
                                               bool ignore_previous = false) {
    wire::PrepareLakeTableSnapshotRequest request;
    request.set_ignore_previous_table_offsets(ignore_previous);
    auto* table = request.add_bucket_offsets();
    table->set_table_id(table_id_);
    Harness::SetPath(kTiered, table->mutable_table_path());
    for (const auto& [bucket, offset] : offsets) {
      auto* entry = table->add_bucket_offsets();
      entry->set_bucket_id(bucket);
      entry->set_log_end_offset(offset);
    }
    auto response =
        h_.Call<wire::PrepareLakeTableSnapshotResponse>(ApiKey::kPrepareLakeTableSnapshot, request);
    EXPECT_OK(response);
    EXPECT_EQ(response->prepare_lake_table_resp_size(), 1);
    EXPECT_EQ(response->prepare_lake_table_resp(0).table_id(), table_id_);
    return response->prepare_lake_table_resp(0);
  }
  Status Commit(int64_t snapshot_id, const std::string& path, bool readable,
                std::optional<int64_t> keep = std::nullopt) {
    wire::CommitLakeTableSnapshotRequest request;
    auto* metadata = request.add_lake_table_snapshot_metadata();
    metadata->set_table_id(table_id_);
    metadata->set_snapshot_id(snapshot_id);
    metadata->set_tiered_bucket_offsets_file_path(path);
    if (readable) metadata->set_readable_bucket_offsets_file_path(path);
    if (keep.has_value()) metadata->set_earliest_snapshot_id_to_keep(*keep);
    auto* info = request.add_tables_req();  // Offsets for metrics, as the service sends both.
    info->set_table_id(table_id_);
    info->set_snapshot_id(snapshot_id);
    return OnlyStatus(request);
  }
  Status OnlyStatus(const wire::CommitLakeTableSnapshotRequest& request) {
    ASSIGN_OR_RAISE(const auto response, h_.Call<wire::CommitLakeTableSnapshotResponse>(
                                             ApiKey::kCommitLakeTableSnapshot, request));
    EXPECT_EQ(response.table_resp_size(), 1);
    EXPECT_EQ(response.table_resp(0).table_id(), table_id_);
    return wire::ErrorOf(response.table_resp(0));
  }
  Result<wire::GetLakeSnapshotResponse> Get(std::optional<int64_t> id, bool readable) {
    wire::GetLakeSnapshotRequest request;
    Harness::SetPath(kTiered, request.mutable_table_path());
    if (id.has_value()) request.set_snapshot_id(*id);
    if (readable) request.set_readable(true);
    return ReadLakeSnapshot(*h_.state(), request);
  }
  static std::map<int32_t, int64_t> OffsetsOf(const wire::GetLakeSnapshotResponse& response) {
    std::map<int32_t, int64_t> offsets;
    for (const auto& bucket : response.bucket_snapshots())
      offsets[bucket.bucket_id()] = bucket.log_offset();
    return offsets;
  }

  Harness h_;
  int64_t table_id_ = -1;
};

using Offsets = std::map<int32_t, int64_t>;

// An unmounted disk leaves an empty mount point, or nothing.
TEST_F(LakeTieringTest, ARemoteFolderThatIsGoneIsNotMadeAnew) {
  const std::string first = Prepare({{0, 4}}).lake_table_offsets_path();
  ASSERT_OK(h_.files.Rename("/remote", "/away"));
  for (const bool mount_point : {false, true}) {
    if (mount_point) ASSERT_OK(h_.files.MakeFolders("/remote"));
    const Status refused = wire::ErrorOf(Prepare({{0, 5}}));
    EXPECT_CODE(ErrorCode::kStorage, refused);
    EXPECT_THAT(refused.message(), testing::HasSubstr("remote.data.dir=/remote"));
  }
  ASSERT_OK_AND_ASSIGN(const auto made, h_.files.List("/remote"));
  EXPECT_TRUE(made.empty());
  EXPECT_CODE(ErrorCode::kInvalidConfig, io::RemoteFolder("/remote").Open(h_.files, false));
  ASSERT_OK(h_.files.Remove("/remote"));
  ASSERT_OK(h_.files.Rename("/away", "/remote"));
  EXPECT_OK(io::RemoteFolder("/remote").Open(h_.files, false));
  EXPECT_OK(Commit(1, first, true));
  EXPECT_FALSE(Prepare({{0, 5}}).has_error_code());
}

TEST_F(LakeTieringTest, AnIdleTableIsNeverHandedOut) {
  EXPECT_FALSE(AskWithin(std::chrono::seconds(30)).has_value());
  const auto probes = std::ranges::count(h_.tablet->calls, ApiKey::kListOffsets);
  EXPECT_GE(probes, 20);
  EXPECT_LE(probes, 27);  // Four per freshness, one message each.
}

// What the round of a dropped partition still writes must not become the next one's.
TEST_F(LakeTieringTest, AKeyedPartitionMadeAgainWaitsForTheRoundThatSawItDropped) {
  const types::TablePath path{"fluss", "keyed"};
  types::TableDescriptor keyed = InLake(PartitionedTable());
  keyed.schema.primary_key = {"id", "name"};
  keyed.properties["table.datalake.freshness"] = "5s";
  ASSERT_OK(h_.CreateTable(path, keyed));
  ASSERT_OK(h_.CreatePartition(path, {{"name", "a"}}));
  const auto table = h_.state()->FindTable(path);
  table_id_ = table->info.table_id;
  h_.tablet->log_ends[{table_id_, table->FindPartition("a")->info.partition_id, 0}] = 10;
  const auto round = AskWithin(std::chrono::seconds(5));
  ASSERT_TRUE(round.has_value());
  ASSERT_EQ(round->table_id(), table_id_);
  ASSERT_OK(h_.DropPartition(path, {{"name", "a"}}));
  EXPECT_OK(h_.CreatePartition(path, {{"name", "b"}}));  // Another name waits for nothing.
  EXPECT_CODE(ErrorCode::kRequestTimeOut, h_.CreatePartition(path, {{"name", "a"}}));
  Finish(round->tiering_epoch());
  EXPECT_OK(h_.CreatePartition(path, {{"name", "a"}}));
}

TEST_F(LakeTieringTest, ATableWithRowsIsHandedOutOnceAndAgainWhenMoreCome) {
  h_.tablet->log_ends[{table_id_, std::nullopt, 1}] = 10;
  const auto first = AskWithin(std::chrono::seconds(5));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->table_id(), table_id_);
  EXPECT_EQ(first->table_path().table_name(), "t");
  EXPECT_FALSE(AskWithin(std::chrono::seconds(10)).has_value());
  const auto prepared = Prepare({{1, 10}});
  ASSERT_OK(Commit(1, prepared.lake_table_offsets_path(), true));
  Finish(first->tiering_epoch());
  EXPECT_FALSE(AskWithin(std::chrono::seconds(20)).has_value());  // The lake has all.
  h_.tablet->log_ends[{table_id_, std::nullopt, 0}] = 1;
  const auto second = AskWithin(std::chrono::seconds(5));
  ASSERT_TRUE(second.has_value());
  EXPECT_GT(second->tiering_epoch(), first->tiering_epoch());
}

TEST_F(LakeTieringTest, StoppingWaitsForAProbeUnderWay) {
  h_.tablet->delay = std::chrono::milliseconds(50);
  // At all moments of a probe cycle of 1250 ms, so also while an answer is on its way.
  for (int moment = 0; moment < 1300; moment += 20) {
    h_.world.RunFor(std::chrono::milliseconds(moment));
    h_.Restart();
  }
  EXPECT_FALSE(Ask().has_value());
}

TEST_F(LakeTieringTest, HeartbeatsAreAnsweredPerTable) {
  h_.tablet->log_ends[{table_id_, std::nullopt, 1}] = 10;
  const auto table = AskWithin(std::chrono::seconds(5));
  ASSERT_TRUE(table.has_value());
  wire::LakeTieringHeartbeatRequest request;
  *request.add_tiering_tables() = Entry(table->tiering_epoch());
  *request.add_tiering_tables() = Entry(table->tiering_epoch() + 1);
  *request.add_failed_tables() = Entry(table->tiering_epoch());
  request.mutable_failed_tables(0)->set_coordinator_epoch(0);
  *request.add_finished_tables() = Entry(1);
  request.mutable_finished_tables(0)->set_table_id(99);
  const auto response = Heartbeat(request);
  EXPECT_FALSE(response.tiering_table_resp(0).has_error());
  EXPECT_EQ(response.tiering_table_resp(1).error().error_code(), 50);
  EXPECT_EQ(response.failed_table_resp(0).error().error_code(), 23);
  EXPECT_EQ(response.finished_table_resp(0).error().error_code(), 7);
  EXPECT_EQ(response.finished_table_resp(0).table_id(), 99);
  Finish(table->tiering_epoch());
  wire::LakeTieringHeartbeatRequest late;
  *late.add_finished_tables() = Entry(table->tiering_epoch());
  EXPECT_EQ(Heartbeat(late).finished_table_resp(0).error().error_code(), -1);
}

TEST_F(LakeTieringTest, AFailedTableComesBack) {
  h_.tablet->log_ends[{table_id_, std::nullopt, 1}] = 10;
  const auto table = AskWithin(std::chrono::seconds(5));
  ASSERT_TRUE(table.has_value());
  wire::LakeTieringHeartbeatRequest request;
  *request.add_failed_tables() = Entry(table->tiering_epoch());
  EXPECT_FALSE(Heartbeat(request).failed_table_resp(0).has_error());
  const auto again = AskWithin(std::chrono::seconds(2));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->tiering_epoch(), table->tiering_epoch() + 1);
}

TEST_F(LakeTieringTest, SwitchedOffAndDroppedTablesLeaveTheQueue) {
  h_.tablet->log_ends[{table_id_, std::nullopt, 1}] = 10;
  ASSERT_OK(h_.SetOption(kTiered, "table.datalake.enabled", "false"));
  EXPECT_FALSE(AskWithin(std::chrono::seconds(10)).has_value());
  ASSERT_OK(h_.SetOption(kTiered, "table.datalake.enabled", "true"));
  EXPECT_TRUE(AskWithin(std::chrono::seconds(5)).has_value());
  ASSERT_OK(h_.DropTable(kTiered));
  wire::LakeTieringHeartbeatRequest request;
  *request.add_tiering_tables() = Entry(1);
  EXPECT_EQ(Heartbeat(request).tiering_table_resp(0).error().error_code(), 7);
}

// Each table has a file to write.
TEST_F(LakeTieringTest, ARequestOffersOffsetsOfSoManyTables) {
  wire::PrepareLakeTableSnapshotRequest prepare;
  wire::CommitLakeTableSnapshotRequest commit;
  for (int i = 0; i < 1001; ++i) {
    auto* offsets = prepare.add_bucket_offsets();
    offsets->set_table_id(77);
    Harness::SetPath(kTiered, offsets->mutable_table_path());
    auto* snapshot = commit.add_tables_req();
    snapshot->set_table_id(77);
    snapshot->set_snapshot_id(1);
  }
  EXPECT_CODE(ErrorCode::kRecordTooLarge, h_.Call<wire::PrepareLakeTableSnapshotResponse>(
                                              ApiKey::kPrepareLakeTableSnapshot, prepare));
  EXPECT_CODE(ErrorCode::kRecordTooLarge, h_.Call<wire::CommitLakeTableSnapshotResponse>(
                                              ApiKey::kCommitLakeTableSnapshot, commit));
}

TEST_F(LakeTieringTest, PrepareWritesAFileOfMergedOffsets) {
  const auto first = Prepare({{1, 10}});
  ASSERT_FALSE(first.has_error_code());
  const std::string folder = "/remote/lake/fluss/t-" + std::to_string(table_id_) + "/metadata/";
  EXPECT_TRUE(first.lake_table_offsets_path().starts_with(folder))
      << first.lake_table_offsets_path();
  EXPECT_TRUE(first.lake_table_offsets_path().ends_with(".offsets"));
  ASSERT_OK_AND_ASSIGN(const auto text, h_.files.ReadFile(first.lake_table_offsets_path()));
  EXPECT_EQ(text, R"({"bucket_offsets":[-1,10],"table_id":)" + std::to_string(table_id_) +
                      R"(,"version":1})");
  ASSERT_OK(Commit(1, first.lake_table_offsets_path(), true));
  const auto second = Prepare({{0, 3}});
  ASSERT_OK_AND_ASSIGN(const auto merged, h_.files.ReadFile(second.lake_table_offsets_path()));
  EXPECT_EQ(meta::LakeOffsetsFromJson(merged)->offsets.size(), 2u);
  const auto alone = Prepare({{0, 3}}, /*ignore_previous=*/true);
  ASSERT_OK_AND_ASSIGN(const auto only, h_.files.ReadFile(alone.lake_table_offsets_path()));
  EXPECT_EQ(meta::LakeOffsetsFromJson(only)->offsets.size(), 1u);
  EXPECT_EQ(Prepare({{2, 3}}).error_code(), 21);
  table_id_ = 99;
  EXPECT_EQ(Prepare({{0, 3}}).error_code(), 7);
}

TEST_F(LakeTieringTest, ACommittedSnapshotIsReadAndToldToTheTablets) {
  EXPECT_CODE(ErrorCode::kLakeSnapshotNotExist, Get(std::nullopt, false));
  EXPECT_CODE(ErrorCode::kLakeSnapshotNotExist, Get(std::nullopt, true));
  const std::string path = Prepare({{0, 4}, {1, 10}}).lake_table_offsets_path();
  ASSERT_OK(Commit(1, path, true));
  ASSERT_OK_AND_ASSIGN(const auto snapshot, Get(std::nullopt, true));
  EXPECT_EQ(snapshot.table_id(), table_id_);
  EXPECT_EQ(snapshot.snapshotid(), 1);
  EXPECT_EQ(OffsetsOf(snapshot), (Offsets{{0, 4}, {1, 10}}));
  EXPECT_EQ(h_.tablet->lake_offsets.at({table_id_, std::nullopt, 1}), 10);
  EXPECT_CODE(ErrorCode::kUnknownServer, Get(1, true));
  EXPECT_CODE(ErrorCode::kLakeSnapshotNotExist, Get(2, false));
  h_.Restart();
  ASSERT_OK_AND_ASSIGN(const auto after, Get(1, false));
  EXPECT_EQ(OffsetsOf(after), (Offsets{{0, 4}, {1, 10}}));
  EXPECT_EQ(h_.tablet->lake_offsets.at({table_id_, std::nullopt, 1}), 10);
}

TEST_F(LakeTieringTest, KeepsSnapshotsAsAskedAndRemovesFilesOfTheRest) {
  std::map<int64_t, std::string> paths;
  for (int64_t id = 1; id <= 3; ++id) {
    paths[id] = Prepare({{0, id}}).lake_table_offsets_path();
    ASSERT_OK(Commit(id, paths[id], id == 1, /*keep=*/-1));
  }
  EXPECT_EQ(Get(std::nullopt, true)->snapshotid(), 1);  // 2 and 3 are not readable yet.
  EXPECT_EQ(Get(std::nullopt, false)->snapshotid(), 3);
  EXPECT_EQ(OffsetsOf(*Get(2, false)), (Offsets{{0, 2}}));
  ASSERT_OK(Commit(2, paths[2], true, /*keep=*/2));  // A compaction made it readable later.
  EXPECT_EQ(Get(std::nullopt, true)->snapshotid(), 2);
  EXPECT_EQ(Get(std::nullopt, false)->snapshotid(), 3);
  EXPECT_FALSE(*h_.files.Exists(paths[1]));
  EXPECT_TRUE(*h_.files.Exists(paths[2]));
  paths[4] = Prepare({{0, 4}}).lake_table_offsets_path();
  ASSERT_OK(Commit(4, paths[4], true));
  EXPECT_FALSE(*h_.files.Exists(paths[3]));
  EXPECT_CODE(ErrorCode::kLakeSnapshotNotExist, Get(3, false));
  EXPECT_CODE(ErrorCode::kInvalidUpdateVersion, Commit(3, paths[4], true));
}

TEST_F(LakeTieringTest, FilesOfRoundsThatNeverCommittedGoInTheEnd) {
  const std::string orphan = Prepare({{0, 1}}).lake_table_offsets_path();
  ASSERT_OK(Commit(1, Prepare({{0, 1}}).lake_table_offsets_path(), true));
  EXPECT_TRUE(*h_.files.Exists(orphan));  // A lake snapshot may still name it.
  h_.world.RunFor(std::chrono::hours(2));
  const std::string newest = Prepare({{0, 2}}).lake_table_offsets_path();
  ASSERT_OK(Commit(2, newest, true));
  EXPECT_FALSE(*h_.files.Exists(orphan));
  EXPECT_TRUE(*h_.files.Exists(newest));
}

TEST_F(LakeTieringTest, TheOlderStyleCarriesItsOffsets) {
  wire::CommitLakeTableSnapshotRequest request;
  auto* info = request.add_tables_req();
  info->set_table_id(table_id_);
  info->set_snapshot_id(5);
  auto* bucket = info->add_buckets_req();
  bucket->set_bucket_id(1);
  bucket->set_log_end_offset(8);
  ASSERT_OK(OnlyStatus(request));
  bucket->set_bucket_id(0);
  bucket->set_log_end_offset(3);
  info->set_snapshot_id(6);
  ASSERT_OK(OnlyStatus(request));
  ASSERT_OK_AND_ASSIGN(const auto snapshot, Get(std::nullopt, true));
  EXPECT_EQ(snapshot.snapshotid(), 6);
  EXPECT_EQ(OffsetsOf(snapshot), (Offsets{{0, 3}, {1, 8}}));
}

TEST_F(LakeTieringTest, RefusesCommitsWithoutTheirFile) {
  const std::string folder = io::FolderOf(Prepare({{0, 4}}).lake_table_offsets_path());
  EXPECT_CODE(ErrorCode::kStorage, Commit(1, folder + "/none.offsets", true));
  ASSERT_OK(h_.files.ReplaceFile(folder + "/other.offsets", meta::LakeOffsetsToJson(99, {})));
  EXPECT_CODE(ErrorCode::kCorruptRecord, Commit(1, folder + "/other.offsets", true));
  // The table has three buckets at most, and no partitions.
  for (const auto& [id, offset] : {std::pair(meta::PartitionBucket{.bucket = 1000}, 4),
                                   {{.partition_id = 7, .bucket = 0}, 4}}) {
    const std::string wrong = folder + "/wrong.offsets";
    ASSERT_OK(h_.files.ReplaceFile(wrong, meta::LakeOffsetsToJson(table_id_, {{id, offset}})));
    EXPECT_CODE(ErrorCode::kCorruptRecord, Commit(1, wrong, true));
  }
  EXPECT_CODE(ErrorCode::kLakeSnapshotNotExist, Get(std::nullopt, false));
  const std::string path = Prepare({{0, 4}}).lake_table_offsets_path();
  ASSERT_OK(h_.DropTable(kTiered));
  EXPECT_CODE(ErrorCode::kTableNotExist, Commit(1, path, true));
  EXPECT_FALSE(*h_.files.Exists(path));
}

// What a snapshot names is removed with it, so it must be a file of the table.
TEST_F(LakeTieringTest, RefusesCommitsThatNameOtherFiles) {
  const std::string folder = io::FolderOf(Prepare({{0, 4}}).lake_table_offsets_path());
  const std::string good = meta::LakeOffsetsToJson(table_id_, {});
  for (const std::string& path :
       {std::string("/remote/stray.offsets"), folder + "/deeper/a.offsets",
        folder + "/../a.offsets", folder + "/catalog.json", folder + "/.."}) {
    SCOPED_TRACE(path);
    if (path.find("..") == std::string::npos) {
      ASSERT_OK(h_.files.MakeFolders(io::FolderOf(path)));
      ASSERT_OK(h_.files.ReplaceFile(path, good));
    }
    EXPECT_CODE(ErrorCode::kStorage, Commit(1, path, true));
  }
  EXPECT_OK(Commit(1, Prepare({{0, 4}}).lake_table_offsets_path(), true));
}

}  // namespace
}  // namespace sluice::coordinator
