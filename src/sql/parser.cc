#include <algorithm>
#include <charconv>

#include "sql/parser_internal.h"

namespace sluice::sql {

namespace {

// Words that end or join the clauses around a name, so a bare name can never be one of them.
constexpr std::string_view kReserved[] = {
    "ALL",    "AND",   "AS",     "BETWEEN", "CASE",      "CAST",  "CREATE", "CROSS",  "DISTINCT",
    "ELSE",   "END",   "EXCEPT", "EXISTS",  "FETCH",     "FOR",   "FROM",   "FULL",   "GROUP",
    "HAVING", "IN",    "INNER",  "INSERT",  "INTERSECT", "INTO",  "IS",     "JOIN",   "LEFT",
    "LIKE",   "LIMIT", "MINUS",  "NATURAL", "NOT",       "NULL",  "OFFSET", "ON",     "OR",
    "ORDER",  "OUTER", "RIGHT",  "SELECT",  "THEN",      "UNION", "USING",  "VALUES", "WHEN",
    "WHERE",  "WITH",  "WINDOW", "TRUE",    "FALSE"};

bool IsReserved(std::string_view upper) {
  return std::ranges::find(kReserved, upper) != std::end(kReserved);
}

std::string Describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kEnd:
      return "the end";
    case TokenKind::kString:
      return "'" + Shown(token.text) + "'";
    case TokenKind::kQuoted:
      return "`" + Shown(token.text) + "`";
    default:
      return Shown(token.text);
  }
}

}  // namespace

Result<ast::Statement> ParseStatement(std::string_view text) {
  ASSIGN_OR_RAISE(std::vector<Token> tokens, Tokenize(text));
  Parser parser(text, std::move(tokens));
  ASSIGN_OR_RAISE(ast::Statement statement, parser.Statement());
  RETURN_NOT_OK(parser.ExpectEnd());
  return statement;
}

Result<ast::QueryPtr> ParseQuery(std::string_view text) {
  ASSIGN_OR_RAISE(std::vector<Token> tokens, Tokenize(text));
  Parser parser(text, std::move(tokens));
  ASSIGN_OR_RAISE(ast::QueryPtr query, parser.Query());
  RETURN_NOT_OK(parser.ExpectEnd());
  return query;
}

Status Parser::ExpectEnd() {
  bool ended = false;
  while (AcceptSymbol(";")) ended = true;
  if (ended && Peek().kind != TokenKind::kEnd) {
    return InvalidAt(Peek().at, "one statement at a time: another one starts after the semicolon");
  }
  return Peek().kind == TokenKind::kEnd ? Status::OK() : Unexpected("the end of the statement");
}

bool Parser::PeekWords(std::initializer_list<std::string_view> words) const {
  size_t ahead = 0;
  return std::ranges::all_of(words, [&](std::string_view word) { return PeekWord(word, ahead++); });
}

bool Parser::AcceptWord(std::string_view upper) {
  if (!PeekWord(upper)) return false;
  Take();
  return true;
}

bool Parser::AcceptWords(std::initializer_list<std::string_view> words) {
  if (!PeekWords(words)) return false;
  for (size_t i = 0; i < words.size(); ++i) Take();
  return true;
}

bool Parser::AcceptSymbol(std::string_view symbol) {
  if (!PeekSymbol(symbol)) return false;
  Take();
  return true;
}

Status Parser::ExpectWord(std::string_view upper) {
  return AcceptWord(upper) ? Status::OK() : Unexpected(upper);
}
Status Parser::ExpectSymbol(std::string_view symbol) {
  return AcceptSymbol(symbol) ? Status::OK() : Unexpected(symbol);
}

Status Parser::Unexpected(std::string_view expected) const {
  return InvalidAt(Peek().at, "unexpected ", Describe(Peek()), ", expected ", expected);
}

Status Parser::NotCovered(Position at, std::string_view what) const {
  return ErrorAt(ErrorCode::kUnsupportedVersion, at, what, " is not supported yet");
}

Status Parser::CheckDepth() const {
  return depth_ < kDepthMax
             ? Status::OK()
             : InvalidAt(Peek().at, "statement is nested too deep, limit=", kDepthMax);
}

Status Parser::Raise() {
  return ++tallest_ <= kDepthMax
             ? Status::OK()
             : InvalidAt(Peek().at, "statement is nested too deep, limit=", kDepthMax);
}

Result<ast::ExprPtr> Parser::Raised(ast::ExprPtr top) {
  RETURN_NOT_OK(Raise());
  return top;
}

bool Parser::PeekIdentifier(size_t ahead) const {
  const Token& token = Peek(ahead);
  return token.kind == TokenKind::kQuoted ||
         (token.kind == TokenKind::kWord && !IsReserved(token.upper));
}

Result<std::string> Parser::Identifier(std::string_view what) {
  if (!PeekIdentifier()) return Unexpected(what);
  return Take().text;
}

Result<ast::ObjectName> Parser::ObjectName(std::string_view what) {
  ast::ObjectName name{.at = Peek().at};
  do {
    ASSIGN_OR_RAISE(std::string part, Identifier(what));
    name.parts.push_back(std::move(part));
  } while (AcceptSymbol("."));
  if (name.parts.size() > 3) return InvalidAt(name.at, "name has more than three parts");
  return name;
}

Result<std::vector<ast::Name>> Parser::NameList(std::string_view what) {
  RETURN_NOT_OK(ExpectSymbol("("));
  std::vector<ast::Name> names;
  do {
    ASSIGN_OR_RAISE(std::string name, Identifier(what));
    names.push_back(std::move(name));
  } while (AcceptSymbol(","));
  RETURN_NOT_OK(ExpectSymbol(")"));
  return names;
}

Result<std::string> Parser::StringLiteral(std::string_view what) {
  if (Peek().kind != TokenKind::kString && Peek().kind != TokenKind::kUnicode)
    return Unexpected(what);
  return Take().text;
}

Result<int32_t> Parser::IntegerLiteral(std::string_view what) {
  if (Peek().kind != TokenKind::kInteger) return Unexpected(what);
  const Token& token = Take();
  int32_t value = 0;
  const auto [end, error] =
      std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
  if (error != std::errc())
    return InvalidAt(token.at, "number is too large, number=", Shown(token.text));
  return value;
}

Result<ast::Options> Parser::OptionList() {
  ast::Options options;
  RETURN_NOT_OK(ExpectSymbol("("));
  if (AcceptSymbol(")")) return options;
  do {
    ASSIGN_OR_RAISE(std::string key, StringLiteral("an option 'key'"));
    RETURN_NOT_OK(ExpectSymbol("="));
    ASSIGN_OR_RAISE(std::string value, StringLiteral("an option 'value'"));
    options.emplace_back(std::move(key), std::move(value));
  } while (AcceptSymbol(","));
  RETURN_NOT_OK(ExpectSymbol(")"));
  return options;
}

}  // namespace sluice::sql
