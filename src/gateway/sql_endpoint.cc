#include "gateway/sql_endpoint.h"

#include <arrow/record_batch.h>

#include <atomic>
#include <deque>
#include <nlohmann/json.hpp>

#include "sql/format.h"
#include "sql/session.h"

namespace sluice::gateway {
namespace {

constexpr int64_t kRowsPerEvent = 1000;

std::string Line(const nlohmann::json& event) {
  return event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string ErrorLine(const Status& status) {
  return Line({{"kind", "error"}, {"code", NameOf(CodeOf(status))}, {"message", status.message()}});
}

std::string ColumnsLine(const std::vector<sql::ResultColumn>& columns) {
  nlohmann::json event = {{"kind", "columns"}, {"columns", nlohmann::json::array()}};
  for (const auto& column : columns) {
    event["columns"].push_back({{"name", column.name}, {"type", column.type_text}});
  }
  return Line(event);
}

}  // namespace

struct SqlEndpoint::Entry {
  std::unique_ptr<sql::Session> session;
  std::atomic<bool> busy{false};  // While a statement runs and its rows are sent.
  int64_t used_ms = 0;            // Guarded by the endpoint's mutex.
};

namespace {

// The events of the statements of one request, line by line.
class StatementRun {
 public:
  StatementRun(std::shared_ptr<std::string> text, sql::Session& session, std::function<void()> done)
      : text_(std::move(text)), session_(session), done_(std::move(done)) {
    for (const auto& statement : sql::SplitStatements(*text_)) statements_.push_back(statement);
  }
  ~StatementRun() { Release(); }
  StatementRun(const StatementRun&) = delete;
  StatementRun& operator=(const StatementRun&) = delete;

  // The next lines; empty at the end.
  std::string Next() {
    if (failed_) return "";
    auto lines = Step();
    failed_ = !lines.ok();
    // Before the last line leaves: whoever has read it may use the session again.
    if (failed_ || (stream_ == nullptr && statements_.empty())) Release();
    return lines.ok() ? *std::move(lines) : ErrorLine(lines.status());
  }

 private:
  void Release() {
    stream_.reset();
    if (done_) std::exchange(done_, nullptr)();
  }

  Result<std::string> Step() {
    if (stream_ != nullptr) return Rows();
    if (statements_.empty()) return std::string();
    const sql::StatementText statement = statements_.front();
    statements_.pop_front();
    ASSIGN_OR_RAISE(stream_, session_.Execute(statement.text));
    if (stream_->has_rows()) return ColumnsLine(stream_->columns());
    const int64_t written = stream_->rows_written();
    stream_.reset();
    std::string lines = written < 0 ? "" : Line({{"kind", "written"}, {"rows", written}});
    return lines + Line({{"kind", "end"}});
  }

  Result<std::string> Rows() {
    if (batch_ == nullptr || position_ == batch_->num_rows()) {
      ASSIGN_OR_RAISE(batch_, stream_->Next());
      position_ = 0;
    }
    if (batch_ == nullptr) {
      stream_.reset();
      return Line({{"kind", "end"}});
    }
    const int64_t count = std::min(kRowsPerEvent, batch_->num_rows() - position_);
    std::string line = R"({"kind":"rows","rows":)";
    RETURN_NOT_OK(sql::AppendJsonRows(stream_->columns(), *batch_, position_, count, &line));
    position_ += count;
    return line + "}\n";
  }

