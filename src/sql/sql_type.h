#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "types/data_type.h"

namespace sluice::sql {

/// Types of expressions: those of columns, and what only a query knows (VARCHAR(n), intervals, the
/// type of NULL).
enum class SqlKind : uint8_t {
  kNull,
  kBoolean,
  kTinyInt,
  kSmallInt,
  kInteger,
  kBigInt,
  kDecimal,
  kFloat,
  kDouble,
  kChar,
  kVarchar,
  kBinary,
  kVarbinary,
  kDate,
  kTime,
  kTimestamp,
  kTimestampLtz,
  kIntervalMonth,
  kIntervalSecond,
  kArray,
  kMap,
  kRow,
};

/// The logical type of an expression, as Flink derives it.
///
/// How the query engine holds each kind: text as VARCHAR, TIMESTAMP and TIMESTAMP_LTZ up to
/// precision 6 as TIMESTAMP (an instant is its UTC reading), above as TIMESTAMP_NS, INTERVAL SECOND
/// as BIGINT milliseconds, INTERVAL MONTH as INTEGER months, the rest as the type of the same name.
struct SqlType {
  static constexpr int32_t kMaxLength = std::numeric_limits<int32_t>::max();

  SqlKind kind = SqlKind::kNull;
  bool nullable = true;
  int32_t length = 0;             ///< CHAR, VARCHAR, BINARY, VARBINARY; kMaxLength = STRING, BYTES.
  int32_t precision = 0;          ///< DECIMAL, TIME, TIMESTAMP(_LTZ).
  int32_t scale = 0;              ///< DECIMAL.
  std::vector<SqlType> children;  ///< ARRAY element; MAP key, value; ROW fields.
  std::vector<std::string> names;  ///< ROW field names.

  bool operator==(const SqlType&) const = default;

  static SqlType Of(SqlKind kind, bool nullable = true) {
    return {.kind = kind, .nullable = nullable};
  }
  static SqlType Decimal(int32_t precision, int32_t scale, bool nullable = true) {
    return {
        .kind = SqlKind::kDecimal, .nullable = nullable, .precision = precision, .scale = scale};
  }
  static SqlType Char(int32_t length, bool nullable = true) {
    return {.kind = SqlKind::kChar, .nullable = nullable, .length = length};
  }
  static SqlType Varchar(int32_t length, bool nullable = true) {
    return {.kind = SqlKind::kVarchar, .nullable = nullable, .length = length};
  }
  static SqlType String(bool nullable = true) { return Varchar(kMaxLength, nullable); }
  static SqlType Bytes(bool nullable = true) {
    return {.kind = SqlKind::kVarbinary, .nullable = nullable, .length = kMaxLength};
  }
  static SqlType Timestamp(int32_t precision, bool nullable = true) {
    return {.kind = SqlKind::kTimestamp, .nullable = nullable, .precision = precision};
  }
  static SqlType TimestampLtz(int32_t precision, bool nullable = true) {
    return {.kind = SqlKind::kTimestampLtz, .nullable = nullable, .precision = precision};
  }
  static SqlType Array(SqlType element, bool nullable = true) {
    return {.kind = SqlKind::kArray, .nullable = nullable, .children = {std::move(element)}};
  }
  /// The type of a column.
  static SqlType FromColumn(const types::DataType& type);

  SqlType WithNullable(bool value) const {
    SqlType copy = *this;
    copy.nullable = value;
    return copy;
  }
  /// Same up to nullability, also inside.
  bool SameShape(const SqlType& other) const;

  bool is_integer() const { return kind >= SqlKind::kTinyInt && kind <= SqlKind::kBigInt; }
  bool is_exact() const { return is_integer() || kind == SqlKind::kDecimal; }
  bool is_approximate() const { return kind == SqlKind::kFloat || kind == SqlKind::kDouble; }
  bool is_numeric() const { return is_exact() || is_approximate(); }
  bool is_text() const { return kind == SqlKind::kChar || kind == SqlKind::kVarchar; }
  bool is_binary() const { return kind == SqlKind::kBinary || kind == SqlKind::kVarbinary; }
  bool is_timestamp() const {
    return kind == SqlKind::kTimestamp || kind == SqlKind::kTimestampLtz;
  }
  bool is_interval() const {
    return kind == SqlKind::kIntervalMonth || kind == SqlKind::kIntervalSecond;
  }
  bool is_nested() const { return kind >= SqlKind::kArray; }
  /// Nanoseconds matter: precision above 6.
  bool is_nanos() const { return is_timestamp() && precision > 6; }

  /// As Flink prints it: "DECIMAL(10, 2) NOT NULL".
  std::string ToString() const;
  /// Name of the type that holds it in DuckDB: "DECIMAL(10,2)".
  std::string EngineName() const;
  /// The column type that can hold it. Intervals become BIGINT and INT, NULL becomes BOOLEAN.
  types::DataTypePtr ToColumn() const;
};

/// DECIMAL with Flink's bound of 38 digits: when the precision is above, digits go from the
/// fraction first.
SqlType CappedDecimal(int32_t precision, int32_t scale);
/// How DECIMAL arithmetic sees an exact type: INT = DECIMAL(10, 0).
SqlType AsDecimal(const SqlType& type);

enum class Arithmetic : uint8_t { kPlus, kMinus, kTimes, kDivide, kModulo };
/// Type of a op b for two numeric types, nullable when one is.
SqlType ArithmeticType(Arithmetic op, const SqlType& a, const SqlType& b);

/// The type both sides convert to in CASE, UNION, COALESCE and comparisons; nullopt when there is
/// none.
std::optional<SqlType> CommonType(const SqlType& a, const SqlType& b);

/// May INSERT convert it without a CAST (Flink's implicit casts)?
bool ImplicitlyCastable(const SqlType& from, const SqlType& to);

}  // namespace sluice::sql
