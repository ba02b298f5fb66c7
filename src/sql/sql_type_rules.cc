#include <algorithm>

#include "base/check.h"
#include "sql/sql_type.h"

namespace sluice::sql {

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