  std::shared_ptr<std::string> text_;  // What the statements view.
  sql::Session& session_;
  std::function<void()> done_;
  std::deque<sql::StatementText> statements_;
  std::unique_ptr<sql::ResultStream> stream_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  int64_t position_ = 0;
  bool failed_ = false;
};

}  // namespace

SqlEndpoint::SqlEndpoint(MakeSession make_session, io::Clock& clock, io::Random& random)
    : make_session_(std::move(make_session)), clock_(clock), random_(random) {}

SqlEndpoint::~SqlEndpoint() = default;

void SqlEndpoint::Register(HttpServer* server) {
  server->Route("POST", "/api/v1/sessions", [this](const HttpRequest&) {
    auto id = Create();
    if (!id.ok()) return ErrorResponse(id.status());
    return HttpResponse{200, "application/json", nlohmann::json{{"id", *id}}.dump(), nullptr};
  });
  server->Route("DELETE", "/api/v1/sessions/[0-9a-f-]+", [this](const HttpRequest& request) {
    const std::lock_guard lock(mutex_);
    sessions_.erase(request.path.substr(request.path.rfind('/') + 1));
    return HttpResponse{200, "application/json", "{}", nullptr};
  });
  server->Route("POST", "/api/v1/sql", [this](const HttpRequest& request) { return Run(request); });
}

Result<std::string> SqlEndpoint::Create() {
  auto entry = std::make_shared<Entry>();
  entry->session = make_session_();
  const int64_t now_ms = clock_.NowMs();
  entry->used_ms = now_ms;
  const std::lock_guard lock(mutex_);
  DropIdle(now_ms);
  if (sessions_.size() >= kSessionsMax) {
    return Error(ErrorCode::kStorageBackpressure,
                 "too many SQL sessions sessions_max=", kSessionsMax);
  }
  const std::string id = random_.Uuid();
  sessions_[id] = std::move(entry);
  return id;
}

void SqlEndpoint::DropIdle(int64_t now_ms) {
  std::erase_if(sessions_, [&](const auto& item) {
    return now_ms - item.second->used_ms > kIdleMs && !running_.contains(item.second.get());
  });
}

Result<std::shared_ptr<SqlEndpoint::Entry>> SqlEndpoint::Find(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end())
    return Error(ErrorCode::kInvalidConfig, "unknown or ended SQL session session=", id);
  found->second->used_ms = clock_.NowMs();
  return found->second;
}

HttpResponse SqlEndpoint::Run(const HttpRequest& request) {
  const auto body = nlohmann::json::parse(request.body, nullptr, /*allow_exceptions=*/false);
  if (!body.is_object() || !body.contains("sql") || !body["sql"].is_string()) {
    return ErrorResponse(
        Error(ErrorCode::kInvalidConfig, "the body must be a JSON object with a text `sql`"));
  }
  std::shared_ptr<Entry> entry;
  if (body.contains("session") && body["session"].is_string()) {
    auto found = Find(body["session"].get<std::string>());
    if (!found.ok()) return ErrorResponse(found.status());
    entry = *std::move(found);
  } else {
    entry = std::make_shared<Entry>();
    entry->session = make_session_();
  }
  if (entry->busy.exchange(true)) {
    return ErrorResponse(
        Error(ErrorCode::kInvalidConfig, "the session is running another statement"));
  }
  {
    const std::lock_guard guard(mutex_);
    if (stopped_) {
      entry->busy = false;
      return ErrorResponse(Error(ErrorCode::kNetwork, "the server is stopping"));
    }
    running_[entry.get()] = entry;
  }
  // Runs when the last line is sent, or earlier when the client goes away.
  auto done = [this, entry] {
    const std::lock_guard guard(mutex_);
    running_.erase(entry.get());
    entry->used_ms = clock_.NowMs();
    entry->busy = false;
  };
  auto run =
      std::make_shared<StatementRun>(std::make_shared<std::string>(body["sql"].get<std::string>()),
                                     *entry->session, std::move(done));
  HttpResponse response;
  response.content_type = "application/x-ndjson";
  response.stream = [run](std::string* piece) { *piece = run->Next(); };
  return response;
}

void SqlEndpoint::Stop() {
  std::vector<std::shared_ptr<Entry>> running;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (const auto& [_, weak] : running_) {
      if (auto entry = weak.lock()) running.push_back(std::move(entry));
    }
  }
  for (const auto& entry : running) entry->session->Interrupt();
}

}  // namespace sluice::gateway
