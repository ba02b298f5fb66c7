#include <poll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <climits>
#include <csignal>

#include "base/log.h"
#include "io/asio_loop_internal.h"
#include "io/file.h"
#include "io/net.h"

namespace sluice::io {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using internal::AsioLoop;

constexpr size_t kCopyChunkBytes = 256 << 10;
// A fast reader must not hold the loop for a whole segment: after so much others get their turn.
constexpr size_t kTurnBytes = 1 << 20;
constexpr uint64_t kTriesPerWarning = 100;  // Of accepts that fail, each 100 ms.

AsioLoop& ToAsio(Loop& loop) {
  auto* asio_loop = dynamic_cast<AsioLoop*>(&loop);
  CHECK(asio_loop != nullptr);  // A simulated loop has the simulated network.
  return *asio_loop;
}

std::string AddressText(const std::string& host, uint16_t port) {
  const bool bare_ipv6 = host.find(':') != std::string::npos;
  return (bare_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string EndpointText(const tcp::endpoint& endpoint) {
  return AddressText(endpoint.address().to_string(), endpoint.port());
}

// The socket of a connection. Operations under way hold it, so it outlives the Connection that
// closes it.
struct Stream {
  Stream(AsioLoop& on, tcp::socket connected) : loop(on), socket(std::move(connected)) {}

  Status Failure(const std::string& reason) const {
    return Error(ErrorCode::kNetwork, "connection failed peer=", peer, " reason=", reason);
  }

  AsioLoop& loop;
  tcp::socket socket;
  std::string peer;
  bool closed = false;
};

// co_await: a read of at least one byte.
class ReadSome {
 public:
  ReadSome(Stream& stream, char* out, size_t size) : stream_(stream), out_(out), size_(size) {}
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> waiter) {
    stream_.socket.async_read_some(asio::buffer(out_, size_),
                                   [this, waiter](error_code error, size_t got) {
                                     error_ = error;
                                     got_ = got;
                                     stream_.loop.RunTimed([waiter] { waiter.resume(); });
                                   });
  }
  error_code await_resume() const { return error_; }
  size_t got() const { return got_; }

 private:
  Stream& stream_;
  char* const out_;
  const size_t size_;
  error_code error_;
  size_t got_ = 0;
};

// co_await: until the socket takes bytes again.
class Writable {
 public:
  explicit Writable(Stream& stream) : stream_(stream) {}
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> waiter) {
    stream_.socket.async_wait(tcp::socket::wait_write, [this, waiter](error_code error) {
      error_ = error;
      stream_.loop.RunTimed([waiter] { waiter.resume(); });
    });
  }
  error_code await_resume() const { return error_; }

 private:
  Stream& stream_;
  error_code error_;
};

// co_await: whatever else the loop has to do now is done first.
class Turn {
 public:
  explicit Turn(Stream& stream) : stream_(stream) {}
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> waiter) {
    stream_.loop.Post([waiter] { waiter.resume(); });
  }
  void await_resume() const {}

 private:
  Stream& stream_;
};

// Waits when `error` says that the socket is full. Errors: any other `error`, and a close while it
// waits.
Task<Status> WaitToWrite(std::shared_ptr<Stream> stream, int error) {
  if (error == EINTR) co_return Status::OK();
  if (error != EAGAIN) co_return stream->Failure(std::strerror(error));
  Writable writable(*stream);
  const error_code waited = co_await writable;
  if (waited || stream->closed) co_return stream->Failure(waited ? waited.message() : "closed");
  co_return Status::OK();
}

Task<Status> TakeTurn(std::shared_ptr<Stream> stream) {
  Turn turn(*stream);
  co_await turn;
  if (stream->closed) co_return stream->Failure("closed");
  co_return Status::OK();
}

