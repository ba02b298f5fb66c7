#include "sql/parser_internal.h"

// Calls and what hangs on them: argument lists, FILTER, WITHIN GROUP, OVER, sort keys, time units.
namespace sluice::sql {

using ast::Expr;
using ast::ExprKind;
using ast::ExprPtr;

namespace {

struct Unit {
  std::string_view word;
  std::string_view name;
};
constexpr Unit kUnits[] = {
    {"YEAR", "YEAR"},
    {"YEARS", "YEAR"},
    {"QUARTER", "QUARTER"},
    {"QUARTERS", "QUARTER"},
    {"MONTH", "MONTH"},
    {"MONTHS", "MONTH"},
    {"WEEK", "WEEK"},
    {"WEEKS", "WEEK"},
    {"DAY", "DAY"},
    {"DAYS", "DAY"},
    {"HOUR", "HOUR"},
    {"HOURS", "HOUR"},
    {"MINUTE", "MINUTE"},
    {"MINUTES", "MINUTE"},
    {"SECOND", "SECOND"},
    {"SECONDS", "SECOND"},
    {"MILLISECOND", "MILLISECOND"},
    {"MICROSECOND", "MICROSECOND"},
    {"NANOSECOND", "NANOSECOND"},
    {"DOW", "DOW"},
    {"ISODOW", "ISODOW"},
    {"DOY", "DOY"},
    {"ISOYEAR", "ISOYEAR"},
    {"EPOCH", "EPOCH"},
    {"DECADE", "DECADE"},
    {"CENTURY", "CENTURY"},
    {"MILLENNIUM", "MILLENNIUM"},
    {"SQL_TSI_YEAR", "YEAR"},
    {"SQL_TSI_QUARTER", "QUARTER"},
    {"SQL_TSI_MONTH", "MONTH"},
    {"SQL_TSI_WEEK", "WEEK"},
    {"SQL_TSI_DAY", "DAY"},
    {"SQL_TSI_HOUR", "HOUR"},
    {"SQL_TSI_MINUTE", "MINUTE"},
    {"SQL_TSI_SECOND", "SECOND"},
};

}  // namespace

Result<ExprPtr> Parser::NameOrCall() {
  const Position at = Peek().at;
  const bool function_word = Peek().kind == TokenKind::kWord && PeekSymbol("(", 1) &&
                             (PeekIdentifier() || PeekWord("LEFT") || PeekWord("RIGHT"));
  if (function_word) {
    std::string name = Take().upper;
    return Call(std::move(name), at);
  }
  auto column = std::make_unique<Expr>();
  column->kind = ExprKind::kColumn;
  column->at = at;
  ASSIGN_OR_RAISE(std::string first, Identifier("an expression"));
  column->names.push_back(std::move(first));
  while (PeekSymbol(".")) {
    if (PeekSymbol("*", 1)) {
      Take();
      Take();
      column->kind = ExprKind::kStar;
      return column;
    }
    if (!PeekIdentifier(1) && Peek(1).kind != TokenKind::kWord) break;
    Take();
    column->names.push_back(Take().text);
  }
  return column;
}

Result<ExprPtr> Parser::Call(std::string name, Position at) {
  auto call = std::make_unique<Expr>();
  call->kind = ExprKind::kCall;
  call->at = at;
  call->name = std::move(name);
  RETURN_NOT_OK(ExpectSymbol("("));
  if (call->name == "DESCRIPTOR") {
    call->kind = ExprKind::kDescriptor;
    ASSIGN_OR_RAISE(std::string column, Identifier("a column name"));
    call->names.push_back(std::move(column));
    RETURN_NOT_OK(ExpectSymbol(")"));
    return call;
  }
  ASSIGN_OR_RAISE(const bool special, SpecialArguments(call.get()));
  if (!special) {
    if (AcceptWord("DISTINCT")) {
      call->distinct = true;
    } else {
      AcceptWord("ALL");
    }
    if (PeekSymbol("*") && PeekSymbol(")", 1)) {
      Take();
      call->star = true;
    } else if (!PeekSymbol(")")) {
      do {
        if (Peek().kind == TokenKind::kWord && PeekSymbol("=>", 1)) {
          return NotCovered(Peek().at, "calling a function with named arguments");
        }
        ASSIGN_OR_RAISE(ExprPtr argument, Expression());
        call->args.push_back(std::move(argument));
      } while (AcceptSymbol(","));
    }
  }
  RETURN_NOT_OK(ExpectSymbol(")"));
  RETURN_NOT_OK(CallSuffixes(call.get()));
  return call;
}

Status Parser::TakeArgument(Expr* call) {
  ASSIGN_OR_RAISE(ExprPtr argument, Expression());
  call->args.push_back(std::move(argument));
  return Status::OK();
}

// EXTRACT(unit FROM t), TIMESTAMPDIFF(unit, a, b), TIMESTAMPADD(unit, n, t).
Status Parser::UnitArguments(Expr* call) {
  const bool extract = call->name == "EXTRACT";
  ASSIGN_OR_RAISE(call->text, TimeUnit());
  RETURN_NOT_OK(extract ? ExpectWord("FROM") : ExpectSymbol(","));
  RETURN_NOT_OK(TakeArgument(call));
  if (extract) return Status::OK();
  RETURN_NOT_OK(ExpectSymbol(","));
  return TakeArgument(call);
}

// TRIM([BOTH | LEADING | TRAILING] [what] [FROM] text).
Status Parser::TrimArguments(Expr* call) {
  call->text = "BOTH";
  bool worded = false;
  for (const std::string_view side : {"BOTH", "LEADING", "TRAILING"}) {
    if (AcceptWord(side)) {
      call->text = side;
      worded = true;
    }
  }
  if (worded && AcceptWord("FROM")) return TakeArgument(call);
  RETURN_NOT_OK(TakeArgument(call));
  if (!AcceptWord("FROM")) return Status::OK();
  RETURN_NOT_OK(TakeArgument(call));
  std::swap(call->args[0], call->args[1]);  // The text first, then what to cut.
  return Status::OK();
}

// FLOOR(t TO unit), and the ordinary list.
Status Parser::FloorArguments(Expr* call) {
  RETURN_NOT_OK(TakeArgument(call));
  if (AcceptWord("TO")) {
    ASSIGN_OR_RAISE(call->text, TimeUnit());
    call->name = call->name == "FLOOR" ? "FLOOR TO" : "CEIL TO";
    return Status::OK();
  }
  while (AcceptSymbol(",")) RETURN_NOT_OK(TakeArgument(call));
  return Status::OK();
}

// SUBSTRING(s FROM n FOR m), OVERLAY(s PLACING t FROM n FOR m), and the ordinary list.
Status Parser::PartArguments(Expr* call) {
  RETURN_NOT_OK(TakeArgument(call));
  if (call->name == "OVERLAY" && AcceptWord("PLACING")) RETURN_NOT_OK(TakeArgument(call));
  if (AcceptWord("FROM")) {
    RETURN_NOT_OK(TakeArgument(call));
    return AcceptWord("FOR") ? TakeArgument(call) : Status::OK();
  }
  while (AcceptSymbol(",")) RETURN_NOT_OK(TakeArgument(call));
  return Status::OK();
}

// POSITION(sought IN text).
Status Parser::PositionArguments(Expr* call) {
  // Not Expression: IN would be taken as a predicate.
  ASSIGN_OR_RAISE(ExprPtr sought, Concatenation());
  call->args.push_back(std::move(sought));
  RETURN_NOT_OK(ExpectWord("IN"));
  return TakeArgument(call);
}

// JSON_VALUE(text, path).
Status Parser::JsonArguments(Expr* call) {
  RETURN_NOT_OK(TakeArgument(call));
  RETURN_NOT_OK(ExpectSymbol(","));
  RETURN_NOT_OK(TakeArgument(call));
  return PeekSymbol(")") ? Status::OK()
                         : NotCovered(Peek().at, call->name + " with a clause after the path");
}

// Argument lists with words of their own, from after the parenthesis to before its end. False: an
// ordinary list follows.
Result<bool> Parser::SpecialArguments(Expr* call) {
  struct Special {
    std::string_view name;
    Status (Parser::*take)(Expr*);
  };
  static constexpr Special kSpecials[] = {
      {"EXTRACT", &Parser::UnitArguments},      {"TIMESTAMPDIFF", &Parser::UnitArguments},
      {"TIMESTAMPADD", &Parser::UnitArguments}, {"POSITION", &Parser::PositionArguments},
      {"TRIM", &Parser::TrimArguments},         {"FLOOR", &Parser::FloorArguments},
      {"CEIL", &Parser::FloorArguments},        {"CEILING", &Parser::FloorArguments},
      {"SUBSTRING", &Parser::PartArguments},    {"OVERLAY", &Parser::PartArguments},
      {"JSON_VALUE", &Parser::JsonArguments},   {"JSON_QUERY", &Parser::JsonArguments},
      {"JSON_EXISTS", &Parser::JsonArguments},
  };
  const std::string name = call->name;
  for (const Special& special : kSpecials) {
    if (special.name != name) continue;
    RETURN_NOT_OK((this->*special.take)(call));
    return true;
  }
  return false;
}

// FILTER, WITHIN GROUP, OVER.
Status Parser::CallSuffixes(Expr* call) {
  if (PeekWords({"WITHIN", "GROUP"})) {
    Take();
    Take();
    RETURN_NOT_OK(ExpectSymbol("("));
    RETURN_NOT_OK(ExpectWord("ORDER"));
    RETURN_NOT_OK(ExpectWord("BY"));
    ASSIGN_OR_RAISE(call->within_group, SortKeys());
    RETURN_NOT_OK(ExpectSymbol(")"));
  }
  if (PeekWord("FILTER") && PeekSymbol("(", 1)) {
    Take();
    Take();
    RETURN_NOT_OK(ExpectWord("WHERE"));
    ASSIGN_OR_RAISE(call->filter, Expression());
    RETURN_NOT_OK(ExpectSymbol(")"));
  }
  if (PeekWord("RESPECT") || (PeekWord("IGNORE") && PeekWord("NULLS", 1))) {
    return NotCovered(Peek().at, "IGNORE NULLS and RESPECT NULLS");
  }
  if (!PeekWord("OVER")) return Status::OK();
  Take();
  if (PeekIdentifier() && !PeekSymbol("(")) {
    ast::WindowSpec named{.reference = Peek().text, .at = Peek().at};
    Take();
    call->over = std::make_unique<ast::WindowSpec>(std::move(named));
    return Status::OK();
  }
  ASSIGN_OR_RAISE(ast::WindowSpec window, Window());
  call->over = std::make_unique<ast::WindowSpec>(std::move(window));
  return Status::OK();
}

Result<ast::WindowSpec> Parser::Window() {
  ast::WindowSpec window{.at = Peek().at};
  RETURN_NOT_OK(ExpectSymbol("("));
  if (AcceptWords({"PARTITION", "BY"})) {
    do {
      ASSIGN_OR_RAISE(ExprPtr expr, Expression());
      window.partition_by.push_back(std::move(expr));
    } while (AcceptSymbol(","));
  }
  if (AcceptWords({"ORDER", "BY"})) {
    ASSIGN_OR_RAISE(window.order_by, SortKeys());
  }
  if (PeekWord("ROWS") || PeekWord("RANGE")) {
    window.rows = Take().upper == "ROWS";
    if (AcceptWord("BETWEEN")) {
      ASSIGN_OR_RAISE(window.from, WindowBound());
      RETURN_NOT_OK(ExpectWord("AND"));
      ASSIGN_OR_RAISE(window.to, WindowBound());
    } else {
      ASSIGN_OR_RAISE(window.from, WindowBound());
    }
  }
  RETURN_NOT_OK(ExpectSymbol(")"));
  return window;
}

Result<ast::WindowSpec::Bound> Parser::WindowBound() {
  using Kind = ast::WindowSpec::Bound::Kind;
  if (AcceptWords({"UNBOUNDED", "PRECEDING"}))
    return ast::WindowSpec::Bound{Kind::kUnboundedPreceding, nullptr};
  if (AcceptWords({"UNBOUNDED", "FOLLOWING"}))
    return ast::WindowSpec::Bound{Kind::kUnboundedFollowing, nullptr};
  if (AcceptWords({"CURRENT", "ROW"})) return ast::WindowSpec::Bound{Kind::kCurrentRow, nullptr};
  ASSIGN_OR_RAISE(ExprPtr offset, Concatenation());
  if (AcceptWord("PRECEDING")) return ast::WindowSpec::Bound{Kind::kPreceding, std::move(offset)};
  RETURN_NOT_OK(ExpectWord("FOLLOWING"));
  return ast::WindowSpec::Bound{Kind::kFollowing, std::move(offset)};
}

Result<std::string> Parser::TimeUnit() {
  if (Peek().kind == TokenKind::kWord) {
    for (const Unit& unit : kUnits) {
      if (Peek().upper == unit.word) {
        Take();
        return std::string(unit.name);
      }
    }
  }
  return Unexpected("a time unit");
}

Result<std::vector<ExprPtr>> Parser::Arguments() {
  std::vector<ExprPtr> arguments;
  RETURN_NOT_OK(ExpectSymbol("("));
  if (AcceptSymbol(")")) return arguments;
  do {
    ASSIGN_OR_RAISE(ExprPtr argument, Expression());
    arguments.push_back(std::move(argument));
  } while (AcceptSymbol(","));
  RETURN_NOT_OK(ExpectSymbol(")"));
  return arguments;
}

Result<std::vector<ast::SortKey>> Parser::SortKeys() {
  std::vector<ast::SortKey> keys;
  do {
    ast::SortKey key;
    ASSIGN_OR_RAISE(key.expr, Expression());
    key.descending = AcceptWord("DESC");
    if (!key.descending) AcceptWord("ASC");
    if (AcceptWords({"NULLS", "FIRST"})) key.nulls_first = true;
    if (AcceptWords({"NULLS", "LAST"})) key.nulls_first = false;
    keys.push_back(std::move(key));
  } while (AcceptSymbol(","));
  return keys;
}

}  // namespace sluice::sql
