#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/payload.h"
#include "io/task.h"

namespace sluice::io {

/// One byte stream, confined to the loop that it was made on. At most one Read and one Write at a
/// time.
class Connection {
 public:
  virtual ~Connection() = default;
  /// Read at least one and up to `size` bytes; 0 at the end of the stream.
  virtual Task<Result<size_t>> Read(char* out, size_t size) = 0;
  /// Fill `out` whole. Errors: kNetwork when the stream ends before that.
  Task<Status> ReadExactly(char* out, size_t size);
  virtual Task<Status> Write(Payload payload) = 0;
  /// Fail whatever waits, then every later call. Idempotent.
  virtual void Close() = 0;
  /// Once the peer has sent its last: the most bytes that are still to be read. nullopt = it may
  /// send more, as far as is known.
  virtual std::optional<uint64_t> UnreadAtEnd() const { return std::nullopt; }
  virtual const std::string& peer() const = 0;  ///< "127.0.0.1:40312"
};

class Listener {
 public:
  /// Stops listening; accepted connections live on. One that was accepted just before may still
  /// reach Accept on its loop, so what Accept refers to is held by it (a shared_ptr) or outlives
  /// the loops.
  virtual ~Listener() = default;
  virtual uint16_t port() const = 0;
};

/// Sockets as the code sees them.
class Network {
 public:
  /// Called on the loop that the connection belongs to.
  using Accept = std::function<void(std::unique_ptr<Connection>)>;
  virtual ~Network() = default;
  /// Accept connections on `host`:`port` (0 = any free port), at every address of a name, and deal
  /// them out to `loops` in turn. Errors: kNetwork, naming the address, when the port is in use.
  virtual Result<std::unique_ptr<Listener>> Listen(const std::string& host, uint16_t port,
                                                   std::vector<Loop*> loops, Accept accept) = 0;
  /// The connection belongs to `loop`, on which this is called.
  virtual Task<Result<std::unique_ptr<Connection>>> Connect(Loop& loop, std::string host,
                                                            uint16_t port) = 0;
};

/// TCP with TCP_NODELAY, over the loops of LoopThreads.
Network& SystemNetwork();

}  // namespace sluice::io
