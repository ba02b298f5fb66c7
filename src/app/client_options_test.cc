#include "app/client_options.h"

#include "base/testing.h"
#include "io/file.h"

namespace sluice::app {
namespace {

TEST(ClientOptionsTest, NobodyLogsInUnlessAsked) {
  ASSERT_OK_AND_ASSIGN(const auto plain, ClientSettingsOf({}));
  EXPECT_EQ(plain.sockets.sasl_username, "");
  ASSERT_OK_AND_ASSIGN(const auto named,
                       ClientSettingsOf({.settings = {"client.security.protocol=plaintext",
                                                      "client.security.sasl.username=alice"}}));
  EXPECT_EQ(named.sockets.sasl_username, "");
}

TEST(ClientOptionsTest, UsersComeFromFlagsKeysOrAJaasText) {
  ASSERT_OK_AND_ASSIGN(const auto flags, ClientSettingsOf({.username = "alice", .password = "w"}));
  EXPECT_EQ(flags.sockets.sasl_username, "alice");
  EXPECT_EQ(flags.sockets.sasl_password, "w");
  ASSERT_OK_AND_ASSIGN(
      const auto keys,
      ClientSettingsOf(
          {.settings = {"client.security.protocol=sasl", "client.security.sasl.mechanism=PLAIN",
                        "client.security.sasl.username=bob", "client.security.sasl.password=b"}}));
  EXPECT_EQ(keys.sockets.sasl_username, "bob");
  ASSERT_OK_AND_ASSIGN(
      const auto jaas,
      ClientSettingsOf({.settings = {"client.security.protocol=SASL",
                                     "client.security.sasl.jaas.config=x.PlainLoginModule required "
                                     "username=\"carol\" password=\"c\";"}}));
  EXPECT_EQ(jaas.sockets.sasl_username, "carol");
  EXPECT_EQ(jaas.sockets.sasl_password, "c");
}

TEST(ClientOptionsTest, AFileHoldsThemAndTheCommandLineWins) {
  TempDir folder;
  const std::string path = io::JoinPath(folder.path(), "client.yaml");
  ASSERT_OK(io::LocalFileSystem().ReplaceFile(
      path,
      "http.port: 1\nclient:\n  security:\n    protocol: SASL\n    sasl.username: alice\n"
      "    sasl.password: wonder\nclient.connect-timeout: 1s\n"));
  ASSERT_OK_AND_ASSIGN(const auto read, ClientSettingsOf({.conf = path}));
  EXPECT_EQ(read.sockets.sasl_password, "wonder");
  ASSERT_OK_AND_ASSIGN(
      const auto won,
      ClientSettingsOf({.conf = path, .settings = {"client.security.sasl.password=land"}}));
  EXPECT_EQ(won.sockets.sasl_password, "land");
}

TEST(ClientOptionsTest, TlsComesWithAndWithoutALogin) {
  const std::string trusted = "client.security.tls.ca-file=io/testdata/tls/ca.pem";
  const std::string protocol = "client.security.protocol=tls";
  ASSERT_OK_AND_ASSIGN(const auto tls, ClientSettingsOf({.settings = {protocol, trusted}}));
  EXPECT_NE(tls.tls, nullptr);
  EXPECT_EQ(tls.sockets.sasl_username, "");
  ASSERT_OK_AND_ASSIGN(
      const auto both,
      ClientSettingsOf({.settings = {protocol, trusted}, .username = "a", .password = "w"}));
  EXPECT_NE(both.tls, nullptr);
  EXPECT_EQ(both.sockets.sasl_username, "a");
  const auto absent =
      ClientSettingsOf({.settings = {protocol, "client.security.tls.ca-file=absent.pem"}});
  EXPECT_CODE(ErrorCode::kInvalidConfig, absent);
  EXPECT_THAT(absent.status().message(), testing::HasSubstr("absent.pem"));
}

TEST(ClientOptionsTest, WrongSettingsNameTheirKeyAndNoSecret) {
  const std::string sasl = "client.security.protocol=SASL";
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"client.security.protocol", {"client.security.protocol=SSL"}},
      {"client.security.protocol", {"client.security.protocol=GSSAPI"}},
      {"client.security.sasl.mechanism", {sasl, "client.security.sasl.mechanism=GSSAPI"}},
      {"client.security.sasl.username", {sasl, "client.security.sasl.password=hush"}},
      {"client.security.sasl.password", {sasl, "client.security.sasl.username=a"}},
      {"client.security.sasl.jaas.config", {sasl, "client.security.sasl.jaas.config=hush"}},
      {"client.security.sasl.pasword", {sasl, "client.security.sasl.pasword=hush"}}};
  for (const auto& [key, settings] : cases) {
    const Status refused = ClientSettingsOf({.settings = settings}).status();
    EXPECT_CODE(ErrorCode::kInvalidConfig, refused);
    EXPECT_THAT(refused.message(), testing::HasSubstr("key=" + key));
    EXPECT_THAT(refused.message(), testing::Not(testing::HasSubstr("hush")));
  }
}

}  // namespace
}  // namespace sluice::app
