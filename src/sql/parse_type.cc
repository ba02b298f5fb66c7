#include "sql/parser_internal.h"

namespace sluice::sql {

Result<SqlType> Parser::Type() {
  RETURN_NOT_OK(CheckDepth());
  const Depth depth(*this);
  ASSIGN_OR_RAISE(SqlType type, TypeShape());
  while (AcceptWord("ARRAY"))
    type = SqlType::Array(std::move(type));  // "INT ARRAY", the standard's form.
  if (AcceptWords({"NOT", "NULL"})) {
    type.nullable = false;
  } else {
    AcceptWord("NULL");
  }
  return type;
}

Result<std::optional<int32_t>> Parser::TypeArgument() {
  if (!AcceptSymbol("(")) return std::nullopt;
  ASSIGN_OR_RAISE(const int32_t value, IntegerLiteral("a length or precision"));
  RETURN_NOT_OK(ExpectSymbol(")"));
  return value;
}

namespace {

struct NamedType {
  std::string_view name;
  SqlKind kind;
};
constexpr NamedType kPlainTypes[] = {
    {"BOOLEAN", SqlKind::kBoolean},   {"TINYINT", SqlKind::kTinyInt},
    {"SMALLINT", SqlKind::kSmallInt}, {"INT", SqlKind::kInteger},
    {"INTEGER", SqlKind::kInteger},   {"BIGINT", SqlKind::kBigInt},
    {"FLOAT", SqlKind::kFloat},       {"DOUBLE", SqlKind::kDouble},
    {"DATE", SqlKind::kDate},
};

Status CheckRange(Position at, std::string_view name, int32_t value, int32_t least, int32_t most) {
  if (value >= least && value <= most) return Status::OK();
  return InvalidAt(at, "size of type out of range, type=", name, " size=", value, " least=", least,
                   " most=", most);
}

}  // namespace

Result<SqlType> Parser::LengthType(const Token& word) {
  const std::string& name = word.upper;
  ASSIGN_OR_RAISE(const auto length, TypeArgument());
  SqlType type{.length = length.value_or(1)};
  RETURN_NOT_OK(CheckRange(word.at, name, type.length, 1, SqlType::kMaxLength));
  type.kind = name == "CHAR"      ? SqlKind::kChar
              : name == "VARCHAR" ? SqlKind::kVarchar
              : name == "BINARY"  ? SqlKind::kBinary
                                  : SqlKind::kVarbinary;
  return type;
}

Result<SqlType> Parser::DecimalType(const Token& word) {
  const std::string& name = word.upper;
  SqlType type = SqlType::Decimal(10, 0);
  if (AcceptSymbol("(")) {
    ASSIGN_OR_RAISE(type.precision, IntegerLiteral("a precision"));
    if (AcceptSymbol(",")) {
      ASSIGN_OR_RAISE(type.scale, IntegerLiteral("a scale"));
    }
    RETURN_NOT_OK(ExpectSymbol(")"));
  }
  RETURN_NOT_OK(CheckRange(word.at, name, type.precision, 1, 38));
  RETURN_NOT_OK(CheckRange(word.at, name, type.scale, 0, type.precision));
  return type;
}

Result<SqlType> Parser::TimeType(const Token& word) {
  const std::string& name = word.upper;
  ASSIGN_OR_RAISE(const auto precision, TypeArgument());
  SqlType type{.kind = name == "TIME" ? SqlKind::kTime : SqlKind::kTimestamp};
  type.precision = precision.value_or(name == "TIME" ? 0 : 6);
  RETURN_NOT_OK(CheckRange(word.at, name, type.precision, 0, 9));
  const Position at = Peek().at;
  if (name == "TIMESTAMP_LTZ" || AcceptWords({"WITH", "LOCAL", "TIME", "ZONE"})) {
    type.kind = SqlKind::kTimestampLtz;
  } else if (AcceptWords({"WITH", "TIME", "ZONE"})) {
    return NotCovered(at, "TIMESTAMP WITH TIME ZONE");
  } else {
    AcceptWords({"WITHOUT", "TIME", "ZONE"});
  }
  return type;
}

Result<SqlType> Parser::CollectionType(const Token& word) {
  const std::string& name = word.upper;
  RETURN_NOT_OK(ExpectSymbol("<"));
  SqlType type{.kind = name == "ARRAY" ? SqlKind::kArray : SqlKind::kMap};
  ASSIGN_OR_RAISE(SqlType first, Type());
  type.children.push_back(std::move(first));
  if (name == "MAP") {
    RETURN_NOT_OK(ExpectSymbol(","));
    ASSIGN_OR_RAISE(SqlType value, Type());
    type.children.push_back(std::move(value));
  }
  RETURN_NOT_OK(ExpectSymbol(">"));
  return type;
}

Result<SqlType> Parser::RowType() {
  const bool round = AcceptSymbol("(");
  if (!round) RETURN_NOT_OK(ExpectSymbol("<"));
  SqlType type{.kind = SqlKind::kRow};
  do {
    ASSIGN_OR_RAISE(std::string field, Identifier("a field name"));
    ASSIGN_OR_RAISE(SqlType child, Type());
    if (Peek().kind == TokenKind::kString)
      Take();  // A description; types of queries do not keep it.
    type.names.push_back(std::move(field));
    type.children.push_back(std::move(child));
  } while (AcceptSymbol(","));
  RETURN_NOT_OK(ExpectSymbol(round ? ")" : ">"));
  return type;
}

Result<SqlType> Parser::TypeShape() {
  if (Peek().kind != TokenKind::kWord) return Unexpected("a type");
  const Token word = Take();
  const std::string& name = word.upper;
  for (const NamedType& plain : kPlainTypes) {
    if (name == plain.name) {
      if (name == "DOUBLE") AcceptWord("PRECISION");
      return SqlType::Of(plain.kind);
    }
  }
  if (name == "STRING") return SqlType::String();
  if (name == "BYTES") return SqlType::Bytes();
  if (name == "CHAR" || name == "VARCHAR" || name == "BINARY" || name == "VARBINARY")
    return LengthType(word);
  if (name == "DECIMAL" || name == "DEC" || name == "NUMERIC") return DecimalType(word);
  if (name == "TIME" || name == "TIMESTAMP" || name == "TIMESTAMP_LTZ") return TimeType(word);
  if (name == "ARRAY" || name == "MAP") return CollectionType(word);
  if (name == "ROW") return RowType();
  if (name == "MULTISET" || name == "RAW" || name == "INTERVAL" || name == "VARIANT") {
    return NotCovered(word.at, "type " + name);
  }
  return InvalidAt(word.at, "unknown type, name=", Shown(word.text));
}

}  // namespace sluice::sql
