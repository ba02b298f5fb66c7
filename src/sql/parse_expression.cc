#include <algorithm>
#include <array>

#include "sql/parser_internal.h"

namespace sluice::sql {

using ast::Expr;
using ast::ExprKind;
using ast::ExprPtr;

namespace {

ExprPtr Negate(ExprPtr expr, bool negated) {
  if (!negated) return expr;
  const Position at = expr->at;
  return MakeCallExpr("NOT", at, std::move(expr));
}

constexpr std::array kComparisons = {
    std::string_view("="),  std::string_view("<>"), std::string_view("!="), std::string_view("<"),
    std::string_view("<="), std::string_view(">"),  std::string_view(">=")};

}  // namespace

// One node for `a OP b OP c …`: these operators associate, so a long chain is wide, not deep.
Result<ExprPtr> Parser::Chain(Result<ExprPtr> (Parser::*operand)(), bool (Parser::*at)() const,
                              std::string_view name) {
  const Subtree subtree(*this);
  ASSIGN_OR_RAISE(ExprPtr first, (this->*operand)());
  if (!(this->*at)()) return first;
  ExprPtr chain = MakeCallExpr(std::string(name), Peek().at, std::move(first));
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
  return Raised(MakeCallExpr("NOT", at, std::move(operand)));
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
    return MakeCallExpr(std::move(op), at, std::move(left), std::move(right));
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
    return MakeCallExpr("OVERLAPS", at, std::move(left), std::move(right));
  }
  *more = false;
  return left;
}

Result<ExprPtr> Parser::IsTest(ExprPtr left) {
  const Position at = Take().at;
  const bool negated = AcceptWord("NOT");
  if (AcceptWords({"DISTINCT", "FROM"})) {
    ASSIGN_OR_RAISE(ExprPtr right, Concatenation());
    return MakeCallExpr(negated ? "IS NOT DISTINCT FROM" : "IS DISTINCT FROM", at, std::move(left),
                        std::move(right));
  }
  for (const std::string_view test : {"NULL", "TRUE", "FALSE", "UNKNOWN"}) {
    if (AcceptWord(test)) {
      return MakeCallExpr((negated ? "IS NOT " : "IS ") + std::string(test), at, std::move(left));
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
  return Negate(MakeCallExpr(symmetric ? "BETWEEN SYMMETRIC" : "BETWEEN", at, std::move(left),
                             std::move(low), std::move(high)),
                negated);
}

Result<ExprPtr> Parser::InTail(ExprPtr left, bool negated, Position at) {
  ExprPtr in = MakeExpr(ExprKind::kIn, at);
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
  ExprPtr call = MakeCallExpr(std::move(name), at, std::move(left), std::move(pattern));
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
    ASSIGN_OR_RAISE(left, Raised(MakeCallExpr(op.text, op.at, std::move(left), std::move(right))));
  }
  return left;
}

Result<ExprPtr> Parser::Product() {
  const Subtree subtree(*this);
  ASSIGN_OR_RAISE(ExprPtr left, Unary());
  while (PeekSymbol("*") || PeekSymbol("/") || PeekSymbol("%")) {
    const Token op = Take();
    ASSIGN_OR_RAISE(ExprPtr right, Unary());
    ASSIGN_OR_RAISE(left, Raised(MakeCallExpr(op.text, op.at, std::move(left), std::move(right))));
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
                        : Raised(MakeCallExpr("NEGATE", op.at, std::move(operand)));
}

Result<ExprPtr> Parser::Postfix() {
  const Subtree subtree(*this);
  ASSIGN_OR_RAISE(ExprPtr expr, Primary());
  while (true) {
    const Position at = Peek().at;
    if (AcceptSymbol("[")) {
      ASSIGN_OR_RAISE(ExprPtr index, Expression());
      RETURN_NOT_OK(ExpectSymbol("]"));
      ExprPtr whole = MakeExpr(ExprKind::kIndex, at);
      whole->args.push_back(std::move(expr));
      whole->args.push_back(std::move(index));
      ASSIGN_OR_RAISE(expr, Raised(std::move(whole)));
    } else if (PeekSymbol(".") && PeekIdentifier(1)) {
      Take();
      ExprPtr whole = MakeExpr(ExprKind::kField, at);
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

}  // namespace sluice::sql
