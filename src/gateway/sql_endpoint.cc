#include "gateway/sql_endpoint.h"

#include <arrow/record_batch.h>
#include <arrow/util/byte_size.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "sql/format.h"
#include "sql/session.h"

namespace sluice::gateway {
namespace {

constexpr int64_t kRowsPerEvent = 1000;
constexpr int64_t kBytesPerEvent = 1 << 20;  // Of the rows as the engine gave them, roughly.

std::string Line(const nlohmann::json& event) { return JsonText(event) + "\n"; }

std::string ErrorLine(const Status& status) {
  return Line({{"kind", "error"}, {"code", NameOf(CodeOf(status))}, {"message", status.message()}});
}

HttpResponse Answer(const nlohmann::json& body) { return {.body = body.dump()}; }

HttpResponse Refusal(int status, const Status& why) {
  HttpResponse answer = ErrorResponse(why);
  answer.status = status;
  return answer;
}

std::string_view LastPart(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Rows of a batch that go into one line.
int64_t RowsPerLine(const arrow::RecordBatch& batch) {
  const int64_t row_bytes = 1 + arrow::util::TotalBufferSize(batch) / batch.num_rows();
  return std::clamp<int64_t>(kBytesPerEvent / row_bytes, 1, kRowsPerEvent);
}

bool IsTimeout(const nlohmann::json& value) {
  constexpr auto kMax = static_cast<uint64_t>(SqlEndpoint::kStatementMax.count());
  return value.is_number_unsigned() && value.get<uint64_t>() <= kMax;  // Unsigned: all from 0 on.
}

std::string ColumnsLine(const std::vector<sql::ResultColumn>& columns) {
  std::string line = R"({"kind":"columns","columns":)";
  sql::AppendJsonColumns(columns, &line);
  return line + "}\n";
}

}  // namespace

struct SqlEndpoint::Entry {
  std::unique_ptr<sql::Session> session;
  // Guarded by the endpoint's mutex.
  bool busy = false;  // While a statement runs and its rows are sent.
  std::chrono::nanoseconds used{0};
};

// The statements of one request.
struct SqlEndpoint::Operation {
  std::string id;
  std::shared_ptr<Entry> entry;
  std::chrono::milliseconds statement_max{0};
  std::atomic<int64_t> deadline_ns{0};  // Of the statement that runs; 0 = none.
  Status cancelled;                     // Guarded by the endpoint's mutex.

  // The endpoint's mutex is held.
  void Cancel(Status why) {
    if (cancelled.ok()) cancelled = std::move(why);
    entry->session->Interrupt(cancelled);
  }
};

namespace {

// The events of the statements of one request, line by line.
class StatementRun {
 public:
  // `begin` is called before each statement, `done` once nothing runs any more.
  StatementRun(std::string text, sql::Session& session, std::function<void()> begin,
               std::function<void()> done)
      : text_(std::move(text)),
        session_(session),
        begin_(std::move(begin)),
        done_(std::move(done)) {
    for (const auto& statement : sql::SplitStatements(text_)) statements_.push_back(statement);
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
    begin_();
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
    const int64_t count = std::min(RowsPerLine(*batch_), batch_->num_rows() - position_);
    std::string line = R"({"kind":"rows","rows":)";
    RETURN_NOT_OK(sql::AppendJsonRows(stream_->columns(), *batch_, position_, count, &line));
    position_ += count;
    return line + "}\n";
  }

