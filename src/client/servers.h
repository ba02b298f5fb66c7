#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "io/transport.h"
#include "wire/api.h"

namespace sluice::client {

/// A server as metadata names it.
struct ServerNode {
  int32_t id = -1;
  std::string host;
  uint16_t port = 0;
  bool operator==(const ServerNode&) const = default;
};

/// The way to one server, and the version to use of each call that both ends know.
///
/// Immutable, so any loop may use it.
class Server {
 public:
  Server(std::shared_ptr<io::Transport> transport, std::map<wire::ApiKey, int16_t> versions)
      : transport_(std::move(transport)), versions_(std::move(versions)) {}

  /// Body of the response. Errors: kUnsupportedVersion when the server does not offer the call;
  /// those of Transport.
  io::Task<Result<std::string>> Send(io::Loop& loop, wire::ApiKey key, std::string body) const;
  /// -1 when the server does not offer the call.
  int16_t VersionOf(wire::ApiKey key) const;

 private:
  std::shared_ptr<io::Transport> transport_;
  std::map<wire::ApiKey, int16_t> versions_;
};
using ServerPtr = std::shared_ptr<const Server>;

/// Ways to the servers of a cluster: sockets, or the servers of this process.
///
/// Threads: any loop may call.
class Servers {
 public:
  virtual ~Servers() = default;
  /// Some server that answers metadata. `attempt` counts up over retries, so that each address gets
  /// its turn.
  virtual io::Task<Result<ServerPtr>> Bootstrap(io::Loop& loop, int attempt) = 0;
  /// The server of this role at this node. Errors: kNetwork.
  virtual io::Task<Result<ServerPtr>> At(io::Loop& loop, ServerNode node,
                                         wire::ServerType type) = 0;
};

/// Servers of this process: one coordinator, one tablet server, at whatever nodes metadata names.
class LocalServers : public Servers {
 public:
  LocalServers(std::shared_ptr<io::Transport> coordinator, std::shared_ptr<io::Transport> tablet);
  io::Task<Result<ServerPtr>> Bootstrap(io::Loop& loop, int attempt) override;
  io::Task<Result<ServerPtr>> At(io::Loop& loop, ServerNode node, wire::ServerType type) override;

 private:
  ServerPtr coordinator_;
  ServerPtr tablet_;
};

}  // namespace sluice::client
