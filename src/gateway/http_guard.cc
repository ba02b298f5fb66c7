#include "gateway/http_guard.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/text.h"

namespace sluice::gateway {
namespace {

// "[::1]:9180" as "::1"; "localhost" as it is.
std::string_view HostOf(std::string_view authority) {
  if (authority.starts_with('[')) return authority.substr(1, authority.find(']') - 1);
  return authority.substr(0, authority.find(':'));
}

bool IsAddress(std::string_view host) {
  in6_addr parsed;
  const std::string text(host);
  return inet_pton(AF_INET, text.c_str(), &parsed) == 1 ||
         inet_pton(AF_INET6, text.c_str(), &parsed) == 1;
}

// Without the port that the scheme implies, as browsers write `Host` and `Origin`.
std::string_view WithoutPort(std::string_view authority, std::string_view port) {
  if (authority.ends_with(port)) authority.remove_suffix(port.size());
  return authority;
}

bool SameOrigin(std::string_view origin, std::string_view host) {
  for (const auto& [scheme, port] :
       {std::pair<std::string_view, std::string_view>{"http://", ":80"}, {"https://", ":443"}}) {
    if (!origin.starts_with(scheme)) continue;
    return SameUpToCase(WithoutPort(origin.substr(scheme.size()), port), WithoutPort(host, port));
  }
  return false;
}

std::string_view AuthorityOf(std::string_view origin) {
  const size_t scheme = origin.find("://");
  return scheme == std::string_view::npos ? std::string_view() : origin.substr(scheme + 3);
}

bool IsJson(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return SameUpToCase(type, "application/json");
}

}  // namespace

bool IsLoopback(std::string_view host) {
  if (SameUpToCase(host, "localhost") || host == "::1") return true;
  return host.starts_with("127.") && IsAddress(host);
}

HttpGuard::HttpGuard(std::string bound_host, std::vector<std::string> allowed)
    : bound_host_(std::move(bound_host)), allowed_(std::move(allowed)) {}

bool HttpGuard::IsAllowed(std::string_view host) const {
  return std::ranges::any_of(allowed_, [&](const std::string& allowed) {
    return allowed == "*" || SameUpToCase(allowed, host);
  });
}

bool HttpGuard::IsOurs(std::string_view host) const {
  if (IsLoopback(host) || SameUpToCase(host, bound_host_) || IsAllowed(host)) return true;
  // An address is not a name that somebody else could point elsewhere.
  const bool everywhere = bound_host_.empty() || bound_host_ == "0.0.0.0" || bound_host_ == "::";
  return everywhere && IsAddress(host);
}

std::optional<HttpRefusal> HttpGuard::Check(const HttpHead& head) const {
  const std::string_view host = head.Header("host");  // Every browser sends it.
  if (!host.empty() && !IsOurs(HostOf(host))) {
    return HttpRefusal{403, "the server is not known by this name, see http.allowed-hosts host=" +
                                std::string(host)};
  }
  const std::string_view origin = head.Header("origin");
  if (!origin.empty() && !SameOrigin(origin, host) && !IsAllowed(HostOf(AuthorityOf(origin)))) {
    return HttpRefusal{403,
                       "pages of other sites may not use the server origin=" + std::string(origin)};
  }
  if (head.body_bytes > 0 && !IsJson(head.Header("content-type"))) {
    return HttpRefusal{415, "a body must be application/json"};
  }
  return std::nullopt;
}

}  // namespace sluice::gateway
