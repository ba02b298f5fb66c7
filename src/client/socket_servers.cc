#include "client/socket_servers.h"

#include <charconv>
#include <mutex>

#include "client/socket_transport.h"
#include "wire/frame.h"
#include "wire/proto/handshake.pb.h"

namespace sluice::client {
namespace {

struct HostPort {
  std::string host;
  uint16_t port = 0;
};

Result<HostPort> ParseAddress(std::string_view text) {
  const size_t colon = text.rfind(':');
  HostPort address;
  if (colon != std::string_view::npos && colon > 0) {
    address.host = text.substr(0, colon);
    if (address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']')
      address.host = address.host.substr(1, address.host.size() - 2);  // IPv6.
    const auto [end, error] =
        std::from_chars(text.data() + colon + 1, text.data() + text.size(), address.port);
    if (error == std::errc() && end == text.data() + text.size() && address.port != 0)
      return address;
  }
  return Error(ErrorCode::kInvalidConfig, "address is not host:port address=", text);
}

struct Connected {
  std::shared_ptr<SocketTransport> transport;
  ServerPtr server;
  wire::ServerType type = wire::ServerType::kUnknown;
};

/// For each call that both ends know the newest version of both.
Result<Connected> Negotiate(std::shared_ptr<SocketTransport> transport, std::string_view body) {
  ASSIGN_OR_RAISE(const auto reply, wire::ParseMessage<wire::ApiVersionsResponse>(body));
  std::map<wire::ApiKey, int16_t> versions;
  for (const auto& offered : reply.api_versions()) {
    const wire::ApiInfo* ours = wire::FindApi(static_cast<int16_t>(offered.api_key()));
    if (ours == nullptr) continue;
    const int newest = std::min<int>(offered.max_version(), ours->max_version);
    const int oldest = std::max<int>(offered.min_version(), ours->min_version);
    if (oldest <= newest) versions[ours->key] = static_cast<int16_t>(newest);
  }
  Connected connected;
  connected.server = std::make_shared<const Server>(transport, std::move(versions));
  connected.transport = std::move(transport);
  if (reply.has_server_type()) connected.type = static_cast<wire::ServerType>(reply.server_type());
  return connected;
}

io::Task<Result<Connected>> Handshake(io::Loop& loop, std::shared_ptr<SocketTransport> transport,
                                      SocketOptions options) {
  wire::ApiVersionsRequest hello;
  hello.set_client_software_name(options.software_name);
  hello.set_client_software_version(options.software_version);
  io::Call versions_call{static_cast<int16_t>(wire::ApiKey::kApiVersions), 0,
                         wire::Serialize(hello)};
  CO_ASSIGN_OR_RETURN(const std::string body,
                      co_await transport->Send(loop, std::move(versions_call)));
  if (!options.sasl_username.empty()) {
    wire::AuthenticateRequest login;
    login.set_protocol("PLAIN");
    login.set_token(std::string(1, '\0') + options.sasl_username + std::string(1, '\0') +
                    options.sasl_password);
    io::Call login_call{static_cast<int16_t>(wire::ApiKey::kAuthenticate), 0,
                        wire::Serialize(login)};
    CO_RETURN_NOT_OK((co_await transport->Send(loop, std::move(login_call))).status());
  }
  co_return Negotiate(std::move(transport), body);
}

io::Task<Result<Connected>> Connect(io::Network& network, io::Loop& loop, std::string address,
                                    SocketOptions options) {
  CO_ASSIGN_OR_RETURN(const HostPort place, ParseAddress(address));
  CO_ASSIGN_OR_RETURN(auto connection, co_await network.Connect(loop, place.host, place.port));
  auto transport =
      std::make_shared<SocketTransport>(loop, std::move(connection), options.request_timeout);
  co_return co_await Handshake(loop, std::move(transport), std::move(options));
}

}  // namespace

struct SocketServers::State {
  State(io::Network& n, std::vector<io::Loop*> l, SocketOptions o, std::vector<std::string> a)
      : network(n), loops(std::move(l)), options(std::move(o)), addresses(std::move(a)) {}

  struct Slot {
    Connected connected;
    bool connecting = false;
    std::vector<io::Completion<Result<ServerPtr>>> waiting;
  };
  io::Network& network;
  const std::vector<io::Loop*> loops;
  const SocketOptions options;
  const std::vector<std::string> addresses;
  std::mutex mutex;  // Guards what follows.
  std::map<std::string, Slot> slots;
  size_t next_loop = 0;
  bool closed = false;

