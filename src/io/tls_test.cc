#include "io/tls.h"

#include "base/testing.h"
#include "io/sim/sim_network.h"
#include "io/sim/sim_world.h"
#include "io/tls_network.h"

namespace sluice::io {
namespace {

const std::string kFolder = "io/testdata/tls/";

TlsFiles Files(const std::string& certificate, const std::string& trusted = "") {
  TlsFiles files;
  if (!certificate.empty())
    files = {kFolder + certificate + ".pem", kFolder + certificate + "_key.pem", ""};
  if (!trusted.empty()) files.trusted = kFolder + trusted + ".pem";
  return files;
}

std::shared_ptr<Tls> Open(Tls::End end, TlsFiles files) {
  return Tls::Open(end, LocalFileSystem(), std::move(files)).ValueOrDie();
}

TEST(TlsTest, FilesThatDoNotFitAreNamed) {
  const TlsFiles absent{kFolder + "absent.pem", kFolder + "server_key.pem", ""};
  const TlsFiles no_certificate{kFolder + "server_key.pem", kFolder + "server_key.pem", ""};
  const TlsFiles other_key{kFolder + "server.pem", kFolder + "client_key.pem", ""};
  const TlsFiles locked{kFolder + "server.pem", kFolder + "server_key_locked.pem", ""};
  const TlsFiles no_key{kFolder + "server.pem", "", ""};
  const TlsFiles no_trusted{kFolder + "server.pem", kFolder + "server_key.pem",
                            kFolder + "server_key.pem"};
  const std::vector<std::pair<std::string, TlsFiles>> cases = {
      {"absent.pem", absent},        {"server_key.pem", no_certificate},
      {"client_key.pem", other_key}, {"server_key_locked.pem", locked},
      {"private key", no_key},       {"server_key.pem", no_trusted}};
  for (const auto& [name, files] : cases) {
    const auto opened = Tls::Open(Tls::End::kServer, LocalFileSystem(), files);
    EXPECT_CODE(ErrorCode::kInvalidConfig, opened);
    EXPECT_THAT(opened.status().message(), testing::HasSubstr(name));
  }
}

// One line there and back in a simulated world, between two ends with these files.
class TlsPair {
 public:
  TlsPair(std::shared_ptr<Tls> server, std::shared_ptr<Tls> client)
      : server_network_(network_, std::move(server)), client_network_(network_, std::move(client)) {
    listener_ = server_network_
                    .Listen("127.0.0.1", 0, {&server_loop_},
                            [this](std::unique_ptr<Connection> connection) {
                              Spawn(Answer(std::move(connection), &server_status));
                            })
                    .ValueOrDie();
  }
  ~TlsPair() {
    network_.BreakConnections();
    world.RunUntilIdle();
  }

  Status Ask(const std::string& host = "127.0.0.1") {
    const Status asked = SyncWait(loop, AskAt(client_network_, loop, host, port()));
    world.RunFor(std::chrono::milliseconds(100));
    return asked;
  }
  uint16_t port() const { return listener_->port(); }

  SimWorld world{7};
  Loop& loop = world.NewLoop();
  Status server_status;  // Of the last connection.

  static Task<Status> AskAt(Network& network, Loop& loop, std::string host, uint16_t port) {
    CO_ASSIGN_OR_RETURN(const auto connection, co_await network.Connect(loop, host, port));
    Payload question("ping");
    CO_RETURN_NOT_OK(co_await connection->Write(std::move(question)));
    char answer[4];
    CO_RETURN_NOT_OK(co_await connection->ReadExactly(answer, sizeof(answer)));
    co_return std::string(answer, sizeof(answer)) == "pong" ? Status::OK()
                                                            : Status::Invalid("another answer");
  }
  SimNetwork& network() { return network_; }

 private:
  static Task<void> Answer(std::unique_ptr<Connection> connection, Status* status) {
    char question[4];
    *status = co_await connection->ReadExactly(question, sizeof(question));
    if (!status->ok()) co_return;
    Payload answer("pong");
    *status = co_await connection->Write(std::move(answer));
  }

