#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/testing.h"
#include "io/sim/sim_network.h"
#include "io/sim/sim_world.h"
#include "server/listener.h"
#include "wire/frame.h"
#include "wire/proto/handshake.pb.h"

// For the tests of this module: connections to a service that echoes, in simulated time.
namespace sluice::server {

// Echoes bodies after a wait of as many milliseconds as the body says ("20:text"), or fails
// ("fail").
class EchoService : public io::Service {
 public:
  io::Task<Result<io::Payload>> Handle(io::Loop& loop,
                                       std::shared_ptr<const io::Principal> principal,
                                       io::Call call) override {
    started.push_back(call.body);
    last_principal = principal;
    if (call.body == "fail") co_return Error(ErrorCode::kTableNotExist, "no such table");
    io::Sleep wait(loop, std::chrono::milliseconds(std::atoi(call.body.c_str())));
    co_await wait;
    co_return io::Payload("echo " + call.body);
  }
  std::vector<std::string> started;
  std::shared_ptr<const io::Principal> last_principal;
};

inline constexpr int16_t kEchoKey = 1;

// Serves echoes in a simulated world; the last loop is the client's.
struct ServedWorld {
  explicit ServedWorld(ConnectionSettings settings = {}, uint64_t budget_bytes = 1 << 20,
                       uint64_t seed = 1, bool serve = true)
      : world(seed), budget(budget_bytes) {
    settings.budget = &budget;
    settings.listener = "CLIENT";
    auto started = FrameListener::Bind({&network,
                                        {&world.NewLoop(), &world.NewLoop()},
                                        {"CLIENT", "127.0.0.1", 0},
                                        std::move(settings)});
    CHECK(started.ok());
    listener = std::move(started).ValueUnsafe();
    if (serve) listener->Serve(echo);
  }
  ~ServedWorld() { Stop(); }
  void Stop() {
    io::SyncWait(client, listener->Stop(client));
    world.RunUntilIdle();
  }
  std::unique_ptr<io::Connection> Connect() {
    auto connected =
        io::SyncWait(client, network.Connect(client, "127.0.0.1", listener->endpoint().port));
    CHECK(connected.ok());
    return std::move(connected).ValueUnsafe();
  }

  io::SimWorld world;
  io::SimNetwork network{world};
  EchoService echo;
  ByteBudget budget;
  std::unique_ptr<FrameListener> listener;
  io::Loop& client = world.NewLoop();
};

inline std::string Request(int32_t id, std::string_view body, int16_t key = kEchoKey) {
  return wire::EncodeRequest({key, 0, id}, body);
}

inline io::Task<Status> Write(io::Connection& connection, std::string bytes) {
  co_return co_await connection.Write(io::Payload(std::move(bytes)));
}

inline io::Task<Result<wire::Response>> ReadResponse(io::Connection& connection) {
  char length[4];
  CO_RETURN_NOT_OK(co_await connection.ReadExactly(length, sizeof(length)));
  std::string frame(LoadBe<uint32_t>(length), '\0');
  CO_RETURN_NOT_OK(co_await connection.ReadExactly(frame.data(), frame.size()));
  co_return wire::ParseResponse(frame);
}

inline wire::Response Next(ServedWorld& served, io::Connection& connection) {
  auto response = io::SyncWait(served.client, ReadResponse(connection));
  CHECK(response.ok());
  return std::move(response).ValueUnsafe();
}

inline bool AtEnd(ServedWorld& served, io::Connection& connection) {
  return !io::SyncWait(served.client, ReadResponse(connection)).ok();
}

}  // namespace sluice::server