  const std::string text_;  // What the statements view.
  sql::Session& session_;
  std::function<void()> begin_;
  std::function<void()> done_;
  std::deque<sql::StatementText> statements_;
  std::unique_ptr<sql::ResultStream> stream_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  int64_t position_ = 0;
  bool failed_ = false;
};

}  // namespace

SqlEndpoint::SqlEndpoint(Options options) : options_(std::move(options)) {
  watch_ = io::LoopThreads::Start("sql-watch", 1);
  watch_->at(0).Post([this] { ArmWatch(); });
}

SqlEndpoint::~SqlEndpoint() = default;

void SqlEndpoint::Register(HttpServer* server) {
  server->Route("POST", "/api/v1/sessions", [this](const HttpRequest&) {
    const auto id = Create();
    return id.ok() ? Answer({{"id", *id}}) : Refusal(429, id.status());
  });
  server->Route("DELETE", "/api/v1/sessions/*", [this](const HttpRequest& request) {
    if (!EndSession(std::string(LastPart(request.path)))) return NotFound(request.path);
    return Answer(nlohmann::json::object());
  });
  server->Route("DELETE", "/api/v1/operations/*", [this](const HttpRequest& request) {
    if (!CancelOperation(std::string(LastPart(request.path)),
                         Status::Cancelled("the statement was cancelled"))) {
      return NotFound(request.path);
    }
    return Answer(nlohmann::json::object());
  });
  server->Route("POST", "/api/v1/sql", [this](const HttpRequest& request) { return Run(request); });
}

Result<std::string> SqlEndpoint::Create() {
  auto entry = std::make_shared<Entry>();
  entry->session = options_.make_session();
  const std::lock_guard lock(mutex_);
  if (sessions_.size() >= options_.sessions_max) {
    return Error(ErrorCode::kStorageBackpressure,
                 "too many SQL sessions sessions_max=", options_.sessions_max);
  }
  entry->used = options_.clock.Monotonic();
  const std::string id = options_.random.Uuid();
  sessions_[id] = std::move(entry);
  return id;
}

bool SqlEndpoint::EndSession(const std::string& id) {
  std::shared_ptr<Entry> entry;  // May go, and with it the session, after the lock.
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return false;
  entry = std::move(found->second);
  sessions_.erase(found);
  for (const auto& [_, operation] : running_) {
    if (operation->entry == entry) operation->Cancel(Status::Cancelled("the session was ended"));
  }
  return true;
}

bool SqlEndpoint::CancelOperation(const std::string& id, Status why) {
  const std::lock_guard lock(mutex_);
  const auto found = running_.find(id);
  if (found == running_.end()) return false;
  found->second->Cancel(std::move(why));
  return true;
}

// Statements of a named session, or of one of their own. Errors: kInvalidConfig when the session is
// unknown or busy; kStorageBackpressure when too many run; `http_status` is that of the refusal.
Result<std::shared_ptr<SqlEndpoint::Operation>> SqlEndpoint::Begin(const std::string* session,
                                                                   int* http_status) {
  auto operation = std::make_shared<Operation>();
  if (session == nullptr) {
    operation->entry = std::make_shared<Entry>();
    operation->entry->session = options_.make_session();
  }
  const std::lock_guard lock(mutex_);
  if (stopped_) return Error(ErrorCode::kNetwork, "the server is stopping");
  if (running_.size() >= options_.statements_max) {
    *http_status = 429;
    return Error(ErrorCode::kStorageBackpressure,
                 "too many statements run, statements_max=", options_.statements_max);
  }
  if (session != nullptr) {
    const auto found = sessions_.find(*session);
    if (found == sessions_.end()) {
      return Error(ErrorCode::kInvalidConfig, "unknown or ended SQL session session=", *session);
    }
    if (found->second->busy) {
      *http_status = 409;
      return Error(ErrorCode::kInvalidConfig, "the session is running another statement");
    }
    operation->entry = found->second;
  }
  operation->entry->busy = true;
  operation->entry->session->Resume();
  operation->id = options_.random.Uuid();
  running_[operation->id] = operation;
  return operation;
}

void SqlEndpoint::End(const std::shared_ptr<Operation>& operation) {
  const std::lock_guard lock(mutex_);
  running_.erase(operation->id);
  operation->entry->used = options_.clock.Monotonic();
  operation->entry->busy = false;
}

HttpResponse SqlEndpoint::Run(const HttpRequest& request) {
  const auto body = nlohmann::json::parse(request.body, nullptr, /*allow_exceptions=*/false);
  if (!body.is_object() || !body.contains("sql") || !body["sql"].is_string()) {
    return ErrorResponse(
        Error(ErrorCode::kInvalidConfig, "the body must be a JSON object with a text `sql`"));
  }
  const auto timeout = body.find("timeout_ms");
  if (timeout != body.end() && !IsTimeout(*timeout)) {
    return ErrorResponse(Error(ErrorCode::kInvalidConfig,
                               "`timeout_ms` must be a whole number, 0 for no bound, min=0 max=",
                               SqlEndpoint::kStatementMax.count()));
  }
  std::optional<std::string> session;
  if (body.contains("session")) {
    if (!body["session"].is_string()) {
      return ErrorResponse(Error(ErrorCode::kInvalidConfig,
                                 "`session` must be the text that a session was begun with"));
    }
    session = body["session"];
  }
  int refusal = 0;
  auto begun = Begin(session ? &*session : nullptr, &refusal);
  if (!begun.ok()) {
    return refusal == 0 ? ErrorResponse(begun.status()) : Refusal(refusal, begun.status());
  }
  const std::shared_ptr<Operation> operation = *begun;
  operation->statement_max = timeout == body.end()
                                 ? options_.statement_max
                                 : std::chrono::milliseconds(timeout->get<int64_t>());
  const auto begin = [this, operation] {
    if (operation->statement_max.count() == 0) return;
    operation->deadline_ns =
        (options_.clock.Monotonic() + std::chrono::nanoseconds(operation->statement_max)).count();
  };
  // Runs when the last line is sent, or earlier when the client goes away.
  const auto done = [this, operation] { End(operation); };
  auto run = std::make_shared<StatementRun>(body["sql"].get<std::string>(),
                                            *operation->entry->session, begin, done);
  HttpResponse response;
  response.content_type = "application/x-ndjson";
  response.headers["Sluice-Operation"] = operation->id;
  response.stream = [run](std::string* piece) { *piece = run->Next(); };
  response.give_up = [this, id = operation->id] {
    CancelOperation(id, Status::Cancelled("the client has gone"));
  };
  return response;
}

// What was cancelled is told so again until it has heard (see Session::Interrupt).
void SqlEndpoint::Watch() {
  const std::chrono::nanoseconds now = options_.clock.Monotonic();
  std::vector<std::shared_ptr<Entry>> idle;  // Their sessions go after the lock.
  const std::lock_guard lock(mutex_);
  for (const auto& [_, operation] : running_) {
    const int64_t deadline_ns = operation->deadline_ns;
    if (!operation->cancelled.ok()) {
      operation->Cancel(operation->cancelled);
    } else if (deadline_ns != 0 && now.count() >= deadline_ns) {
      operation->Cancel(
          Error(ErrorCode::kRequestTimeOut,
                "the statement ran out of time, bound_ms=", operation->statement_max.count()));
    }
  }
  std::erase_if(sessions_, [&](const auto& item) {
    if (item.second->busy || now - item.second->used <= options_.idle_max) return false;
    idle.push_back(item.second);
    return true;
  });
}

void SqlEndpoint::ArmWatch() {
  watch_->at(0).After(options_.watch_interval, [this] {
    Watch();
    ArmWatch();
  });
}

void SqlEndpoint::Stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  for (const auto& [_, operation] : running_) {
    operation->Cancel(Error(ErrorCode::kNetwork, "the server is stopping"));
  }
}

}  // namespace sluice::gateway
