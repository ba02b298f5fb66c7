#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace sluice::server {

/// Where a listener is bound or reached: "CLIENT://127.0.0.1:9123".
struct Endpoint {
  std::string listener;
  std::string host;
  uint16_t port = 0;
  bool operator==(const Endpoint&) const = default;
  std::string ToString() const;
};

/// Parse a comma list of endpoints. Errors: kInvalidConfig naming the text: not NAME://host:port, a
/// name or a port other than 0 used twice.
Result<std::vector<Endpoint>> ParseEndpoints(std::string_view text);
/// The comma list again.
std::string FormatEndpoints(const std::vector<Endpoint>& endpoints);

/// The addresses of one server, one per listener.
struct ServerAddress {
  int32_t id = 0;
  std::vector<Endpoint> endpoints;  ///< As advertised.

  /// The endpoint for a caller that came by `listener`; null when this server has no such listener.
  /// A caller from the process itself (empty name) gets the first.
  const Endpoint* EndpointFor(std::string_view listener) const;
};

/// Who is in the cluster, as metadata replies tell it. The coordinator is always node 0.
struct ClusterAddresses {
  std::vector<ServerAddress> coordinator;  ///< None or one.
  std::vector<ServerAddress> tablet_servers;
};

/// The current ClusterAddresses. Threads: any.
class Membership {
 public:
  void Set(ClusterAddresses addresses);
  std::shared_ptr<const ClusterAddresses> Get() const;

 private:
  mutable std::mutex mutex_;  // Guards the pointer only.
  std::shared_ptr<const ClusterAddresses> current_ = std::make_shared<ClusterAddresses>();
};

}  // namespace sluice::server
