#pragma once
#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sql/parser.h"

namespace sluice::sql {

/// Recursive descent over the tokens of one statement. Expressions climb by precedence
/// (parse_expression.cc), their leaves are in parse_primary.cc, calls in parse_call.cc, queries in
/// parse_query.cc, what follows FROM in parse_from.cc, CREATE, ALTER and DROP in
/// parse_definition.cc, other statements in parse_statement.cc.
class Parser {
 public:
  Parser(std::string_view text, std::vector<Token> tokens)
      : text_(text), tokens_(std::move(tokens)) {}

  Result<ast::Statement> Statement();
  Result<ast::QueryPtr> Query();
  /// Errors: something follows.
  Status ExpectEnd();

 private:
  /// Nesting of expressions and queries, and height of the tree: keeps every walk's stack bounded,
  /// and the engine's planning, which grows with the cube of an expression's depth, near a second.
  static constexpr int kDepthMax = 200;
  /// Queries that one UNION joins.
  static constexpr size_t kUnionMax = 1000;
  /// Tables of one FROM; the engine's search for their order grows with the cube and worse.
  static constexpr size_t kJoinsMax = 40;
  /// Operands of one chain of AND, OR or ||.
  static constexpr size_t kChainMax = 10000;

  struct Depth {
    explicit Depth(Parser& parser) : parser(parser) { ++parser.depth_; }
    ~Depth() { --parser.depth_; }
    Parser& parser;
  };

  /// What is parsed while it lives is a tree of its own: `tallest_` starts at 0.
  struct Subtree {
    explicit Subtree(Parser& parser) : parser(parser), around(std::exchange(parser.tallest_, 0)) {}
    ~Subtree() { parser.tallest_ = std::max(around, parser.tallest_); }
    Parser& parser;
    int around;
  };

  // Tokens.
  const Token& Peek(size_t ahead = 0) const {
    return tokens_[std::min(next_ + ahead, tokens_.size() - 1)];
  }
  const Token& Take() { return tokens_[next_ < tokens_.size() - 1 ? next_++ : next_]; }
  bool PeekWord(std::string_view upper, size_t ahead = 0) const {
    return Peek(ahead).kind == TokenKind::kWord && Peek(ahead).upper == upper;
  }
  bool PeekWords(std::initializer_list<std::string_view> words) const;
  bool PeekSymbol(std::string_view symbol, size_t ahead = 0) const {
    return Peek(ahead).kind == TokenKind::kSymbol && Peek(ahead).text == symbol;
  }
  bool AcceptWord(std::string_view upper);
  bool AcceptWords(std::initializer_list<std::string_view> words);
  bool AcceptSymbol(std::string_view symbol);
  Status ExpectWord(std::string_view upper);
  Status ExpectSymbol(std::string_view symbol);
  Status Unexpected(std::string_view expected) const;
  Status NotCovered(Position at, std::string_view what) const;
  Status CheckDepth() const;
  /// Put a node on top of the subtree.
  Status Raise();
  Result<ast::ExprPtr> Raised(ast::ExprPtr top);

  // Names and small things.
  bool PeekIdentifier(size_t ahead = 0) const;
  Result<std::string> Identifier(std::string_view what);
  Result<ast::ObjectName> ObjectName(std::string_view what);
  Result<std::vector<ast::Name>> NameList(std::string_view what);
  Result<std::string> StringLiteral(std::string_view what);
  Result<int32_t> IntegerLiteral(std::string_view what);
  Result<ast::Options> OptionList();
  Result<SqlType> Type();
  Result<SqlType> TypeShape();
  Result<SqlType> LengthType(const Token& word);  // CHAR, VARCHAR, BINARY, VARBINARY
  Result<SqlType> DecimalType(const Token& word);
  Result<SqlType> TimeType(const Token& word);
  Result<SqlType> CollectionType(const Token& word);  // ARRAY, MAP
  Result<SqlType> RowType();
  Result<std::optional<int32_t>> TypeArgument();

