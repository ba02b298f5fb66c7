#include "app/run_time_settings.h"

#include <set>

#include "base/log.h"
#include "base/testing.h"

namespace sluice::app {
namespace {

using Configs = coordinator::ConfigRules::Configs;
using Shape = coordinator::ConfigRules::Shape;

struct RunTimeSettingsTest : testing::Test {
  RunTimeSettingsTest() {
    for (const char* setting :
         {"bind.listeners=CLIENT://localhost:0,OWN://localhost:0",
          "security.protocol.map=CLIENT:SASL,OWN:SASL",
          "security.sasl.plain.jaas.config=x.PlainLoginModule required user_alice=\"wonder\";",
          "security.sasl.listener.name.own.plain.jaas.config=x.PlainLoginModule required "
          "user_server=\"inside\";",
          "server.data-disk.write-limit-ratio=1"})
      EXPECT_OK(config.Set(setting));
    listeners = SecurityOf(config).ValueOrDie();
    disks.Add(folder.path());
  }
  bool LetsIn(const std::string& listener, const std::string& user, const std::string& password) {
    return listeners.at(listener).users->Login(std::string(1, '\0') + user + '\0' + password).ok();
  }

  TempDir folder;
  Config config;
  std::map<std::string, ListenerSecurity> listeners;
  DiskWatch disks{io::LocalFileSystem(), {.write_limit_ratio = 1}};
  tablet::LiveOptions live;
  RunTimeSettings settings{config, disks, listeners, live};
};

TEST_F(RunTimeSettingsTest, EveryKeyIsOneOfTheTable) {
  for (const std::string_view key : RunTimeConfigKeys()) {
    EXPECT_NE(FindConfigKey(key), nullptr) << key;
    EXPECT_NE(settings.ShapeOf(std::string(key)), Shape::kFixed) << key;
  }
  EXPECT_EQ(settings.ShapeOf("data.dir"), Shape::kFixed);
  EXPECT_EQ(settings.ShapeOf("no.such.key"), Shape::kFixed);
  EXPECT_EQ(settings.ShapeOf("security.sasl.plain.jaas.config"), Shape::kFixed);
}

TEST_F(RunTimeSettingsTest, EveryKeyTakesEffectOrIsOneWithout) {
  const std::set<std::string_view> tested = {
      // Here, and in tests of their own below.
      "kv.snapshot.interval",
      "log.retention.roll-active-segment.enabled",
      "server.log.level",
      "security.sasl.plain.credentials",
      "server.data-disk.write-limit-ratio",
      "server.data-disk.write-recover-ratio",
  };
  for (const std::string_view key : RunTimeConfigKeys()) {
    const bool has_none = FindConfigKey(key)->use == ConfigKey::Use::kIgnored;
    EXPECT_NE(has_none, tested.contains(key)) << key;
  }
  settings.Apply({{"kv.snapshot.interval", "7s"},
                  {"log.retention.roll-active-segment.enabled", "true"},
                  {"server.log.level", "error"}});
  EXPECT_FALSE(IsLogged(LogLevel::kWarn));
  EXPECT_EQ(live.kv_snapshot_interval.load(), std::chrono::seconds(7));
  EXPECT_TRUE(live.roll_active_segment.load());
  settings.Apply({});
  EXPECT_TRUE(IsLogged(LogLevel::kWarn));
  EXPECT_EQ(live.kv_snapshot_interval.load(), std::chrono::minutes(10));
  EXPECT_FALSE(live.roll_active_segment.load());
}

TEST_F(RunTimeSettingsTest, WrongValuesNameTheirKeyAndNoSecret) {
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"server.data-disk.write-limit-ratio", "2"},
           {"server.data-disk.write-limit-ratio", "0.5"},  // Below the default of the other.
           {"server.data-disk.write-limit-ratio", ""},
           {"server.log.level", "loud"},
           {"kv.snapshot.interval", "soon"},
           {"log.replica.min-in-sync-replicas-number", "many"},
           {"kv.rocksdb.shared-rate-limiter.bytes-per-sec", "much"},
           {"security.sasl.plain.credentials", "hush"},
           {"security.sasl.plain.credentials", "a:hush,a:hush"}}) {
    const Status refused = settings.Check({{key, value}});
    EXPECT_CODE(ErrorCode::kConfig, refused);
    EXPECT_THAT(refused.message(), testing::HasSubstr("key=" + key));
    EXPECT_THAT(refused.message(), testing::Not(testing::HasSubstr("hush")));
  }
  EXPECT_OK(settings.Check({}));
  EXPECT_OK(settings.Check({{"server.data-disk.write-limit-ratio", "0.5"},
                            {"server.data-disk.write-recover-ratio", "0.4"},
                            {"kv.rocksdb.shared-rate-limiter.bytes-per-sec", "64mb"}}));
}

TEST_F(RunTimeSettingsTest, UsersComeAndGoWhereTheListenerHasNoneOfItsOwn) {
  settings.Apply({{"security.sasl.plain.credentials", "bob:builder,alice:land"}});
  EXPECT_TRUE(LetsIn("CLIENT", "bob", "builder"));
  EXPECT_TRUE(LetsIn("CLIENT", "alice", "land"));
  EXPECT_FALSE(LetsIn("CLIENT", "alice", "wonder"));
  EXPECT_FALSE(LetsIn("OWN", "bob", "builder"));
  EXPECT_TRUE(LetsIn("OWN", "server", "inside"));
  settings.Apply({});
  EXPECT_FALSE(LetsIn("CLIENT", "bob", "builder"));
  EXPECT_TRUE(LetsIn("CLIENT", "alice", "wonder"));
}

TEST_F(RunTimeSettingsTest, DisksAreJudgedByTheNewLimits) {
  EXPECT_OK(disks.CheckAll());
  settings.Apply(
      {{"server.data-disk.write-limit-ratio", "0"}, {"server.data-disk.write-recover-ratio", "0"}});
  const io::DiskGuard& later = disks.Add(folder.path());  // It is looked at once.
  EXPECT_CODE(ErrorCode::kDiskWriteLocked, later.CheckWrite());
  settings.Apply({});
  EXPECT_OK(disks.Add(folder.path()).CheckWrite());
}

}  // namespace
}  // namespace sluice::app