Task<Status> SendMemory(std::shared_ptr<Stream> stream, std::vector<iovec> vectors,
                        bool more_follows) {
  size_t first = 0;
  size_t of_turn = 0;  // Bytes sent since the loop did something else.
  while (first < vectors.size()) {
    msghdr message{};
    message.msg_iov = &vectors[first];
    message.msg_iovlen = std::min<size_t>(vectors.size() - first, IOV_MAX);
    const int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (more_follows ? MSG_MORE : 0);
    const ssize_t sent = ::sendmsg(stream->socket.native_handle(), &message, flags);
    if (sent < 0) {
      CO_RETURN_NOT_OK(co_await WaitToWrite(stream, errno));
      continue;
    }
    of_turn += static_cast<size_t>(sent);
    auto left = static_cast<size_t>(sent);
    for (; first < vectors.size() && left >= vectors[first].iov_len; ++first)
      left -= vectors[first].iov_len;
    if (left > 0) {
      vectors[first].iov_base = static_cast<char*>(vectors[first].iov_base) + left;
      vectors[first].iov_len -= left;
    }
    if (first == vectors.size() || of_turn < kTurnBytes) continue;
    of_turn = 0;
    CO_RETURN_NOT_OK(co_await TakeTurn(stream));
  }
  co_return Status::OK();
}

Task<Status> SendFileRange(std::shared_ptr<Stream> stream, Payload::FileRange range) {
  auto position = static_cast<off_t>(range.position_bytes);
  uint64_t left = range.size_bytes;
  uint64_t of_turn = 0;
  while (left > 0) {
    const ssize_t sent = ::sendfile(stream->socket.native_handle(), range.file->descriptor(),
                                    &position, std::min<uint64_t>(left, kTurnBytes));
    if (sent < 0) {
      CO_RETURN_NOT_OK(co_await WaitToWrite(stream, errno));
      continue;
    }
    if (sent == 0) co_return stream->Failure("file ends inside a range path=" + range.file->path());
    left -= static_cast<uint64_t>(sent);
    of_turn += static_cast<uint64_t>(sent);
    if (left == 0 || of_turn < kTurnBytes) continue;
    of_turn = 0;
    CO_RETURN_NOT_OK(co_await TakeTurn(stream));
  }
  co_return Status::OK();
}

// A file without a descriptor: through memory.
Task<Status> CopyFileRange(std::shared_ptr<Stream> stream, Payload::FileRange range) {
  std::string chunk;
  for (uint64_t done = 0; done < range.size_bytes; done += chunk.size()) {
    const size_t size = std::min<uint64_t>(range.size_bytes - done, kCopyChunkBytes);
    CO_ASSIGN_OR_RETURN(chunk, range.file->ReadString(range.position_bytes + done, size));
    if (chunk.empty())
      co_return stream->Failure("file ends inside a range path=" + range.file->path());
    std::vector<iovec> vectors{{chunk.data(), chunk.size()}};
    CO_RETURN_NOT_OK(co_await SendMemory(stream, std::move(vectors), false));
  }
  co_return Status::OK();
}

Task<Status> SendPayload(std::shared_ptr<Stream> stream, Payload payload) {
  std::vector<iovec> memory;  // Parts that go out together, up to the next file range.
  for (const Payload::Part& part : payload.parts()) {
    if (stream->closed) co_return stream->Failure("closed");
    if (const auto* bytes = std::get_if<std::string>(&part)) {
      memory.push_back({const_cast<char*>(bytes->data()), bytes->size()});
    } else if (const auto* shared = std::get_if<std::shared_ptr<const std::string>>(&part)) {
      memory.push_back({const_cast<char*>((*shared)->data()), (*shared)->size()});
    } else {
      std::vector<iovec> before = std::exchange(memory, {});
      CO_RETURN_NOT_OK(co_await SendMemory(stream, std::move(before), true));
      Payload::FileRange range = std::get<Payload::FileRange>(part);
      if (range.file->descriptor() >= 0) {
        CO_RETURN_NOT_OK(co_await SendFileRange(stream, std::move(range)));
      } else {
        CO_RETURN_NOT_OK(co_await CopyFileRange(stream, std::move(range)));
      }
    }
  }
  if (stream->closed) co_return stream->Failure("closed");
  co_return co_await SendMemory(stream, std::move(memory), false);
}

Task<Result<size_t>> ReadStream(std::shared_ptr<Stream> stream, char* out, size_t size) {
  if (stream->closed) co_return stream->Failure("closed");
  ReadSome read(*stream, out, size);
  const error_code error = co_await read;
  if (error == asio::error::eof) co_return size_t{0};
  if (error) co_return stream->Failure(stream->closed ? "closed" : error.message());
  co_return read.got();
}

