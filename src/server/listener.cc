#include "server/listener.h"

#include <map>
#include <mutex>

namespace sluice::server {

// Shared with the connections, which may outlive the listener by a moment.
struct FrameListener::State {
  explicit State(ConnectionSettings s)
      : settings(std::make_shared<const ConnectionSettings>(std::move(s))) {}

  void Accept(const std::shared_ptr<State>& self, io::Loop& loop,
              std::unique_ptr<io::Connection> connection) {
    std::optional<shard::Gate::Pass> pass = gate.Enter();
    if (!pass.has_value()) return;  // Stopping: the connection closes as it goes.
    auto served = std::make_shared<ServedConnection>(settings, counters, loop,
                                                     std::move(connection), std::move(*pass));
    {
      const std::lock_guard lock(mutex);
      open.emplace(served.get(), Open{&loop, served});
    }
    io::Spawn(ServeAndForget(self, std::move(served)));
  }

  static io::Task<void> ServeAndForget(std::shared_ptr<State> self,
                                       std::shared_ptr<ServedConnection> served) {
    co_await ServedConnection::Serve(served);
    const std::lock_guard lock(self->mutex);
    self->open.erase(served.get());
  }

  void CloseAll() {
    const std::lock_guard lock(mutex);
    for (const auto& [key, entry] : open) {
      entry.loop->Post([weak = entry.served] {
        if (const auto served = weak.lock()) served->Close();
      });
    }
  }

  struct Open {
    io::Loop* loop;
    std::weak_ptr<ServedConnection> served;
  };
  const std::shared_ptr<const ConnectionSettings> settings;
  const std::shared_ptr<ConnectionCounters> counters = std::make_shared<ConnectionCounters>();
  shard::Gate gate;
  std::mutex mutex;  // Guards `open`, which loops change when connections come and go.
  std::map<const ServedConnection*, Open> open;
};

Result<std::unique_ptr<FrameListener>> FrameListener::Start(Options options) {
  auto state = std::make_shared<State>(std::move(options.settings));
  const auto loops = options.loops;
  const auto accept = [state, loops](std::unique_ptr<io::Connection> connection) {
    for (io::Loop* loop : loops) {
      if (loop->IsCurrent()) return state->Accept(state, *loop, std::move(connection));
    }
    CHECK(false && "accepted on a foreign loop");
  };
  ASSIGN_OR_RAISE(auto listener,
                  options.network->Listen(options.bind.host, options.bind.port, loops, accept));
  Endpoint endpoint = std::move(options.bind);
  endpoint.port = listener->port();
  return std::unique_ptr<FrameListener>(
      new FrameListener(std::move(state), std::move(listener), std::move(endpoint)));
}

FrameListener::FrameListener(std::shared_ptr<State> state, std::unique_ptr<io::Listener> listener,
                             Endpoint endpoint)
    : state_(std::move(state)), listener_(std::move(listener)), endpoint_(std::move(endpoint)) {}

FrameListener::~FrameListener() = default;

io::Task<void> FrameListener::Stop(io::Loop& loop) {
  listener_.reset();
  state_->gate.Close();
  state_->CloseAll();
  co_await state_->gate.CloseAndWait(loop);
}

const ConnectionCounters& FrameListener::counters() const { return *state_->counters; }

}  // namespace sluice::server
