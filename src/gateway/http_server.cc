#include "gateway/http_server.h"

#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json_text.h"
#include "base/log.h"
#include "gateway/http_connection_internal.h"
#include "gateway/http_files.h"
#include "io/file.h"

namespace sluice::gateway {
namespace {

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

}  // namespace

HttpResponse ErrorResponse(const Status& status) {
  const ErrorCode code = CodeOf(status);
  // Text of users may hold broken UTF-8; it is replaced, not refused.
  const nlohmann::json body = {{"code", NameOf(code)}, {"message", status.message()}};
  return {.status = StatusOf(code), .body = JsonText(body)};
}

HttpResponse NotFound(std::string_view path) {
  HttpResponse answer =
      ErrorResponse(Error(ErrorCode::kInvalidConfig, "there is nothing here, path=", path));
  answer.status = 404;
  return answer;
}

// Shared with the connections and with what the listener may still accept.
struct HttpServer::State : std::enable_shared_from_this<State> {
  explicit State(Options o) {
    shared.guard = HttpGuard(o.host, o.allowed_hosts);
    shared.options = std::move(o);
  }

  struct Entry {
    bool Fits(std::string_view path) const;

    std::string method;
    std::string path;  // With `any_last` up to and with the last slash.
    bool any_last;     // One more segment follows.
    Handler handler;
  };

  HttpResponse Answer(const HttpHead& head, const HttpRequest& request) const;
  HttpResponse Find(const HttpHead& head, const HttpRequest& request) const;
  void Accept(std::unique_ptr<io::Connection> accepted);
  static io::Task<void> Serve(std::shared_ptr<State> self,
                              std::shared_ptr<HttpConnection> connection);
  static io::Task<void> TurnAway(std::shared_ptr<State> self,
                                 std::shared_ptr<io::Connection> accepted);
  void EndAll();

  HttpShared shared;
  std::vector<Entry> routes;
  std::unique_ptr<io::Pool> workers;
  std::unique_ptr<io::LoopThreads> loops;
  std::unique_ptr<io::Listener> listener;
  std::set<std::shared_ptr<HttpConnection>> open;  // The loop's.
  std::mutex mutex;                                // Guards open_count.
  std::condition_variable all_ended;
  size_t open_count = 0;
};

bool HttpServer::State::Entry::Fits(std::string_view asked) const {
  if (!any_last) return asked == path;
  if (!asked.starts_with(path)) return false;
  const std::string_view last = asked.substr(path.size());
  return !last.empty() && last.find('/') == std::string_view::npos;
}

HttpResponse HttpServer::State::Find(const HttpHead& head, const HttpRequest& request) const {
  const std::string& method = head.method == "HEAD" ? "GET" : head.method;
  bool other_method = false;
  for (const Entry& route : routes) {
    if (!route.Fits(request.path)) continue;
    if (route.method == method) return route.handler(request);
    other_method = true;
  }
  if (!other_method && method == "GET" && !shared.options.files.empty()) {
    return FileResponse(shared.options.files, request.path);
  }
  HttpResponse answer = NotFound(request.path);
  if (other_method || method != "GET") answer.status = other_method ? 405 : 404;
  return answer;
}

// Handlers are ours, but the libraries that they call may throw.
HttpResponse HttpServer::State::Answer(const HttpHead& head, const HttpRequest& request) const {
  try {
    return Find(head, request);
  } catch (const std::exception& error) {
    LogError("http handler threw path={} error={}", request.path, error.what());
  }
  HttpResponse answer =
      ErrorResponse(Error(ErrorCode::kUnknownServer, "the request failed, path=", request.path));
  return answer;
}

void HttpServer::State::Accept(std::unique_ptr<io::Connection> accepted) {
  if (shared.stopping) return;  // It closes as it goes.
  {
    const std::lock_guard lock(mutex);
    open_count += 1;
  }
  if (open.size() >= shared.options.connections_max) {
    io::Spawn(TurnAway(shared_from_this(), std::move(accepted)));
    return;
  }
  auto connection = std::make_shared<HttpConnection>(shared, loops->at(0), std::move(accepted));
  open.insert(connection);
  io::Spawn(Serve(shared_from_this(), std::move(connection)));
}

io::Task<void> HttpServer::State::Serve(std::shared_ptr<State> self,
                                        std::shared_ptr<HttpConnection> connection) {
  co_await HttpConnection::Serve(connection);
  self->open.erase(connection);
  connection.reset();
  const std::lock_guard lock(self->mutex);
  self->open_count -= 1;
  self->all_ended.notify_all();
}

io::Task<void> HttpServer::State::TurnAway(std::shared_ptr<State> self,
                                           std::shared_ptr<io::Connection> accepted) {
  io::Payload answer(std::string(
      "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"));
  std::ignore = co_await accepted->Write(std::move(answer));
  accepted.reset();
  const std::lock_guard lock(self->mutex);
  self->open_count -= 1;
  self->all_ended.notify_all();
}

void HttpServer::State::EndAll() {
  const auto connections = open;
  for (const auto& connection : connections) connection->Close();
}

HttpServer::HttpServer(Options options) : state_(std::make_shared<State>(std::move(options))) {
  state_->shared.answer = [state = state_.get()](const HttpHead& head, const HttpRequest& request) {
    return state->Answer(head, request);
  };
}

HttpServer::~HttpServer() { Stop(); }

void HttpServer::Route(const std::string& method, std::string path, Handler handler) {
  CHECK(method == "GET" || method == "POST" || method == "DELETE");
  const bool any_last = path.ends_with("/*");
  if (any_last) path.pop_back();
  state_->routes.push_back({method, std::move(path), any_last, std::move(handler)});
}

Status HttpServer::Start() {
  State& state = *state_;
  const Options& options = state.shared.options;
  if (!options.files.empty()) {
    const auto exists = io::LocalFileSystem().Exists(io::JoinPath(options.files, "index.html"));
    if (!exists.ok() || !*exists) LogWarn("console files are missing folder={}", options.files);
  }
  state.workers = io::Pool::Start(
      {.name = "http", .threads = options.threads, .queue_max = options.requests_waiting_max});
  state.shared.pool = state.workers.get();
  state.loops = io::LoopThreads::Start("http-loop", 1);
  const auto accept = [self = state_](std::unique_ptr<io::Connection> connection) {
    self->Accept(std::move(connection));
  };
  ASSIGN_OR_RAISE(state.listener, io::SystemNetwork().Listen(options.host, options.port,
                                                             {&state.loops->at(0)}, accept));
  return Status::OK();
}

void HttpServer::Stop() {
  State& state = *state_;
  if (state.loops == nullptr) return;
  state.listener.reset();
  state.shared.stopping = true;
  state.loops->at(0).Post([self = state_] { self->EndAll(); });
  {
    std::unique_lock lock(state.mutex);
    state.all_ended.wait(lock, [&] { return state.open_count == 0; });
  }
  state.loops.reset();
  state.workers.reset();
}

uint16_t HttpServer::port() const {
  return state_->listener == nullptr ? 0 : state_->listener->port();
}

}  // namespace sluice::gateway
