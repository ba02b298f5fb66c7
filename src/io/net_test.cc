#include "io/net.h"

#include "base/testing.h"
#include "io/file.h"
#include "io/sim/sim_network.h"
#include "io/sim/sim_world.h"
#include "io/tls_network.h"

namespace sluice::io {
namespace {

// The machine's network or the simulated one, with two loops to serve on and one to call from.
class World {
 public:
  virtual ~World() = default;
  virtual Network& network() = 0;
  virtual Loop& server(size_t index) = 0;
  virtual Loop& client() = 0;
};

class SystemWorld : public World {
 public:
  Network& network() override { return SystemNetwork(); }
  Loop& server(size_t index) override { return server_threads_->at(index); }
  Loop& client() override { return client_threads_->at(0); }

 private:
  std::unique_ptr<LoopThreads> server_threads_ = LoopThreads::Start("server", 2);
  std::unique_ptr<LoopThreads> client_threads_ = LoopThreads::Start("client", 1);
};

class SimulatedWorld : public World {
 public:
  ~SimulatedWorld() override {
    network_.BreakConnections();  // Whoever still reads ends, so that no coroutine is left behind.
    world_.RunUntilIdle();
  }
  Network& network() override { return network_; }
  Loop& server(size_t index) override { return *server_loops_[index]; }
  Loop& client() override { return client_loop_; }

 private:
  SimWorld world_{4711};
  SimNetwork network_{world_};
  Loop* server_loops_[2] = {&world_.NewLoop(), &world_.NewLoop()};
  Loop& client_loop_ = world_.NewLoop();
};

// Another world's network, encrypted.
class TlsWorld : public World, private Network {
 public:
  explicit TlsWorld(std::unique_ptr<World> inner) : inner_(std::move(inner)) {}
  Network& network() override { return *this; }
  Loop& server(size_t index) override { return inner_->server(index); }
  Loop& client() override { return inner_->client(); }

 private:
  Result<std::unique_ptr<Listener>> Listen(const std::string& host, uint16_t port,
                                           std::vector<Loop*> loops, Accept accept) override {
    return server_.Listen(host, port, std::move(loops), std::move(accept));
  }
  Task<Result<std::unique_ptr<Connection>>> Connect(Loop& loop, std::string host,
                                                    uint16_t port) override {
    return client_.Connect(loop, std::move(host), port);
  }

  const std::string folder_ = "io/testdata/tls/";
  std::unique_ptr<World> inner_;
  TlsNetwork server_{inner_->network(),
                     Tls::Open(Tls::End::kServer, LocalFileSystem(),
                               {folder_ + "server.pem", folder_ + "server_key.pem", ""})
                         .ValueOrDie()};
  TlsNetwork client_{
      inner_->network(),
      Tls::Open(Tls::End::kClient, LocalFileSystem(), {"", "", folder_ + "ca.pem"}).ValueOrDie()};
};

std::unique_ptr<World> MakeTlsWorld() {
  return std::make_unique<TlsWorld>(std::make_unique<SystemWorld>());
}
std::unique_ptr<World> MakeSimulatedTlsWorld() {
  return std::make_unique<TlsWorld>(std::make_unique<SimulatedWorld>());
}
std::unique_ptr<World> MakeSimulatedWorld() { return std::make_unique<SimulatedWorld>(); }
std::unique_ptr<World> MakeSystemWorld() { return std::make_unique<SystemWorld>(); }

struct NetTest : testing::TestWithParam<std::unique_ptr<World> (*)()> {
  std::unique_ptr<World> world_ = GetParam()();
  TempDir folder_;

