#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "gateway/http_server.h"
#include "io/clock.h"
#include "io/random.h"

namespace sluice::sql {
class Session;
}

namespace sluice::gateway {

/// Sessions of SQL over HTTP.
///
/// Format: docs/formats/sql-endpoint.md. Threads: any; a session runs one statement at a time.
class SqlEndpoint {
 public:
  static constexpr size_t kSessionsMax = 256;
  static constexpr int64_t kIdleMs = 30 * 60 * 1000;
  using MakeSession = std::function<std::unique_ptr<sql::Session>()>;

  SqlEndpoint(MakeSession make_session, io::Clock& clock, io::Random& random);
  ~SqlEndpoint();

  /// Add the routes of sessions and statements. The endpoint must outlive the server.
  void Register(HttpServer* server);
  /// Interrupt every statement, so that the server can stop.
  void Stop();

 private:
  struct Entry;
  Result<std::string> Create();
  Result<std::shared_ptr<Entry>> Find(const std::string& id);
  void DropIdle(int64_t now_ms);
  HttpResponse Run(const HttpRequest& request);

  MakeSession make_session_;
  io::Clock& clock_;
  io::Random& random_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> sessions_;
  std::map<const Entry*, std::weak_ptr<Entry>> running_;
  bool stopped_ = false;
};

}  // namespace sluice::gateway
