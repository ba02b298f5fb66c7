#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "gateway/http_server.h"
#include "io/clock.h"
#include "io/loop.h"
#include "io/random.h"

namespace sluice::sql {
class Session;
}

namespace sluice::gateway {

/// Sessions of SQL over HTTP, and the statements that run in them.
///
/// Format: docs/formats/sql-endpoint.md. Threads: any; a session runs one statement at a time.
class SqlEndpoint {
 public:
  /// Longest bound of a statement that can be asked for: 30 days.
  static constexpr std::chrono::milliseconds kStatementMax{30ll * 24 * 3600 * 1000};

  struct Options {
    std::function<std::unique_ptr<sql::Session>()> make_session;
    io::Clock& clock;
    io::Random& random;
    size_t sessions_max = 256;                           ///< More are refused with 429,
    size_t statements_max = 12;                          ///< as are requests that run statements.
    std::chrono::milliseconds idle_max{30 * 60 * 1000};  ///< Of a session that runs nothing.
    std::chrono::milliseconds statement_max{
        0};  ///< Of one statement, to kStatementMax; 0 = no bound.
    std::chrono::milliseconds watch_interval{100};  ///< Between looks at deadlines and idleness.
  };

  explicit SqlEndpoint(Options options);
  ~SqlEndpoint();

  /// Add the routes of sessions and statements. The endpoint must outlive the server.
  void Register(HttpServer* server);
  /// Interrupt every statement, so that the server can stop.
  void Stop();

 private:
  struct Entry;
  struct Operation;
  Result<std::string> Create();
  bool EndSession(const std::string& id);
  bool CancelOperation(const std::string& id, Status why);
  Result<std::shared_ptr<Operation>> Begin(const std::string* session, int* http_status);
  void End(const std::shared_ptr<Operation>& operation);
  HttpResponse Run(const HttpRequest& request);
  void Watch();
  void ArmWatch();

  const Options options_;
  // Guards what follows up to `watch_`, and what entries and operations say of themselves.
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> sessions_;
  std::map<std::string, std::shared_ptr<Operation>> running_;
  bool stopped_ = false;
  std::unique_ptr<io::LoopThreads> watch_;  // Last: its timer uses the rest.
};

}  // namespace sluice::gateway
