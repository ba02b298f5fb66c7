#include "server/login.h"

#include "server/connection_testing.h"

namespace sluice::server {
namespace {

using std::chrono::milliseconds;

std::string Token(std::string_view identity, std::string_view user, std::string_view password) {
  return std::string(identity) + '\0' + std::string(user) + '\0' + std::string(password);
}

TEST(PlainUsersTest, TheRightPasswordLetsIn) {
  const PlainUsers users(PlainUsers::Passwords{{"alice", "wonder"}, {"bob", "builder"}});
  ASSERT_OK_AND_ASSIGN(const std::string alice, users.Login(Token("", "alice", "wonder")));
  EXPECT_EQ(alice, "alice");
  EXPECT_OK(users.Login(Token("bob", "bob", "builder")));
}

TEST(PlainUsersTest, AllElseIsRefusedInTheSameWords) {
  const PlainUsers users(
      PlainUsers::Passwords{{"alice", "wonder"}, {"bob", "builder"}, {"empty", ""}});
  const std::string refusal = users.Login("").status().message();
  const std::vector<std::string> tokens = {Token("", "alice", "builder"),
                                           Token("", "alice", "wonde"),
                                           Token("", "alice", "wonderw"),
                                           Token("", "alice", "wonderwonder"),
                                           Token("", "alice", ""),
                                           Token("", "empty", ""),
                                           Token("", "", "wonder"),
                                           Token("", "carol", "wonder"),
                                           Token("bob", "alice", "wonder"),
                                           Token("", "alice", "wonder") + '\0',
                                           "alice",
                                           std::string("alice\0wonder", 12),
                                           std::string(3, '\0')};
  for (const std::string& token : tokens) {
    const Status refused = users.Login(token).status();
    EXPECT_CODE(ErrorCode::kAuthenticate, refused);
    EXPECT_EQ(refused.message(), refusal);
  }
}

TEST(PlainUsersTest, LaterPasswordsReplaceEarlierOnes) {
  PlainUsers users(PlainUsers::Passwords{{"alice", "wonder"}});
  users.Set({{"alice", "land"}, {"bob", "builder"}});
  EXPECT_CODE(ErrorCode::kAuthenticate, users.Login(Token("", "alice", "wonder")));
  EXPECT_OK(users.Login(Token("", "alice", "land")));
  EXPECT_OK(users.Login(Token("", "bob", "builder")));
}

TEST(PlainUsersTest, LongPasswordsLetNobodyIn) {
  const std::string longest(PlainUsers::kPasswordBytesMax, 'x');
  const PlainUsers users(PlainUsers::Passwords{{"alice", longest}, {"bob", longest + 'x'}});
  EXPECT_OK(users.Login(Token("", "alice", longest)));
  EXPECT_CODE(ErrorCode::kAuthenticate, users.Login(Token("", "bob", longest + 'x')));
}

TEST(LoginWarningsTest, TheFirstComesAtOnceAndThenOneASecondWithTheCount) {
  LoginWarnings warnings;
  EXPECT_EQ(warnings.Take(milliseconds(5000)), 1u);
  EXPECT_EQ(warnings.Take(milliseconds(5000)), 0u);
  EXPECT_EQ(warnings.Take(milliseconds(5999)), 0u);
  EXPECT_EQ(warnings.Take(milliseconds(6000)), 3u);
  EXPECT_EQ(warnings.Take(milliseconds(6500)), 0u);
  EXPECT_EQ(warnings.Take(milliseconds(7500)), 2u);
  EXPECT_EQ(warnings.Take(milliseconds(9000)), 1u);
}

ConnectionSettings WithLogin() {
  ConnectionSettings settings;
  settings.users = std::make_shared<const PlainUsers>(PlainUsers::Passwords{{"alice", "wonder"}});
  return settings;
}

std::string LoginRequest(int32_t id, const std::string& user, const std::string& password,
                         const std::string& mechanism = "PLAIN") {
  wire::AuthenticateRequest request;
  request.set_protocol(mechanism);
  request.set_token(std::string(1, '\0') + user + std::string(1, '\0') + password);
  return Request(id, wire::Serialize(request), 1038);
}

TEST(LoginConnectionTest, WhatFollowsTheLoginIsAnsweredAndNothingBefore) {
  ServedWorld served(WithLogin());
  const auto connection = served.Connect();
  const std::string frames = Request(1, "early") + LoginRequest(2, "alice", "wonder") +
                             Request(3, "ok") + LoginRequest(4, "", "");
  ASSERT_OK(io::SyncWait(served.client, Write(*connection, frames)));
  std::map<int32_t, Result<std::string>> answers;
  for (int i = 0; i < 4; ++i) {
    wire::Response response = Next(served, *connection);
    answers.emplace(response.request_id, std::move(response.body));
  }
  EXPECT_CODE(ErrorCode::kAuthenticate, answers.at(1));
  ASSERT_OK(answers.at(2));
  const auto login = wire::ParseMessage<wire::AuthenticateResponse>(*answers.at(2));
  ASSERT_OK(login);
  EXPECT_TRUE(login->has_challenge() && login->challenge().empty());
  EXPECT_OK(answers.at(3));
  ASSERT_OK(answers.at(4));  // A login after the login, as the Rust client sends it.
  EXPECT_EQ(*answers.at(4), "");
  EXPECT_EQ(served.echo.started, std::vector<std::string>{"ok"});
  EXPECT_EQ(served.echo.last_principal->name, "alice");
  EXPECT_EQ(served.listener->counters().failed_logins, 0);
}

TEST(LoginConnectionTest, TheHandshakeComesBeforeTheLogin) {
  ServedWorld served(WithLogin());
  const auto connection = served.Connect();
  wire::ApiVersionsRequest handshake;
  handshake.set_client_software_name("fluss-rust");
  handshake.set_client_software_version("1.0.0");
  ASSERT_OK(io::SyncWait(served.client,
                         Write(*connection, Request(0, wire::Serialize(handshake), 1000))));
  EXPECT_OK(Next(served, *connection).body);
  ASSERT_OK(io::SyncWait(served.client, Write(*connection, LoginRequest(1, "alice", "wonder"))));
  EXPECT_OK(Next(served, *connection).body);
  ASSERT_OK(io::SyncWait(served.client, Write(*connection, Request(2, "ok"))));
  EXPECT_OK(Next(served, *connection).body);
  EXPECT_EQ(served.echo.last_principal->client_name, "fluss-rust");
  EXPECT_EQ(served.echo.last_principal->name, "alice");
}

TEST(LoginConnectionTest, AFailedLoginIsCountedSaysNothingAndIsTheEnd) {
  ServedWorld served(WithLogin());
  std::string wrong_user, wrong_password;
  for (auto& [user, message] : {std::pair{"mallory", &wrong_user}, {"alice", &wrong_password}}) {
    const auto connection = served.Connect();
    const std::string frames = LoginRequest(1, user, "guess") + Request(2, "after");
    ASSERT_OK(io::SyncWait(served.client, Write(*connection, frames)));
    const wire::Response refused = Next(served, *connection);
    EXPECT_EQ(refused.request_id, 1);
    EXPECT_CODE(ErrorCode::kAuthenticate, refused.body);
    *message = refused.body.status().message();
    EXPECT_TRUE(AtEnd(served, *connection));
  }
  EXPECT_EQ(wrong_user, wrong_password);
  EXPECT_THAT(wrong_user, testing::Not(testing::HasSubstr("guess")));
  EXPECT_EQ(served.listener->counters().failed_logins, 2);
  EXPECT_EQ(served.listener->counters().refused_frames, 0);
  EXPECT_TRUE(served.echo.started.empty());
}

TEST(LoginConnectionTest, AnotherMechanismIsRefused) {
  ServedWorld served(WithLogin());
  for (const std::string& mechanism : {std::string("GSSAPI"), std::string("PLAIN\0x", 7)}) {
    const auto connection = served.Connect();
    ASSERT_OK(io::SyncWait(served.client,
                           Write(*connection, LoginRequest(1, "alice", "wonder", mechanism))));
    EXPECT_CODE(ErrorCode::kAuthenticate, Next(served, *connection).body);
    EXPECT_TRUE(AtEnd(served, *connection));
  }
  const auto connection = served.Connect();
  ASSERT_OK(
      io::SyncWait(served.client, Write(*connection, LoginRequest(1, "alice", "wonder", "Plain"))));
  EXPECT_OK(Next(served, *connection).body);
}

TEST(LoginConnectionTest, WhoIsNotInHasLittleRoomAndLittleTime) {
  ServedWorld served(WithLogin());
  const auto large = served.Connect();
  ASSERT_OK(io::SyncWait(served.client,
                         Write(*large, LoginRequest(1, "alice", std::string(9'000, 'x')))));
  EXPECT_CODE(ErrorCode::kRecordTooLarge, Next(served, *large).body);
  EXPECT_TRUE(AtEnd(served, *large));
  const auto silent = served.Connect();
  const auto in_time = served.Connect();
  ASSERT_OK(io::SyncWait(served.client, Write(*in_time, LoginRequest(1, "alice", "wonder"))));
  EXPECT_OK(Next(served, *in_time).body);
  served.world.RunFor(milliseconds(31'000));
  EXPECT_TRUE(AtEnd(served, *silent));
  const std::string frame = Request(2, std::string(100'000, 'x'));
  ASSERT_OK(io::SyncWait(served.client, Write(*in_time, frame)));
  EXPECT_OK(Next(served, *in_time).body);
}

// Nobody reads the answers, so that they would fill the memory of the server.
TEST(LoginConnectionTest, WhoIsNotInAndTakesNoAnswersIsReadNoFurther) {
  constexpr int kCalls = 1000;
  ServedWorld served(WithLogin());
  const auto deaf = served.Connect();
  std::string frames;
  for (int i = 0; i < kCalls; ++i) frames += Request(i, std::string(8000, 'x'), 1000);
  served.client.Post([&] {
    io::Spawn([](io::Connection& to, std::string bytes) -> io::Task<void> {
      (void)co_await Write(to, std::move(bytes));  // It ends with the connection.
    }(*deaf, frames));
  });
  served.world.RunFor(milliseconds(1000));
  EXPECT_FALSE(served.echo.started.empty());
  EXPECT_LT(served.echo.started.size(), kCalls / 5);
}

}  // namespace
}  // namespace sluice::server
