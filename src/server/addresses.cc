#include "server/addresses.h"

#include <charconv>
#include <set>

#include "base/text.h"

namespace sluice::server {
namespace {

Result<Endpoint> ParseEndpoint(std::string_view text) {
  const size_t scheme = text.find("://");
  const size_t colon = text.rfind(':');
  if (scheme == std::string_view::npos || scheme == 0 || colon <= scheme + 2) {
    return Error(ErrorCode::kInvalidConfig, "listener is not NAME://host:port value=", text);
  }
  Endpoint endpoint;
  endpoint.listener = text.substr(0, scheme);
  endpoint.host = text.substr(scheme + 3, colon - scheme - 3);
  if (endpoint.host.size() > 2 && endpoint.host.front() == '[') {
    endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
  }
  const std::string_view port = text.substr(colon + 1);
  const auto parsed = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  if (parsed.ec != std::errc() || parsed.ptr != port.data() + port.size() || port.empty()) {
    return Error(ErrorCode::kInvalidConfig, "listener has no port from 0 to 65535 value=", text);
  }
  if (endpoint.host.empty()) endpoint.host = "0.0.0.0";
  return endpoint;
}

}  // namespace

std::string Endpoint::ToString() const {
  const bool ipv6 = host.find(':') != std::string::npos;
  return listener + "://" + (ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<std::vector<Endpoint>> ParseEndpoints(std::string_view text) {
  std::vector<Endpoint> endpoints;
  std::set<std::string> names;
  std::set<uint16_t> ports;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    ASSIGN_OR_RAISE(Endpoint endpoint, ParseEndpoint(TrimSpaces(text.substr(0, comma))));
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (!names.insert(endpoint.listener).second) {
      return Error(ErrorCode::kInvalidConfig,
                   "listener name is used twice name=", endpoint.listener);
    }
    if (endpoint.port != 0 && !ports.insert(endpoint.port).second) {
      return Error(ErrorCode::kInvalidConfig, "listener port is used twice port=", endpoint.port);
    }
    endpoints.push_back(std::move(endpoint));
  }
  return endpoints;
}

std::string FormatEndpoints(const std::vector<Endpoint>& endpoints) {
  std::string text;
  for (const Endpoint& endpoint : endpoints) {
    if (!text.empty()) text += ',';
    text += endpoint.ToString();
  }
  return text;
}

const Endpoint* ServerAddress::EndpointFor(std::string_view listener) const {
  if (listener.empty()) return endpoints.empty() ? nullptr : &endpoints.front();
  for (const Endpoint& endpoint : endpoints) {
    if (endpoint.listener == listener) return &endpoint;
  }
  return nullptr;
}

void Membership::Set(ClusterAddresses addresses) {
  auto next = std::make_shared<const ClusterAddresses>(std::move(addresses));
  const std::lock_guard lock(mutex_);
  current_ = std::move(next);
}

std::shared_ptr<const ClusterAddresses> Membership::Get() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

}  // namespace sluice::server
