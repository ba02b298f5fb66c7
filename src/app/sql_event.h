#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/error.h"

namespace sluice::app {

/// One line of a statement's answer, checked as far as the shell relies on it: it may come from a
/// server that is not ours.
///
/// Shape: an object with a text `kind`; `columns` has objects with texts `name` and `type`, `rows`
/// has arrays, `written` a number of rows, `end` no rows. Kinds that are not known have any
/// members. Format: docs/formats/sql-endpoint.md. Errors: kNetwork for anything else, and for
/// nesting deeper than any value is.
Result<nlohmann::json> ParseSqlEvent(std::string_view line);

/// Checks that the events of an answer follow each other as they should: columns once in each
/// statement, before its rows.
class EventOrder {
 public:
  /// Errors: kNetwork for an event out of its order.
  Status Take(const nlohmann::json& event);

 private:
  bool columns_ = false;  // Of the statement that the answer is at.
};

/// What an `error` event, or the body of a refusal, tells. kUnknownServer for a code that nobody
/// knows.
Status ErrorOfEvent(const nlohmann::json& event);

}  // namespace sluice::app
