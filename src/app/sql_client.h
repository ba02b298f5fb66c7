#pragma once
#include <memory>
#include <string>

#include "app/sql_runner.h"

namespace sluice::app {

/// Runs statements on a server over HTTP, in one session.
///
/// Format: `POST /api/v1/sql` answers one JSON object a line (docs/formats/sql-endpoint.md).
class SqlClient : public SqlRunner {
 public:
  /// `url`: "http://HOST:PORT". Errors: kNetwork when nobody answers there.
  static Result<std::unique_ptr<SqlClient>> Connect(const std::string& url);
  ~SqlClient() override;

  Status Run(const std::string& sql, const OnEvent& on_event) override;

 private:
  struct State;
  explicit SqlClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sluice::app
