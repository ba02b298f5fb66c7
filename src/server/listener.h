#pragma once
#include <memory>
#include <string>
#include <vector>

#include "io/net.h"
#include "server/addresses.h"
#include "server/connection.h"

namespace sluice::server {

/// Listens on one address for the protocol and serves every connection on one of the given loops.
///
/// Bound first and served later: between the two the address is known and connections wait.
/// Threads: any. Lifetime: Stop it (or let it go after the loops have stopped) before the service
/// and the budget go.
class FrameListener {
 public:
  struct Options {
    io::Network* network = nullptr;
    std::vector<io::Loop*> loops;
    Endpoint bind;                ///< Port 0 = any free port.
    ConnectionSettings settings;  ///< Without the service.
  };

  /// Errors: kNetwork, naming the address, when it cannot be bound.
  static Result<std::unique_ptr<FrameListener>> Bind(Options options);
  ~FrameListener();

  /// Serve the connections that wait and all that come. Call once.
  void Serve(io::Service& service);

  /// Accept no more, end every connection, wait until the last call is answered.
  io::Task<void> Stop(io::Loop& loop);
  /// As bound, with the real port.
  const Endpoint& endpoint() const { return endpoint_; }
  const ConnectionCounters& counters() const;

 private:
  struct State;
  FrameListener(std::shared_ptr<State> state, ConnectionSettings settings,
                std::unique_ptr<io::Listener> listener, Endpoint endpoint);

  std::shared_ptr<State> state_;
  ConnectionSettings settings_;
  std::unique_ptr<io::Listener> listener_;
  Endpoint endpoint_;
};

}  // namespace sluice::server
