#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/error.h"

namespace sluice::server {

/// Who may log in by SASL/PLAIN, with which password.
///
/// Threads: any.
class PlainUsers {
 public:
  using Passwords = std::map<std::string, std::string, std::less<>>;
  /// A longer password lets nobody in.
  static constexpr size_t kPasswordBytesMax = 1024;

  explicit PlainUsers(Passwords passwords) { Set(std::move(passwords)); }
  /// Logins from now on are judged by these; who is in stays in.
  void Set(Passwords passwords);

  /// The user whom a token (identity NUL user NUL password; the identity is empty or the user)
  /// names. Errors: kAuthenticate, in the same words whatever is wrong.
  Result<std::string> Login(std::string_view token) const;

 private:
  std::shared_ptr<const Passwords> passwords() const;

  mutable std::mutex mutex_;  // Guards the pointer only.
  std::shared_ptr<const Passwords> passwords_;
};

}  // namespace sluice::server