class SocketConnection : public Connection {
 public:
  SocketConnection(AsioLoop& loop, tcp::socket socket)
      : stream_(std::make_shared<Stream>(loop, std::move(socket))) {
    error_code ignored;  // A peer that is gone already fails the first read.
    stream_->socket.non_blocking(true, ignored);
    stream_->socket.set_option(tcp::no_delay(true), ignored);
    stream_->peer = EndpointText(stream_->socket.remote_endpoint(ignored));
  }
  ~SocketConnection() override { Close(); }

  Task<Result<size_t>> Read(char* out, size_t size) override {
    return ReadStream(stream_, out, size);
  }
  Task<Status> Write(Payload payload) override { return SendPayload(stream_, std::move(payload)); }
  void Close() override {
    if (std::exchange(stream_->closed, true)) return;
    error_code ignored;
    stream_->socket.close(ignored);
  }
  std::optional<uint64_t> UnreadAtEnd() const override {
    if (stream_->closed) return 0;
    pollfd look{stream_->socket.native_handle(), POLLRDHUP, 0};
    if (poll(&look, 1, /*timeout=*/0) <= 0) return std::nullopt;
    error_code ignored;
    return stream_->socket.available(ignored);
  }
  const std::string& peer() const override { return stream_->peer; }

 private:
  std::shared_ptr<Stream> stream_;
};

// The listening socket and where its connections go. The pending accept holds it.
class AcceptLoop : public std::enable_shared_from_this<AcceptLoop> {
 public:
  AcceptLoop(tcp::acceptor acceptor, std::vector<Loop*> loops, Network::Accept accept)
      : acceptor_(std::move(acceptor)), loops_(std::move(loops)), accept_(std::move(accept)) {}

  void AcceptNext() {
    const std::lock_guard lock(mutex_);
    if (!acceptor_.is_open()) return;
    AsioLoop& target = ToAsio(*loops_[next_++ % loops_.size()]);
    acceptor_.async_accept(target.context(), [self = shared_from_this(), &target](
                                                 error_code error, tcp::socket socket) {
      self->Accepted(error, target, std::move(socket));
    });
  }

  void Close() {
    const std::lock_guard lock(mutex_);
    error_code ignored;
    acceptor_.close(ignored);
  }

 private:
  void Accepted(error_code error, AsioLoop& target, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error) {
      // Most likely out of descriptors: trying again at once would spin.
      if (refused_++ % kTriesPerWarning == 0)
        LogWarn("cannot accept connections reason={} tries={}", error.message(), refused_);
      loops_[0]->After(std::chrono::milliseconds(100),
                       [self = shared_from_this()] { self->AcceptNext(); });
      return;
    }
    refused_ = 0;
    auto held = std::make_shared<tcp::socket>(std::move(socket));
    target.Post([self = shared_from_this(), &target, held] {
      self->accept_(std::make_unique<SocketConnection>(target, std::move(*held)));
    });
    AcceptNext();
  }

  std::mutex mutex_;  // Guards acceptor_ and next_: Close comes from any thread.
  tcp::acceptor acceptor_;
  size_t next_ = 0;
  uint64_t refused_ = 0;  // Tries without success since the last one with. One accept is under way.
  const std::vector<Loop*> loops_;
  const Network::Accept accept_;
};

class SocketListener : public Listener {
 public:
  SocketListener(std::vector<std::shared_ptr<AcceptLoop>> accepting, uint16_t port)
      : accepting_(std::move(accepting)), port_(port) {}
  ~SocketListener() override {
    for (const auto& each : accepting_) each->Close();
  }
  uint16_t port() const override { return port_; }

 private:
  std::vector<std::shared_ptr<AcceptLoop>> accepting_;  // One per address of the name.
  const uint16_t port_;
};

// The addresses of a name, each once.
std::vector<tcp::endpoint> Distinct(const tcp::resolver::results_type& found) {
  std::vector<tcp::endpoint> endpoints;
  for (const auto& entry : found) {
    if (std::ranges::find(endpoints, entry.endpoint()) == endpoints.end())
      endpoints.push_back(entry.endpoint());
  }
  return endpoints;
}

