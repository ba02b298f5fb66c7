#pragma once
#include <string_view>

#include "sql/ast.h"

namespace sluice::sql {

/// Parse one statement of Flink's dialect; a semicolon may end it.
///
/// More lenient than Flink where nothing is ambiguous: most reserved words serve as names (MONTH,
/// VALUE, USER …), and
/// `!=`, `FOR TIMESTAMP AS OF 'text'` are taken.
/// Errors: what was found and what was expected, with line and column; a construct that is known
/// and not covered is refused by its name.
Result<ast::Statement> ParseStatement(std::string_view text);

/// Parse a query alone, as views keep it.
Result<ast::QueryPtr> ParseQuery(std::string_view text);

}  // namespace sluice::sql
