#pragma once
#include <functional>
#include <memory>
#include <string>

#include "app/sql_runner.h"

namespace sluice::app {

/// Runs statements on a server over HTTP, in one session.
///
/// Format: `POST /api/v1/sql` answers one JSON object a line (docs/formats/sql-endpoint.md).
class SqlClient : public SqlRunner {
 public:
  /// `url`: "http://HOST:PORT". `interrupted`, if given, is asked ten times a second, on a thread
  /// of its own, while a statement runs; true gives the statement up, though nothing of its answer
  /// has come. Errors: kNetwork when nobody answers there.
  static Result<std::unique_ptr<SqlClient>> Connect(const std::string& url,
                                                    std::function<bool()> interrupted = nullptr);
  ~SqlClient() override;

  Status Run(const std::string& sql, const OnEvent& on_event) override;

 private:
  struct State;
  explicit SqlClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sluice::app
