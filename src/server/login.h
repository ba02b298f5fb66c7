#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "io/payload.h"
#include "server/plain_users.h"
#include "wire/frame.h"

namespace sluice::server {

/// How far one connection is with its login: the exchange of AUTHENTICATE calls.
///
/// Without users (a PLAINTEXT listener) it is done from the start, and AUTHENTICATE is an everyday
/// call. Threads: confined to its connection's.
class Login {
 public:
  /// More bytes than a call needs that may come before the login.
  static constexpr uint64_t kRequestBytesMax = 64 << 10;

  explicit Login(std::shared_ptr<const PlainUsers> users)
      : users_(std::move(users)), done_(users_ == nullptr) {}

  /// True when AUTHENTICATE is to be answered here.
  bool takes_part() const { return users_ != nullptr; }
  bool done() const { return done_; }
  /// Who is in; empty without users.
  const std::string& user() const { return user_; }
  /// Whether the call may be answered now.
  bool Allows(int16_t api_key) const;

  /// Answer one AUTHENTICATE; after success further ones change nothing. Errors: kAuthenticate for
  /// another mechanism or a wrong password; kCorruptMessage; kUnsupportedVersion.
  Result<io::Payload> Answer(const wire::RequestHeader& header, std::string_view body);

 private:
  const std::shared_ptr<const PlainUsers> users_;
  bool done_;
  std::string user_;
};

}  // namespace sluice::server
