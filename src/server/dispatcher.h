#pragma once
#include <string>

#include "io/transport.h"
#include "wire/api.h"

namespace sluice::server {

/// What one server offers on its listeners: the handshake itself, reads of metadata, and the calls
/// of its role.
///
/// Errors: kUnsupportedVersion for an unknown call, one of the other role, or a version out of
/// range (the Java server stays silent then, and callers hang); kAuthorization for a call between
/// servers that came by another listener than the internal one.
class Dispatcher : public io::Service {
 public:
  struct Options {
    wire::ServerType role = wire::ServerType::kUnknown;
    io::Service* metadata = nullptr;  ///< Calls that both roles answer.
    io::Service* server = nullptr;    ///< Calls of the role alone.
  };
  explicit Dispatcher(Options options) : options_(options) {}

  io::Task<Result<io::Payload>> Handle(io::Loop& loop,
                                       std::shared_ptr<const io::Principal> principal,
                                       io::Call call) override;

 private:
  Result<io::Payload> ApiVersions(const io::Call& call) const;
  static Result<io::Payload> Authenticate(const io::Call& call);

  const Options options_;
};

}  // namespace sluice::server
