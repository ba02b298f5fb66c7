#pragma once
#include <string>
#include <string_view>

#include "base/error.h"

namespace sluice::sql {

/// A path of SQL/JSON ("lax $.a[0]", "$.a") as the query engine writes it: "$.a[0]".
/// Errors: kInvalidTable for a path that does not begin with $, which the engine would take for a
/// name; kUnsupportedVersion for strict mode and for paths that mean several values.
Result<std::string> EngineJsonPath(std::string_view path);

}  // namespace sluice::sql
