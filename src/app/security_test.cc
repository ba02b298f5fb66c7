#include "app/security.h"

#include "base/testing.h"

namespace sluice::app {
namespace {

constexpr const char* kJaas = "security.sasl.plain.jaas.config=x.PlainLoginModule required ";

Config With(std::initializer_list<std::string> settings) {
  Config config;
  EXPECT_OK(config.Set("bind.listeners=CLIENT://localhost:0,Inner://localhost:0"));
  for (const std::string& setting : settings) EXPECT_OK(config.Set(setting));
  return config;
}

bool LetsIn(const ListenerSecurity& security, const std::string& user,
            const std::string& password) {
  return security.users->Login(std::string(1, '\0') + user + '\0' + password).ok();
}

TEST(SecurityTest, ListenersAreOpenUnlessTheyAreNamed) {
  ASSERT_OK_AND_ASSIGN(const auto none, SecurityOf(With({})));
  EXPECT_TRUE(none.empty());
  ASSERT_OK_AND_ASSIGN(const auto open,
                       SecurityOf(With({"security.protocol.map=CLIENT:plaintext"})));
  EXPECT_TRUE(open.empty());
}

TEST(SecurityTest, UsersOfAListenerWinOverThoseOfAll) {
  ASSERT_OK_AND_ASSIGN(
      const auto all,
      SecurityOf(With({"security.protocol.map=CLIENT:sasl, Inner:SASL",
                       "security.sasl.enabled.mechanisms=plain",
                       std::string(kJaas) + "user_alice=\"wonder\" user_bob=\"old\";",
                       "security.sasl.plain.credentials=bob:new, carol:singer",
                       "security.sasl.listener.name.inner.plain.jaas.config="
                       "x.PlainLoginModule required user_server=\"inside\";"})));
  ASSERT_EQ(all.size(), 2u);
  const auto& client = all.at("CLIENT");
  EXPECT_TRUE(LetsIn(client, "alice", "wonder"));
  EXPECT_TRUE(LetsIn(client, "bob", "new"));
  EXPECT_TRUE(LetsIn(client, "carol", "singer"));
  EXPECT_FALSE(LetsIn(client, "bob", "old"));
  EXPECT_FALSE(LetsIn(client, "server", "inside"));
  const auto& inner = all.at("Inner");
  EXPECT_TRUE(LetsIn(inner, "server", "inside"));
  EXPECT_FALSE(LetsIn(inner, "alice", "wonder"));
  EXPECT_FALSE(inner.shares_users);
}

TEST(SecurityTest, HttpBesideLoginsBelongsOnThisMachine) {
  const auto warned = [](const std::string& host, const std::string& protocol) {
    const Config config = With({"http.host=" + host, "security.protocol.map=CLIENT:" + protocol,
                                std::string(kJaas) + "user_alice=\"wonder\";"});
    return HttpIsWiderOpen(config, SecurityOf(config).ValueOrDie());
  };
  for (const char* host : {"127.0.0.1", "127.0.1.1", "::1", "localhost"})
    EXPECT_FALSE(warned(host, "SASL")) << host;
  for (const char* host : {"0.0.0.0", "::", "10.0.0.7", "127.example.org", "db.example.org"})
    EXPECT_TRUE(warned(host, "SASL")) << host;
  EXPECT_FALSE(warned("0.0.0.0", "PLAINTEXT"));
  EXPECT_FALSE(warned("0.0.0.0", "TLS"));
}

TEST(SecurityTest, WrongSettingsNameTheirKeyAndNoSecret) {
  const std::string sasl = "security.protocol.map=CLIENT:SASL";
  const std::string users = std::string(kJaas) + "user_alice=\"hush\";";
  const std::vector<std::pair<std::string, Config>> cases = {
      {"security.protocol.map", With({"security.protocol.map=CLENT:SASL", users})},
      {"security.protocol.map", With({"security.protocol.map=CLIENT:SSL", users})},
      {"security.protocol.map", With({"security.protocol.map=CLIENT", users})},
      {"security.protocol.map", With({"security.protocol.map=CLIENT:SASL,CLIENT:SASL", users})},
      {"security.sasl.plain.jaas.config",
       With({sasl, std::string(kJaas) + "user_alice=\"" + std::string(1025, 'x') + "\";"})},
      {"security.sasl.plain.credentials",
       With({sasl, "security.sasl.plain.credentials=a:" + std::string(1025, 'x')})},
      {"security.sasl.enabled.mechanisms",
       With({sasl, users, "security.sasl.enabled.mechanisms=PLAIN,GSSAPI"})},
      {"security.sasl.plain.jaas.config", With({sasl})},
      {"security.sasl.plain.jaas.config", With({sasl, std::string(kJaas) + ";"})},
      {"security.sasl.plain.jaas.config", With({sasl, std::string(kJaas) + "alice=\"hush\";"})},
      {"security.sasl.plain.jaas.config", With({sasl, std::string(kJaas) + "user_alice=\"\";"})},
      {"security.sasl.plain.jaas.config", With({sasl, std::string(kJaas) + "user_alice=\"hush"})},
      {"security.sasl.plain.credentials", With({sasl, "security.sasl.plain.credentials=hush"})},
      {"security.sasl.plain.credentials",
       With({sasl, "security.sasl.plain.credentials=a:hush,a:b"})},
      {"security.sasl.plain.credentials", With({sasl, "security.sasl.plain.credentials=a b:hush"})},
      {"security.sasl.listener.name.client.plain.jaas.config",
       With({sasl, users, "security.sasl.listener.name.client.plain.jaas.config=user_a=hush"})},
      {"security.sasl.listener.name.other.plain.jaas.config",
       With({sasl, users, "security.sasl.listener.name.other.plain.jaas.config=hush"})},
      {"security.sasl.listener.name.client.jaas.config",
       With({sasl, users, "security.sasl.listener.name.client.jaas.config=hush"})}};
  for (const auto& [key, config] : cases) {
    const Status refused = SecurityOf(config).status();
    EXPECT_CODE(ErrorCode::kInvalidConfig, refused);
    EXPECT_THAT(refused.message(), testing::HasSubstr("key=" + key));
    EXPECT_THAT(refused.message(), testing::Not(testing::HasSubstr("hush")));
  }
  const auto too_long = ParseCredentials("a:b,c:" + std::string(1025, 'x'));
  EXPECT_THAT(too_long.status().message(),
              testing::HasSubstr("password is too long place=2 size_bytes=1025 most=1024"));
  EXPECT_FALSE(IsProtocol(std::string("SASL\0x", 6)));
}

TEST(SecurityTest, MisspeltKeysAreRefused) {
  EXPECT_CODE(ErrorCode::kInvalidConfig, Config().Set("security.sasl.plain.jass.config=x"));
}

}  // namespace
}  // namespace sluice::app