  Network& network() { return world_->network(); }
  Loop& loop() { return world_->client(); }
  // Accepts connections and serves each with `serve`, on two loops.
  std::unique_ptr<Listener> Serve(std::function<Task<void>(std::unique_ptr<Connection>)> serve) {
    auto listener = network().Listen(
        "127.0.0.1", 0, {&world_->server(0), &world_->server(1)},
        [serve](std::unique_ptr<Connection> connection) { Spawn(serve(std::move(connection))); });
    CHECK(listener.ok());
    return std::move(listener).ValueUnsafe();
  }
};

Task<void> Echo(std::unique_ptr<Connection> connection) {
  std::string buffer(1000, '\0');
  while (true) {
    const Result<size_t> got = co_await connection->Read(buffer.data(), buffer.size());
    if (!got.ok() || *got == 0) co_return;
    const Status sent = co_await connection->Write(Payload(buffer.substr(0, *got)));
    if (!sent.ok()) co_return;
  }
}

Task<Result<std::string>> AskEcho(Network& network, Loop& loop, uint16_t port, std::string text) {
  CO_ASSIGN_OR_RETURN(const auto connection, co_await network.Connect(loop, "127.0.0.1", port));
  CHECK(loop.IsCurrent());
  CHECK(connection->peer() == "127.0.0.1:" + std::to_string(port));
  CO_RETURN_NOT_OK(co_await connection->Write(Payload(text)));
  std::string answer(text.size(), '\0');
  CO_RETURN_NOT_OK(co_await connection->ReadExactly(answer.data(), answer.size()));
  co_return answer;
}

// Reads one byte, then tells what there is to read once the peer has ended.
Task<void> LookForEnd(Loop* loop, std::unique_ptr<Connection> connection,
                      Completion<bool> open_first, Completion<uint64_t> unread) {
  char byte;
  CHECK((co_await connection->ReadExactly(&byte, 1)).ok());
  open_first.Set(!connection->UnreadAtEnd().has_value());
  while (!connection->UnreadAtEnd()) co_await Sleep(*loop, std::chrono::milliseconds(5));
  unread.Set(*connection->UnreadAtEnd());
}

TEST_P(NetTest, AnEndIsSeenThoughWhatIsInFrontOfItIsUnread) {
  Completion<bool> open_first(loop());
  Completion<uint64_t> unread(loop());
  const auto accept = [&](std::unique_ptr<Connection> connection) {
    Spawn(LookForEnd(&world_->server(0), std::move(connection), open_first, unread));
  };
  ASSERT_OK_AND_ASSIGN(const auto listener,
                       network().Listen("127.0.0.1", 0, {&world_->server(0)}, accept));
  const auto send_and_leave = [](Network* network, Loop* loop, uint16_t port,
                                 Completion<bool> seen_open) -> Task<Status> {
    CO_ASSIGN_OR_RETURN(const auto connection, co_await network->Connect(*loop, "127.0.0.1", port));
    CO_RETURN_NOT_OK(co_await connection->Write(Payload("x")));
    const bool was_open = co_await seen_open;
    CHECK(was_open);
    co_return co_await connection->Write(Payload(std::string(1000, 'x')));
  };
  ASSERT_OK(SyncWait(loop(), send_and_leave(&network(), &loop(), listener->port(), open_first)));
  const auto wait = [](Completion<uint64_t> done) -> Task<uint64_t> { co_return co_await done; };
  const uint64_t at_end = SyncWait(loop(), wait(unread));
  EXPECT_GE(at_end, 1000u);
  EXPECT_LT(at_end, 4000u);
}

TEST_P(NetTest, BytesComeBackAsSent) {
  const auto listener = Serve(Echo);
  for (int i = 0; i < 50; ++i) {
    const std::string text = "hello " + std::to_string(i);
    ASSERT_OK_AND_ASSIGN(const std::string answer,
                         SyncWait(loop(), AskEcho(network(), loop(), listener->port(), text)));
    EXPECT_EQ(answer, text);
  }
}

Task<Result<std::string>> ReadToEnd(Network& network, Loop& loop, uint16_t port) {
  CO_ASSIGN_OR_RETURN(const auto connection, co_await network.Connect(loop, "127.0.0.1", port));
  std::string all;
  std::string buffer(64 << 10, '\0');
  while (true) {
    CO_ASSIGN_OR_RETURN(const size_t got, co_await connection->Read(buffer.data(), buffer.size()));
    if (got == 0) co_return all;
    all.append(buffer, 0, got);
  }
}

Task<void> SendAndHangUp(std::unique_ptr<Connection> connection,
                         std::shared_ptr<const Payload> payload) {
  (void)co_await connection->Write(*payload);
}

std::string Pattern(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + i / 997);
  return bytes;
}

TEST_P(NetTest, MemoryAndFileRangesArriveInOrder) {
  const std::string content =
      Pattern(9 << 20);  // More than socket buffers hold, so writing has to wait.
  ASSERT_OK_AND_ASSIGN(
      std::shared_ptr<File> file,
      LocalFileSystem().Open(folder_.path() + "/content", FileSystem::Mode::kCreate));
  ASSERT_OK(file->Append(content));
  Payload payload("head");
  payload.Add(Payload::FileRange{file, 5, 8 << 20});
  payload.Add(std::make_shared<const std::string>("middle"));
  for (int i = 0; i < 3000; ++i)
    payload.Add("part" + std::to_string(i));  // More than one writev takes.
  payload.Add(Payload::FileRange{file, 0, 7});
  ASSERT_OK_AND_ASSIGN(const std::string expected, payload.Flatten());
  ASSERT_EQ(expected.size(), payload.size_bytes());

  const auto shared = std::make_shared<const Payload>(payload);
  const auto listener =
      Serve([shared](auto connection) { return SendAndHangUp(std::move(connection), shared); });
  ASSERT_OK_AND_ASSIGN(const std::string got,
                       SyncWait(loop(), ReadToEnd(network(), loop(), listener->port())));
  EXPECT_TRUE(got == expected);
}

// As a file in simulation: has content but no descriptor.
class MemoryFile : public File {
 public:
  explicit MemoryFile(std::string content) : content_(std::move(content)) {}
  using File::Append;
  Status Append(std::span<const std::string_view>) override { return Status::NotImplemented(""); }
  Status WriteAt(uint64_t, std::string_view) override { return Status::NotImplemented(""); }
  Result<size_t> ReadAt(uint64_t position, size_t size, char* out) const override {
    const std::string part = content_.substr(position, size);
    std::ranges::copy(part, out);
    return part.size();
  }
  Result<bool> TryReadAt(uint64_t, size_t, char*) const override { return false; }
  Status Truncate(uint64_t) override { return Status::NotImplemented(""); }
  Status Sync() override { return Status::OK(); }
  uint64_t size_bytes() const override { return content_.size(); }
  const std::string& path() const override { return path_; }
  int descriptor() const override { return -1; }

