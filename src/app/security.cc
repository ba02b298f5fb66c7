#include "app/security.h"

#include <algorithm>
#include <set>
#include <vector>

#include "app/jaas.h"
#include "app/settings.h"
#include "base/text.h"
#include "gateway/http_guard.h"

namespace sluice::app {
namespace {

using Passwords = server::PlainUsers::Passwords;

constexpr std::string_view kProtocolsKey = "security.protocol.map";
constexpr std::string_view kMechanismsKey = "security.sasl.enabled.mechanisms";
constexpr std::string_view kJaasKey = "security.sasl.plain.jaas.config";
constexpr std::string_view kCredentialsKey = "security.sasl.plain.credentials";
constexpr std::string_view kListenerPrefix = "security.sasl.listener.name.";
constexpr std::string_view kListenerSuffix = ".plain.jaas.config";

// The pieces between commas that are not empty.
std::vector<std::string> SplitList(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = TrimSpaces(text.substr(0, comma));
    if (!item.empty()) items.emplace_back(item);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return items;
}

Result<std::set<std::string>> ListenerNames(const Config& config) {
  std::set<std::string> names;
  for (const char* role : {"coordinator", "tablet-server"}) {
    ASSIGN_OR_RAISE(const Listeners listeners, ListenersOf(config, role));
    for (const server::Endpoint& endpoint : listeners.bind) names.insert(endpoint.listener);
  }
  return names;
}

// Protocol by listener. A name that is not bound would leave the one that was meant open.
Result<std::map<std::string, std::string>> ProtocolsOf(const Config& config,
                                                       const std::set<std::string>& names) {
  std::map<std::string, std::string> protocols;
  for (const std::string& entry : SplitList(config.String(kProtocolsKey))) {
    const size_t colon = std::min(entry.find(':'), entry.size());
    const std::string name(TrimSpaces(std::string_view(entry).substr(0, colon)));
    const std::string protocol(
        TrimSpaces(std::string_view(entry).substr(std::min(colon + 1, entry.size()))));
    if (!names.contains(name)) {
      return Error(ErrorCode::kInvalidConfig, "listener is not bound name=", name,
                   " key=", kProtocolsKey);
    }
    if (!IsProtocol(protocol)) {
      return Error(ErrorCode::kInvalidConfig,
                   "neither PLAINTEXT, SASL, TLS nor SASL_TLS protocol=", protocol,
                   " listener=", name, " key=", kProtocolsKey);
    }
    if (!protocols.emplace(name, protocol).second) {
      return Error(ErrorCode::kInvalidConfig, "listener stands there twice name=", name,
                   " key=", kProtocolsKey);
    }
  }
  return protocols;
}

Status CheckMechanisms(const Config& config) {
  for (const std::string& mechanism : SplitList(config.String(kMechanismsKey))) {
    if (SameUpToCase(mechanism, "PLAIN")) continue;
    return Error(ErrorCode::kInvalidConfig, "mechanism is not PLAIN mechanism=", mechanism,
                 " key=", kMechanismsKey);
  }
  return Status::OK();
}

// The users of a JAAS text, which stands under `key`.
Result<Passwords> UsersOf(const std::string& text, const std::string& key) {
  constexpr std::string_view kUserPrefix = "user_";
  const auto options = ParseJaas(text);
  if (!options.ok()) return options.status().WithMessage(options.status().message(), " key=", key);
  Passwords users;
  for (const auto& [name, password] : *options) {
    if (!name.starts_with(kUserPrefix) || name.size() == kUserPrefix.size()) {
      return Error(ErrorCode::kInvalidConfig, "option is no user_NAME option=", name, " key=", key);
    }
    if (password.empty())
      return Error(ErrorCode::kInvalidConfig, "user has no password option=", name, " key=", key);
    if (password.size() > server::PlainUsers::kPasswordBytesMax)
      return Error(ErrorCode::kInvalidConfig, "password is too long option=", name, " key=", key);
    users[name.substr(kUserPrefix.size())] = password;
  }
  if (users.empty()) return Error(ErrorCode::kInvalidConfig, "JAAS text has no user key=", key);
  return users;
}

// Users of a listener's own, by listener in lower case.
Result<std::map<std::string, Passwords>> OwnUsers(const Config& config,
                                                  const std::set<std::string>& names) {
  std::set<std::string> known;
  for (const std::string& name : names) known.insert(LowerCase(name));
  std::map<std::string, Passwords> own;
  for (const auto& [rest, text] : config.Below(kListenerPrefix)) {
    const std::string key = std::string(kListenerPrefix) + rest;
    const std::string listener = rest.substr(0, rest.find('.'));
    if (!known.contains(listener) || rest != listener + std::string(kListenerSuffix)) {
      return Error(ErrorCode::kInvalidConfig, "not the name of a bound listener in lower case and ",
                   kListenerSuffix, " key=", key);
    }
    ASSIGN_OR_RAISE(own[listener], UsersOf(text, key));
  }
  return own;
}

bool IsUserName(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

// As Fluss has it: nothing that would break the list, or a JAAS text made of it.
bool IsListPassword(std::string_view password) {
  return !password.empty() && std::ranges::none_of(password, [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == ':' || c == '"' || c == '\\' ||
           c == ';';
  });
}

}  // namespace

bool HasTls(const std::string& protocol) {
  return SameUpToCase(protocol, "TLS") || SameUpToCase(protocol, "SASL_TLS");
}

bool HasLogin(const std::string& protocol) {
  return SameUpToCase(protocol, "SASL") || SameUpToCase(protocol, "SASL_TLS");
}

bool IsProtocol(const std::string& protocol) {
  return SameUpToCase(protocol, "PLAINTEXT") || HasTls(protocol) || HasLogin(protocol);
}

Result<Passwords> ParseCredentials(std::string_view text) {
  Passwords users;
  size_t place = 0;
  for (const std::string& entry : SplitList(text)) {
    ++place;
    const size_t colon = entry.find(':');
    const bool whole = colon != std::string::npos && IsUserName(entry.substr(0, colon)) &&
                       IsListPassword(entry.substr(colon + 1));
    if (!whole) {
      return Error(ErrorCode::kInvalidConfig,
                   "not name:password with a name of letters, digits and _ place=", place,
                   " key=", kCredentialsKey);
    }
    if (entry.size() - colon - 1 > server::PlainUsers::kPasswordBytesMax) {
      return Error(ErrorCode::kInvalidConfig, "password is too long place=", place,
                   " size_bytes=", entry.size() - colon - 1,
                   " most=", server::PlainUsers::kPasswordBytesMax, " key=", kCredentialsKey);
    }
    if (!users.emplace(entry.substr(0, colon), entry.substr(colon + 1)).second) {
      return Error(ErrorCode::kInvalidConfig, "user stands there twice place=", place,
                   " key=", kCredentialsKey);
    }
  }
  return users;
}

Result<std::map<std::string, ListenerSecurity>> SecurityOf(const Config& config) {
  ASSIGN_OR_RAISE(const auto names, ListenerNames(config));
  ASSIGN_OR_RAISE(const auto protocols, ProtocolsOf(config, names));
  RETURN_NOT_OK(CheckMechanisms(config));
  ASSIGN_OR_RAISE(auto own, OwnUsers(config, names));
  ASSIGN_OR_RAISE(const Passwords credentials, ParseCredentials(config.String(kCredentialsKey)));
  Passwords shared;
  if (!config.String(kJaasKey).empty()) {
    ASSIGN_OR_RAISE(shared, UsersOf(config.String(kJaasKey), std::string(kJaasKey)));
  }
  std::map<std::string, ListenerSecurity> all;
  for (const auto& [name, protocol] : protocols) {
    if (SameUpToCase(protocol, "PLAINTEXT")) continue;
    ListenerSecurity security;
    security.tls = HasTls(protocol);
    const auto found = own.find(LowerCase(name));
    if (HasLogin(protocol) && found != own.end()) {
      security.users = std::make_shared<server::PlainUsers>(found->second);
    } else if (HasLogin(protocol)) {
      security.shares_users = true;
      security.fixed = shared;
      Passwords users = Joined(shared, credentials);
      if (users.empty()) {
        return Error(ErrorCode::kInvalidConfig, "SASL listener has no users listener=", name,
                     " key=", kJaasKey);
      }
      security.users = std::make_shared<server::PlainUsers>(std::move(users));
    }
    all.emplace(name, std::move(security));
  }
  return all;
}

Passwords Joined(Passwords fixed, const Passwords& credentials) {
  for (const auto& [user, password] : credentials) fixed[user] = password;
  return fixed;
}

bool HttpIsWiderOpen(const Config& config,
                     const std::map<std::string, ListenerSecurity>& listeners) {
  const bool asks = std::ranges::any_of(
      listeners, [](const auto& listener) { return listener.second.users != nullptr; });
  return asks && !gateway::IsLoopback(config.String("http.host"));
}

Result<std::shared_ptr<io::Tls>> ServerTlsOf(
    const Config& config, io::FileSystem& files,
    const std::map<std::string, ListenerSecurity>& listeners) {
  const bool needed =
      std::ranges::any_of(listeners, [](const auto& listener) { return listener.second.tls; });
  if (!needed) return nullptr;
  for (const char* key : {"server.tls.certificate-file", "server.tls.private-key-file"}) {
    if (config.String(key).empty())
      return Error(ErrorCode::kInvalidConfig, "TLS listener has no certificate key=", key);
  }
  auto tls = io::Tls::Open(io::Tls::End::kServer, files,
                           {.certificate = config.String("server.tls.certificate-file"),
                            .private_key = config.String("server.tls.private-key-file"),
                            .trusted = config.String("server.tls.client-ca-file")});
  if (tls.ok()) return tls;
  return tls.status().WithMessage(tls.status().message(), " keys=server.tls.*");
}

}  // namespace sluice::app
