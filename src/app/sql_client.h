#pragma once
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/error.h"

namespace sluice::app {

/// Runs statements on a server over HTTP, in one session.
///
/// Format: `POST /api/v1/sql` answers one JSON object a line (docs/formats/sql-endpoint.md).
class SqlClient {
 public:
  /// Called for every event of an answer but errors; returning false gives the statement up.
  using OnEvent = std::function<bool(const nlohmann::json& event)>;

  /// `url`: "http://HOST:PORT". Errors: kNetwork when nobody answers there.
  static Result<SqlClient> Connect(const std::string& url);
  ~SqlClient();
  SqlClient(SqlClient&&) noexcept;
  SqlClient& operator=(SqlClient&&) noexcept;

  /// Run one statement. Errors: the server's, with its code; kNetwork when the answer breaks off.
  Status Run(const std::string& sql, const OnEvent& on_event);

 private:
  struct State;
  explicit SqlClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sluice::app
