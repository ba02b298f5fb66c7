#pragma once
#include <map>
#include <memory>
#include <string>

#include "app/config.h"
#include "io/tls.h"
#include "server/plain_users.h"

namespace sluice::app {

/// What a listener asks of those who connect.
struct ListenerSecurity {
  bool tls = false;                           ///< TLS by the files of `server.tls.*`.
  std::shared_ptr<server::PlainUsers> users;  ///< By SASL/PLAIN; null = nobody has to log in.
  /// Users of `security.sasl.plain.credentials` may log in too, since the listener has no users of
  /// its own.
  bool shares_users = false;
  server::PlainUsers::Passwords fixed;  ///< Then: those of the JAAS text.
};

/// What a protocol asks for, of listeners (`security.protocol.map`) and of clients
/// (`client.security.protocol`): PLAINTEXT, SASL, TLS or SASL_TLS; anything else is no protocol.
bool HasTls(const std::string& protocol);
bool HasLogin(const std::string& protocol);
bool IsProtocol(const std::string& protocol);

/// Users of the JAAS text and those of the credentials, which win.
server::PlainUsers::Passwords Joined(server::PlainUsers::Passwords fixed,
                                     const server::PlainUsers::Passwords& credentials);

/// By listener name, for the listeners of both roles that are not PLAINTEXT.
///
/// Errors: kInvalidConfig naming the key, never a value that may hold a password: a listener or a
/// protocol that is none, a mechanism other than PLAIN, users that are missing or cannot be read.
Result<std::map<std::string, ListenerSecurity>> SecurityOf(const Config& config);

/// True when clients of a listener log in and HTTP, where nobody does, is open beyond this machine.
bool HttpIsWiderOpen(const Config& config,
                     const std::map<std::string, ListenerSecurity>& listeners);

/// The certificates of the listeners with TLS; null when there is none. Errors: kInvalidConfig
/// naming the keys, and the file at fault.
Result<std::shared_ptr<io::Tls>> ServerTlsOf(
    const Config& config, io::FileSystem& files,
    const std::map<std::string, ListenerSecurity>& listeners);

/// Users of the form `name:password,name:password`. Errors: kInvalidConfig, naming the entry by its
/// place.
Result<server::PlainUsers::Passwords> ParseCredentials(std::string_view text);

}  // namespace sluice::app
