#include "coordinator/cluster_configs.h"

#include "base/testing.h"
#include "io/sim/sim_world.h"
#include "meta/memory_store.h"
#include "wire/proto/cluster.pb.h"

namespace sluice::coordinator {
namespace {

using Configs = ConfigRules::Configs;
constexpr int kSet = 0, kDelete = 1, kAppend = 2, kSubtract = 3;

// "size" may be set to digits, "users" is a map, the rest is fixed.
class SomeRules : public ConfigRules {
 public:
  Shape ShapeOf(const std::string& key) const override {
    return key == "size" ? Shape::kValue : key == "users" ? Shape::kMap : Shape::kFixed;
  }
  Status Check(const Configs& changed) const override {
    const auto size = changed.find("size");
    const bool good =
        size == changed.end() || size->second.find_first_not_of("0123456789") == std::string::npos;
    if (size != changed.end() && size->second == "1000" && !changed.contains("users"))
      return Error(ErrorCode::kConfig, "too large without users key=size");
    return good ? Status::OK() : Error(ErrorCode::kConfig, "not a number key=size");
  }
  void Apply(const Configs& changed) override { applied = changed; }
  Configs applied;
};

struct ClusterConfigsTest : testing::Test {
  io::SimWorld world{1};
  std::unique_ptr<meta::MetaStore> store = meta::NewMemoryMetaStore();
  std::unique_ptr<meta::Catalog> catalog = meta::Catalog::Open(*store, world.clock()).ValueOrDie();
  SomeRules rules;
  const Configs initial{{"data.dir", "/data"}, {"size", "1"}};
  ClusterConfigs configs{initial, &rules};

