#include <algorithm>
#include <array>

#include "sql/parser_internal.h"

namespace sluice::sql {

using ast::Expr;
using ast::ExprKind;
using ast::ExprPtr;

namespace {

// Functions that the grammar calls without parentheses.
constexpr std::array kBareFunctions = {
    std::string_view("CURRENT_TIMESTAMP"), std::string_view("CURRENT_DATE"),
    std::string_view("CURRENT_TIME"),      std::string_view("LOCALTIMESTAMP"),
    std::string_view("LOCALTIME"),         std::string_view("CURRENT_ROW_TIMESTAMP"),
    std::string_view("CURRENT_DATABASE"),  std::string_view("CURRENT_CATALOG")};

}  // namespace

Result<ExprPtr> Parser::Primary() {
  if (PeekSymbol("(")) return Parenthesized();
  ASSIGN_OR_RAISE(ExprPtr expr, Unparenthesized());
  return Raised(std::move(expr));
}

Result<ExprPtr> Parser::Unparenthesized() {
  const Token& token = Peek();
  if (token.kind == TokenKind::kSymbol) {
    if (token.text == "*") {
      ExprPtr star = MakeExpr(ExprKind::kStar, token.at);
      Take();
      return star;
    }
    return Unexpected("an expression");
  }
  if (token.kind == TokenKind::kEnd) return Unexpected("an expression");
  if (token.kind != TokenKind::kWord && token.kind != TokenKind::kQuoted) return Literal();
  bool matched = true;
  ASSIGN_OR_RAISE(ExprPtr special, KeywordExpression(&matched));
  if (matched) return special;
  return NameOrCall();
}

Result<ExprPtr> Parser::Literal() {
  const Token& token = Take();
  ExprPtr literal = MakeExpr(ExprKind::kNumber, token.at);
  literal->text = token.text;
  literal->number_kind = token.kind;
  if (token.kind == TokenKind::kString || token.kind == TokenKind::kUnicode)
    literal->kind = ExprKind::kString;
  if (token.kind == TokenKind::kHex) literal->kind = ExprKind::kBinary;
  // Literals side by side are one: 'a' 'b'.
  while (literal->kind == ExprKind::kString && Peek().kind == TokenKind::kString)
    literal->text += Take().text;
  return literal;
}

Result<ExprPtr> Parser::Parenthesized() {
  const Position at = Take().at;
  if (StartsQuery()) {
    ExprPtr subquery = MakeExpr(ExprKind::kSubquery, at);
    ASSIGN_OR_RAISE(subquery->query, Query());
    RETURN_NOT_OK(ExpectSymbol(")"));
    return Raised(std::move(subquery));
  }
  ASSIGN_OR_RAISE(ExprPtr first, Expression());
  if (PeekSymbol(",")) {
    ExprPtr row = MakeExpr(ExprKind::kRow, at);
    row->args.push_back(std::move(first));
    while (AcceptSymbol(",")) {
      ASSIGN_OR_RAISE(ExprPtr next, Expression());
      row->args.push_back(std::move(next));
    }
    RETURN_NOT_OK(ExpectSymbol(")"));
    return Raised(std::move(row));
  }
  RETURN_NOT_OK(ExpectSymbol(")"));
  // (a - b) DAY TO SECOND: the difference of two times as an interval.
  if (first->kind == ExprKind::kCall && first->name == "-" &&
      (PeekWord("DAY") || PeekWord("HOUR") || PeekWord("MINUTE") || PeekWord("SECOND") ||
       PeekWord("YEAR") || PeekWord("MONTH"))) {
    ASSIGN_OR_RAISE(first->name2, TimeUnit());
    first->name = "TIME DIFFERENCE";
    if (AcceptWord("TO")) RETURN_NOT_OK(TimeUnit().status());
  }
  return first;
}

// Expressions that start with a word of their own; clears `matched` when the next token starts
// none.
Result<ExprPtr> Parser::KeywordExpression(bool* matched) {
  const Token token = Peek();
  if (token.kind != TokenKind::kWord) {
    *matched = false;
    return nullptr;
  }
  const std::string& word = token.upper;
  if (word == "NULL" || word == "TRUE" || word == "FALSE") {
    Take();
    ExprPtr literal = MakeExpr(word == "NULL" ? ExprKind::kNull : ExprKind::kBoolean, token.at);
    literal->text = word;
    return literal;
  }
  if (word == "CASE") return CaseExpression();
  if ((word == "CAST" || word == "TRY_CAST") && PeekSymbol("(", 1)) return CastExpression(word);
  if (word == "INTERVAL" &&
      (Peek(1).kind == TokenKind::kString || Peek(1).kind == TokenKind::kInteger ||
       PeekSymbol("-", 1) || PeekSymbol("(", 1))) {
    return IntervalExpression();
  }
  if (word == "EXISTS" && PeekSymbol("(", 1)) {
    Take();
    Take();
    ExprPtr exists = MakeExpr(ExprKind::kExists, token.at);
    ASSIGN_OR_RAISE(exists->query, Query());
    RETURN_NOT_OK(ExpectSymbol(")"));
    return exists;
  }
  if ((word == "DATE" || word == "TIME" || word == "TIMESTAMP") &&
      Peek(1).kind == TokenKind::kString) {
    Take();
    ExprPtr literal = MakeExpr(ExprKind::kTemporal, token.at);
    literal->name = word;
    literal->text = Take().text;
    return literal;
  }
  if (word == "ARRAY" && PeekSymbol("[", 1)) return CollectionExpression(ExprKind::kArray);
  if (word == "MAP" && PeekSymbol("[", 1)) return CollectionExpression(ExprKind::kMap);
  if (word == "ROW" && PeekSymbol("(", 1)) {
    Take();
    ExprPtr row = MakeExpr(ExprKind::kRow, token.at);
    ASSIGN_OR_RAISE(row->args, Arguments());
    return row;
  }
  if (std::ranges::find(kBareFunctions, word) != kBareFunctions.end() && !PeekSymbol(".", 1)) {
    Take();
    if (AcceptSymbol("(")) {
      if (Peek().kind == TokenKind::kInteger) Take();  // A precision; CURRENT_TIMESTAMP(3).
      RETURN_NOT_OK(ExpectSymbol(")"));
    }
    return MakeCallExpr(word, token.at);
  }
  *matched = false;
  return nullptr;
}

Result<ExprPtr> Parser::CaseExpression() {
  ExprPtr expr = MakeExpr(ExprKind::kCase, Take().at);
  if (!PeekWord("WHEN")) {
    expr->simple = true;
    ASSIGN_OR_RAISE(ExprPtr operand, Expression());
    expr->args.push_back(std::move(operand));
  }
  do {
    RETURN_NOT_OK(ExpectWord("WHEN"));
    ASSIGN_OR_RAISE(ExprPtr when, Expression());
    RETURN_NOT_OK(ExpectWord("THEN"));
    ASSIGN_OR_RAISE(ExprPtr then, Expression());
    expr->args.push_back(std::move(when));
    expr->args.push_back(std::move(then));
  } while (PeekWord("WHEN"));
  if (AcceptWord("ELSE")) {
    expr->has_else = true;
    ASSIGN_OR_RAISE(ExprPtr other, Expression());
    expr->args.push_back(std::move(other));
  }
  RETURN_NOT_OK(ExpectWord("END"));
  return expr;
}

Result<ExprPtr> Parser::CastExpression(std::string_view name) {
  ExprPtr cast = MakeExpr(ExprKind::kCast, Take().at);
  cast->name = name;
  RETURN_NOT_OK(ExpectSymbol("("));
  ASSIGN_OR_RAISE(ExprPtr operand, Expression());
  cast->args.push_back(std::move(operand));
  RETURN_NOT_OK(ExpectWord("AS"));
  ASSIGN_OR_RAISE(cast->type, Type());
  RETURN_NOT_OK(ExpectSymbol(")"));
  return cast;
}

// INTERVAL '5' MINUTE, INTERVAL '1-2' YEAR TO MONTH, INTERVAL 5 MINUTES, INTERVAL -5 DAY.
Result<ExprPtr> Parser::IntervalExpression() {
  ExprPtr interval = MakeExpr(ExprKind::kInterval, Take().at);
  bool negative = AcceptSymbol("-");
  if (Peek().kind == TokenKind::kString || Peek().kind == TokenKind::kInteger) {
    interval->text = Take().text;
  } else {
    ASSIGN_OR_RAISE(ExprPtr amount, Primary());
    interval->args.push_back(std::move(amount));
  }
  interval->negated = negative;
  ASSIGN_OR_RAISE(interval->name, TimeUnit());
  RETURN_NOT_OK(TypeArgument().status());  // DAY(3): the precision is taken as given.
  if (AcceptWord("TO")) {
    ASSIGN_OR_RAISE(interval->name2, TimeUnit());
    RETURN_NOT_OK(TypeArgument().status());
  }
  return interval;
}

Result<ExprPtr> Parser::CollectionExpression(ExprKind kind) {
  ExprPtr collection = MakeExpr(kind, Take().at);
  RETURN_NOT_OK(ExpectSymbol("["));
  while (!PeekSymbol("]")) {
    ASSIGN_OR_RAISE(ExprPtr item, Expression());
    collection->args.push_back(std::move(item));
    if (!AcceptSymbol(",")) break;
  }
  RETURN_NOT_OK(ExpectSymbol("]"));
  if (kind == ExprKind::kMap && collection->args.size() % 2 != 0) {
    return InvalidAt(collection->at, "MAP needs keys and values in pairs");
  }
  return collection;
}

}  // namespace sluice::sql
