#include <deque>

#include "base/bytes.h"
#include "base/testing.h"
#include "client/cluster.h"
#include "client/socket_servers.h"
#include "client/socket_transport.h"
#include "io/sim/sim_network.h"
#include "wire/frame.h"
#include "wire/proto/handshake.pb.h"
#include "wire/proto/metadata.pb.h"

namespace sluice::client {
namespace {

constexpr uint16_t kPort = 9999;

/// A server that speaks frames over a simulated network. Requests wait until Reply answers them.
class FrameServer {
 public:
  struct Request {
    std::shared_ptr<io::Connection> connection;
    wire::RequestHeader header;
    std::string body;
  };

  FrameServer(io::SimNetwork& network, io::Loop& loop) : loop_(loop) {
    listener_ = network
                    .Listen("127.0.0.1", kPort, {&loop},
                            [this](std::unique_ptr<io::Connection> connection) {
                              ++connections;
                              io::Spawn(Serve(
                                  this, std::shared_ptr<io::Connection>(std::move(connection))));
                            })
                    .ValueOrDie();
  }

  void Reply(const Request& request, std::string body) {
    io::Payload frame =
        wire::EncodeResponse(request.header.request_id, io::Payload(std::move(body)));
    io::Spawn(Write(request.connection, std::move(frame)));
  }
  void Refuse(const Request& request, const Status& why) {
    io::Spawn(Write(request.connection,
                    io::Payload(wire::EncodeErrorResponse(request.header.request_id, why))));
  }

  wire::ServerType type = wire::ServerType::kTabletServer;
  std::vector<std::string> tokens;  // Of AUTHENTICATE.
  std::deque<Request> requests;     // All but the handshake.
  int connections = 0;

 private:
  static io::Task<void> Write(std::shared_ptr<io::Connection> connection, io::Payload frame) {
    EXPECT_OK(co_await connection->Write(std::move(frame)));
  }

  static io::Task<void> Serve(FrameServer* self, std::shared_ptr<io::Connection> connection) {
    for (;;) {
      char length[4];
      if (!(co_await connection->ReadExactly(length, 4)).ok()) co_return;
      std::string frame(LoadBe<uint32_t>(length), '\0');
      if (!(co_await connection->ReadExactly(frame.data(), frame.size())).ok()) co_return;
      Request request{connection, wire::ParseRequestHeader(frame).ValueOrDie(),
                      frame.substr(wire::kRequestHeaderBytes)};
      switch (static_cast<wire::ApiKey>(request.header.api_key)) {
        case wire::ApiKey::kApiVersions:
          self->Reply(request, self->Versions());
          break;
        case wire::ApiKey::kAuthenticate:
          self->tokens.push_back(
              wire::ParseMessage<wire::AuthenticateRequest>(request.body)->token());
          self->Reply(request, "");
          break;
        default:
          self->requests.push_back(std::move(request));
      }
    }
  }

  std::string Versions() const {
    wire::ApiVersionsResponse reply;
    reply.set_server_type(static_cast<int32_t>(type));
    const auto add = [&](wire::ApiKey key, int32_t from, int32_t to) {
      auto* version = reply.add_api_versions();
      version->set_api_key(static_cast<int32_t>(key));
      version->set_min_version(from);
      version->set_max_version(to);
    };
    add(wire::ApiKey::kGetMetadata, 0, 0);
    add(wire::ApiKey::kPutKv, 0, 9);
    add(wire::ApiKey::kLookup, 5, 6);  // Too new for us.
    return wire::Serialize(reply);
  }

  io::Loop& loop_;
  std::unique_ptr<io::Listener> listener_;
};

class SocketTest : public testing::Test {
 protected:
  SocketTest()
      : world_(3),
        loop_(world_.NewLoop()),
        other_(world_.NewLoop()),
        network_(world_),
        server_(network_, world_.NewLoop()) {}

  void TearDown() override {
    if (servers_ != nullptr) servers_->Close();
    world_.RunUntilIdle();
  }

