#include "server/listener.h"

#include <map>
#include <mutex>

#include "base/log.h"

namespace sluice::server {

// Shared with the connections, which may outlive the listener by a moment.
struct FrameListener::State {
  // A connection that came before there was a service.
  struct Waiting {
    io::Loop* loop;  // The connection's.
    std::unique_ptr<io::Connection> connection;
  };

  void Accept(const std::shared_ptr<State>& self, io::Loop& loop,
              std::unique_ptr<io::Connection> connection) {
    std::shared_ptr<const ConnectionSettings> served_with;
    {
      const std::lock_guard lock(mutex);
      if (!HasPlace()) return;  // It closes as it goes.
      served_with = settings;
      if (served_with == nullptr) waiting.push_back({&loop, std::move(connection)});
    }
    if (served_with != nullptr) Begin(self, loop, std::move(connection), std::move(served_with));
  }

  // The mutex is held.
  bool HasPlace() {
    const bool full = open.size() + waiting.size() >= connections_max;
    if (full) counters->turned_away.fetch_add(1, std::memory_order_relaxed);
    if (full && !std::exchange(was_full, full)) {
      LogWarn("connections are turned away listener={} connections_max={}", name, connections_max);
    }
    was_full = full;
    return !full;
  }

  void Begin(const std::shared_ptr<State>& self, io::Loop& loop,
             std::unique_ptr<io::Connection> connection,
             std::shared_ptr<const ConnectionSettings> served_with) {
    std::optional<shard::Gate::Pass> pass = gate.Enter();
    if (!pass.has_value()) return;  // Stopping: the connection closes as it goes.
    auto served = std::make_shared<ServedConnection>(std::move(served_with), counters, loop,
                                                     std::move(connection), std::move(*pass));
    {
      const std::lock_guard lock(mutex);
      if (stopping) return;  // CloseAll is over, and would not find it.
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

  // Hand each waiting connection to `take` on its own loop.
  void Release(const std::function<void(io::Loop&, std::unique_ptr<io::Connection>)>& take) {
    std::vector<Waiting> released;
    {
      const std::lock_guard lock(mutex);
      released.swap(waiting);
    }
    for (Waiting& each : released) {
      auto held = std::make_shared<std::unique_ptr<io::Connection>>(std::move(each.connection));
      each.loop->Post([loop = each.loop, held, take] { take(*loop, std::move(*held)); });
    }
  }

  void CloseAll() {
    const std::lock_guard lock(mutex);
    stopping = true;
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
  std::string name;
  size_t connections_max = 0;
  bool was_full = false;                               // At the last connection that came.
  bool stopping = false;                               // All that are open are told to close.
  std::shared_ptr<const ConnectionSettings> settings;  // Null until Serve.
  std::vector<Waiting> waiting;
  const std::shared_ptr<ConnectionCounters> counters = std::make_shared<ConnectionCounters>();
  shard::Gate gate;
  std::mutex mutex;  // Guards was_full, stopping, settings, waiting and open, which loops use as
                     // connections come.
  std::map<const ServedConnection*, Open> open;
};

Result<std::unique_ptr<FrameListener>> FrameListener::Bind(Options options) {
  auto state = std::make_shared<State>();
  state->name = options.settings.listener;
  state->connections_max = options.settings.connections_max;
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
  return std::unique_ptr<FrameListener>(new FrameListener(
      std::move(state), std::move(options.settings), std::move(listener), std::move(endpoint)));
}

void FrameListener::Serve(io::Service& service) {
  settings_.service = &service;
  {
    const std::lock_guard lock(state_->mutex);
    CHECK(state_->settings == nullptr);
    state_->settings = std::make_shared<const ConnectionSettings>(settings_);
  }
  state_->Release([state = state_](io::Loop& loop, std::unique_ptr<io::Connection> connection) {
    state->Accept(state, loop, std::move(connection));
  });
}

FrameListener::FrameListener(std::shared_ptr<State> state, ConnectionSettings settings,
                             std::unique_ptr<io::Listener> listener, Endpoint endpoint)
    : state_(std::move(state)),
      settings_(std::move(settings)),
      listener_(std::move(listener)),
      endpoint_(std::move(endpoint)) {}

FrameListener::~FrameListener() = default;

io::Task<void> FrameListener::Stop(io::Loop& loop) {
  listener_.reset();
  state_->gate.Close();
  state_->Release([](io::Loop&, std::unique_ptr<io::Connection>) {});  // Each goes on its loop.
  state_->CloseAll();
  co_await state_->gate.CloseAndWait(loop);
}

const ConnectionCounters& FrameListener::counters() const { return *state_->counters; }

}  // namespace sluice::server
