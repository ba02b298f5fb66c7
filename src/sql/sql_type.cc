#include "sql/sql_type.h"

#include <algorithm>

#include "base/check.h"

namespace sluice::sql {

using types::DataType;
using types::TypeKind;

namespace {

SqlKind KindOfColumn(TypeKind kind) {
  constexpr std::pair<TypeKind, SqlKind> kKinds[] = {
      {TypeKind::kChar, SqlKind::kChar},
      {TypeKind::kString, SqlKind::kVarchar},
      {TypeKind::kBoolean, SqlKind::kBoolean},
      {TypeKind::kBinary, SqlKind::kBinary},
      {TypeKind::kBytes, SqlKind::kVarbinary},
      {TypeKind::kDecimal, SqlKind::kDecimal},
      {TypeKind::kTinyInt, SqlKind::kTinyInt},
      {TypeKind::kSmallInt, SqlKind::kSmallInt},
      {TypeKind::kInteger, SqlKind::kInteger},
      {TypeKind::kBigInt, SqlKind::kBigInt},
      {TypeKind::kFloat, SqlKind::kFloat},
      {TypeKind::kDouble, SqlKind::kDouble},
      {TypeKind::kDate, SqlKind::kDate},
      {TypeKind::kTime, SqlKind::kTime},
      {TypeKind::kTimestamp, SqlKind::kTimestamp},
      {TypeKind::kTimestampLtz, SqlKind::kTimestampLtz},
      {TypeKind::kArray, SqlKind::kArray},
      {TypeKind::kMap, SqlKind::kMap},
      {TypeKind::kRow, SqlKind::kRow},
  };
  const auto found = std::ranges::find(kKinds, kind, &std::pair<TypeKind, SqlKind>::first);
  CHECK(found != std::end(kKinds));
  return found->second;
}

}  // namespace

SqlType SqlType::FromColumn(const DataType& type) {
  SqlType result{.kind = KindOfColumn(type.kind()), .nullable = type.nullable()};
  switch (result.kind) {
    case SqlKind::kChar:
    case SqlKind::kBinary:
      result.length = type.length();
      break;
    case SqlKind::kVarchar:
    case SqlKind::kVarbinary:
      result.length = kMaxLength;
      break;
    case SqlKind::kDecimal:
      result.precision = type.precision();
      result.scale = type.scale();
      break;
    case SqlKind::kTime:
    case SqlKind::kTimestamp:
    case SqlKind::kTimestampLtz:
      result.precision = type.precision();
      break;
    case SqlKind::kArray:
      result.children = {FromColumn(*type.element())};
      break;
    case SqlKind::kMap:
      result.children = {FromColumn(*type.key()), FromColumn(*type.value())};
      break;
    case SqlKind::kRow:
      for (const types::RowField& field : type.fields()) {
        result.names.push_back(field.name);
        result.children.push_back(FromColumn(*field.type));
      }
      break;
    default:
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

}  // namespace sluice::sql