  // Expressions.
  Result<ast::ExprPtr> Expression() { return Disjunction(); }
  Result<ast::ExprPtr> Disjunction();
  Result<ast::ExprPtr> Conjunction();
  Result<ast::ExprPtr> Negation();
  Result<ast::ExprPtr> Comparison();
  Result<ast::ExprPtr> Predicate(ast::ExprPtr left, bool* more);
  Result<ast::ExprPtr> IsTest(ast::ExprPtr left);
  Result<ast::ExprPtr> BetweenTail(ast::ExprPtr left, bool negated, Position at);
  Result<ast::ExprPtr> InTail(ast::ExprPtr left, bool negated, Position at);
  Result<ast::ExprPtr> LikeTail(ast::ExprPtr left, bool negated, Position at);
  Result<ast::ExprPtr> Concatenation();
  Result<ast::ExprPtr> Sum();
  Result<ast::ExprPtr> Product();
  Result<ast::ExprPtr> Unary();
  Result<ast::ExprPtr> Postfix();
  Result<ast::ExprPtr> Primary();
  Result<ast::ExprPtr> Unparenthesized();
  Result<ast::ExprPtr> Chain(Result<ast::ExprPtr> (Parser::*operand)(), bool (Parser::*at)() const,
                             std::string_view name);
  bool AtOr() const { return PeekWord("OR"); }
  bool AtAnd() const { return PeekWord("AND"); }
  bool AtConcatenation() const { return PeekSymbol("||"); }
  Result<ast::ExprPtr> Literal();
  Result<ast::ExprPtr> Parenthesized();
  Result<ast::ExprPtr> KeywordExpression(bool* matched);
  Result<ast::ExprPtr> CaseExpression();
  Result<ast::ExprPtr> CastExpression(std::string_view name);
  Result<ast::ExprPtr> IntervalExpression();
  Result<ast::ExprPtr> CollectionExpression(ast::ExprKind kind);
  Result<ast::ExprPtr> NameOrCall();
  Result<ast::ExprPtr> Call(std::string name, Position at);
  Result<bool> SpecialArguments(ast::Expr* call);
  Status TakeArgument(ast::Expr* call);
  Status UnitArguments(ast::Expr* call);
  Status TrimArguments(ast::Expr* call);
  Status FloorArguments(ast::Expr* call);
  Status PartArguments(ast::Expr* call);
  Status PositionArguments(ast::Expr* call);
  Status JsonArguments(ast::Expr* call);
  Status CallSuffixes(ast::Expr* call);
  Result<ast::WindowSpec> Window();
  Result<ast::WindowSpec::Bound> WindowBound();
  Result<std::string> TimeUnit();
  Result<std::vector<ast::ExprPtr>> Arguments();
  Result<std::vector<ast::SortKey>> SortKeys();

  // Queries.
  Result<std::unique_ptr<ast::Body>> SetBody(int least_precedence);
  Result<std::unique_ptr<ast::Body>> SimpleBody();
  Result<ast::Select> SelectClause();
  Status GroupBy(ast::Select* select);
  Status GroupingElement(ast::Select* select);
  Result<ast::Values> ValuesClause();
  Result<ast::CommonTable> CommonTable();
  Result<std::unique_ptr<ast::Relation>> FromClause();
  Result<std::unique_ptr<ast::Relation>> JoinedRelation();
  Result<std::unique_ptr<ast::Relation>> PrimaryRelation();
  Result<std::unique_ptr<ast::Relation>> TableFunction();
  Result<bool> JoinType(ast::Relation* join);
  Status JoinCondition(ast::Relation* join);
  Status AsOf(ast::Relation* table);
  Status TableHints(ast::Relation* table);
  Status SelectHints();
  /// Errors: a hint comes next, where none has a meaning.
  Status RefuseHint(std::string_view where) const;
  Status Alias(ast::Relation* relation);
  bool StartsQuery(size_t ahead = 0) const;

  // Statements.
  Result<ast::Statement> StatementNode();
  Status Create(ast::Statement* out);
  Status CreateTable(ast::Statement* out);
  Status TableElements(ast::CreateTable* table);
  Result<ast::ColumnDefinition> Column(ast::CreateTable* table);
  Status PrimaryKey(ast::CreateTable* table, std::vector<ast::Name> columns, Position at);
  Status TableTail(ast::CreateTable* table);
  Result<ast::LikeOptions> LikeOptions();
  Status CreateDatabase(ast::Statement* out);
  Status CreateCatalog(ast::Statement* out);
  Status CreateView(ast::Statement* out, bool temporary);
  Status Drop(ast::Statement* out);
  Status Use(ast::Statement* out);
  Status Alter(ast::Statement* out);
  Status AlterTableAction(ast::AlterTable* alter);
  Status AlterAdd(ast::AlterTable* alter);
  Status AlterDrop(ast::AlterTable* alter);
  Status Show(ast::Statement* out);
  Status ShowWhich(ast::Show* show);
  Result<ast::Insert> Insert();
  Status Delete(ast::Statement* out);
  Status Update(ast::Statement* out);
  Status SetOrReset(ast::Statement* out, bool reset);
  Status Explain(ast::Statement* out);
  Result<bool> IfExists(bool negated);
  Result<ast::PartitionSpec> Partition();

  std::string_view text_;
  std::vector<Token> tokens_;
  size_t next_ = 0;
  int depth_ = 0;
  int tallest_ = 0;  // Nodes above one another in what the innermost Subtree has parsed.
};

inline ast::ExprPtr MakeExpr(ast::ExprKind kind, Position at) {
  auto expr = std::make_unique<ast::Expr>();
  expr->kind = kind;
  expr->at = at;
  return expr;
}

template <typename... Args>
ast::ExprPtr MakeCallExpr(std::string name, Position at, Args... args) {
  ast::ExprPtr call = MakeExpr(ast::ExprKind::kCall, at);
  call->name = std::move(name);
  (call->args.push_back(std::move(args)), ...);
  return call;
}

template <typename T>
std::unique_ptr<ast::Body> MakeBody(T node) {
  auto body = std::make_unique<ast::Body>();
  body->node = std::move(node);
  return body;
}

}  // namespace sluice::sql
