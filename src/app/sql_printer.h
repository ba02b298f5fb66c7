#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>

#include "base/error.h"

namespace sluice::app {

/// Prints the events of one statement's answer.
class SqlPrinter {
 public:
  /// `format`: "table", "csv" (RFC 4180, with a header) or "json" (one object a row, in
  /// which a second column of the name a is a_1).
  /// Errors: kInvalidConfig for another name.
  static Result<std::unique_ptr<SqlPrinter>> Make(const std::string& format, std::ostream& out);
  virtual ~SqlPrinter() = default;
  /// Events as ParseSqlEvent lets them through.
  virtual void Columns(const nlohmann::json& columns) = 0;
  /// Errors: kNetwork for a row of another width than the columns.
  virtual Status Rows(const nlohmann::json& rows) = 0;
  /// The statement is done; `written` rows were written, -1 = it was no INSERT.
  virtual void End(int64_t written) = 0;
};

}  // namespace sluice::app
