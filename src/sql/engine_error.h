#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "sql/lexer.h"

namespace sluice::sql {

/// A part of the user's statement that may fail while it runs.
struct Place {
  std::string operation;  ///< "+", "CAST", a function's name; with " time" behind it for times.
  Position at;
  std::string column;  ///< The table's column that the value goes to; may be empty.
};

/// The SQL of a place's part: comments around it, `/*<7*/` and `/*>*/`, by which an error of the
/// engine is led back to place 7.
std::string PlaceBegin(int place);
inline constexpr std::string_view kPlaceEnd = "/*>*/";
/// The same SQL without the marks, for people.
std::string WithoutPlaces(std::string_view sql);

/// What the engine runs, to tell where in the statement an error comes from.
struct EngineText {
  std::string_view sql;
  const std::vector<Place>* places = nullptr;  ///< May be null.
};

namespace duckdb {

/// Turn the engine's message into an error of ours, the one place where that happens: our own
/// words, and the place where the engine says which or where only one part of the statement can be
/// meant. A value that the statement cannot compute with is kInvalidTable, as wrong text is; memory
/// and disk have their codes; a statement that the engine should have taken is kUnknownServer.
/// Format: the engine's errors as JSON (its setting errors_as_json), or "Kind Error: text".
Status EngineError(const char* message, const EngineText& text = {});

/// An error's text for the engine to carry from our callbacks to EngineError, which gives it back
/// with its code.
std::string MarkError(const Status& status);

}  // namespace duckdb

}  // namespace sluice::sql
