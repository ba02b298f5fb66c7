#pragma once
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/error.h"

namespace sluice::app {

/// One session of SQL, wherever the engine is.
///
/// Format of the events: docs/formats/sql-endpoint.md.
class SqlRunner {
 public:
  /// Called for every event of an answer but errors; returning false gives the statement up.
  using OnEvent = std::function<bool(const nlohmann::json& event)>;

  virtual ~SqlRunner() = default;
  /// Run one statement. Errors: the engine's or the server's, with its code; kNetwork when the
  /// answer breaks off.
  virtual Status Run(const std::string& sql, const OnEvent& on_event) = 0;
};

}  // namespace sluice::app
