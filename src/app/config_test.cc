#include "app/config.h"

#include "base/testing.h"

namespace sluice::app {
namespace {

using std::chrono::milliseconds;

TEST(ConfigTest, DefaultsAreThoseOfTheTable) {
  const Config config;
  EXPECT_EQ(config.SizeBytes("netty.server.max-request-size"), 100u << 20);
  EXPECT_EQ(config.Duration("netty.connection.max-idle-time"), milliseconds(600'000));
  EXPECT_EQ(config.Int("http.port"), 9180);
  EXPECT_TRUE(config.Bool("allow.create.kv.tables"));
  EXPECT_EQ(config.String("coordinator.bind.listeners"), "CLIENT://127.0.0.1:9123");
  EXPECT_FALSE(config.IsSet("http.port"));
}

TEST(ConfigTest, EveryDefaultFitsItsType) {
  for (const ConfigKey& key : ConfigKeys()) {
    Config config;
    EXPECT_OK(config.Set(std::string(key.name) + "=" + std::string(key.default_value)));
  }
}

TEST(ConfigTest, FilesHoldDottedOrNestedKeysAndTheCommandLineWins) {
  Config config;
  ASSERT_OK(config.LoadFile(
      "server.yaml",
      "# comment\ndata.dir: /data\nhttp:\n  port: 1\n  host: 0.0.0.0\n"
      "datalake.paimon.warehouse: /wh\ndatalake:\n  paimon:\n    metastore: filesystem\n"));
  ASSERT_OK(config.Set("http.port = 2"));
  EXPECT_EQ(config.String("data.dir"), "/data");
  EXPECT_EQ(config.Int("http.port"), 2);
  EXPECT_EQ(config.String("http.host"), "0.0.0.0");
  EXPECT_EQ(
      config.Below("datalake.paimon."),
      (std::map<std::string, std::string>{{"metastore", "filesystem"}, {"warehouse", "/wh"}}));
  EXPECT_OK(Config().LoadFile("empty.yaml", ""));
}

TEST(ConfigTest, AnUnknownKeyIsRefusedWithTheNearestName) {
  Config config;
  const Status status = config.LoadFile("server.yaml", "data.dri: /x");
  EXPECT_CODE(ErrorCode::kInvalidConfig, status);
  EXPECT_THAT(status.message(),
              testing::AllOf(testing::HasSubstr("data.dri"), testing::HasSubstr("nearest=data.dir"),
                             testing::HasSubstr("server.yaml")));
  for (const char* far : {"no.such.key=1", "no.such=1", "x=1", "=1"}) {
    const Status unknown = config.Set(far);
    EXPECT_CODE(ErrorCode::kInvalidConfig, unknown);
    EXPECT_THAT(unknown.message(), testing::Not(testing::HasSubstr("nearest=")));
  }
  EXPECT_CODE(ErrorCode::kInvalidConfig, config.Set("no equals sign"));
}

TEST(ConfigTest, WrongValuesNameTheirKey) {
  Config config;
  for (const std::string assignment :
       {"http.port=many", "http.port=1x", "allow.create.kv.tables=yes",
        "log.segment.file-size=1 parsec", "netty.connection.max-idle-time=soon",
        "netty.server.max-request-size=99999999999tb", "server.data-disk.write-limit-ratio=2"}) {
    const Status status = config.Set(assignment);
    EXPECT_CODE(ErrorCode::kInvalidConfig, status);
    EXPECT_THAT(status.message(),
                testing::HasSubstr("key=" + assignment.substr(0, assignment.find('='))));
  }
}

TEST(ConfigTest, ValuesOutOfRangeNameKeyValueAndRange) {
  Config config;
  const Status status = config.Set("http.port=70000");
  EXPECT_CODE(ErrorCode::kInvalidConfig, status);
  EXPECT_EQ(status.message(), "value out of range value=70000 min=0 max=65535 key=http.port");
  for (const std::string assignment :
       {"http.port=-1", "http.threads=0", "http.threads=-1", "kv.write-back.bytes-max=0",
        "kv.scanner.max-per-bucket=-1", "kv.scanner.max-per-server=-5", "sql.sessions-max=-1",
        "log.index.interval-size=4gb", "log.segment.file-size=5gb", "server.shards=0",
        "tablet-server.id=4294967296", "sql.statement.timeout=31d", "sql.threads=0",
        "tiering.rounds-max=0", "netty.server.max-queued-requests=0", "max.bucket.num=4294967297",
        "sql.session.idle-timeout=106751991167d", "netty.server.max-request-size=3gb"}) {
    EXPECT_CODE(ErrorCode::kInvalidConfig, config.Set(assignment));
  }
  EXPECT_OK(config.Set("http.port=65535"));
  EXPECT_OK(config.Set("log.index.interval-size=1048576kb"));
}

// Their users turn numbers into narrower ones and milliseconds into nanoseconds.
TEST(ConfigTest, EveryNumberThatCountsHasARange) {
  for (const ConfigKey& key : ConfigKeys()) {
    const bool number = key.type == ConfigKey::Type::kInt || key.type == ConfigKey::Type::kSize ||
                        key.type == ConfigKey::Type::kDuration;
    EXPECT_EQ(!key.min.empty(), number && key.use != ConfigKey::Use::kIgnored) << key.name;
    EXPECT_EQ(key.min.empty(), key.max.empty()) << key.name;
    if (key.min.empty()) continue;
    for (const std::string_view bound : {key.min, key.max}) {
      EXPECT_OK(Config().Set(std::string(key.name) + "=" + std::string(bound)));
    }
  }
}

TEST(ConfigTest, AnEmptyNumberIsAsIfNotSet) {
  Config config;
  ASSERT_OK(config.LoadFile("server.yaml", "server.shards:\nhttp.port: \nhttp.files:\n"));
  EXPECT_FALSE(config.IsSet("server.shards"));
  EXPECT_EQ(config.Int("http.port"), 9180);
  EXPECT_TRUE(config.IsSet("http.files"));  // No folder, rather than the one beside the program.
}

TEST(ConfigTest, AnEmptyTextIsNotItsDefault) {
  for (const ConfigKey& key : ConfigKeys()) {
    if (key.type != ConfigKey::Type::kString || key.use == ConfigKey::Use::kIgnored) continue;
    SCOPED_TRACE(key.name);
    const Status set = Config().Set(std::string(key.name) + "=");
    if (key.default_value.empty()) {
      EXPECT_OK(set);
    } else {
      EXPECT_CODE(ErrorCode::kInvalidConfig, set);
      EXPECT_THAT(set.message(), testing::HasSubstr(key.name));
    }
  }
  EXPECT_CODE(ErrorCode::kInvalidConfig, Config().LoadFile("server.yaml", "data.dir:\n"));
}

TEST(ConfigTest, FoldersAreNamedWhole) {
  Config config;
  ASSERT_OK(config.LoadFile("server.yaml",
                            "data.dir: data\nremote.data.dir: /elsewhere\n"
                            "datalake.paimon.warehouse: lake/here\n"));
  config.MakeFoldersAbsolute("/home/release");
  EXPECT_EQ(config.String("data.dir"), "/home/release/data");
  EXPECT_EQ(config.String("remote.data.dir"), "/elsewhere");
  EXPECT_EQ(config.Below("datalake.paimon.").at("warehouse"), "/home/release/lake/here");
  ASSERT_OK(config.Set("datalake.paimon.warehouse=s3://bucket/lake"));
  config.MakeFoldersAbsolute("/home/release");
  EXPECT_EQ(config.Below("datalake.paimon.").at("warehouse"), "s3://bucket/lake");
}

TEST(ConfigTest, BrokenYamlIsRefused) {
  Config config;
  EXPECT_CODE(ErrorCode::kInvalidConfig, config.LoadFile("server.yaml", "a: [1, 2"));
  EXPECT_CODE(ErrorCode::kInvalidConfig, config.LoadFile("server.yaml", "just text"));
  EXPECT_CODE(ErrorCode::kInvalidConfig, config.LoadFile("server.yaml", "- a\n- b"));
  EXPECT_CODE(ErrorCode::kInvalidConfig, config.LoadFile("server.yaml", "? [a, b] : c"));
}

TEST(ConfigTest, KeysOfFlussWithoutEffectAreKnown) {
  Config config;
  ASSERT_OK(config.Set("zookeeper.address=localhost:2181"));
  ASSERT_OK(config.Set("kv.rocksdb.block.cache-size=8mb"));
  ASSERT_OK(config.Set("data.dir=/data"));
  ASSERT_OK(config.Set("datalake.paimon.warehouse=/wh"));
  EXPECT_THAT(config.Ignored(),
              testing::ElementsAre("kv.rocksdb.block.cache-size", "zookeeper.address"));
}

TEST(ConfigTest, SizesAndTimesHaveUnits) {
  EXPECT_EQ(ParseSize("4096").ValueOrDie(), 4096u);
  EXPECT_EQ(ParseSize("64mb").ValueOrDie(), 64u << 20);
  EXPECT_EQ(ParseSize("1 G").ValueOrDie(), 1u << 30);
  EXPECT_EQ(ParseDuration("500").ValueOrDie(), milliseconds(500));
  EXPECT_EQ(ParseDuration("10 min").ValueOrDie(), milliseconds(600'000));
  EXPECT_EQ(ParseDuration("7d").ValueOrDie(), milliseconds(604'800'000));
  EXPECT_FALSE(ParseSize("-1").ok());
  EXPECT_FALSE(ParseDuration("").ok());
}

TEST(ConfigTest, TheTableIsDocumented) {
  const std::string markdown = ConfigMarkdown();
  for (const ConfigKey& key : ConfigKeys()) {
    EXPECT_THAT(markdown, testing::HasSubstr("| `" + std::string(key.name) + "` |"));
    EXPECT_FALSE(key.text.empty());
  }
}

}  // namespace
}  // namespace sluice::app
