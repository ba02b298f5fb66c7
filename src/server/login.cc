#include "server/login.h"

#include <utility>

#include "base/text.h"
#include "wire/api.h"
#include "wire/proto/handshake.pb.h"

namespace sluice::server {

bool Login::Allows(int16_t api_key) const {
  return done_ || api_key == static_cast<int16_t>(wire::ApiKey::kApiVersions) ||
         api_key == static_cast<int16_t>(wire::ApiKey::kAuthenticate);
}

Result<io::Payload> Login::Answer(const wire::RequestHeader& header, std::string_view body) {
  const wire::ApiInfo* api = wire::FindApi(header.api_key);
  if (header.api_version < api->min_version || header.api_version > api->max_version) {
    return Error(ErrorCode::kUnsupportedVersion, "version is not offered api=", api->name,
                 " version=", header.api_version, " max=", api->max_version);
  }
  ASSIGN_OR_RAISE(const auto request, wire::ParseMessage<wire::AuthenticateRequest>(body));
  if (!SameUpToCase(request.protocol(), "PLAIN")) {
    return Error(ErrorCode::kAuthenticate, "listener has another mechanism offered=PLAIN");
  }
  wire::AuthenticateResponse response;
  if (!done_) {
    ASSIGN_OR_RAISE(user_, users_->Login(request.token()));
    done_ = true;
    response.set_challenge("");  // Present and empty, as clients know it.
  }
  return wire::SerializeReply(response);
}

uint64_t LoginWarnings::Take(std::chrono::nanoseconds now) {
  constexpr std::chrono::seconds kBetweenLines{1};
  const std::lock_guard lock(mutex_);
  ++untold_;
  if (told_.has_value() && now - *told_ < kBetweenLines) return 0;
  told_ = now;
  return std::exchange(untold_, 0);
}

}  // namespace sluice::server
