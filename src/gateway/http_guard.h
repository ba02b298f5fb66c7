#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/http_head.h"

namespace sluice::gateway {

/// Whether only this machine reaches an address or name, as written.
bool IsLoopback(std::string_view host);

/// Keeps pages of other sites, open in the browser of somebody who reaches the server, from using
/// it: by a request across sites, or by a name that they let point to it (DNS rebinding).
class HttpGuard {
 public:
  HttpGuard() = default;
  /// `bound_host`: where the server listens; bound to all addresses it may be called by any of
  /// them. `allowed`: further names, "*" for any.
  HttpGuard(std::string bound_host, std::vector<std::string> allowed);

  /// Refusals: 403 for a foreign `Host` or `Origin`, 415 for a body that is not
  /// `application/json`, which a page can send only when it was asked for leave.
  std::optional<HttpRefusal> Check(const HttpHead& head) const;

 private:
  bool IsOurs(std::string_view host) const;
  bool IsAllowed(std::string_view host) const;

  std::string bound_host_;
  std::vector<std::string> allowed_;
};

}  // namespace sluice::gateway
