#include "sql/sql_type.h"

#include <algorithm>

#include "base/check.h"

namespace sluice::sql {

using types::DataType;
using types::TypeKind;

SqlType SqlType::FromColumn(const DataType& type) {
  SqlType result{.nullable = type.nullable()};
  switch (type.kind()) {
    case TypeKind::kChar:
      result.kind = SqlKind::kChar;
      result.length = type.length();
      break;
    case TypeKind::kString:
      result.kind = SqlKind::kVarchar;
      result.length = kMaxLength;
      break;
    case TypeKind::kBoolean:
      result.kind = SqlKind::kBoolean;
      break;
    case TypeKind::kBinary:
      result.kind = SqlKind::kBinary;
      result.length = type.length();
      break;
    case TypeKind::kBytes:
      result.kind = SqlKind::kVarbinary;
      result.length = kMaxLength;
      break;
    case TypeKind::kDecimal:
      result.kind = SqlKind::kDecimal;
      result.precision = type.precision();
      result.scale = type.scale();
      break;
    case TypeKind::kTinyInt:
      result.kind = SqlKind::kTinyInt;
      break;
    case TypeKind::kSmallInt:
      result.kind = SqlKind::kSmallInt;
      break;
    case TypeKind::kInteger:
      result.kind = SqlKind::kInteger;
      break;
    case TypeKind::kBigInt:
      result.kind = SqlKind::kBigInt;
      break;
    case TypeKind::kFloat:
      result.kind = SqlKind::kFloat;
      break;
    case TypeKind::kDouble:
      result.kind = SqlKind::kDouble;
      break;
    case TypeKind::kDate:
      result.kind = SqlKind::kDate;
      break;
    case TypeKind::kTime:
      result.kind = SqlKind::kTime;
      result.precision = type.precision();
      break;
    case TypeKind::kTimestamp:
      result.kind = SqlKind::kTimestamp;
      result.precision = type.precision();
      break;
    case TypeKind::kTimestampLtz:
      result.kind = SqlKind::kTimestampLtz;
      result.precision = type.precision();
      break;
    case TypeKind::kArray:
      result.kind = SqlKind::kArray;
      result.children = {FromColumn(*type.element())};
      break;
    case TypeKind::kMap:
      result.kind = SqlKind::kMap;
      result.children = {FromColumn(*type.key()), FromColumn(*type.value())};
      break;
    case TypeKind::kRow:
      result.kind = SqlKind::kRow;
      for (const types::RowField& field : type.fields()) {
        result.names.push_back(field.name);
        result.children.push_back(FromColumn(*field.type));
      }
      break;
  }
  return result;
}

bool SqlType::SameShape(const SqlType& other) const {
  if (kind != other.kind || length != other.length || precision != other.precision ||
      scale != other.scale || names != other.names || children.size() != other.children.size()) {
    return false;
  }
  return std::equal(children.begin(), children.end(), other.children.begin(),
                    [](const SqlType& a, const SqlType& b) { return a.SameShape(b); });
}

namespace {

std::string Sized(std::string_view name, int32_t size) {
  return std::string(name) + "(" + std::to_string(size) + ")";
}

std::string NameOfShape(const SqlType& type) {
  switch (type.kind) {
    case SqlKind::kNull:
      return "NULL";
    case SqlKind::kBoolean:
      return "BOOLEAN";
    case SqlKind::kTinyInt:
      return "TINYINT";
    case SqlKind::kSmallInt:
      return "SMALLINT";
    case SqlKind::kInteger:
      return "INT";
    case SqlKind::kBigInt:
      return "BIGINT";
    case SqlKind::kDecimal:
      return "DECIMAL(" + std::to_string(type.precision) + ", " + std::to_string(type.scale) + ")";
    case SqlKind::kFloat:
      return "FLOAT";
    case SqlKind::kDouble:
      return "DOUBLE";
    case SqlKind::kChar:
      return Sized("CHAR", type.length);
    case SqlKind::kVarchar:
      return type.length == SqlType::kMaxLength ? "STRING" : Sized("VARCHAR", type.length);
    case SqlKind::kBinary:
      return Sized("BINARY", type.length);
    case SqlKind::kVarbinary:
      return type.length == SqlType::kMaxLength ? "BYTES" : Sized("VARBINARY", type.length);
    case SqlKind::kDate:
      return "DATE";
    case SqlKind::kTime:
      return Sized("TIME", type.precision);
    case SqlKind::kTimestamp:
      return Sized("TIMESTAMP", type.precision);
    case SqlKind::kTimestampLtz:
      return Sized("TIMESTAMP_LTZ", type.precision);
    case SqlKind::kIntervalMonth:
      return "INTERVAL MONTH";
    case SqlKind::kIntervalSecond:
      return "INTERVAL SECOND(3)";
    case SqlKind::kArray:
      return "ARRAY<" + type.children[0].ToString() + ">";
    case SqlKind::kMap:
      return "MAP<" + type.children[0].ToString() + ", " + type.children[1].ToString() + ">";
    case SqlKind::kRow:
      break;
  }
  std::string text = "ROW<";
  for (size_t i = 0; i < type.children.size(); ++i) {
    if (i > 0) text += ", ";
    text += "`" + type.names[i] + "` " + type.children[i].ToString();
  }
  return text + ">";
}

}  // namespace

std::string SqlType::ToString() const { return NameOfShape(*this) + (nullable ? "" : " NOT NULL"); }

std::string SqlType::EngineName() const {
  switch (kind) {
    case SqlKind::kNull:
      return "BOOLEAN";
    case SqlKind::kBoolean:
      return "BOOLEAN";
    case SqlKind::kTinyInt:
      return "TINYINT";
    case SqlKind::kSmallInt:
      return "SMALLINT";
    case SqlKind::kInteger:
      return "INTEGER";
    case SqlKind::kBigInt:
      return "BIGINT";
    case SqlKind::kDecimal:
      return "DECIMAL(" + std::to_string(precision) + "," + std::to_string(scale) + ")";
    case SqlKind::kFloat:
      return "FLOAT";
    case SqlKind::kDouble:
      return "DOUBLE";
    case SqlKind::kChar:
    case SqlKind::kVarchar:
      return "VARCHAR";
    case SqlKind::kBinary:
    case SqlKind::kVarbinary:
      return "BLOB";
    case SqlKind::kDate:
      return "DATE";
    case SqlKind::kTime:
      return "TIME";
    case SqlKind::kTimestamp:
    case SqlKind::kTimestampLtz:
      return precision > 6 ? "TIMESTAMP_NS" : "TIMESTAMP";
    case SqlKind::kIntervalMonth:
      return "INTEGER";
    case SqlKind::kIntervalSecond:
      return "BIGINT";
    case SqlKind::kArray:
      return children[0].EngineName() + "[]";
    case SqlKind::kMap:
      return "MAP(" + children[0].EngineName() + ", " + children[1].EngineName() + ")";
    case SqlKind::kRow:
      break;
  }
  std::string text = "STRUCT(";
  for (size_t i = 0; i < children.size(); ++i) {
    std::string quoted = names[i];
    for (size_t at = 0; (at = quoted.find('"', at)) != std::string::npos; at += 2)
      quoted.insert(at, "\"");
    if (i > 0) text += ", ";
    text += "\"" + quoted + "\" " + children[i].EngineName();
  }
  return text + ")";
}

types::DataTypePtr SqlType::ToColumn() const {
  switch (kind) {
    case SqlKind::kNull:
    case SqlKind::kBoolean:
      return DataType::Of(TypeKind::kBoolean, nullable);
    case SqlKind::kTinyInt:
      return DataType::Of(TypeKind::kTinyInt, nullable);
    case SqlKind::kSmallInt:
      return DataType::Of(TypeKind::kSmallInt, nullable);
    case SqlKind::kIntervalMonth:
    case SqlKind::kInteger:
      return DataType::Of(TypeKind::kInteger, nullable);
    case SqlKind::kIntervalSecond:
    case SqlKind::kBigInt:
      return DataType::Of(TypeKind::kBigInt, nullable);
    case SqlKind::kDecimal:
      return DataType::Decimal(precision, scale, nullable);
    case SqlKind::kFloat:
      return DataType::Of(TypeKind::kFloat, nullable);
    case SqlKind::kDouble:
      return DataType::Of(TypeKind::kDouble, nullable);
    case SqlKind::kChar:
      return DataType::Char(length, nullable);
    case SqlKind::kVarchar:
      return DataType::Of(TypeKind::kString, nullable);
    case SqlKind::kBinary:
      return DataType::Binary(length, nullable);
    case SqlKind::kVarbinary:
      return DataType::Of(TypeKind::kBytes, nullable);
    case SqlKind::kDate:
      return DataType::Of(TypeKind::kDate, nullable);
    case SqlKind::kTime:
      return DataType::Time(precision, nullable);
    case SqlKind::kTimestamp:
      return DataType::Timestamp(precision, nullable);
    case SqlKind::kTimestampLtz:
      return DataType::TimestampLtz(precision, nullable);
    case SqlKind::kArray:
      return DataType::Array(children[0].ToColumn(), nullable);
    case SqlKind::kMap:
      return DataType::Map(children[0].ToColumn(), children[1].ToColumn(), nullable);
    case SqlKind::kRow:
      break;
  }
  std::vector<types::RowField> fields;
  for (size_t i = 0; i < children.size(); ++i)
    fields.push_back({names[i], children[i].ToColumn(), "", -1});
  return DataType::Row(std::move(fields), nullable);
}

// --- arithmetic ---

namespace {
constexpr int32_t kMaxPrecision = 38;
constexpr int32_t kMinScale =
    6;  // Division keeps at least so many digits, and capping takes no more than to it.
}  // namespace

SqlType CappedDecimal(int32_t precision, int32_t scale) {
  if (precision <= kMaxPrecision) return SqlType::Decimal(precision, scale);
  const int32_t integer_digits = precision - scale;
  return SqlType::Decimal(kMaxPrecision,
                          std::max(kMaxPrecision - integer_digits, std::min(scale, kMinScale)));
}

SqlType AsDecimal(const SqlType& type) {
  switch (type.kind) {
    case SqlKind::kTinyInt:
      return SqlType::Decimal(3, 0, type.nullable);
    case SqlKind::kSmallInt:
      return SqlType::Decimal(5, 0, type.nullable);
    case SqlKind::kInteger:
      return SqlType::Decimal(10, 0, type.nullable);
    case SqlKind::kBigInt:
      return SqlType::Decimal(19, 0, type.nullable);
    default:
      return type;
  }
}

namespace {

SqlType DecimalArithmetic(Arithmetic op, const SqlType& a, const SqlType& b) {
  const int32_t integers = std::max(a.precision - a.scale, b.precision - b.scale);
  const int32_t scale = std::max(a.scale, b.scale);
  switch (op) {
    case Arithmetic::kPlus:
    case Arithmetic::kMinus:
      return CappedDecimal(integers + scale + 1, scale);
    case Arithmetic::kTimes:
      return CappedDecimal(a.precision + b.precision + 1, a.scale + b.scale);
    case Arithmetic::kModulo:
      return CappedDecimal(std::min(a.precision - a.scale, b.precision - b.scale) + scale, scale);
    case Arithmetic::kDivide:
      break;
  }
  const int32_t quotient_scale = std::max(kMinScale, a.scale + b.precision + 1);
  return CappedDecimal(a.precision - a.scale + b.scale + quotient_scale, quotient_scale);
}

}  // namespace

SqlType ArithmeticType(Arithmetic op, const SqlType& a, const SqlType& b) {
  CHECK(a.is_numeric() && b.is_numeric());
  const bool nullable = a.nullable || b.nullable;
  if (a.is_integer() && b.is_integer()) {
    // The remainder has the divisor's type, all else the wider one.
    return op == Arithmetic::kModulo ? b.WithNullable(nullable)
                                     : SqlType::Of(std::max(a.kind, b.kind), nullable);
  }
  if (a.is_exact() && b.is_exact())
    return DecimalArithmetic(op, AsDecimal(a), AsDecimal(b)).WithNullable(nullable);
  const bool wide = a.kind == SqlKind::kDouble || b.kind == SqlKind::kDouble ||
                    a.kind == SqlKind::kDecimal || b.kind == SqlKind::kDecimal;
  return SqlType::Of(wide ? SqlKind::kDouble : SqlKind::kFloat, nullable);
}

// --- conversion ---

namespace {

std::optional<SqlType> CommonNumeric(const SqlType& a, const SqlType& b) {
  if (a.is_integer() && b.is_integer()) return SqlType::Of(std::max(a.kind, b.kind));
  if (a.is_exact() && b.is_exact()) {
    const SqlType left = AsDecimal(a);
    const SqlType right = AsDecimal(b);
    const int32_t scale = std::max(left.scale, right.scale);
    const int32_t integers = std::max(left.precision - left.scale, right.precision - right.scale);
    return SqlType::Decimal(std::min(kMaxPrecision, integers + scale),
                            std::min(scale, kMaxPrecision));
  }
  const bool wide = a.kind == SqlKind::kDouble || b.kind == SqlKind::kDouble ||
                    a.kind == SqlKind::kDecimal || b.kind == SqlKind::kDecimal;
  return SqlType::Of(wide ? SqlKind::kDouble : SqlKind::kFloat);
}

std::optional<SqlType> CommonNested(const SqlType& a, const SqlType& b) {
  if (a.kind != b.kind || a.children.size() != b.children.size()) return std::nullopt;
  SqlType result = a;
  for (size_t i = 0; i < a.children.size(); ++i) {
    std::optional<SqlType> child = CommonType(a.children[i], b.children[i]);
    if (!child) return std::nullopt;
    result.children[i] = *child;
  }
  return result;
}

std::optional<SqlType> CommonShape(const SqlType& a, const SqlType& b) {
  if (a.kind == SqlKind::kNull) return b;
  if (b.kind == SqlKind::kNull) return a;
  if (a.SameShape(b) && !a.is_nested()) return a;
  if (a.is_numeric() && b.is_numeric()) return CommonNumeric(a, b);
  if (a.is_text() && b.is_text()) return SqlType::Varchar(std::max(a.length, b.length));
  if (a.is_binary() && b.is_binary()) {
    return SqlType{.kind = SqlKind::kVarbinary, .length = std::max(a.length, b.length)};
  }
  if (a.is_timestamp() && b.is_timestamp()) {
    SqlType result = a;
    if (b.kind == SqlKind::kTimestampLtz) result.kind = SqlKind::kTimestampLtz;
    result.precision = std::max(a.precision, b.precision);
    return result;
  }
  if (a.kind == SqlKind::kTime && b.kind == SqlKind::kTime)
    return a.precision > b.precision ? a : b;
  if (a.is_interval() && a.kind == b.kind) return a;
  if (a.is_nested()) return CommonNested(a, b);
  return std::nullopt;
}

}  // namespace

std::optional<SqlType> CommonType(const SqlType& a, const SqlType& b) {
  std::optional<SqlType> shape = CommonShape(a, b);
  if (shape) shape->nullable = a.nullable || b.nullable;
  return shape;
}

bool ImplicitlyCastable(const SqlType& from, const SqlType& to) {
  if (from.kind == SqlKind::kNull) return true;
  switch (to.kind) {
    case SqlKind::kTinyInt:
    case SqlKind::kSmallInt:
    case SqlKind::kInteger:
    case SqlKind::kBigInt:
      return from.is_integer() && from.kind <= to.kind;
    case SqlKind::kDecimal:
    case SqlKind::kDouble:
      return from.is_numeric();
    case SqlKind::kFloat:
      return from.is_exact() || from.kind == SqlKind::kFloat;
    case SqlKind::kChar:
    case SqlKind::kVarchar:
      return from.is_text();
    case SqlKind::kBinary:
    case SqlKind::kVarbinary:
      return from.is_binary();
    case SqlKind::kDate:
      return from.kind == SqlKind::kDate || from.kind == SqlKind::kTimestamp;
    case SqlKind::kTime:
      return from.kind == SqlKind::kTime || from.kind == SqlKind::kTimestamp;
    case SqlKind::kTimestamp:
    case SqlKind::kTimestampLtz:
      return from.is_timestamp();
    case SqlKind::kArray:
    case SqlKind::kMap:
    case SqlKind::kRow:
      break;
    default:
      return from.kind == to.kind;
  }
  if (from.kind != to.kind || from.children.size() != to.children.size()) return false;
  return std::equal(from.children.begin(), from.children.end(), to.children.begin(),
                    ImplicitlyCastable);
}

}  // namespace sluice::sql