  void Open(SocketOptions options = {}) {
    options.bootstrap_servers = "127.0.0.1:" + std::to_string(kPort);
    servers_ = SocketServers::Make(network_, {&loop_}, options).ValueOrDie();
  }

  template <typename T>
  T Wait(io::Task<T> task) {
    return io::SyncWait(other_, std::move(task));
  }

  /// Start a call from the loop that is not the socket's; its outcome goes to `out`.
  static io::Task<void> Call(ServerPtr server, io::Loop& loop, std::string body,
                             std::vector<std::string>* out) {
    const Result<std::string> reply =
        co_await server->Send(loop, wire::ApiKey::kPutKv, std::move(body));
    out->push_back(reply.ok() ? *reply : std::string(NameOf(CodeOf(reply.status()))));
  }
  void Start(const ServerPtr& server, std::string body, std::vector<std::string>* out) {
    other_.Post([this, server, body = std::move(body), out] {
      io::Spawn(Call(server, other_, body, out));
    });
  }

  io::SimWorld world_;
  io::Loop& loop_;
  io::Loop& other_;
  io::SimNetwork network_;
  FrameServer server_;
  std::shared_ptr<SocketServers> servers_;
};

TEST_F(SocketTest, ChoosesTheNewestVersionThatBothKnow) {
  Open();
  ASSERT_OK_AND_ASSIGN(const ServerPtr server, Wait(servers_->Bootstrap(other_, 0)));
  EXPECT_EQ(server->VersionOf(wire::ApiKey::kPutKv),
            wire::FindApi(static_cast<int16_t>(wire::ApiKey::kPutKv))->max_version);
  EXPECT_EQ(server->VersionOf(wire::ApiKey::kLookup), -1);
  EXPECT_CODE(ErrorCode::kUnsupportedVersion,
              Wait(server->Send(other_, wire::ApiKey::kLookup, "")));
  EXPECT_TRUE(server_.requests.empty());
}

TEST_F(SocketTest, MatchesRepliesByRequestIdAndSendsInOrder) {
  Open();
  ASSERT_OK_AND_ASSIGN(const ServerPtr server, Wait(servers_->Bootstrap(other_, 0)));
  std::vector<std::string> replies;
  for (int i = 0; i < 20; ++i) Start(server, std::to_string(i), &replies);
  world_.RunUntil([&] { return server_.requests.size() == 20; });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(server_.requests[i].body, std::to_string(i));
  for (int i = 19; i >= 0; --i)
    server_.Reply(server_.requests[i], "reply " + server_.requests[i].body);
  world_.RunUntil([&] { return replies.size() == 20; });
  EXPECT_EQ(replies.front(), "reply 19");
  EXPECT_EQ(replies.back(), "reply 0");
}

TEST_F(SocketTest, ErrorFramesBecomeCodes) {
  Open();
  ASSERT_OK_AND_ASSIGN(const ServerPtr server, Wait(servers_->Bootstrap(other_, 0)));
  std::vector<std::string> replies;
  Start(server, "x", &replies);
  world_.RunUntil([&] { return server_.requests.size() == 1; });
  server_.Refuse(server_.requests[0], Error(ErrorCode::kAuthorization, "not you"));
  world_.RunUntil([&] { return replies.size() == 1; });
  EXPECT_EQ(replies[0], "AUTHORIZATION");
}

TEST_F(SocketTest, ABrokenConnectionFailsWhatIsUnderWayAndIsMadeAgain) {
  Open();
  ASSERT_OK_AND_ASSIGN(const ServerPtr server, Wait(servers_->Bootstrap(other_, 0)));
  std::vector<std::string> replies;
  Start(server, "a", &replies);
  Start(server, "b", &replies);
  world_.RunUntil([&] { return server_.requests.size() == 2; });
  network_.BreakConnections();
  world_.RunUntil([&] { return replies.size() == 2; });
  EXPECT_EQ(replies, (std::vector<std::string>{"NETWORK", "NETWORK"}));
  EXPECT_CODE(ErrorCode::kNetwork, Wait(server->Send(other_, wire::ApiKey::kPutKv, "")));
  ASSERT_OK_AND_ASSIGN(const ServerPtr again, Wait(servers_->Bootstrap(other_, 0)));
  EXPECT_NE(again, server);
  EXPECT_EQ(server_.connections, 2);
}

TEST(SocketServersTest, AddressesOfIpv6HaveBrackets) {
  const auto loops = io::LoopThreads::Start("test", 1);
  SocketOptions options;
  options.bootstrap_servers = "[::1]:1";
  const auto servers =
      SocketServers::Make(io::SystemNetwork(), {&loops->at(0)}, options).ValueOrDie();
  const auto nobody = io::SyncWait(loops->at(0), servers->Bootstrap(loops->at(0), 0));
  EXPECT_CODE(ErrorCode::kNetwork, nobody);
  EXPECT_THAT(nobody.status().message(), testing::HasSubstr("address=[::1]:1 "));
  servers->Close();
}

TEST_F(SocketTest, CallsWithoutReplyTimeOut) {
  SocketOptions options;
  options.request_timeout = std::chrono::milliseconds(500);
  Open(options);
  ASSERT_OK_AND_ASSIGN(const ServerPtr server, Wait(servers_->Bootstrap(other_, 0)));
  std::vector<std::string> replies;
  Start(server, "a", &replies);
  world_.RunUntil([&] { return replies.size() == 1; });
  EXPECT_EQ(replies[0], "REQUEST_TIME_OUT");
  // A reply that comes late disturbs nobody.
  server_.Reply(server_.requests[0], "late");
  Start(server, "b", &replies);
  world_.RunUntil([&] { return server_.requests.size() == 2; });
  server_.Reply(server_.requests[1], "in time");
  world_.RunUntil([&] { return replies.size() == 2; });
  EXPECT_EQ(replies[1], "in time");
}

TEST_F(SocketTest, OneConnectionServesAllWhoAskAtOnce) {
  Open();
  std::vector<ServerPtr> found;
  const auto ask = [](SocketServers* servers, io::Loop& loop,
                      std::vector<ServerPtr>* out) -> io::Task<void> {
    out->push_back((co_await servers->Bootstrap(loop, 0)).ValueOrDie());
  };
  for (int i = 0; i < 5; ++i) other_.Post([&] { io::Spawn(ask(servers_.get(), other_, &found)); });
  world_.RunUntil([&] { return found.size() == 5; });
  EXPECT_EQ(server_.connections, 1);
}

TEST_F(SocketTest, SendsThePlainToken) {
  SocketOptions options;
  options.sasl_username = "ann";
  options.sasl_password = "secret";
  Open(options);
  ASSERT_OK(Wait(servers_->Bootstrap(other_, 0)).status());
  EXPECT_EQ(server_.tokens, std::vector<std::string>{std::string("\0ann\0secret", 11)});
}

TEST_F(SocketTest, RefusesAServerOfTheOtherKind) {
  Open();
  ServerNode node{0, "127.0.0.1", kPort};
  ASSERT_OK(Wait(servers_->At(other_, node, wire::ServerType::kTabletServer)).status());
  EXPECT_CODE(ErrorCode::kNetwork,
              Wait(servers_->At(other_, node, wire::ServerType::kCoordinator)));
}

TEST_F(SocketTest, NobodyThereIsANetworkError) {
  SocketOptions options;
  options.bootstrap_servers = "127.0.0.1:1";
  servers_ = SocketServers::Make(network_, {&loop_}, options).ValueOrDie();
  EXPECT_CODE(ErrorCode::kNetwork, Wait(servers_->Bootstrap(other_, 0)));
  for (const std::string bad : {"", "host", "host:", ":1", "host:0", "host:x", "host:70000"}) {
    SCOPED_TRACE(bad);
    options.bootstrap_servers = bad;
    EXPECT_CODE(ErrorCode::kInvalidConfig, SocketServers::Make(network_, {&loop_}, options));
  }
}

}  // namespace
}  // namespace sluice::client
