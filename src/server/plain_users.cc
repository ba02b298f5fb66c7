#include "server/plain_users.h"

namespace sluice::server {
namespace {

// What passwords of unknown users are compared with.
constexpr std::string_view kNobodysPassword = "nobody has this";

// Takes a time that depends on the length of `given` alone, not on how much of it is right.
// `wanted` is not empty.
bool SameBytes(std::string_view given, std::string_view wanted) {
  size_t difference = given.size() ^ wanted.size();
  for (size_t i = 0; i < given.size(); ++i)
    difference |= static_cast<unsigned char>(given[i] ^ wanted[i % wanted.size()]);
  return difference == 0;
}

struct PlainToken {
  std::string_view identity, user, password;
};

// False when it has not exactly three parts.
bool SplitToken(std::string_view token, PlainToken* out) {
  const size_t first = token.find('\0');
  if (first == std::string_view::npos) return false;
  const size_t second = token.find('\0', first + 1);
  if (second == std::string_view::npos) return false;
  *out = {token.substr(0, first), token.substr(first + 1, second - first - 1),
          token.substr(second + 1)};
  return out->password.find('\0') == std::string_view::npos;
}

}  // namespace

void PlainUsers::Set(Passwords passwords) {
  auto next = std::make_shared<const Passwords>(std::move(passwords));
  const std::lock_guard lock(mutex_);
  passwords_ = std::move(next);
}

std::shared_ptr<const PlainUsers::Passwords> PlainUsers::passwords() const {
  const std::lock_guard lock(mutex_);
  return passwords_;
}

Result<std::string> PlainUsers::Login(std::string_view token) const {
  const auto known = passwords();
  PlainToken parts;
  const bool fits = SplitToken(token, &parts) && !parts.user.empty() && !parts.password.empty() &&
                    parts.password.size() <= kPasswordBytesMax &&
                    (parts.identity.empty() || parts.identity == parts.user);
  if (fits) {
    const auto found = known->find(parts.user);
    const bool may_log_in = found != known->end() && !found->second.empty();
    // An unknown user's password is compared in the same way as a known one's: how long the answer
    // takes does not tell who there is.
    const std::string_view wanted = may_log_in ? std::string_view(found->second) : kNobodysPassword;
    const bool same = SameBytes(parts.password, wanted);
    if (may_log_in && same) return std::string(parts.user);
  }
  return Error(ErrorCode::kAuthenticate, "authentication failed");
}

}  // namespace sluice::server
