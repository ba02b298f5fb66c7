#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace sluice::gateway {

struct HttpRequest {
  std::string path;
  std::map<std::string, std::string> query;
  std::string body;
};

/// An answer: `body` whole, or `stream`, which is asked for one piece after another.
struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  /// Put the next piece into *piece; an empty one ends the answer. Destroyed early when the client
  /// goes away.
  std::function<void(std::string* piece)> stream;
  /// Called at most once, from another thread, when the client has gone while the stream is at
  /// work: make it end soon. Must not wait.
  std::function<void()> give_up;
  std::map<std::string, std::string> headers;  ///< Beside those about the body.
};

/// The body {"code": NAME, "message": …} with the HTTP status that fits the error.
HttpResponse ErrorResponse(const Status& status);

/// 404 for a path that nothing answers to.
HttpResponse NotFound(std::string_view path);

/// HTTP/1.1 on one address.
///
/// Requests are read and answers written on a loop of its own, so that slow clients hold no thread.
/// Handlers run on the server's own bounded threads and may block.
class HttpServer {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;
  struct Options {
    std::string host = "127.0.0.1";
    uint16_t port = 9180;  ///< 0 = any free port.
    /// Names beside those of this machine by which the server may be called, "*" for any.
    std::vector<std::string> allowed_hosts;
    size_t threads = 16;  ///< Handlers at a time; up to requests_waiting_max more wait (else 429).
    size_t requests_waiting_max = 256;
    std::string files;                   ///< Folder served below "/", empty = none.
    size_t connections_max = 1024;       ///< More are answered with 503.
    size_t head_bytes_max = 32 << 10;    ///< Request line and headers (431).
    size_t body_bytes_max = 16 << 20;    ///< Of one request (413),
    size_t bodies_bytes_max = 64 << 20;  ///< and of all requests under way (429).
    int requests_per_connection_max = 10'000;
    std::chrono::milliseconds idle_max{60'000};  ///< Between requests.
    std::chrono::milliseconds request_max{
        20'000};  ///< From a request's first byte to its last (408).
    std::chrono::milliseconds write_max{30'000};  ///< Until the client has taken one piece.
    std::chrono::milliseconds linger{1'000};  ///< A refused client's bytes are read for so long.
  };

  explicit HttpServer(Options options);
  ~HttpServer();

  /// Register before Start. `method`: GET (HEAD goes along), POST or DELETE. `path`: the whole one,
  /// or "/…/*", where one more segment follows. The first one that fits is taken.
  void Route(const std::string& method, std::string path, Handler handler);
  /// Errors: kNetwork, naming the address, when the port is in use.
  Status Start();
  /// Stop listening, end every connection and wait for running handlers.
  void Stop();
  uint16_t port() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace sluice::gateway
