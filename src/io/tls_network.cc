#include "io/tls_network.h"

#include <arpa/inet.h>
#include <openssl/err.h>

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "io/tls_internal.h"

namespace sluice::io {
namespace {

using internal::OpenSslPtr;
using internal::OpenSslReason;
using internal::TlsContext;

constexpr size_t kReadBytes = 16 << 10;    // From the other network at a time.
constexpr size_t kPieceBytes = 64 << 10;   // Encrypted before it is sent.
constexpr size_t kTlsTurnBytes = 1 << 20;  // Then the loop does something else first.
constexpr std::string_view kLate = "handshake of TLS takes too long";

// A session and the stream below it. Operations under way hold it. OpenSSL sees no socket: it reads
// from `in`, which is fed what came, and writes to `out`, which is flushed to the stream.
struct TlsStream : std::enable_shared_from_this<TlsStream> {
  TlsStream(Loop& on, std::unique_ptr<Connection> below, OpenSslPtr<SSL> made,
            std::chrono::milliseconds limit)
      : loop(on), inner(std::move(below)), ssl(std::move(made)), handshake_max(limit) {
    in = BIO_new(BIO_s_mem());
    out = BIO_new(BIO_s_mem());
    CHECK(in != nullptr && out != nullptr);
    SSL_set_bio(ssl.get(), in, out);  // Owns them from here on.
  }

  Status Failure(std::string_view reason) const {
    return Error(ErrorCode::kNetwork, "connection failed peer=", inner->peer(), " reason=", reason);
  }
  void Close() {
    closed = true;
    inner->Close();
    Wake(&flush_waits);
    Wake(&shake_waits);
  }
  static void Wake(std::optional<Completion<bool>>* waits) {
    if (waits->has_value()) std::exchange(*waits, std::nullopt)->Set(true);
  }