 private:
  const std::string content_;
  const std::string path_ = "memory";
};

TEST_P(NetTest, AFileWithoutDescriptorIsCopied) {
  auto payload = std::make_shared<Payload>("head");
  payload->Add(Payload::FileRange{std::make_shared<MemoryFile>(Pattern(1 << 20)), 3, 1'000'000});
  const auto listener =
      Serve([payload](auto connection) { return SendAndHangUp(std::move(connection), payload); });
  ASSERT_OK_AND_ASSIGN(const std::string got,
                       SyncWait(loop(), ReadToEnd(network(), loop(), listener->port())));
  EXPECT_TRUE(got == "head" + Pattern(1 << 20).substr(3, 1'000'000));
}

Task<void> ReportRead(Connection* connection, Completion<Status> done) {
  char byte;
  const Result<size_t> got = co_await connection->Read(&byte, 1);
  done.Set(got.status());
}

Task<Status> CloseWhileReading(Network& network, Loop& loop, uint16_t port, Status* write_status) {
  CO_ASSIGN_OR_RETURN(auto connection, co_await network.Connect(loop, "127.0.0.1", port));
  Completion<Status> done(loop);
  Spawn(ReportRead(connection.get(), done));
  connection->Close();
  connection->Close();
  *write_status = co_await connection->Write(Payload("x"));
  connection.reset();
  co_return co_await done;
}

TEST_P(NetTest, CloseFailsWhatWaitsAndEveryLaterCall) {
  const auto listener = Serve(Echo);
  Status write_status;
  EXPECT_CODE(
      ErrorCode::kNetwork,
      SyncWait(loop(), CloseWhileReading(network(), loop(), listener->port(), &write_status)));
  EXPECT_CODE(ErrorCode::kNetwork, write_status);
}

Task<Status> WriteUntilItFails(Network& network, Loop& loop, uint16_t port) {
  CO_ASSIGN_OR_RETURN(auto connection, co_await network.Connect(loop, "127.0.0.1", port));
  while (true) CO_RETURN_NOT_OK(co_await connection->Write(Payload(std::string(1 << 20, 'x'))));
}

Task<void> HangUp(std::unique_ptr<Connection> connection) {
  char byte;
  (void)co_await connection->Read(&byte, 1);
}

TEST_P(NetTest, WritingToAPeerThatHungUpFails) {
  const auto listener = Serve(HangUp);
  EXPECT_CODE(ErrorCode::kNetwork,
              SyncWait(loop(), WriteUntilItFails(network(), loop(), listener->port())));
}

Task<Status> ReadMoreThanSent(Network& network, Loop& loop, uint16_t port) {
  CO_ASSIGN_OR_RETURN(auto connection, co_await network.Connect(loop, "127.0.0.1", port));
  char buffer[5];
  co_return co_await connection->ReadExactly(buffer, sizeof(buffer));
}

TEST_P(NetTest, AStreamThatEndsEarlyIsANetworkError) {
  const auto payload = std::make_shared<const Payload>("four");
  const auto listener =
      Serve([payload](auto connection) { return SendAndHangUp(std::move(connection), payload); });
  EXPECT_CODE(ErrorCode::kNetwork,
              SyncWait(loop(), ReadMoreThanSent(network(), loop(), listener->port())));
}

TEST_P(NetTest, ATakenPortGivesAnErrorThatNamesTheAddress) {
  const auto listener = Serve(Echo);
  const auto second = network().Listen("127.0.0.1", listener->port(), {&loop()}, [](auto) {});
  EXPECT_CODE(ErrorCode::kNetwork, second);
  EXPECT_THAT(second.status().message(),
              testing::HasSubstr("127.0.0.1:" + std::to_string(listener->port())));
}

Task<Status> ConnectOnly(Network& network, Loop& loop, std::string host, uint16_t port) {
  CO_ASSIGN_OR_RETURN(const auto connection, co_await network.Connect(loop, std::move(host), port));
  co_return Status::OK();
}

// The empty name stands for every address of the machine: 0.0.0.0 and ::.
TEST(SystemNetworkTest, ListensAtEveryAddressOfAName) {
  SystemWorld world;
  const auto six =
      world.network().Listen("::1", 0, {&world.server(0)}, [](std::unique_ptr<Connection>) {});
  ASSERT_OK_AND_ASSIGN(
      const auto listener,
      world.network().Listen("", 0, {&world.server(0)}, [](std::unique_ptr<Connection>) {}));
  const auto reaches = [&](const char* host) {
    return SyncWait(world.client(),
                    ConnectOnly(world.network(), world.client(), host, listener->port()));
  };
  EXPECT_OK(reaches("127.0.0.1"));
  if (six.ok()) EXPECT_OK(reaches("::1"));  // The machine has IPv6.
}

TEST_P(NetTest, AListenerThatIsGoneFreesItsPortAndRefuses) {
  auto listener = Serve(Echo);
  const uint16_t port = listener->port();
  listener.reset();
  const auto answer = SyncWait(loop(), AskEcho(network(), loop(), port, "hello"));
  EXPECT_CODE(ErrorCode::kNetwork, answer);
  EXPECT_THAT(answer.status().message(), testing::HasSubstr("127.0.0.1:" + std::to_string(port)));
  EXPECT_OK(network().Listen("127.0.0.1", port, {&loop()}, [](auto) {}));
}

TEST_P(NetTest, ConnectionsAreDealtOutToTheLoopsInTurn) {
  std::atomic<int> on_first{0};
  std::atomic<int> on_second{0};
  const auto listener = Serve([&](auto connection) {
    ++(world_->server(0).IsCurrent() ? on_first : on_second);
    return Echo(std::move(connection));
  });
  for (int i = 0; i < 10; ++i)
    ASSERT_OK(SyncWait(loop(), AskEcho(network(), loop(), listener->port(), "x")));
  EXPECT_EQ(on_first, 5);
  EXPECT_EQ(on_second, 5);
}

INSTANTIATE_TEST_SUITE_P(System, NetTest, testing::Values(&MakeSystemWorld));
INSTANTIATE_TEST_SUITE_P(Sim, NetTest, testing::Values(&MakeSimulatedWorld));
INSTANTIATE_TEST_SUITE_P(Tls, NetTest, testing::Values(&MakeTlsWorld));
INSTANTIATE_TEST_SUITE_P(SimTls, NetTest, testing::Values(&MakeSimulatedTlsWorld));

}  // namespace
}  // namespace sluice::io
