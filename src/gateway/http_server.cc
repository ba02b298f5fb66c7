#include "gateway/http_server.h"

#include <httplib.h>

#include <nlohmann/json.hpp>

#include "base/log.h"
#include "io/pool.h"

namespace sluice::gateway {
namespace {

constexpr time_t kKeepAliveSeconds = 3;

// httplib's way to our pool. Work that the pool refuses runs on the accepting thread, which slows
// down acceptance.
class PoolQueue : public httplib::TaskQueue {
 public:
  explicit PoolQueue(io::Pool& pool) : pool_(pool) {}
  void enqueue(std::function<void()> work) override {
    if (!pool_.TryPost(work)) work();
  }
  void shutdown() override {}

 private:
  io::Pool& pool_;
};

int StatusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kDatabaseNotExist:
    case ErrorCode::kTableNotExist:
    case ErrorCode::kPartitionNotExists:
    case ErrorCode::kLakeSnapshotNotExist:
      return 404;
    case ErrorCode::kDatabaseAlreadyExist:
    case ErrorCode::kTableAlreadyExist:
    case ErrorCode::kLakeTableAlreadyExist:
    case ErrorCode::kPartitionAlreadyExists:
      return 409;
    case ErrorCode::kNetwork:
    case ErrorCode::kStorage:
    case ErrorCode::kStorageBackpressure:
    case ErrorCode::kRequestTimeOut:
      return 503;
    case ErrorCode::kUnknownServer:
      return 500;
    default:
      return 400;
  }
}

HttpRequest FromHttplib(const httplib::Request& request) {
  HttpRequest out{request.path, {}, request.body};
  for (const auto& [key, value] : request.params) out.query[key] = value;
  return out;
}

void SendStream(HttpResponse&& from, httplib::Response& to) {
  to.set_chunked_content_provider(from.content_type,
                                  [next = std::move(from.stream)](size_t, httplib::DataSink& sink) {
                                    std::string piece;
                                    next(&piece);
                                    if (piece.empty()) {
                                      sink.done();
                                      return true;
                                    }
                                    return sink.write(piece.data(), piece.size());
                                  });
}

void Answer(const HttpServer::Handler& handler, const httplib::Request& request,
            httplib::Response& response) {
  HttpResponse answer = handler(FromHttplib(request));
  response.status = answer.status;
  if (answer.stream) {
    SendStream(std::move(answer), response);
  } else {
    response.set_content(std::move(answer.body), answer.content_type);
  }
}

}  // namespace

HttpResponse ErrorResponse(const Status& status) {
  const ErrorCode code = CodeOf(status);
  // Text of users may hold broken UTF-8; it is replaced, not refused.
  const nlohmann::json body = {{"code", NameOf(code)}, {"message", status.message()}};
  return {StatusOf(code), "application/json",
          body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), nullptr};
}

struct HttpServer::State {
  explicit State(Options o) : options(std::move(o)) {}
  Options options;
  httplib::Server server;
  std::unique_ptr<io::Pool> workers;
  std::unique_ptr<io::Pool> acceptor;
  int port = -1;
};

HttpServer::HttpServer(Options options) : state_(std::make_unique<State>(std::move(options))) {
  httplib::Server& server = state_->server;
  server.set_keep_alive_timeout(kKeepAliveSeconds);
  server.set_keep_alive_max_count(1000);
  server.set_payload_max_length(state_->options.body_bytes_max);
  server.set_tcp_nodelay(true);
  // Not httplib's own choice, SO_REUSEPORT: two servers on one port must fail, not share it.
  server.set_socket_options([](socket_t socket) {
    const int on = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  });
  server.set_exception_handler(
      [](const httplib::Request& request, httplib::Response& response, std::exception_ptr) {
        LogError("http handler threw path={}", request.path);
        response.status = 500;
      });
  server.new_task_queue = [this] { return new PoolQueue(*state_->workers); };
}

HttpServer::~HttpServer() { Stop(); }

void HttpServer::Route(const std::string& method, const std::string& pattern, Handler handler) {
  auto call = [handler = std::move(handler)](const httplib::Request& request,
                                             httplib::Response& response) {
    Answer(handler, request, response);
  };
  if (method == "GET") {
    state_->server.Get(pattern, call);
  } else if (method == "POST") {
    state_->server.Post(pattern, call);
  } else {
    CHECK(method == "DELETE");
    state_->server.Delete(pattern, call);
  }
}

Status HttpServer::Start() {
  const Options& options = state_->options;
  state_->workers = io::Pool::Start({.name = "http", .threads = options.threads});
  state_->acceptor = io::Pool::Start({.name = "http-accept", .threads = 1});
  if (!options.files.empty() && !state_->server.set_mount_point("/", options.files)) {
    LogWarn("console files are missing folder={}", options.files);
  }
  if (options.port == 0) {
    state_->port = state_->server.bind_to_any_port(options.host);
  } else if (state_->server.bind_to_port(options.host, options.port)) {
    state_->port = options.port;
  }
  if (state_->port < 0) {
    return Error(ErrorCode::kNetwork,
                 "cannot listen for HTTP, is the port in use? address=", options.host, ":",
                 options.port);
  }
  CHECK(state_->acceptor->TryPost([this] { state_->server.listen_after_bind(); }));
  return Status::OK();
}

void HttpServer::Stop() {
  if (state_->acceptor == nullptr) return;
  state_->server.stop();
  state_->acceptor.reset();
  state_->workers.reset();
}

uint16_t HttpServer::port() const { return static_cast<uint16_t>(state_->port); }

}  // namespace sluice::gateway