// `alone`: no other address of the name is bound, so that "::" may take those of IPv4 too.
tcp::acceptor Bind(asio::io_context& context, const tcp::endpoint& endpoint, bool alone,
                   error_code& error) {
  tcp::acceptor acceptor(context);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && !alone && endpoint.address().is_v6())
    acceptor.set_option(asio::ip::v6_only(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(tcp::acceptor::max_listen_connections, error);
  return acceptor;
}

// All of them at one port, that of the first which is bound where `port` is 0. What this machine
// does not have (a name may stand for ::1 although there is no IPv6) is left out.
std::vector<tcp::acceptor> BindAll(asio::io_context& context, std::vector<tcp::endpoint> endpoints,
                                   uint16_t port, error_code& error) {
  std::vector<tcp::acceptor> bound;
  error_code absent;
  for (tcp::endpoint& endpoint : endpoints) {
    endpoint.port(port);
    tcp::acceptor acceptor = Bind(context, endpoint, endpoints.size() == 1, error);
    if (error == asio::error::address_family_not_supported ||
        error == boost::system::errc::address_not_available) {
      absent = error;
      continue;
    }
    if (error) return {};
    port = acceptor.local_endpoint(error).port();
    bound.push_back(std::move(acceptor));
  }
  error = bound.empty() ? absent : error_code();
  return bound;
}

class SocketNetwork : public Network {
 public:
  Result<std::unique_ptr<Listener>> Listen(const std::string& host, uint16_t port,
                                           std::vector<Loop*> loops, Accept accept) override {
    CHECK(!loops.empty());
    auto& context = ToAsio(*loops[0]).context();
    error_code error;
    tcp::resolver resolver(context);
    const auto found = resolver.resolve(host, std::to_string(port), tcp::resolver::passive, error);
    if (error) return CannotListen(host, port, error);
    std::vector<tcp::acceptor> bound = BindAll(context, Distinct(found), port, error);
    // A port that is free at one address may be taken at the next.
    for (int tries = 1; port == 0 && error == asio::error::address_in_use && tries < 10; ++tries)
      bound = BindAll(context, Distinct(found), port, error);
    if (error) return CannotListen(host, port, error);
    const uint16_t bound_port = bound[0].local_endpoint(error).port();
    std::vector<std::shared_ptr<AcceptLoop>> accepting;
    for (tcp::acceptor& acceptor : bound) {
      accepting.push_back(std::make_shared<AcceptLoop>(std::move(acceptor), loops, accept));
      accepting.back()->AcceptNext();
    }
    return std::make_unique<SocketListener>(std::move(accepting), bound_port);
  }

  Task<Result<std::unique_ptr<Connection>>> Connect(Loop& loop, std::string host,
                                                    uint16_t port) override {
    return ConnectTo(loop, std::move(host), port);
  }

 private:
  static Status CannotListen(const std::string& host, uint16_t port, const error_code& error) {
    return Error(ErrorCode::kNetwork, "cannot listen address=", AddressText(host, port),
                 " reason=", error.message());
  }
  static Status CannotConnect(const std::string& host, uint16_t port, const error_code& error) {
    return Error(ErrorCode::kNetwork, "cannot connect address=", AddressText(host, port),
                 " reason=", error.message());
  }

  static Task<Result<std::unique_ptr<Connection>>> ConnectTo(Loop& loop, std::string host,
                                                             uint16_t port) {
    AsioLoop& on = ToAsio(loop);
    CHECK(on.IsCurrent());
    using Resolved = std::pair<error_code, tcp::resolver::results_type>;
    Completion<Resolved> resolved(loop);
    tcp::resolver resolver(on.context());
    resolver.async_resolve(host, std::to_string(port), [resolved](error_code error, auto results) {
      resolved.Set({error, std::move(results)});
    });
    const Resolved addresses = co_await resolved;
    if (addresses.first) co_return CannotConnect(host, port, addresses.first);

    tcp::socket socket(on.context());
    Completion<error_code> connected(loop);
    asio::async_connect(
        socket, addresses.second,
        [connected](error_code error, const tcp::endpoint&) { connected.Set(error); });
    const error_code error = co_await connected;
    if (error) co_return CannotConnect(host, port, error);
    co_return std::make_unique<SocketConnection>(on, std::move(socket));
  }
};

}  // namespace

Network& SystemNetwork() {
  // sendfile has no MSG_NOSIGNAL: a peer that hangs up must give EPIPE, not end the process.
  static const auto ignore_sigpipe [[maybe_unused]] = std::signal(SIGPIPE, SIG_IGN);
  static SocketNetwork network;
  return network;
}

}  // namespace sluice::io
