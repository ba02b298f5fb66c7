#include <algorithm>
#include <array>

#include "sql/parser_internal.h"

namespace sluice::sql {

using ast::Expr;
using ast::ExprKind;
using ast::ExprPtr;

namespace {

ExprPtr Make(ExprKind kind, Position at) {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->at = at;
  return expr;
}

template <typename... Args>
ExprPtr MakeCall(std::string name, Position at, Args... args) {
  ExprPtr call = Make(ExprKind::kCall, at);
  call->name = std::move(name);
  (call->args.push_back(std::move(args)), ...);
  return call;
}

ExprPtr Negate(ExprPtr expr, bool negated) {
  if (!negated) return expr;
  const Position at = expr->at;
  return MakeCall("NOT", at, std::move(expr));
}

constexpr std::array kComparisons = {
    std::string_view("="),  std::string_view("<>"), std::string_view("!="), std::string_view("<"),
    std::string_view("<="), std::string_view(">"),  std::string_view(">=")};

// Functions that the grammar calls without parentheses.
constexpr std::array kBareFunctions = {
    std::string_view("CURRENT_TIMESTAMP"), std::string_view("CURRENT_DATE"),
    std::string_view("CURRENT_TIME"),      std::string_view("LOCALTIMESTAMP"),
    std::string_view("LOCALTIME"),         std::string_view("CURRENT_ROW_TIMESTAMP"),
    std::string_view("CURRENT_DATABASE"),  std::string_view("CURRENT_CATALOG")};

}  // namespace

// One node for `a OP b OP c …`: these operators associate, so a long chain is wide, not deep.
Result<ExprPtr> Parser::Chain(Result<ExprPtr> (Parser::*operand)(), bool (Parser::*at)() const,
                              std::string_view name) {
  const Subtree subtree(*this);
  ASSIGN_OR_RAISE(ExprPtr first, (this->*operand)());
  if (!(this->*at)()) return first;
  ExprPtr chain = MakeCall(std::string(name), Peek().at, std::move(first));
  while ((this->*at)()) {
    const Position operator_at = Take().at;
    if (chain->args.size() >= kChainMax) {
      return InvalidAt(operator_at, name, " has too many operands, limit=", kChainMax);
    }
    ASSIGN_OR_RAISE(ExprPtr next, (this->*operand)());
    chain->args.push_back(std::move(next));
  }
  return Raised(std::move(chain));
}

Result<ExprPtr> Parser::Disjunction() {
  RETURN_NOT_OK(CheckDepth());
  const Depth depth(*this);
  return Chain(&Parser::Conjunction, &Parser::AtOr, "OR");
}

Result<ExprPtr> Parser::Conjunction() { return Chain(&Parser::Negation, &Parser::AtAnd, "AND"); }

Result<ExprPtr> Parser::Negation() {
  if (!PeekWord("NOT")) return Comparison();
  RETURN_NOT_OK(CheckDepth());
  const Depth depth(*this);
  const Position at = Take().at;
  ASSIGN_OR_RAISE(ExprPtr operand, Negation());
  return Raised(MakeCall("NOT", at, std::move(operand)));
}

Result<ExprPtr> Parser::Comparison() {
  const Subtree subtree(*this);
  ASSIGN_OR_RAISE(ExprPtr left, Concatenation());
  for (bool more = true; more;) {
    ASSIGN_OR_RAISE(left, Predicate(std::move(left), &more));
    if (more) RETURN_NOT_OK(Raise());
  }
  return left;
}

// One comparison after `left`; clears `more` when none follows.
Result<ExprPtr> Parser::Predicate(ExprPtr left, bool* more) {
  const Position at = Peek().at;
  if (Peek().kind == TokenKind::kSymbol &&
      std::ranges::find(kComparisons, Peek().text) != kComparisons.end()) {
    std::string op = Take().text;
    if (op == "!=") op = "<>";
    if (PeekWord("ALL") || ((PeekWord("ANY") || PeekWord("SOME")) && PeekSymbol("(", 1))) {
      return NotCovered(Peek().at, "comparison with ALL, ANY or SOME");
    }
    ASSIGN_OR_RAISE(ExprPtr right, Concatenation());
    return MakeCall(std::move(op), at, std::move(left), std::move(right));
  }
  if (PeekSymbol("==")) return InvalidAt(at, "== is not an operator, write =");
  if (PeekWord("IS")) return IsTest(std::move(left));
  const bool negated = PeekWord("NOT") && (PeekWord("BETWEEN", 1) || PeekWord("IN", 1) ||
                                           PeekWord("LIKE", 1) || PeekWord("SIMILAR", 1));
  if (negated) Take();
  if (AcceptWord("BETWEEN")) return BetweenTail(std::move(left), negated, at);
  if (AcceptWord("IN")) return InTail(std::move(left), negated, at);
  if (PeekWord("LIKE") || PeekWords({"SIMILAR", "TO"}))
    return LikeTail(std::move(left), negated, at);
  if (AcceptWord("OVERLAPS")) {
    ASSIGN_OR_RAISE(ExprPtr right, Concatenation());
    return MakeCall("OVERLAPS", at, std::move(left), std::move(right));
  }
  *more = false;
  return left;
}

Result<ExprPtr> Parser::IsTest(ExprPtr left) {
  const Position at = Take().at;
  const bool negated = AcceptWord("NOT");
  if (AcceptWords({"DISTINCT", "FROM"})) {
    ASSIGN_OR_RAISE(ExprPtr right, Concatenation());
    return MakeCall(negated ? "IS NOT DISTINCT FROM" : "IS DISTINCT FROM", at, std::move(left),
                    std::move(right));
  }
  for (const std::string_view test : {"NULL", "TRUE", "FALSE", "UNKNOWN"}) {
    if (AcceptWord(test)) {
      return MakeCall((negated ? "IS NOT " : "IS ") + std::string(test), at, std::move(left));
    }
  }
  if (PeekWord("JSON")) return NotCovered(Peek().at, "IS JSON");
  return Unexpected("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM");
}

Result<ExprPtr> Parser::BetweenTail(ExprPtr left, bool negated, Position at) {
  const bool symmetric = AcceptWord("SYMMETRIC");
  if (!symmetric) AcceptWord("ASYMMETRIC");
  ASSIGN_OR_RAISE(ExprPtr low, Concatenation());
  RETURN_NOT_OK(ExpectWord("AND"));
  ASSIGN_OR_RAISE(ExprPtr high, Concatenation());
  return Negate(MakeCall(symmetric ? "BETWEEN SYMMETRIC" : "BETWEEN", at, std::move(left),
                         std::move(low), std::move(high)),
                negated);
}

Result<ExprPtr> Parser::InTail(ExprPtr left, bool negated, Position at) {
  ExprPtr in = Make(ExprKind::kIn, at);
  in->negated = negated;
  in->args.push_back(std::move(left));
  if (PeekSymbol("(") && StartsQuery(1)) {
    Take();
    ASSIGN_OR_RAISE(in->query, Query());
    RETURN_NOT_OK(ExpectSymbol(")"));
    return in;
  }
  ASSIGN_OR_RAISE(std::vector<ExprPtr> items, Arguments());
  if (items.empty()) return InvalidAt(at, "IN needs at least one value");
  for (ExprPtr& item : items) in->args.push_back(std::move(item));
  return in;
}

Result<ExprPtr> Parser::LikeTail(ExprPtr left, bool negated, Position at) {
  std::string name = "LIKE";
  if (!AcceptWord("LIKE")) {
    AcceptWords({"SIMILAR", "TO"});
    name = "SIMILAR TO";
  }
  ASSIGN_OR_RAISE(ExprPtr pattern, Concatenation());
  ExprPtr call = MakeCall(std::move(name), at, std::move(left), std::move(pattern));
  if (AcceptWord("ESCAPE")) {
    ASSIGN_OR_RAISE(ExprPtr escape, Concatenation());
    call->args.push_back(std::move(escape));
  }
  return Negate(std::move(call), negated);
}

Result<ExprPtr> Parser::Concatenation() {
  return Chain(&Parser::Sum, &Parser::AtConcatenation, "||");
}

Result<ExprPtr> Parser::Sum() {
  const Subtree subtree(*this);
  ASSIGN_OR_RAISE(ExprPtr left, Product());
  while (PeekSymbol("+") || PeekSymbol("-")) {
    const Token op = Take();
    ASSIGN_OR_RAISE(ExprPtr right, Product());
    ASSIGN_OR_RAISE(left, Raised(MakeCall(op.text, op.at, std::move(left), std::move(right))));
  }
  return left;
}

Result<ExprPtr> Parser::Product() {
  const Subtree subtree(*this);
  ASSIGN_OR_RAISE(ExprPtr left, Unary());
  while (PeekSymbol("*") || PeekSymbol("/") || PeekSymbol("%")) {
    const Token op = Take();
    ASSIGN_OR_RAISE(ExprPtr right, Unary());
    ASSIGN_OR_RAISE(left, Raised(MakeCall(op.text, op.at, std::move(left), std::move(right))));
  }
  return left;
}

Result<ExprPtr> Parser::Unary() {
  if (!PeekSymbol("-") && !PeekSymbol("+")) return Postfix();
  RETURN_NOT_OK(CheckDepth());
  const Depth depth(*this);
  const Token op = Take();
  ASSIGN_OR_RAISE(ExprPtr operand, Unary());
  return op.text == "+" ? std::move(operand)
                        : Raised(MakeCall("NEGATE", op.at, std::move(operand)));
}

Result<ExprPtr> Parser::Postfix() {
  const Subtree subtree(*this);
  ASSIGN_OR_RAISE(ExprPtr expr, Primary());
  while (true) {
    const Position at = Peek().at;
    if (AcceptSymbol("[")) {
      ASSIGN_OR_RAISE(ExprPtr index, Expression());
      RETURN_NOT_OK(ExpectSymbol("]"));
      ExprPtr whole = Make(ExprKind::kIndex, at);
      whole->args.push_back(std::move(expr));
      whole->args.push_back(std::move(index));
      ASSIGN_OR_RAISE(expr, Raised(std::move(whole)));
    } else if (PeekSymbol(".") && PeekIdentifier(1)) {
      Take();
      ExprPtr whole = Make(ExprKind::kField, at);
      whole->names.push_back(Take().text);
      whole->args.push_back(std::move(expr));
      ASSIGN_OR_RAISE(expr, Raised(std::move(whole)));
    } else if (PeekSymbol("::")) {
      return InvalidAt(at, ":: is not an operator, write CAST(x AS type)");
    } else {
      return expr;
    }
  }
}

Result<ExprPtr> Parser::Primary() {
  if (PeekSymbol("(")) return Parenthesized();
  ASSIGN_OR_RAISE(ExprPtr expr, Unparenthesized());
  return Raised(std::move(expr));
}

Result<ExprPtr> Parser::Unparenthesized() {
  const Token& token = Peek();
  if (token.kind == TokenKind::kSymbol) {
    if (token.text == "*") {
      ExprPtr star = Make(ExprKind::kStar, token.at);
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
  ExprPtr literal = Make(ExprKind::kNumber, token.at);
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
    ExprPtr subquery = Make(ExprKind::kSubquery, at);
    ASSIGN_OR_RAISE(subquery->query, Query());
    RETURN_NOT_OK(ExpectSymbol(")"));
    return Raised(std::move(subquery));
  }
  ASSIGN_OR_RAISE(ExprPtr first, Expression());
  if (PeekSymbol(",")) {
    ExprPtr row = Make(ExprKind::kRow, at);
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
    ExprPtr literal = Make(word == "NULL" ? ExprKind::kNull : ExprKind::kBoolean, token.at);
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
    ExprPtr exists = Make(ExprKind::kExists, token.at);
    ASSIGN_OR_RAISE(exists->query, Query());
    RETURN_NOT_OK(ExpectSymbol(")"));
    return exists;
  }
  if ((word == "DATE" || word == "TIME" || word == "TIMESTAMP") &&
      Peek(1).kind == TokenKind::kString) {
    Take();
    ExprPtr literal = Make(ExprKind::kTemporal, token.at);
    literal->name = word;
    literal->text = Take().text;
    return literal;
  }
  if (word == "ARRAY" && PeekSymbol("[", 1)) return CollectionExpression(ExprKind::kArray);
  if (word == "MAP" && PeekSymbol("[", 1)) return CollectionExpression(ExprKind::kMap);
  if (word == "ROW" && PeekSymbol("(", 1)) {
    Take();
    ExprPtr row = Make(ExprKind::kRow, token.at);
    ASSIGN_OR_RAISE(row->args, Arguments());
    return row;
  }
  if (std::ranges::find(kBareFunctions, word) != kBareFunctions.end() && !PeekSymbol(".", 1)) {
    Take();
    if (AcceptSymbol("(")) {
      if (Peek().kind == TokenKind::kInteger) Take();  // A precision; CURRENT_TIMESTAMP(3).
      RETURN_NOT_OK(ExpectSymbol(")"));
    }
    return MakeCall(word, token.at);
  }
  *matched = false;
  return nullptr;
}

Result<ExprPtr> Parser::CaseExpression() {
  ExprPtr expr = Make(ExprKind::kCase, Take().at);
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
  ExprPtr cast = Make(ExprKind::kCast, Take().at);
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
  ExprPtr interval = Make(ExprKind::kInterval, Take().at);
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
  ExprPtr collection = Make(kind, Take().at);
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
