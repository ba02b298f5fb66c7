#include "client/servers.h"

namespace sluice::client {

int16_t Server::VersionOf(wire::ApiKey key) const {
  const auto found = versions_.find(key);
  return found == versions_.end() ? int16_t{-1} : found->second;
}

namespace {

io::Task<Result<std::string>> SendVia(std::shared_ptr<io::Transport> transport, io::Loop& loop,
                                      io::Call call) {
  co_return co_await transport->Send(loop, std::move(call));
}

io::Task<Result<std::string>> NotOffered(wire::ApiKey key) {
  const wire::ApiInfo* info = wire::FindApi(static_cast<int16_t>(key));
  co_return Error(
      ErrorCode::kUnsupportedVersion, "server does not offer the call api=",
      info == nullptr ? std::to_string(static_cast<int>(key)) : std::string(info->name));
}

io::Task<Result<ServerPtr>> Ready(ServerPtr server) { co_return server; }

ServerPtr LocalServer(std::shared_ptr<io::Transport> transport, wire::ServerType type) {
  std::map<wire::ApiKey, int16_t> versions;
  for (const wire::ApiInfo& api : wire::Apis()) {
    if (api.OfferedBy(type)) versions[api.key] = api.max_version;
  }
  return std::make_shared<const Server>(std::move(transport), std::move(versions));
}

}  // namespace

io::Task<Result<std::string>> Server::Send(io::Loop& loop, wire::ApiKey key,
                                           std::string body) const {
  const int16_t version = VersionOf(key);
  if (version < 0) return NotOffered(key);
  return SendVia(transport_, loop, io::Call{static_cast<int16_t>(key), version, std::move(body)});
}

LocalServers::LocalServers(std::shared_ptr<io::Transport> coordinator,
                           std::shared_ptr<io::Transport> tablet)
    : coordinator_(LocalServer(std::move(coordinator), wire::ServerType::kCoordinator)),
      tablet_(LocalServer(std::move(tablet), wire::ServerType::kTabletServer)) {}

io::Task<Result<ServerPtr>> LocalServers::Bootstrap(io::Loop&, int) { return Ready(tablet_); }

io::Task<Result<ServerPtr>> LocalServers::At(io::Loop&, ServerNode, wire::ServerType type) {
  return Ready(type == wire::ServerType::kCoordinator ? coordinator_ : tablet_);
}

}  // namespace sluice::client