  static io::Task<void> Fill(std::shared_ptr<State> self, io::Loop& loop, std::string address) {
    Result<Connected> connected = co_await Connect(self->network, loop, address, self->options);
    std::vector<io::Completion<Result<ServerPtr>>> waiting;
    Result<ServerPtr> outcome = connected.ok() ? Result<ServerPtr>(connected->server)
                                               : Result<ServerPtr>(connected.status());
    {
      const std::lock_guard lock(self->mutex);
      Slot& slot = self->slots[address];
      slot.connecting = false;
      waiting = std::move(slot.waiting);
      slot.waiting.clear();
      if (connected.ok() && !self->closed) slot.connected = std::move(connected).ValueUnsafe();
    }
    for (const auto& one : waiting) one.Set(outcome);
  }
};

Result<std::shared_ptr<SocketServers>> SocketServers::Make(io::Network& network,
                                                           std::vector<io::Loop*> loops,
                                                           SocketOptions options) {
  CHECK(!loops.empty());
  std::vector<std::string> addresses;
  std::string_view rest = options.bootstrap_servers;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    std::string_view one = rest.substr(0, comma);
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (one.empty()) continue;
    RETURN_NOT_OK(ParseAddress(one).status());
    addresses.emplace_back(one);
  }
  if (addresses.empty()) return Error(ErrorCode::kInvalidConfig, "no bootstrap server is given");
  auto state =
      std::make_shared<State>(network, std::move(loops), std::move(options), std::move(addresses));
  return std::shared_ptr<SocketServers>(new SocketServers(std::move(state)));
}

SocketServers::SocketServers(std::shared_ptr<State> state) : state_(std::move(state)) {}

SocketServers::~SocketServers() { Close(); }

void SocketServers::Close() {
  std::map<std::string, State::Slot> slots;
  {
    const std::lock_guard lock(state_->mutex);
    state_->closed = true;
    for (auto& [address, slot] : state_->slots) {
      if (!slot.connecting) slots[address].connected = std::move(slot.connected);
    }
  }
  for (auto& [address, slot] : slots) {
    if (slot.connected.transport != nullptr) slot.connected.transport->Close();
  }
}

io::Task<Result<ServerPtr>> SocketServers::Bootstrap(io::Loop& loop, int attempt) {
  const auto& addresses = state_->addresses;
  return Find(state_, loop, addresses[static_cast<size_t>(attempt) % addresses.size()],
              wire::ServerType::kUnknown);
}

io::Task<Result<ServerPtr>> SocketServers::At(io::Loop& loop, ServerNode node,
                                              wire::ServerType type) {
  return Find(state_, loop, node.host + ":" + std::to_string(node.port), type);
}

io::Task<Result<ServerPtr>> SocketServers::Find(std::shared_ptr<State> state, io::Loop& loop,
                                                std::string address, wire::ServerType type) {
  const io::Completion<Result<ServerPtr>> done(loop);
  bool wait = false;
  {
    const std::lock_guard lock(state->mutex);
    if (state->closed) co_return Error(ErrorCode::kNetwork, "client is closed");
    State::Slot& slot = state->slots[address];
    const bool usable = slot.connected.server != nullptr && !slot.connected.transport->closed();
    wait = !usable;
    if (wait) slot.waiting.push_back(done);
    if (wait && !slot.connecting) {
      slot.connecting = true;
      io::Loop& home = *state->loops[state->next_loop++ % state->loops.size()];
      home.Post([state, &home, address] { io::Spawn(State::Fill(state, home, address)); });
    }
  }
  if (wait) {
    CO_RETURN_NOT_OK((co_await done).status());
  }
  const std::lock_guard lock(state->mutex);
  const Connected& connected = state->slots[address].connected;
  if (connected.server == nullptr) co_return Error(ErrorCode::kNetwork, "client is closed");
  const bool other = type != wire::ServerType::kUnknown &&
                     connected.type != wire::ServerType::kUnknown && type != connected.type;
  if (other)
    co_return Error(ErrorCode::kNetwork, "another kind of server answers address=", address);
  co_return connected.server;
}

}  // namespace sluice::client
