#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

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
};

/// The body {"code": NAME, "message": …} with the HTTP status that fits the error.
HttpResponse ErrorResponse(const Status& status);

/// HTTP/1.1 on one address. Handlers run on the server's own bounded threads and may block.
class HttpServer {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;
  struct Options {
    std::string host = "127.0.0.1";
    uint16_t port = 9180;  ///< 0 = any free port.
    size_t threads = 16;   ///< Requests and idle connections at a time; more wait.
    std::string files;     ///< Folder served below "/", empty = none.
    size_t body_bytes_max = 16 << 20;
  };

  explicit HttpServer(Options options);
  ~HttpServer();

  /// Register before Start. `method`: GET, POST or DELETE. `pattern`: a regular expression over the
  /// whole path.
  void Route(const std::string& method, const std::string& pattern, Handler handler);
  /// Errors: kNetwork, naming the address, when the port is in use.
  Status Start();
  /// Stop listening and wait for running handlers.
  void Stop();
  uint16_t port() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::gateway
