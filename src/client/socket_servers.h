#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "client/servers.h"
#include "io/net.h"

namespace sluice::client {

struct SocketOptions {
  std::string bootstrap_servers;  ///< "host:port,[::1]:port"
  std::string software_name = "sluice";
  std::string software_version = "0.1.0";
  std::chrono::milliseconds request_timeout{
      60'000};                ///< A call without a reply for so long fails with kRequestTimeOut.
  std::string sasl_username;  ///< Empty = no authentication; else mechanism PLAIN.
  std::string sasl_password;
};

/// Servers over TCP. One connection per server; it is made at first use and again after it broke.
///
/// Lifetime: the loops and the network outlive it. Destroy it on no loop's thread, or when nothing
/// is under way.
class SocketServers : public Servers {
 public:
  /// Connections are dealt out to `loops`. Errors: kInvalidConfig when an address is not
  /// "host:port".
  static Result<std::shared_ptr<SocketServers>> Make(io::Network& network,
                                                     std::vector<io::Loop*> loops,
                                                     SocketOptions options);
  ~SocketServers() override;

  io::Task<Result<ServerPtr>> Bootstrap(io::Loop& loop, int attempt) override;
  io::Task<Result<ServerPtr>> At(io::Loop& loop, ServerNode node, wire::ServerType type) override;
  /// Break all connections; what is under way fails with kNetwork.
  void Close();

 private:
  struct State;
  explicit SocketServers(std::shared_ptr<State> state);
  static io::Task<Result<ServerPtr>> Find(std::shared_ptr<State> state, io::Loop& loop,
                                          std::string address, wire::ServerType type);
  std::shared_ptr<State> state_;
};

}  // namespace sluice::client
