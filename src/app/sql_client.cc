#include "app/sql_client.h"

#include <httplib.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "app/sql_event.h"
#include "base/json_text.h"

namespace sluice::app {
namespace {

constexpr time_t kReadTimeoutSeconds = 24 * 3600;  // A statement may run for long.

// An answer's line, and the body of a refusal, are no longer than this.
constexpr size_t kLineBytesMax = 256 << 20;
constexpr size_t kRefusalBytesMax = 1 << 20;

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
  explicit State(const std::string& url) : http(url) {}
  httplib::Client http;
  std::string session;
};

SqlClient::SqlClient(std::unique_ptr<State> state) : state_(std::move(state)) {}

SqlClient::~SqlClient() {
  if (!state_->session.empty()) state_->http.Delete("/api/v1/sessions/" + state_->session);
}

Result<std::unique_ptr<SqlClient>> SqlClient::Connect(const std::string& url) {
  auto state = std::make_unique<State>(url);
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

Status SqlClient::Run(const std::string& sql, const OnEvent& on_event) {
  const nlohmann::json body = {{"sql", sql}, {"session", state_->session}};
  LineParser parser(on_event);
  httplib::Request request;
  request.method = "POST";
  request.path = "/api/v1/sql";
  request.headers = {{"Content-Type", "application/json"}};
  request.body = JsonText(body);
  std::string refusal;  // The body of an answer that is not a stream of events.
  int status = 0;
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
  const bool whole = state_->http.send(request, response, error);
  if (status != 0 && status != 200) {
    const auto event = nlohmann::json::parse(refusal, nullptr, false);
    if (event.is_object()) return ErrorOfEvent(event);
    return Error(ErrorCode::kNetwork, "the server refuses the statement status=", status);
  }
  return parser.Result(whole);
}

}  // namespace sluice::app
