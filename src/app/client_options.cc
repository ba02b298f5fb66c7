#include "app/client_options.h"

#include <CLI/CLI.hpp>

#include "app/config.h"
#include "app/jaas.h"
#include "app/security.h"
#include "base/text.h"
#include "io/file.h"

namespace sluice::app {
namespace {

using Settings = std::map<std::string, std::string>;

constexpr const char* kSecurityPrefix = "client.security.";
constexpr const char* kSecurityKeys[] = {
    "protocol",         "sasl.mechanism", "sasl.username",        "sasl.password",
    "sasl.jaas.config", "tls.ca-file",    "tls.certificate-file", "tls.private-key-file"};

Status WrongKey(std::string_view what, const std::string& key) {
  return Error(ErrorCode::kInvalidConfig, what, " key=", kSecurityPrefix, key);
}

Result<Settings> ReadSecurity(const ClientOptions& options) {
  Config config;
  if (!options.conf.empty()) {
    ASSIGN_OR_RAISE(const std::string yaml, io::LocalFileSystem().ReadFile(options.conf));
    RETURN_NOT_OK(config.LoadFile(options.conf, yaml));
  }
  for (const std::string& setting : options.settings) RETURN_NOT_OK(config.Set(setting));
  Settings security = config.Below(kSecurityPrefix);
  for (const auto& [key, value] : security) {
    const bool known = std::ranges::find(kSecurityKeys, key) != std::end(kSecurityKeys);
    if (!known) return WrongKey("unknown configuration", key);
  }
  if (!options.username.empty()) {
    security["protocol"] = HasTls(security["protocol"]) ? "SASL_TLS" : "SASL";
    security["sasl.username"] = options.username;
    security["sasl.password"] = options.password;
  }
  return security;
}

Status FillLogin(Settings& security, client::SocketOptions* out) {
  const std::string& mechanism = security["sasl.mechanism"];
  if (!mechanism.empty() && !SameUpToCase(mechanism, "PLAIN"))
    return WrongKey("mechanism is not PLAIN", "sasl.mechanism");
  out->sasl_username = security["sasl.username"];
  out->sasl_password = security["sasl.password"];
  const std::string& jaas = security["sasl.jaas.config"];
  if (out->sasl_username.empty() && !jaas.empty()) {
    const auto parsed = ParseJaas(jaas);
    if (!parsed.ok()) return WrongKey(parsed.status().message(), "sasl.jaas.config");
    Settings user = *parsed;
    out->sasl_username = user["username"];
    out->sasl_password = user["password"];
  }
  if (out->sasl_username.empty()) return WrongKey("no user", "sasl.username");
  if (out->sasl_password.empty()) return WrongKey("no password", "sasl.password");
  return Status::OK();
}

}  // namespace

void AddClientOptions(ClientOptions* options, CLI::App* parser) {
  parser->add_option("--conf", options->conf,
                     "File (YAML) with keys client.*, as client.security.protocol");
  parser->add_option("-D", options->settings, "Such a key=value, wins over the file")
      ->allow_extra_args(false);
  parser->add_option("--username", options->username, "User to log in as (SASL PLAIN)");
  parser->add_option("--password", options->password,
                     "Its password; other users of this machine can see it, unlike in the file");
}

io::Network& ClientSettings::network() const {
  return tls == nullptr ? io::SystemNetwork() : static_cast<io::Network&>(*tls);
}

Result<ClientSettings> ClientSettingsOf(const ClientOptions& options) {
  ASSIGN_OR_RAISE(Settings security, ReadSecurity(options));
  const std::string protocol = security["protocol"].empty() ? "PLAINTEXT" : security["protocol"];
  if (!IsProtocol(protocol))
    return WrongKey("neither PLAINTEXT, SASL, TLS nor SASL_TLS", "protocol");
  ClientSettings settings;
  if (HasLogin(protocol)) RETURN_NOT_OK(FillLogin(security, &settings.sockets));
  if (HasTls(protocol)) {
    ASSIGN_OR_RAISE(auto read, io::Tls::Open(io::Tls::End::kClient, io::LocalFileSystem(),
                                             {.certificate = security["tls.certificate-file"],
                                              .private_key = security["tls.private-key-file"],
                                              .trusted = security["tls.ca-file"]}));
    settings.tls = std::make_unique<io::TlsNetwork>(io::SystemNetwork(), std::move(read));
  }
  return settings;
}

}  // namespace sluice::app
