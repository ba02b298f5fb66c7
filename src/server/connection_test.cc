#include "server/connection.h"

#include "server/connection_testing.h"
#include "server/dispatcher.h"
#include "server/local_transport.h"

namespace sluice::server {
namespace {

using std::chrono::milliseconds;

TEST(ConnectionTest, CallsStartInOrderAndAreAnsweredAsTheyEnd) {
  ServedWorld served;
  const auto connection = served.Connect();
  const std::vector<std::string> bodies{"30:slow", "20:middle", "10:fast"};
  std::string frames;
  for (int i = 0; i < 3; ++i) frames += Request(i, bodies[i]);
  ASSERT_OK(io::SyncWait(served.client, Write(*connection, frames)));
  std::vector<int32_t> answered;
  for (int i = 0; i < 3; ++i) {
    const wire::Response response = Next(served, *connection);
    ASSERT_OK_AND_ASSIGN(const std::string body, response.body);
    EXPECT_EQ(body, "echo " + bodies[response.request_id]);
    answered.push_back(response.request_id);
  }
  EXPECT_EQ(served.echo.started, bodies);
  EXPECT_EQ(answered, (std::vector<int32_t>{2, 1, 0}));
}

TEST(ConnectionTest, ConnectionsWaitFromBindToServe) {
  ServedWorld served({}, 1 << 20, 1, /*serve=*/false);
  const auto connection = served.Connect();
  ASSERT_OK(io::SyncWait(served.client, Write(*connection, Request(1, "early"))));
  served.world.RunUntilIdle();
  EXPECT_TRUE(served.echo.started.empty());
  served.listener->Serve(served.echo);
  ASSERT_OK_AND_ASSIGN(const std::string body, Next(served, *connection).body);
  EXPECT_EQ(body, "echo early");
}

TEST(ConnectionTest, WhatWaitedForAServiceThatNeverCameEnds) {
  ServedWorld served({}, 1 << 20, 1, /*serve=*/false);
  const auto connection = served.Connect();
  served.world.RunUntilIdle();
  served.Stop();
  EXPECT_TRUE(AtEnd(served, *connection));
}

TEST(ConnectionTest, AFailedCallGivesAnErrorReplyAndTheConnectionGoesOn) {
  ServedWorld served;
  const auto connection = served.Connect();
  ASSERT_OK(io::SyncWait(served.client, Write(*connection, Request(7, "fail") + Request(8, "ok"))));
  const wire::Response failed = Next(served, *connection);
  const wire::Response answered = Next(served, *connection);
  const bool in_order = failed.request_id == 7;
  EXPECT_CODE(ErrorCode::kTableNotExist, (in_order ? failed : answered).body);
  EXPECT_OK((in_order ? answered : failed).body);
}

TEST(ConnectionTest, ManyLargeRequestsComeBackWhole) {
  ServedWorld served({}, /*budget_bytes=*/300'000);
  const auto connection = served.Connect();
  std::string frames;
  for (int i = 0; i < 20; ++i)
    frames += Request(i, std::to_string(i % 3) + ":" + std::string(100'000, 'a' + i));
  io::Completion<bool> written(served.client);
  served.client.Post([&] {
    io::Spawn(
        [](io::Connection& to, std::string bytes, io::Completion<bool> done) -> io::Task<void> {
          const Status status = co_await Write(to, std::move(bytes));
          done.Set(status.ok());
        }(*connection, frames, written));
  });
  for (int i = 0; i < 20; ++i) {
    const wire::Response response = Next(served, *connection);
    ASSERT_OK_AND_ASSIGN(const std::string body, response.body);
    EXPECT_EQ(body.size(), 100'007u);
    EXPECT_EQ(body.back(), 'a' + response.request_id);
  }
  EXPECT_EQ(served.budget.used_bytes(), 0u);
}

TEST(ConnectionTest, ReadingStopsWhenTheBudgetIsUsedUp) {
  ServedWorld served({}, /*budget_bytes=*/1000);
  const auto first = served.Connect();
  const auto second = served.Connect();
  ASSERT_OK(
      io::SyncWait(served.client, Write(*first, Request(1, "1000:" + std::string(900, 'x')))));
  ASSERT_OK(io::SyncWait(served.client, Write(*second, Request(2, "0:" + std::string(900, 'x')))));
  served.world.RunFor(milliseconds(500));
  EXPECT_EQ(served.echo.started.size(), 1u);
  EXPECT_EQ(served.budget.waiting(), 1u);
  EXPECT_EQ(Next(served, *first).request_id, 1);
  EXPECT_EQ(Next(served, *second).request_id, 2);
}

TEST(ConnectionTest, ARequestLargerThanTheBudgetRunsAlone) {
  ServedWorld served({}, /*budget_bytes=*/1000);
  const auto connection = served.Connect();
  ASSERT_OK(
      io::SyncWait(served.client, Write(*connection, Request(1, "0:" + std::string(5000, 'x')))));
  EXPECT_EQ(Next(served, *connection).request_id, 1);
}

TEST(ConnectionTest, NoMoreThanTheAgreedNumberOfRequestsRun) {
  ServedWorld served({.requests_max = 3});
  const auto connection = served.Connect();
  std::string frames;
  for (int i = 0; i < 10; ++i) frames += Request(i, "100");
  ASSERT_OK(io::SyncWait(served.client, Write(*connection, frames)));
  served.world.RunFor(milliseconds(50));
  EXPECT_EQ(served.echo.started.size(), 3u);
  for (int i = 0; i < 10; ++i) (void)Next(served, *connection);
  EXPECT_EQ(served.echo.started.size(), 10u);
}

TEST(ConnectionTest, AnOversizeRequestGetsAnErrorReplyThenTheEnd) {
  ServedWorld served({.request_bytes_max = 1000});
  const auto connection = served.Connect();
  ASSERT_OK(io::SyncWait(served.client, Write(*connection, Request(42, std::string(2000, 'x')))));
  const wire::Response response = Next(served, *connection);
  EXPECT_EQ(response.request_id, 42);
  EXPECT_CODE(ErrorCode::kRecordTooLarge, response.body);
  EXPECT_TRUE(AtEnd(served, *connection));
  EXPECT_EQ(served.listener->counters().refused_frames, 1);
  EXPECT_TRUE(served.echo.started.empty());
}

// Parsed, a request of small parts takes many times its bytes; rows are read where they lie.
TEST(ConnectionTest, ARequestWithoutRowsHasABoundOfItsOwn) {
  const auto head = [](wire::ApiKey key) {
    std::string frame = wire::EncodeRequest({static_cast<int16_t>(key), 0, 42}, "");
    StoreBe(frame.data(), static_cast<int32_t>(wire::kPlainRequestBytesMax + 1));
    return frame;
  };
  for (const auto key : {wire::ApiKey::kListOffsets, wire::ApiKey::kLookup}) {
    ServedWorld served({}, 100 << 20);
    const auto connection = served.Connect();
    ASSERT_OK(io::SyncWait(served.client, Write(*connection, head(key))));
    EXPECT_CODE(ErrorCode::kRecordTooLarge, Next(served, *connection).body);
  }
  for (const auto key : {wire::ApiKey::kProduceLog, wire::ApiKey::kPutKv}) {
    ServedWorld served({}, 100 << 20);
    const auto connection = served.Connect();
    ASSERT_OK(io::SyncWait(served.client, Write(*connection, head(key))));
    served.world.RunFor(milliseconds(50));
    EXPECT_EQ(served.listener->counters().refused_frames, 0);  // It waits for the body.
  }
}

TEST(ConnectionTest, ALengthTooShortForAHeaderEndsTheConnection) {
  for (const int32_t length : {0, 3, 7, -1, INT32_MIN}) {
    ServedWorld served;
    const auto connection = served.Connect();
    std::string bytes;
    AppendBe(&bytes, length);
    ASSERT_OK(io::SyncWait(served.client, Write(*connection, bytes)));
    EXPECT_TRUE(AtEnd(served, *connection));
  }
}

TEST(ConnectionTest, RandomBytesNeverHurtTheServer) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    ServedWorld served({.request_bytes_max = 5000, .idle_max = milliseconds(2000)}, 10'000, seed);
    io::SeededRandom random(seed);
    const auto connection = served.Connect();
    std::string bytes;
    for (int i = 0; i < 5; ++i) {
      std::string frame = Request(i, std::string(random.Below(200), 'x'));
      frame[random.Below(frame.size())] = static_cast<char>(random.Next());
      bytes += frame.substr(0, random.Below(4) == 0 ? random.Below(frame.size()) : frame.size());
    }
    ASSERT_OK(io::SyncWait(served.client, Write(*connection, bytes)));
    if (random.Below(2) == 0) connection->Close();
    served.world.RunFor(milliseconds(5000));
    const auto another = served.Connect();
    ASSERT_OK(io::SyncWait(served.client, Write(*another, Request(5, "ok"))));
    EXPECT_EQ(Next(served, *another).request_id, 5);
    EXPECT_EQ(served.budget.used_bytes(), 0u) << seed;
  }
}

TEST(ConnectionTest, AnIdleConnectionIsClosedAndABusyOneIsNot) {
  ServedWorld served({.idle_max = milliseconds(1000)});
  const auto idle = served.Connect();
  const auto busy = served.Connect();
  for (int i = 0; i < 5; ++i) {
    served.world.RunFor(milliseconds(600));
    ASSERT_OK(io::SyncWait(served.client, Write(*busy, Request(i, "ok"))));
    EXPECT_EQ(Next(served, *busy).request_id, i);
  }
  EXPECT_TRUE(AtEnd(served, *idle));
  EXPECT_EQ(served.listener->counters().open, 1);
}

// Nobody takes the answer, which is larger than what the network holds by itself.
TEST(ConnectionTest, AnswersThatAreNotTakenHoldNoBudgetAndEndTheConnection) {
  constexpr size_t kBytes = 4 << 20;
  ServedWorld served({.answers_behind_max = milliseconds(5000)}, /*budget_bytes=*/kBytes + 100);
  const auto deaf = served.Connect();
  ASSERT_OK(io::SyncWait(served.client, Write(*deaf, Request(1, "0:" + std::string(kBytes, 'x')))));
  served.world.RunFor(milliseconds(1000));
  EXPECT_EQ(served.budget.used_bytes(), 0u);
  const auto patient = served.Connect();
  ASSERT_OK(
      io::SyncWait(served.client, Write(*patient, Request(2, "0:" + std::string(kBytes, 'x')))));
  EXPECT_EQ(Next(served, *patient).request_id, 2);
  served.world.RunFor(milliseconds(5000 + 1000 * kBytes / ServedConnection::kAnswerPace));
  EXPECT_EQ(served.listener->counters().answers_not_taken, 1);
  EXPECT_EQ(served.listener->counters().open, 1);
  EXPECT_TRUE(AtEnd(served, *deaf));
}

// Piece by piece, each as late as `pause_ms` after the one before; whether the body was served.
bool ServesABodyWithPauses(int64_t pause_ms) {
  ServedWorld served({.body_behind_max = milliseconds(1000)}, /*budget_bytes=*/100 << 20);
  const auto connection = served.Connect();
  const size_t piece_bytes = ServedConnection::kBodyPace;
  const std::string frame = Request(1, "0:" + std::string(8 * piece_bytes, 'x'));
  for (size_t at = 0; at < frame.size(); at += piece_bytes) {
    const auto written =
        io::SyncWait(served.client, Write(*connection, frame.substr(at, piece_bytes)));
    if (!written.ok()) return false;
    served.world.RunFor(milliseconds(pause_ms));
  }
  return !AtEnd(served, *connection);
}

TEST(ConnectionTest, ABodyMayTakeLongWhenItComesSteadily) {
  EXPECT_TRUE(ServesABodyWithPauses(900));
  EXPECT_FALSE(ServesABodyWithPauses(1500));
}

TEST(ConnectionTest, MoreConnectionsThanAgreedAreTurnedAway) {
  for (const bool serve : {true, false}) {
    ServedWorld served({.connections_max = 2}, 1 << 20, 1, serve);
    auto first = served.Connect();
    const auto second = served.Connect();
    const auto third = served.Connect();
    EXPECT_TRUE(AtEnd(served, *third));
    EXPECT_EQ(served.listener->counters().turned_away, 1);
    if (!serve) served.listener->Serve(served.echo);
    ASSERT_OK(io::SyncWait(served.client, Write(*second, Request(1, "ok"))));
    EXPECT_EQ(Next(served, *second).request_id, 1);
    first->Close();
    served.world.RunFor(milliseconds(100));
    const auto fourth = served.Connect();
    ASSERT_OK(io::SyncWait(served.client, Write(*fourth, Request(2, "ok"))));
    EXPECT_EQ(Next(served, *fourth).request_id, 2);
  }
}

TEST(ConnectionTest, StopEndsConnectionsAndWaitsForTheirCalls) {
  ServedWorld served;
  const auto connection = served.Connect();
  ASSERT_OK(io::SyncWait(served.client, Write(*connection, Request(1, "300"))));
  served.world.RunFor(milliseconds(50));
  const auto before = served.world.clock().Monotonic();
  served.Stop();
  EXPECT_GE(served.world.clock().Monotonic() - before, milliseconds(200));
  EXPECT_TRUE(AtEnd(served, *connection));
  EXPECT_EQ(served.listener->counters().open, 0);
}

// A network whose connections tell when they are asked for their peer, which is in the middle of
// being taken on.
class TellingNetwork : public io::Network {
 public:
  explicit TellingNetwork(io::Network& below) : below_(below) {}
  std::function<void()> on_peer;

  Result<std::unique_ptr<io::Listener>> Listen(const std::string& host, uint16_t port,
                                               std::vector<io::Loop*> loops,
                                               Accept accept) override {
    return below_.Listen(host, port, std::move(loops),
                         [this, accept](std::unique_ptr<io::Connection> connection) {
                           accept(std::make_unique<Telling>(this, std::move(connection)));
                         });
  }
  io::Task<Result<std::unique_ptr<io::Connection>>> Connect(io::Loop& loop, std::string host,
                                                            uint16_t port) override {
    return below_.Connect(loop, std::move(host), port);
  }

 private:
  struct Telling : io::Connection {
    Telling(TellingNetwork* n, std::unique_ptr<io::Connection> c)
        : network(n), below(std::move(c)) {}
    io::Task<Result<size_t>> Read(char* out, size_t size) override {
      return below->Read(out, size);
    }
    io::Task<Status> Write(io::Payload payload) override {
      return below->Write(std::move(payload));
    }
    void Close() override { below->Close(); }
    const std::string& peer() const override {
      if (network->on_peer) std::exchange(network->on_peer, nullptr)();
      return below->peer();
    }
    TellingNetwork* network;
    std::unique_ptr<io::Connection> below;
  };
  io::Network& below_;
};

io::Task<void> StopListener(FrameListener* listener, io::Loop& loop, io::Completion<bool> stopped) {
  co_await listener->Stop(loop);
  stopped.Set(true);
}

TEST(ConnectionTest, AConnectionThatIsTakenOnWhileTheListenerStopsEnds) {
  io::SimWorld world{1};
  io::SimNetwork below{world};
  TellingNetwork network{below};
  EchoService echo;
  ByteBudget budget{1 << 20};
  io::Loop& client = world.NewLoop();
  ConnectionSettings settings{.budget = &budget, .listener = "CLIENT"};
  ASSERT_OK_AND_ASSIGN(
      const auto listener,
      FrameListener::Bind({&network, {&world.NewLoop()}, {"CLIENT", "127.0.0.1", 0}, settings}));
  listener->Serve(echo);
  io::Completion<bool> stopped(client);
  network.on_peer = [&] { io::Spawn(StopListener(listener.get(), client, stopped)); };
  const auto connection =
      io::SyncWait(client, below.Connect(client, "127.0.0.1", listener->endpoint().port));
  world.RunFor(milliseconds(1000));
  EXPECT_TRUE(stopped.await_ready());
  EXPECT_EQ(listener->counters().open, 0);
  if (connection.ok()) (*connection)->Close();  // Lets a stop that waits for it end.
  world.RunUntilIdle();
}

TEST(ConnectionTest, HandlersSeeWhoCalls) {
  ServedWorld served;
  const auto connection = served.Connect();
  wire::ApiVersionsRequest handshake;
  handshake.set_client_software_name("fluss-rust");
  handshake.set_client_software_version("1.0.0");
  ASSERT_OK(io::SyncWait(served.client,
                         Write(*connection, Request(0, wire::Serialize(handshake), 1000))));
  (void)Next(served, *connection);
  ASSERT_OK(io::SyncWait(served.client, Write(*connection, Request(1, "ok"))));
  (void)Next(served, *connection);
  EXPECT_EQ(served.echo.last_principal->client_name, "fluss-rust");
  EXPECT_EQ(served.echo.last_principal->listener, "CLIENT");
  EXPECT_FALSE(served.echo.last_principal->internal);
  EXPECT_THAT(served.echo.last_principal->peer, testing::StartsWith("127.0.0.1:"));
}

// --- Dispatcher and LocalTransport ---

struct DispatchTest : testing::Test {
  io::SimWorld world{1};
  io::Loop& loop = world.NewLoop();
  EchoService metadata;
  EchoService own;
  Dispatcher coordinator{{wire::ServerType::kCoordinator, &metadata, &own}};
  Dispatcher tablet{{wire::ServerType::kTabletServer, &metadata, &own}};
  std::unique_ptr<io::Pool> pool = io::Pool::Inline();

  Result<std::string> Send(Dispatcher& to, int16_t key, int16_t version, std::string body) {
    const auto transport = MakeLocalTransport(to, *pool, {});
    return io::SyncWait(loop, transport->Send(loop, {key, version, std::move(body)}));
  }
  wire::ApiVersionsResponse Handshake(Dispatcher& to) {
    wire::ApiVersionsRequest request;
    request.set_client_software_name("test");
    request.set_client_software_version("1");
    const auto body = Send(to, 1000, 0, wire::Serialize(request));
    CHECK(body.ok());
    return wire::ParseMessage<wire::ApiVersionsResponse>(*body).ValueOrDie();
  }
};

std::map<int32_t, int32_t> Versions(const wire::ApiVersionsResponse& response) {
  std::map<int32_t, int32_t> versions;
  for (const auto& api : response.api_versions()) versions[api.api_key()] = api.max_version();
  return versions;
}

TEST_F(DispatchTest, EachRoleListsItsOwnScope) {
  const auto of_coordinator = Handshake(coordinator);
  const auto of_tablet = Handshake(tablet);
  EXPECT_EQ(of_coordinator.server_type(), 1);
  EXPECT_EQ(of_tablet.server_type(), 2);
  const auto coordinator_versions = Versions(of_coordinator);
  const auto tablet_versions = Versions(of_tablet);
  for (const int32_t both : {1000, 1003, 1007, 1012, 1032, 1038}) {
    EXPECT_TRUE(coordinator_versions.contains(both) && tablet_versions.contains(both)) << both;
  }
  for (const int32_t own_only : {1001, 1005, 1030, 1042, 1052}) {
    EXPECT_TRUE(coordinator_versions.contains(own_only) && !tablet_versions.contains(own_only))
        << own_only;
  }
  for (const int32_t own_only : {1014, 1015, 1016, 1026, 1018}) {
    EXPECT_TRUE(!coordinator_versions.contains(own_only) && tablet_versions.contains(own_only))
        << own_only;
  }
  EXPECT_EQ(tablet_versions.at(1014), 0);
  EXPECT_EQ(tablet_versions.at(1016), 2);
  EXPECT_EQ(tablet_versions.at(1017), 1);
}

TEST_F(DispatchTest, CallsGoToWhoAnswersThem) {
  ASSERT_OK_AND_ASSIGN(const std::string shared, Send(tablet, 1012, 0, "0"));
  EXPECT_EQ(metadata.started.size(), 1u);
  ASSERT_OK_AND_ASSIGN(const std::string produced, Send(tablet, 1014, 0, "0"));
  EXPECT_EQ(own.started.size(), 1u);
  EXPECT_EQ(produced, "echo 0");
}

TEST_F(DispatchTest, WhatIsNotOfferedIsRefusedByCode2) {
  EXPECT_CODE(ErrorCode::kUnsupportedVersion, Send(tablet, 1, 0, ""));
  EXPECT_CODE(ErrorCode::kUnsupportedVersion, Send(tablet, 1001, 0, ""));
  EXPECT_CODE(ErrorCode::kUnsupportedVersion, Send(coordinator, 1014, 0, ""));
  EXPECT_CODE(ErrorCode::kUnsupportedVersion, Send(tablet, 1014, 1, ""));
  EXPECT_CODE(ErrorCode::kUnsupportedVersion, Send(tablet, 1014, -1, ""));
  EXPECT_CODE(ErrorCode::kCorruptMessage, Send(tablet, 1000, 0, "not protobuf"));
}

TEST_F(DispatchTest, CallsBetweenServersNeedTheInternalListener) {
  EXPECT_CODE(ErrorCode::kAuthorization, Send(tablet, 1019, 0, "0"));
  for (const int16_t key : {1020, 1022, 1027, 1043})
    EXPECT_CODE(ErrorCode::kAuthorization, Send(coordinator, key, 0, "0"));
  const auto internal = MakeLocalTransport(tablet, *pool, {.internal = true});
  EXPECT_OK(io::SyncWait(loop, internal->Send(loop, {1019, 0, "0"})));
  EXPECT_OK(Send(coordinator, 1042, 0, "0"));  // Tiering workers come from outside.
}

TEST_F(DispatchTest, PlaintextNeedsNoAuthentication) {
  wire::AuthenticateRequest request;
  request.set_protocol("plaintext");
  request.set_token("");
  ASSERT_OK_AND_ASSIGN(const std::string body, Send(tablet, 1038, 0, wire::Serialize(request)));
  EXPECT_EQ(body, "");
  request.set_protocol("SASL");
  EXPECT_CODE(ErrorCode::kAuthenticate, Send(tablet, 1038, 0, wire::Serialize(request)));
}

TEST_F(DispatchTest, LocalErrorsLookLikeThoseOfASocket) {
  EXPECT_CODE(ErrorCode::kTableNotExist, Send(tablet, 1014, 0, "fail"));
  const auto transport = MakeLocalTransport(tablet, *pool, {});
  transport->Close();
  EXPECT_CODE(ErrorCode::kNetwork, io::SyncWait(loop, transport->Send(loop, {1014, 0, "0"})));
}

TEST(AddressesTest, ListenersParseAndPrint) {
  ASSERT_OK_AND_ASSIGN(const auto endpoints,
                       ParseEndpoints("FLUSS://10.0.0.1:9123, CLIENT://[::1]:0"));
  ASSERT_EQ(endpoints.size(), 2u);
  EXPECT_EQ(endpoints[0], (Endpoint{"FLUSS", "10.0.0.1", 9123}));
  EXPECT_EQ(endpoints[1], (Endpoint{"CLIENT", "::1", 0}));
  EXPECT_EQ(FormatEndpoints(endpoints), "FLUSS://10.0.0.1:9123,CLIENT://[::1]:0");
  for (const std::string bad : {"localhost:9123", "A://h", "A://h:x", "A://h:70000",
                                "A://h:1,A://h:2", "A://h:1,B://h:1", "://h:1", "A://h:"}) {
    EXPECT_CODE(ErrorCode::kInvalidConfig, ParseEndpoints(bad));
  }
}

}  // namespace
}  // namespace sluice::server
