#include "app/sql_client.h"

#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <nlohmann/json.hpp>

#include "app/sql_event.h"
#include "base/json_text.h"
#include "io/loop.h"
#include "io/task.h"

namespace sluice::app {
namespace {

constexpr time_t kReadTimeoutSeconds = 24 * 3600;  // A statement may run for long.
constexpr std::chrono::milliseconds kInterruptLook{100};

// A session is busy until the server has seen that the statement before was given up.
constexpr int kHttpBusy = 409;
constexpr int kAttemptsWhileBusy = 50;

// An answer's line, and the body of a refusal, are no longer than this.
constexpr size_t kLineBytesMax = 256 << 20;
constexpr size_t kRefusalBytesMax = 1 << 20;

io::Task<void> Pause(io::Loop& loop) { co_await io::Sleep(loop, kInterruptLook); }

bool IsSessionId(const std::string& id) {
  return !id.empty() && std::ranges::all_of(id, [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_';
  });
}

// Cuts a stream of bytes into lines and parses each.
class LineParser {
 public:
  explicit LineParser(const SqlClient::OnEvent& on_event) : on_event_(on_event) {}

  bool Feed(const char* data, size_t size) {
    pending_.append(data, size);
    if (pending_.size() > kLineBytesMax) {
      error_ = Error(ErrorCode::kNetwork,
                     "the server answers without an end of line bytes_max=", kLineBytesMax);
      return false;
    }
    for (size_t end; (end = pending_.find('\n')) != std::string::npos;) {
      const std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      if (!TakeLine(line)) return false;
    }
    return true;
  }

  /// What the answer amounts to. `whole`: it came to its end.
  Status Result(bool whole) const {
    RETURN_NOT_OK(error_);
    if (given_up_) return Status::Cancelled("statement given up");
    if (!whole || !ended_) return Error(ErrorCode::kNetwork, "the server's answer broke off");
    return Status::OK();
  }

 private:
  bool TakeLine(const std::string& line) {
    const auto event = ParseSqlEvent(line);
    error_ = event.ok() ? order_.Take(*event) : event.status();
    if (!error_.ok()) return false;
    const nlohmann::json& kind = (*event)["kind"];
    if (kind == "error") {
      error_ = ErrorOfEvent(*event);
      return false;
    }
    if (kind == "end") ended_ = true;
    given_up_ = !on_event_(*event);
    return !given_up_;
  }

  const SqlClient::OnEvent& on_event_;
  EventOrder order_;
  std::string pending_;
  Status error_;
  bool ended_ = false;
  bool given_up_ = false;
};

}  // namespace

struct SqlClient::State {
  State(const std::string& url, std::function<bool()> is_interrupted)
      : http(url), interrupted(std::move(is_interrupted)) {
    if (interrupted == nullptr) return;
    watch = io::LoopThreads::Start("shell", 1);
    watch->at(0).Post([this] { Watch(); });
  }

  // Closing the connection is how a client gives a statement up. It is told again until the end:
  // the request may be about to be sent.
  void Watch() {
    if (running && interrupted()) {
      given_up = true;
      http.stop();
    }
    watch->at(0).After(kInterruptLook, [this] { Watch(); });
  }

  Status RunOnce(const std::string& sql, const OnEvent& on_event, int* http_status);

  httplib::Client http;
  std::string session;
  const std::function<bool()> interrupted;
  std::atomic<bool> running{false};
  std::atomic<bool> given_up{false};       // The statement that runs, by `interrupted`.
  std::unique_ptr<io::LoopThreads> watch;  // Last: its thread uses the others.
};

SqlClient::SqlClient(std::unique_ptr<State> state) : state_(std::move(state)) {}

SqlClient::~SqlClient() {
  if (!state_->session.empty()) state_->http.Delete("/api/v1/sessions/" + state_->session);
}

Result<std::unique_ptr<SqlClient>> SqlClient::Connect(const std::string& url,
                                                      std::function<bool()> interrupted) {
  auto state = std::make_unique<State>(url, std::move(interrupted));
  if (!state->http.is_valid())
    return Error(ErrorCode::kInvalidConfig, "not a URL of the form http://HOST:PORT url=", url);
  state->http.set_read_timeout(kReadTimeoutSeconds);
  state->http.set_keep_alive(true);
  state->http.set_tcp_nodelay(true);  // Else a request's body waits 40 ms for its head to be heard.
  const auto answer = state->http.Post("/api/v1/sessions");
  if (!answer) return Error(ErrorCode::kNetwork, "no server answers url=", url);
  const auto body = nlohmann::json::parse(answer->body, nullptr, false);
  const auto id = body.find("id");
  if (answer->status != 200 || id == body.end() || !id->is_string() ||
      !IsSessionId(id->get<std::string>())) {
    return Error(ErrorCode::kNetwork, "the server refuses a session url=", url,
                 " status=", answer->status);
  }
  state->session = id->get<std::string>();
  return std::unique_ptr<SqlClient>(new SqlClient(std::move(state)));
}

Status SqlClient::State::RunOnce(const std::string& sql, const OnEvent& on_event,
                                 int* http_status) {
  const nlohmann::json body = {{"sql", sql}, {"session", session}};
  LineParser parser(on_event);
  httplib::Request request;
  request.method = "POST";
  request.path = "/api/v1/sql";
  request.headers = {{"Content-Type", "application/json"}};
  request.body = JsonText(body);
  std::string refusal;  // The body of an answer that is not a stream of events.
  int& status = *http_status;
  status = 0;
  request.response_handler = [&status](const httplib::Response& response) {
    status = response.status;
    return true;
  };
  request.content_receiver = [&](const char* data, size_t size, uint64_t, uint64_t) {
    if (status == 200) return parser.Feed(data, size);
    refusal.append(data, std::min(size, kRefusalBytesMax - refusal.size()));
    return true;
  };
  httplib::Response response;
  httplib::Error error = httplib::Error::Success;
  const bool whole = http.send(request, response, error);
  if (status != 0 && status != 200) {
    const auto event = nlohmann::json::parse(refusal, nullptr, false);
    if (event.is_object()) return ErrorOfEvent(event);
    return Error(ErrorCode::kNetwork, "the server refuses the statement status=", status);
  }
  if (!whole && given_up) return Status::Cancelled("statement given up");
  return parser.Result(whole);
}

Status SqlClient::Run(const std::string& sql, const OnEvent& on_event) {
  State& state = *state_;
  const bool may_be_busy = state.given_up.exchange(false);
  state.running = true;
  int http_status = 0;
  Status status = state.RunOnce(sql, on_event, &http_status);
  for (int n = 1; may_be_busy && http_status == kHttpBusy && n < kAttemptsWhileBusy; ++n) {
    io::SyncWait(state.watch->at(0), Pause(state.watch->at(0)));
    status = state.RunOnce(sql, on_event, &http_status);
  }
  state.running = false;
  return status;
}

}  // namespace sluice::app
