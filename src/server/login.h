#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
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
  static constexpr uint64_t kRequestBytesMax = 8 << 10;
  /// Answers in memory until then; above, no further request is read.
  static constexpr uint64_t kUnsentBytesMax = 64 << 10;

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

/// When the log tells of failed logins of a listener: of the first at once, then once a second at
/// most, however many there are. Threads: any.
class LoginWarnings {
 public:
  /// Count one that failed `now`, of a monotonic clock. How many, it among them, a line is to tell
  /// of; 0 = it waits for a later line.
  uint64_t Take(std::chrono::nanoseconds now);

 private:
  std::mutex mutex_;  // Guards what follows.
  uint64_t untold_ = 0;
  std::optional<std::chrono::nanoseconds> told_;  // The last line.
};

}  // namespace sluice::server
