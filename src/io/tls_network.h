#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "io/net.h"
#include "io/tls.h"

namespace sluice::io {

/// Streams of another network, real or simulated, encrypted by TLS.
///
/// A listener accepts at once; the connection's first Read or Write makes the handshake. Connect
/// returns when the handshake is done: the server's
/// certificate is checked against the name or address that was asked for. Errors of a handshake:
/// kNetwork with the reason, also when it takes longer than `handshake_max`.
/// Lifetime: the other network outlives this, and this everything it listens for.
class TlsNetwork : public Network {
 public:
  TlsNetwork(Network& inner, std::shared_ptr<const Tls> tls,
             std::chrono::milliseconds handshake_max = std::chrono::milliseconds(10'000))
      : inner_(inner), tls_(std::move(tls)), handshake_max_(handshake_max) {}

  Result<std::unique_ptr<Listener>> Listen(const std::string& host, uint16_t port,
                                           std::vector<Loop*> loops, Accept accept) override;
  Task<Result<std::unique_ptr<Connection>>> Connect(Loop& loop, std::string host,
                                                    uint16_t port) override;

 private:
  Network& inner_;
  const std::shared_ptr<const Tls> tls_;
  const std::chrono::milliseconds handshake_max_;
};

}  // namespace sluice::io