  SimNetwork network_{world};
  Loop& server_loop_ = world.NewLoop();
  TlsNetwork server_network_, client_network_;
  std::unique_ptr<Listener> listener_;
};

TEST(TlsTest, ServersAreCheckedByNameAndByAddress) {
  TlsPair good(Open(Tls::End::kServer, Files("server")), Open(Tls::End::kClient, Files("", "ca")));
  EXPECT_OK(good.Ask());
  EXPECT_OK(good.Ask("localhost"));
  const Status other_name = good.Ask("elsewhere.test");
  EXPECT_CODE(ErrorCode::kNetwork, other_name);
  EXPECT_THAT(other_name.message(), testing::HasSubstr("mismatch"));
  TlsPair elsewhere(Open(Tls::End::kServer, Files("elsewhere")),
                    Open(Tls::End::kClient, Files("", "ca")));
  EXPECT_CODE(ErrorCode::kNetwork, elsewhere.Ask());
}

TEST(TlsTest, ServersOfUnknownSignersAreRefused) {
  TlsPair stranger(Open(Tls::End::kServer, Files("stranger")),
                   Open(Tls::End::kClient, Files("", "ca")));
  EXPECT_CODE(ErrorCode::kNetwork, stranger.Ask());
  EXPECT_CODE(ErrorCode::kNetwork, stranger.server_status);
  TlsPair system(Open(Tls::End::kServer, Files("server")), Open(Tls::End::kClient, {}));
  EXPECT_CODE(ErrorCode::kNetwork, system.Ask());
}

TEST(TlsTest, ClientsShowACertificateWhereServersAskForOne) {
  const auto server = Open(Tls::End::kServer, Files("server", "ca"));
  TlsPair known(server, Open(Tls::End::kClient, Files("client", "ca")));
  EXPECT_OK(known.Ask());
  TlsPair without(server, Open(Tls::End::kClient, Files("", "ca")));
  EXPECT_CODE(ErrorCode::kNetwork, without.Ask());
  EXPECT_CODE(ErrorCode::kNetwork, without.server_status);
  TlsPair stranger(server, Open(Tls::End::kClient, Files("stranger", "ca")));
  EXPECT_CODE(ErrorCode::kNetwork, stranger.Ask());
  EXPECT_CODE(ErrorCode::kNetwork, stranger.server_status);
}

TEST(TlsTest, WhoSpeaksNoTlsIsRefused) {
  TlsPair pair(Open(Tls::End::kServer, Files("server")), Open(Tls::End::kClient, Files("", "ca")));
  EXPECT_CODE(ErrorCode::kNetwork, SyncWait(pair.loop, TlsPair::AskAt(pair.network(), pair.loop,
                                                                      "127.0.0.1", pair.port())));
  EXPECT_CODE(ErrorCode::kNetwork, pair.server_status);
}

TEST(TlsTest, AHandshakeThatDoesNotComeEnds) {
  TlsPair pair(Open(Tls::End::kServer, Files("server")), Open(Tls::End::kClient, Files("", "ca")));
  const auto silent =
      SyncWait(pair.loop, pair.network().Connect(pair.loop, "127.0.0.1", pair.port()));
  ASSERT_OK(silent);
  pair.world.RunFor(std::chrono::milliseconds(9'000));
  EXPECT_OK(pair.server_status);
  pair.world.RunFor(std::chrono::milliseconds(2'000));
  EXPECT_CODE(ErrorCode::kNetwork, pair.server_status);
  EXPECT_THAT(pair.server_status.message(), testing::HasSubstr("too long"));
}

TEST(TlsTest, ChangedFilesHoldForTheNextConnection) {
  TempDir folder;
  const auto copy = [&](const std::string& from, const std::string& to) {
    const auto bytes = LocalFileSystem().ReadFile(kFolder + from);
    ASSERT_OK(bytes);
    ASSERT_OK(LocalFileSystem().ReplaceFile(JoinPath(folder.path(), to), *bytes));
  };
  copy("stranger.pem", "cert");
  copy("stranger_key.pem", "key");
  const TlsFiles files{JoinPath(folder.path(), "cert"), JoinPath(folder.path(), "key"), ""};
  const auto server = Open(Tls::End::kServer, files);
  TlsPair pair(server, Open(Tls::End::kClient, Files("", "ca")));
  EXPECT_CODE(ErrorCode::kNetwork, pair.Ask());
  copy("server.pem", "cert");  // Only half of the change is there yet.
  EXPECT_CODE(ErrorCode::kInvalidConfig, server->Reload());
  EXPECT_CODE(ErrorCode::kNetwork, pair.Ask());
  copy("server_key.pem", "key");
  ASSERT_OK_AND_ASSIGN(const bool changed, server->Reload());
  EXPECT_TRUE(changed);
  EXPECT_OK(pair.Ask());
  ASSERT_OK_AND_ASSIGN(const bool again, server->Reload());
  EXPECT_FALSE(again);
}

}  // namespace
}  // namespace sluice::io
