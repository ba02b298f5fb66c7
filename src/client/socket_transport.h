#pragma once
#include <chrono>
#include <memory>

#include "io/net.h"
#include "io/transport.h"

namespace sluice::client {

/// Calls over one connection: frames, matched to their replies by request id. Calls are pipelined
/// without a bound; those of one loop leave in the order in which they were sent.
///
/// Threads: any loop may call Send and Close; the socket lives on the loop of its connection.
class SocketTransport : public io::Transport {
 public:
  /// `loop` is the connection's own.
  SocketTransport(io::Loop& loop, std::unique_ptr<io::Connection> connection,
                  std::chrono::milliseconds timeout);
  ~SocketTransport() override;

  io::Task<Result<std::string>> Send(io::Loop& loop, io::Call call) override;
  void Close() override;
  /// True once the connection broke or was closed; then every Send fails with kNetwork.
  bool closed() const;

 private:
  struct State;
  static io::Task<Result<std::string>> SendOn(std::shared_ptr<State> state, io::Loop& loop,
                                              io::Call call);
  static io::Task<void> ReadReplies(std::shared_ptr<State> state);
  static io::Task<void> WriteRequests(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace sluice::client
