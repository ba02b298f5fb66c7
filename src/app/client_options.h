#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "client/socket_servers.h"
#include "io/tls_network.h"

namespace CLI {
class App;
}

namespace sluice::app {

/// How a command of ours connects to servers: the command line's part and, by Fluss's names
/// (`client.security.protocol`, `client.security.sasl.…`), those of a file.
struct ClientOptions {
  std::string conf;                   ///< File with keys `client.*`; others in it are passed over.
  std::vector<std::string> settings;  ///< "key=value", win over the file.
  std::string username;               ///< Short for SASL with this user; wins.
  std::string password;
};

/// What those say.
struct ClientSettings {
  client::SocketOptions sockets;        ///< The part that says how to log in.
  std::unique_ptr<io::TlsNetwork> tls;  ///< Null = without TLS.
  io::Network& network() const;
};

/// Add `--conf`, `-D`, `--username` and `--password`.
void AddClientOptions(ClientOptions* options, CLI::App* parser);

/// Errors: kInvalidConfig naming the key, or the file of TLS.
Result<ClientSettings> ClientSettingsOf(const ClientOptions& options);

}  // namespace sluice::app