  Loop& loop;
  const std::unique_ptr<Connection> inner;
  const OpenSslPtr<SSL> ssl;
  const std::chrono::milliseconds handshake_max;
  BIO* in = nullptr;
  BIO* out = nullptr;
  bool shaking = false;  // The handshake is under way,
  bool shaken = false;   // done,
  bool late = false;     // took too long.
  bool ended = false;    // The stream below has ended.
  bool closed = false;
  bool flushing = false;
  // Reader and writer wait for one another: for the handshake, the writer for the reader's flush.
  std::optional<Completion<bool>> shake_waits, flush_waits;
};
using TlsStreamPtr = std::shared_ptr<TlsStream>;

// Sends what OpenSSL has written, also what it writes meanwhile.
Task<Status> FlushOut(TlsStreamPtr stream) {
  while (stream->flushing && !stream->closed) {
    Completion<bool> done(stream->loop);
    stream->flush_waits = done;
    co_await done;
  }
  stream->flushing = true;
  Status sent;
  while (sent.ok() && !stream->closed && BIO_ctrl_pending(stream->out) > 0) {
    std::string bytes(BIO_ctrl_pending(stream->out), '\0');
    const int got = BIO_read(stream->out, bytes.data(), static_cast<int>(bytes.size()));
    CHECK(got == static_cast<int>(bytes.size()));  // It holds them in memory.
    Payload payload(std::move(bytes));
    sent = co_await stream->inner->Write(std::move(payload));
  }
  stream->flushing = false;
  TlsStream::Wake(&stream->flush_waits);
  if (sent.ok() && stream->closed) sent = stream->Failure("closed");
  co_return sent;
}

// The reader does not wait for what it sends in passing: the peer may read no more before we do.
void FlushInPassing(const TlsStreamPtr& stream) {
  if (stream->flushing || BIO_ctrl_pending(stream->out) == 0) return;
  io::Spawn([](TlsStreamPtr held) -> Task<void> {
    (void)co_await FlushOut(held);  // A stream that broke fails the next read.
  }(stream));
}

// Gives OpenSSL more of what comes.
Task<Status> FeedIn(TlsStreamPtr stream) {
  std::string bytes(kReadBytes, '\0');
  CO_ASSIGN_OR_RETURN(const size_t got, co_await stream->inner->Read(bytes.data(), bytes.size()));
  if (stream->closed) co_return stream->Failure("closed");
  stream->ended = got == 0;
  if (stream->ended) co_return Status::OK();
  const int written = BIO_write(stream->in, bytes.data(), static_cast<int>(got));
  CHECK(written == static_cast<int>(got));  // It grows.
  co_return Status::OK();
}

Task<Status> TurnHandshake(TlsStreamPtr stream) {
  while (true) {
    ERR_clear_error();
    const int done = SSL_do_handshake(stream->ssl.get());
    const int why = SSL_get_error(stream->ssl.get(), done);
    const bool failed = done != 1 && why != SSL_ERROR_WANT_READ;
    std::string reason = failed ? OpenSslReason() : "";
    const long verified = SSL_get_verify_result(stream->ssl.get());
    if (failed && verified != X509_V_OK)
      reason += std::string(", ") + X509_verify_cert_error_string(verified);
    const Status flushed = co_await FlushOut(stream);  // Also the alert that tells the other end.
    if (failed) co_return stream->Failure("no handshake of TLS: " + reason);
    CO_RETURN_NOT_OK(flushed);
    if (done == 1) break;
    CO_RETURN_NOT_OK(co_await FeedIn(stream));
    if (stream->ended) co_return stream->Failure("stream ended in the handshake of TLS");
  }
  co_return Status::OK();
}

// Whoever reads or writes first makes the handshake.
Task<Status> Shake(TlsStreamPtr stream) {
  while (stream->shaking && !stream->closed) {
    Completion<bool> done(stream->loop);
    stream->shake_waits = done;
    co_await done;
  }
  if (stream->closed) co_return stream->Failure(stream->late ? kLate : std::string_view("closed"));
  if (stream->shaken) co_return Status::OK();
  stream->shaking = true;
  const Loop::TimerId timer =
      stream->loop.After(stream->handshake_max, [weak = stream->weak_from_this()] {
        const auto self = weak.lock();
        if (self == nullptr || !self->shaking) return;
        self->late = true;
        self->Close();
      });
  const Status shaken = co_await TurnHandshake(stream);
  stream->loop.Cancel(timer);
  stream->shaking = false;
  stream->shaken = shaken.ok();
  TlsStream::Wake(&stream->shake_waits);
  if (stream->late) co_return stream->Failure(kLate);
  if (!shaken.ok() && !stream->closed) stream->Close();
  co_return shaken;
}

Task<Result<size_t>> ReadTls(TlsStreamPtr stream, char* out, size_t size) {
  CO_RETURN_NOT_OK(co_await Shake(stream));
  while (!stream->closed) {
    size_t got = 0;
    ERR_clear_error();
    const int read = SSL_read_ex(stream->ssl.get(), out, size, &got);
    const int why = SSL_get_error(stream->ssl.get(), read);
    FlushInPassing(stream);
    if (read == 1) co_return got;
    if (why == SSL_ERROR_ZERO_RETURN) co_return size_t{0};
    if (why != SSL_ERROR_WANT_READ) co_return stream->Failure(OpenSslReason());
    // An end without TLS's own word is one too: what is sent over us tells its lengths itself.
    if (stream->ended) co_return size_t{0};
    CO_RETURN_NOT_OK(co_await FeedIn(stream));
  }
  co_return stream->Failure("closed");
}

// `*turn_bytes` counts what went out since the loop did something else.
Task<Status> WritePiece(TlsStreamPtr stream, std::string_view piece, size_t* turn_bytes) {
  if (stream->closed) co_return stream->Failure("closed");
  if (piece.empty()) co_return Status::OK();
  size_t written = 0;
  ERR_clear_error();
  if (SSL_write_ex(stream->ssl.get(), piece.data(), piece.size(), &written) != 1)
    co_return stream->Failure(OpenSslReason());
  CHECK(written == piece.size());  // Memory takes all of it.
  CO_RETURN_NOT_OK(co_await FlushOut(stream));
  *turn_bytes += piece.size();
  if (*turn_bytes < kTlsTurnBytes) co_return Status::OK();
  *turn_bytes = 0;
  Sleep others(stream->loop, std::chrono::milliseconds(0));
  co_await others;
  co_return Status::OK();
}

Task<Status> WriteMemory(TlsStreamPtr stream, std::string_view bytes, size_t* turn_bytes) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kPieceBytes)))
    CO_RETURN_NOT_OK(co_await WritePiece(stream, bytes.substr(0, kPieceBytes), turn_bytes));
  co_return Status::OK();
}

Task<Status> WriteRange(TlsStreamPtr stream, Payload::FileRange range, size_t* turn_bytes) {
  for (uint64_t done = 0; done < range.size_bytes;) {
    const size_t size = std::min<uint64_t>(range.size_bytes - done, kPieceBytes);
    CO_ASSIGN_OR_RETURN(const std::string piece,
                        range.file->ReadString(range.position_bytes + done, size));
    if (piece.empty())
      co_return stream->Failure("file ends inside a range path=" + range.file->path());
    CO_RETURN_NOT_OK(co_await WritePiece(stream, piece, turn_bytes));
    done += piece.size();
  }
  co_return Status::OK();
}