  Status Alter(std::vector<std::tuple<std::string, std::optional<std::string>, int>> changes) {
    wire::AlterClusterConfigsRequest request;
    for (const auto& [key, value, op] : changes) {
      auto* change = request.add_alter_configs();
      change->set_config_key(key);
      if (value.has_value()) change->set_config_value(*value);
      change->set_op_type(op);
    }
    return configs.Alter(*catalog, request);
  }
  static std::map<std::string, std::string> Shown(const ClusterConfigs& of) {
    std::map<std::string, std::string> shown;
    const auto described = of.Describe();
    for (const auto& config : described.configs()) {
      const bool is_new = shown
                              .emplace(config.config_key(), config.config_value() + " " +
                                                                config.config_source().substr(0, 1))
                              .second;
      EXPECT_TRUE(is_new) << config.config_key();
    }
    return shown;
  }
};

TEST_F(ClusterConfigsTest, ChangesAreShownTakeEffectAndGoAgain) {
  ASSERT_OK(Alter({{"size", "22", kSet}}));
  EXPECT_EQ(Shown(configs), (Configs{{"data.dir", "/data I"}, {"size", "22 D"}}));
  EXPECT_EQ(rules.applied, (Configs{{"size", "22"}}));
  ASSERT_OK(Alter({{"size", std::nullopt, kDelete}}));
  EXPECT_EQ(Shown(configs), (Configs{{"data.dir", "/data I"}, {"size", "1 I"}}));
  EXPECT_TRUE(rules.applied.empty());
}

TEST_F(ClusterConfigsTest, EntriesOfAMapComeAndGoByName) {
  ASSERT_OK(Alter({{"users", "a:1", kAppend}, {"users", "b:2", kAppend}}));
  EXPECT_EQ(rules.applied.at("users"), "a:1,b:2");
  EXPECT_CODE(ErrorCode::kConfig, Alter({{"users", "a:3", kAppend}}));
  ASSERT_OK(Alter({{"users", "a:whatever", kSubtract}, {"users", "c:3", kSubtract}}));
  EXPECT_EQ(rules.applied.at("users"), "b:2");
  ASSERT_OK(Alter({{"users", "b:2", kSubtract}}));
  EXPECT_EQ(rules.applied.at("users"), "");
}

TEST_F(ClusterConfigsTest, ChangesOfOneCallSeeThoseBeforeThem) {
  ASSERT_OK(Alter({{"users", "a:1, b:2 ,,c:3", kSet},
                   {"users", "b:", kSubtract},
                   {"users", "d:4", kAppend},
                   {"users", "a", kSubtract},
                   {"users", "a:5", kAppend}}));
  EXPECT_EQ(rules.applied.at("users"), "c:3,d:4,a:5");
  ASSERT_OK(Alter({{"users", "e:1", kAppend}, {"users", "x:1", kSet}, {"users", "e:2", kAppend}}));
  EXPECT_EQ(rules.applied.at("users"), "x:1,e:2");
  ASSERT_OK(Alter({{"users", "f:1", kAppend}, {"users", std::nullopt, kDelete}}));
  EXPECT_TRUE(rules.applied.empty());
}

TEST_F(ClusterConfigsTest, ValuesAndCallsAreBounded) {
  const std::string longest = "a:" + std::string(ClusterConfigs::kValueBytesMax - 2, 'x');
  ASSERT_OK(Alter({{"users", longest, kSet}}));
  using Change = std::pair<std::string, int>;
  for (const auto& [value, op] : {Change(longest + "x", kSet), Change("b:1", kAppend)}) {
    const Status refused = Alter({{"users", value, op}});
    EXPECT_CODE(ErrorCode::kConfig, refused);
    EXPECT_THAT(refused.message(), testing::HasSubstr("too long"));
    EXPECT_THAT(refused.message(), testing::HasSubstr("key=users"));
  }
  std::vector<std::tuple<std::string, std::optional<std::string>, int>> many(
      ClusterConfigs::kChangesMax, {"users", "b:1", kSubtract});
  ASSERT_OK(Alter(many));
  many.emplace_back("users", "b:1", kSubtract);
  EXPECT_CODE(ErrorCode::kConfig, Alter(many));
  EXPECT_EQ(rules.applied.at("users"), longest);
}

TEST_F(ClusterConfigsTest, WhatAnOlderVersionLetGrowMayShrink) {
  std::string users = "a:" + std::string(ClusterConfigs::kValueBytesMax, 'x') + ",b:2,c:3";
  ASSERT_OK(catalog->PutValue("configs", "global",
                              R"({"version": 1, "configs": {"users": ")" + users + R"("}})"));
  ASSERT_OK(configs.Load(*catalog));
  EXPECT_CODE(ErrorCode::kConfig, Alter({{"users", "d:4", kAppend}}));
  ASSERT_OK(Alter({{"users", "b:2", kSubtract}}));
  ASSERT_OK(Alter({{"users", "a", kSubtract}}));
  EXPECT_EQ(rules.applied.at("users"), "c:3");
}

TEST_F(ClusterConfigsTest, OneWrongChangeUndoesAllOfThem) {
  for (const auto& [key, value, op] :
       std::vector<std::tuple<std::string, std::optional<std::string>, int>>{
           {"data.dir", "/x", kSet},
           {"no.such", "1", kSet},
           {"size", "many", kSet},
           {"size", std::nullopt, kSet},
           {"size", "3", kAppend},
           {"size", "3", kSubtract},
           {"size", "3", 7},
           {"data.dir", "/data", kDelete},
           {"users", ":x", kAppend},
           {"users", "", kSubtract},
           {"users", "a:1,b:2", kAppend},
           {"users", "a:\xff", kAppend},
           {"users", "a:1,b:\xc3", kSet}}) {
    const Status refused = Alter({{"size", "5", kSet}, {key, value, op}});
    EXPECT_CODE(ErrorCode::kConfig, refused);
    EXPECT_THAT(refused.message(), testing::HasSubstr("key=" + key));
    EXPECT_EQ(Shown(configs).at("size"), "1 I");
    EXPECT_TRUE(rules.applied.empty());
  }
}

TEST_F(ClusterConfigsTest, ChangesOutliveAStartAndWhatHasBecomeWrongIsLeftOut) {
  ASSERT_OK(Alter({{"size", "22", kSet}, {"users", "a:1", kAppend}}));
  ClusterConfigs later(initial, &rules);
  rules.applied.clear();
  ASSERT_OK(later.Load(*catalog));
  EXPECT_EQ(rules.applied, (Configs{{"size", "22"}, {"users", "a:1"}}));
  EXPECT_EQ(Shown(later).at("size"), "22 D");
  // As a version of the program with other rules may find it.
  ASSERT_OK(catalog->PutValue(
      "configs", "global",
      R"({"version": 1, "configs": {"size": "many", "gone.key": "1", "users": "b:2"}})"));
  ClusterConfigs other(initial, &rules);
  ASSERT_OK(other.Load(*catalog));
  EXPECT_EQ(rules.applied, (Configs{{"users", "b:2"}}));
  ASSERT_OK(catalog->PutValue("configs", "global", R"({"version": 2})"));
  EXPECT_CODE(ErrorCode::kCorruptRecord, ClusterConfigs(initial, &rules).Load(*catalog));
}

TEST_F(ClusterConfigsTest, WhatIsRightOnlyTogetherOutlivesAStart) {
  ASSERT_OK(Alter({{"users", "a:1", kAppend}, {"size", "1000", kSet}}));
  ClusterConfigs later(initial, &rules);
  ASSERT_OK(later.Load(*catalog));
  EXPECT_EQ(rules.applied, (Configs{{"size", "1000"}, {"users", "a:1"}}));
}

TEST_F(ClusterConfigsTest, SecretsAreHidden) {
  const ClusterConfigs secret({{"datalake.format", "paimon"},
                               {"s3.secret.key", "hush"},
                               {"security.sasl.listener.name.client.plain.jaas.config", "hush"},
                               {"security.sasl.plain.credentials", "a:hush"},
                               {"security.sasl.plain.jaas.config", "hush"}},
                              nullptr);
  const auto shown = Shown(secret);
  ASSERT_EQ(shown.size(), 5u);
  EXPECT_EQ(shown.at("datalake.format"), "paimon I");
  for (const auto& [key, value] : shown)
    EXPECT_THAT(value, testing::Not(testing::HasSubstr("hush")));
}

TEST_F(ClusterConfigsTest, WithoutRulesNothingChanges) {
  ClusterConfigs fixed(initial, nullptr);
  wire::AlterClusterConfigsRequest request;
  EXPECT_OK(fixed.Alter(*catalog, request));
  request.add_alter_configs()->set_config_key("size");
  request.mutable_alter_configs(0)->set_op_type(kSet);
  EXPECT_CODE(ErrorCode::kConfig, fixed.Alter(*catalog, request));
}

}  // namespace
}  // namespace sluice::coordinator
