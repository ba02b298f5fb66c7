#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sql/sql_type.h"

namespace sluice::sql {

enum class BoundKind : uint8_t {
  kColumn,     ///< text = the column's internal name, unique in the statement.
  kLiteral,    ///< text = SQL of the value; `constant` = the value as plain text.
  kCall,       ///< text = SQL with $1, $2 … for the arguments and $$ for a dollar.
  kAggregate,  ///< As kCall; '#' stands for DISTINCT, '@' for FILTER, both per aggregate inside.
  kSubquery,   ///< As kCall, with a query in it.
};

struct Bound;
using BoundPtr = std::shared_ptr<const Bound>;

/// A typed expression: names resolved, conversions explicit, SQL of the query engine at hand.
///
/// Immutable; subtrees are shared.
struct Bound {
  BoundKind kind = BoundKind::kLiteral;
  SqlType type;
  std::string text;
  std::vector<BoundPtr> args;
  std::string name;  ///< kCall: the operator or function, "WIDEN" for a conversion we added.
  std::optional<std::string>
      constant;  ///< kLiteral that is not NULL: digits, the string, the time's text.
  std::optional<int64_t> number;        ///< kLiteral of an INTERVAL: milliseconds or months.
  bool distinct = false;                ///< kAggregate.
  BoundPtr filter;                      ///< kAggregate: FILTER (WHERE …).
  std::set<std::string> outer_columns;  ///< kSubquery: internal names it takes from around it.
  bool window = false;                  ///< Contains an OVER.
  int place = -1;                       ///< Of the binder's places, when its SQL is marked.
  uint64_t bytes = 0;                   ///< At least as long as its SQL text.

  bool is_null_literal() const {
    return kind == BoundKind::kLiteral && type.kind == SqlKind::kNull;
  }
};

/// SQL text of an expression for the query engine.
std::string Emit(const Bound& expr);

/// Same computation? Structural; used to find GROUP BY expressions again.
bool SameExpression(const Bound& a, const Bound& b);

bool ContainsAggregate(const Bound& expr);

BoundPtr MakeColumn(std::string internal, SqlType type);
BoundPtr MakeLiteral(SqlType type, std::string sql, std::string constant);
BoundPtr MakeNull();
BoundPtr MakeString(std::string_view text);
BoundPtr MakeInteger(int64_t value);
BoundPtr MakeBoolean(bool value);
BoundPtr MakeInterval(SqlKind kind, int64_t amount);
/// A call whose nullability is that of its arguments.
BoundPtr MakeCall(std::string name, SqlType type, std::string text, std::vector<BoundPtr> args);
/// A call with exactly this type.
BoundPtr MakeTyped(std::string name, SqlType type, std::string text, std::vector<BoundPtr> args);

/// Text that stands for itself in a call's SQL.
std::string EscapeTemplate(std::string_view text);

/// 'text' with quotes doubled.
std::string QuoteString(std::string_view text);
bool AnyNullable(const std::vector<BoundPtr>& args);

}  // namespace sluice::sql