Task<Status> WriteTls(TlsStreamPtr stream, Payload payload) {
  CO_RETURN_NOT_OK(co_await Shake(stream));
  size_t turn_bytes = 0;
  std::string joined;  // Small parts, so that each does not become a record of its own.
  for (const Payload::Part& part : payload.parts()) {
    const auto* bytes = std::get_if<std::string>(&part);
    const auto* shared = std::get_if<std::shared_ptr<const std::string>>(&part);
    if (bytes == nullptr && shared != nullptr) bytes = shared->get();
    if (bytes != nullptr && joined.size() + bytes->size() <= kReadBytes) {
      joined += *bytes;
      continue;
    }
    CO_RETURN_NOT_OK(co_await WriteMemory(stream, joined, &turn_bytes));
    joined.clear();
    if (bytes != nullptr) {
      CO_RETURN_NOT_OK(co_await WriteMemory(stream, *bytes, &turn_bytes));
    } else {
      Payload::FileRange range = std::get<Payload::FileRange>(part);
      CO_RETURN_NOT_OK(co_await WriteRange(stream, std::move(range), &turn_bytes));
    }
  }
  co_return co_await WriteMemory(stream, joined, &turn_bytes);
}

class TlsConnection : public Connection {
 public:
  explicit TlsConnection(TlsStreamPtr stream) : stream_(std::move(stream)) {}
  ~TlsConnection() override { Close(); }

  Task<Result<size_t>> Read(char* out, size_t size) override { return ReadTls(stream_, out, size); }
  Task<Status> Write(Payload payload) override { return WriteTls(stream_, std::move(payload)); }
  void Close() override {
    if (!stream_->closed) stream_->Close();
  }
  std::optional<uint64_t> UnreadAtEnd() const override {
    const auto below = stream_->inner->UnreadAtEnd();
    if (!below) return std::nullopt;
    return *below + BIO_ctrl_pending(stream_->in) +
           static_cast<uint64_t>(SSL_pending(stream_->ssl.get()));
  }
  const std::string& peer() const override { return stream_->inner->peer(); }

 private:
  const TlsStreamPtr stream_;
};

TlsStreamPtr MakeStream(Loop& loop, std::unique_ptr<Connection> inner, const TlsContext& context,
                        std::chrono::milliseconds handshake_max) {
  OpenSslPtr<SSL> ssl(SSL_new(context.ssl.get()));
  CHECK(ssl != nullptr);  // Nothing but memory can be lacking.
  return std::make_shared<TlsStream>(loop, std::move(inner), std::move(ssl), handshake_max);
}

// The name or address that the server's certificate must have.
bool ExpectHost(SSL* ssl, const std::string& host) {
  unsigned char address[sizeof(in6_addr)];
  if (inet_pton(AF_INET, host.c_str(), address) == 1 ||
      inet_pton(AF_INET6, host.c_str(), address) == 1) {
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str()) == 1;
  }
  return SSL_set1_host(ssl, host.c_str()) == 1 &&
         SSL_set_tlsext_host_name(ssl, const_cast<char*>(host.c_str())) == 1;
}

Task<Result<std::unique_ptr<Connection>>> ConnectTls(Network& inner, Loop& loop, std::string host,
                                                     uint16_t port,
                                                     std::shared_ptr<const TlsContext> context,
                                                     std::chrono::milliseconds handshake_max) {
  CO_ASSIGN_OR_RETURN(auto connected, co_await inner.Connect(loop, host, port));
  const TlsStreamPtr stream = MakeStream(loop, std::move(connected), *context, handshake_max);
  auto connection = std::make_unique<TlsConnection>(stream);
  SSL_set_connect_state(stream->ssl.get());
  if (!ExpectHost(stream->ssl.get(), host)) co_return stream->Failure("no name of a host");
  CO_RETURN_NOT_OK(co_await Shake(stream));
  co_return connection;
}

}  // namespace

Result<std::unique_ptr<Listener>> TlsNetwork::Listen(const std::string& host, uint16_t port,
                                                     std::vector<Loop*> loops, Accept accept) {
  CHECK(tls_->end() == Tls::End::kServer);
  const auto accept_tls = [tls = tls_, loops, accept = std::move(accept),
                           limit = handshake_max_](std::unique_ptr<Connection> connection) {
    const auto loop = std::ranges::find_if(loops, [](Loop* each) { return each->IsCurrent(); });
    CHECK(loop != loops.end());
    const TlsStreamPtr stream = MakeStream(**loop, std::move(connection), *tls->context(), limit);
    SSL_set_accept_state(stream->ssl.get());
    accept(std::make_unique<TlsConnection>(stream));
  };
  return inner_.Listen(host, port, loops, accept_tls);
}

Task<Result<std::unique_ptr<Connection>>> TlsNetwork::Connect(Loop& loop, std::string host,
                                                              uint16_t port) {
  CHECK(tls_->end() == Tls::End::kClient);
  return ConnectTls(inner_, loop, std::move(host), port, tls_->context(), handshake_max_);
}

}  // namespace sluice::io
