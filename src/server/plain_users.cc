#include "server/plain_users.h"

namespace sluice::server {
namespace {

// Takes as long for a password that begins well as for one that does not.
bool SameBytes(std::string_view given, std::string_view wanted) {
  size_t difference = given.size() ^ wanted.size();
  for (size_t i = 0; i < given.size(); ++i) {
    const char other = wanted.empty() ? '\0' : wanted[i % wanted.size()];
    difference |= static_cast<unsigned char>(given[i] ^ other);
  }
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
  bool fits = SplitToken(token, &parts) && !parts.user.empty() && !parts.password.empty() &&
              (parts.identity.empty() || parts.identity == parts.user);
  const auto found = known->find(parts.user);
  // Compares for an unknown user too: how long the answer takes says nothing.
  const bool same = SameBytes(parts.password, found == known->end() ? "" : found->second);
  fits = fits && found != known->end() && same;
  if (!fits) return Error(ErrorCode::kAuthenticate, "authentication failed");
  return std::string(parts.user);
}

}  // namespace sluice::server
