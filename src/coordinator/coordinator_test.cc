#include "coordinator/coordinator.h"

#include "coordinator/catalog_reads.h"
#include "coordinator/coordinator_fixture_testing.h"
#include "wire/proto/acl.pb.h"
#include "wire/proto/snapshot.pb.h"

namespace sluice::coordinator {
namespace {

using wire::ApiKey;

TEST_F(CoordinatorTest, ARestartRaisesTheEpochAndTellsEverything) {
  ASSERT_OK(h_.CreateTable(kPath, InLake(PartitionedTable())));
  ASSERT_OK(h_.CreatePartition(kPath, {{"name", "a"}}));
  const int32_t epoch = h_.tablet->coordinator_epoch;
  h_.Restart();
  EXPECT_EQ(h_.tablet->coordinator_epoch, epoch + 1);
  EXPECT_EQ(h_.tablet->replicas.size(), 1u);
  ASSERT_GE(h_.tablet->calls.size(), 2u);
  EXPECT_EQ(h_.tablet->calls[0], ApiKey::kUpdateMetadata);
  EXPECT_EQ(h_.tablet->calls[1], ApiKey::kNotifyLeaderAndIsr);
}

TEST_F(CoordinatorTest, WriterIdsAreNeverGivenTwice) {
  io::Loop& loop = h_.world.NewLoop();
  std::set<int64_t> ids;
  for (int run = 0; run < 3; ++run) {
    for (int i = 0; i < 1500; ++i) {
      const auto id = io::SyncWait(loop, h_.coordinator->NewWriterId(loop));
      ASSERT_OK(id);
      EXPECT_GE(*id, 0);
      EXPECT_TRUE(ids.insert(*id).second);
    }
    h_.Restart();
  }
}

TEST_F(CoordinatorTest, ProducerOffsetsLiveUntilTheirTimeIsOver) {
  wire::RegisterProducerOffsetsRequest request;
  request.set_producer_id("job/1");
  request.set_ttl_ms(1000);
  auto* table = request.add_table_offsets();
  table->set_table_id(4);
  auto* bucket = table->add_bucket_offsets();
  bucket->set_bucket_id(2);
  bucket->set_log_end_offset(77);
  const auto registered = [&] {
    return h_
        .Call<wire::RegisterProducerOffsetsResponse>(ApiKey::kRegisterProducerOffsets, request)
        ->result();
  };
  EXPECT_EQ(registered(), 0);
  EXPECT_EQ(registered(), 1);
  wire::GetProducerOffsetsRequest get;
  get.set_producer_id("job/1");
  ASSERT_OK_AND_ASSIGN(auto offsets,
                       h_.Call<wire::GetProducerOffsetsResponse>(ApiKey::kGetProducerOffsets, get));
  EXPECT_EQ(offsets.producer_id(), "job/1");
  EXPECT_EQ(offsets.table_offsets(0).bucket_offsets(0).log_end_offset(), 77);
  h_.world.RunFor(std::chrono::seconds(2));
  ASSERT_OK_AND_ASSIGN(auto gone,
                       h_.Call<wire::GetProducerOffsetsResponse>(ApiKey::kGetProducerOffsets, get));
  EXPECT_FALSE(gone.has_producer_id());
  EXPECT_EQ(registered(), 0);
  wire::DeleteProducerOffsetsRequest remove;
  remove.set_producer_id("job/1");
  ASSERT_OK(h_.Call(ApiKey::kDeleteProducerOffsets, remove));
  EXPECT_EQ(registered(), 0);
  request.set_producer_id("");
  EXPECT_CODE(ErrorCode::kInvalidProducerId, h_.Call<wire::RegisterProducerOffsetsResponse>(
                                                 ApiKey::kRegisterProducerOffsets, request));
}

TEST_F(CoordinatorTest, ProducerOffsetsHaveABoundedLifeAndGoByThemselves) {
  const auto registered = [this](const std::string& id, int64_t ttl_ms) {
    wire::RegisterProducerOffsetsRequest request;
    request.set_producer_id(id);
    request.set_ttl_ms(ttl_ms);
    return h_.Call<wire::RegisterProducerOffsetsResponse>(ApiKey::kRegisterProducerOffsets,
                                                          request);
  };
  EXPECT_CODE(ErrorCode::kInvalidConfig, registered("past", 0));
  EXPECT_CODE(ErrorCode::kInvalidConfig, registered("past", -5));
  ASSERT_OK(registered("long", INT64_MAX));
  wire::GetProducerOffsetsRequest get;
  get.set_producer_id("long");
  ASSERT_OK_AND_ASSIGN(const auto offsets,
                       h_.Call<wire::GetProducerOffsetsResponse>(ApiKey::kGetProducerOffsets, get));
  EXPECT_GT(offsets.expiration_time(), h_.world.clock().NowMs());
  for (int i = 0; i < 50; ++i) ASSERT_OK(registered("short" + std::to_string(i), 1000));
  EXPECT_EQ(h_.catalog->ListValues("producers")->size(), 51u);
  h_.world.RunFor(std::chrono::minutes(11));
  EXPECT_EQ(h_.catalog->ListValues("producers")->size(), 1u);
}

TEST_F(CoordinatorTest, ADefinitionThatIsTooLargeIsRefused) {
  auto descriptor = LogTable();
  descriptor.comment = std::string(9 << 20, 'x');
  EXPECT_CODE(ErrorCode::kRecordTooLarge, h_.CreateTable({"fluss", "large"}, descriptor));
  EXPECT_CODE(ErrorCode::kRecordTooLarge, h_.CreateDatabase(std::string(9 << 20, 'x')));
  EXPECT_EQ(h_.state()->FindTable({"fluss", "large"}), nullptr);
}

TEST_F(CoordinatorTest, SettingsChangeWhereTheApplicationAllowsIt) {
  wire::AlterClusterConfigsRequest alter;
  EXPECT_OK(h_.Call(ApiKey::kAlterClusterConfigs, alter));
  alter.add_alter_configs()->set_config_key("kv.snapshot.interval");
  alter.mutable_alter_configs(0)->set_config_value("1s");
  alter.mutable_alter_configs(0)->set_op_type(0);
  EXPECT_CODE(ErrorCode::kConfig, h_.Call(ApiKey::kAlterClusterConfigs, alter));
}

TEST_F(CoordinatorTest, CountsReplicasForTheClustersHealth) {
  auto descriptor = LogTable();
  descriptor.bucket_count = 4;
  ASSERT_OK(h_.CreateTable(kPath, descriptor));
  const auto health = ClusterHealth(*h_.state());
  EXPECT_EQ(health.num_replicas(), 4);
  EXPECT_EQ(health.active_leader_replicas(), 4);
  EXPECT_EQ(health.status(), 0);
}

TEST_F(CoordinatorTest, NoCallOfItsScopeIsMetWithSilence) {
  const std::map<ApiKey, ErrorCode> without_effect = {
      {ApiKey::kCreateAcls, ErrorCode::kSecurityDisabled},
      {ApiKey::kDropAcls, ErrorCode::kSecurityDisabled},
      {ApiKey::kRebalance, ErrorCode::kRebalanceFailure},
      {ApiKey::kCancelRebalance, ErrorCode::kNoRebalanceInProgress},
      {ApiKey::kListRebalanceProgress, ErrorCode::kNone},
      {ApiKey::kAdjustIsr, ErrorCode::kUnsupportedVersion},
      {ApiKey::kControlledShutdown, ErrorCode::kUnsupportedVersion},
      {ApiKey::kProduceLog, ErrorCode::kUnsupportedVersion},
      {static_cast<ApiKey>(9), ErrorCode::kUnsupportedVersion},
  };
  for (const auto& [key, code] : without_effect) {
    SCOPED_TRACE(static_cast<int>(key));
    EXPECT_CODE(code, h_.Call(key, wire::DescribeClusterConfigsRequest()));
  }
  // Each call that only a coordinator offers is answered, if with an error that an empty body is
  // none.
  for (const wire::ApiInfo& api : wire::Apis()) {
    if (!api.coordinator || api.tablet) continue;
    const auto reply = h_.Call(api.key, wire::DescribeClusterConfigsRequest());
    EXPECT_EQ(reply.status().message().find("has no such call"), std::string::npos) << api.name;
  }
  wire::AddServerTagRequest tag;
  tag.add_server_ids(7);
  tag.set_server_tag(0);
  EXPECT_CODE(ErrorCode::kServerNotExist, h_.Call(ApiKey::kAddServerTag, tag));
}

TEST_F(CoordinatorTest, RefusesCallsWhenItHasLeftOffice) {
  io::Loop& loop = h_.world.NewLoop();
  const auto stop = [](Coordinator* coordinator, io::Loop* on) -> io::Task<bool> {
    co_await coordinator->Stop(*on);
    co_return true;
  };
  io::SyncWait(loop, stop(h_.coordinator.get(), &loop));
  EXPECT_CODE(ErrorCode::kNetwork, h_.CreateDatabase("db"));
}

}  // namespace
}  // namespace sluice::coordinator
