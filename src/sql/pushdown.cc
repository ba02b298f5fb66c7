#include "sql/pushdown.h"

#include <arrow/scalar.h>
#include <arrow/util/decimal.h>

#include <charconv>

#include "sql/java_text.h"

namespace sluice::sql {

namespace {

// Whether a conversion that the binder added keeps every value, so that comparing before it gives
// the same answer. Reals round, and so does a DECIMAL that has no room for the digits of both
// sides.
bool KeepsValues(const SqlType& from, const SqlType& to) {
  if (from.is_integer() && to.is_integer()) return from.kind <= to.kind;
  if (from.is_exact() && to.kind == SqlKind::kDecimal) {
    const SqlType exact = AsDecimal(from);
    return exact.scale <= to.scale && exact.precision - exact.scale <= to.precision - to.scale;
  }
  return from.is_timestamp() && from.kind == to.kind && from.precision <= to.precision;
}

const Bound& Peel(const Bound& expr) {
  const Bound* inner = &expr;
  while (inner->name == "WIDEN" && KeepsValues(inner->args[0]->type, inner->type))
    inner = inner->args[0].get();
  return *inner;
}

// Text that is compared with a time becomes one: ScalarOf reads it as the engine does.
const Bound& PeelLiteral(const Bound& expr) {
  const Bound& inner = Peel(expr);
  const bool read = inner.name == "WIDEN" && inner.args[0]->type.is_text() &&
                    (inner.type.kind == SqlKind::kDate || inner.type.kind == SqlKind::kTimestamp);
  return read ? *inner.args[0] : inner;
}

bool IsConstant(const Bound& expr) {
  return expr.kind == BoundKind::kLiteral && expr.constant.has_value();
}

std::optional<Predicate::Op> OpOf(const std::string& name) {
  if (name == "=") return Predicate::Op::kEqual;
  if (name == "<") return Predicate::Op::kLess;
  if (name == "<=") return Predicate::Op::kLessOrEqual;
  if (name == ">") return Predicate::Op::kGreater;
  if (name == ">=") return Predicate::Op::kGreaterOrEqual;
  if (name == "IS NULL") return Predicate::Op::kIsNull;
  if (name == "IS NOT NULL") return Predicate::Op::kIsNotNull;
  if (name == "IN") return Predicate::Op::kIn;
  return std::nullopt;
}

Predicate::Op Mirrored(Predicate::Op op) {
  switch (op) {
    case Predicate::Op::kLess:
      return Predicate::Op::kGreater;
    case Predicate::Op::kLessOrEqual:
      return Predicate::Op::kGreaterOrEqual;
    case Predicate::Op::kGreater:
      return Predicate::Op::kLess;
    case Predicate::Op::kGreaterOrEqual:
      return Predicate::Op::kLessOrEqual;
    default:
      return op;
  }
}

template <typename ScalarType>
std::shared_ptr<arrow::Scalar> Integer(const std::string& text) {
  typename ScalarType::ValueType value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return nullptr;
  return std::make_shared<ScalarType>(value);
}

std::shared_ptr<arrow::Scalar> Decimal(const std::string& text, const types::DataType& type) {
  arrow::Decimal128 value;
  int32_t precision = 0;
  int32_t scale = 0;
  if (!arrow::Decimal128::FromString(text, &value, &precision, &scale).ok()) return nullptr;
  Result<arrow::Decimal128> scaled = value.Rescale(scale, type.scale());
  if (!scaled.ok() || !scaled->FitsInPrecision(type.precision())) return nullptr;
  return std::make_shared<arrow::Decimal128Scalar>(*scaled, type.ToArrow());
}

int64_t NanosOfDigit(int32_t digits) {
  int64_t nanos = 1;
  for (; digits < 9; ++digits) nanos *= 10;
  return nanos;
}

std::shared_ptr<arrow::Scalar> Timestamp(const std::string& text, const types::DataType& type) {
  const auto at = ParseTimestamp(text);
  // The engine cuts text to the column's digits; a value with more is left to it.
  if (!at || at->nanos % NanosOfDigit(type.precision()) != 0) return nullptr;
  const int64_t unit_nanos = NanosOfDigit((type.precision() + 2) / 3 * 3);
  int64_t value = 0;
  if (__builtin_mul_overflow(at->seconds, 1000000000 / unit_nanos, &value) ||
      __builtin_add_overflow(value, at->nanos / unit_nanos, &value)) {
    return nullptr;
  }
  return std::make_shared<arrow::TimestampScalar>(value, type.ToArrow());
}

std::shared_ptr<arrow::Scalar> Date(const std::string& text) {
  const auto days = ParseDate(text);
  if (!days || DateText(*days) != text) return nullptr;
  return std::make_shared<arrow::Date32Scalar>(static_cast<int32_t>(*days));
}

// The constant as a value of the column's type; null when it is none.
std::shared_ptr<arrow::Scalar> ScalarOf(const Bound& literal, const types::DataType& type) {
  const std::string& text = *literal.constant;
  const SqlKind kind = literal.type.kind;
  switch (type.kind()) {
    case types::TypeKind::kTinyInt:
      return literal.type.is_integer() ? Integer<arrow::Int8Scalar>(text) : nullptr;
    case types::TypeKind::kSmallInt:
      return literal.type.is_integer() ? Integer<arrow::Int16Scalar>(text) : nullptr;
    case types::TypeKind::kInteger:
      return literal.type.is_integer() ? Integer<arrow::Int32Scalar>(text) : nullptr;
    case types::TypeKind::kBigInt:
      return literal.type.is_integer() ? Integer<arrow::Int64Scalar>(text) : nullptr;
    case types::TypeKind::kDecimal:
      return literal.type.is_exact() ? Decimal(text, type) : nullptr;
    case types::TypeKind::kString:
      return literal.type.is_text() ? std::make_shared<arrow::StringScalar>(text) : nullptr;
    case types::TypeKind::kBoolean:
      return kind == SqlKind::kBoolean ? std::make_shared<arrow::BooleanScalar>(text == "true")
                                       : nullptr;
    case types::TypeKind::kDate:
      return kind == SqlKind::kDate || literal.type.is_text() ? Date(text) : nullptr;
    case types::TypeKind::kTimestamp:
      return kind == SqlKind::kTimestamp || literal.type.is_text() ? Timestamp(text, type)
                                                                   : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace

const Bound* PushedColumn(const Bound& condition) {
  const auto op = OpOf(condition.name);
  if (condition.kind != BoundKind::kCall || !op || condition.args.empty()) return nullptr;
  const Bound& first = Peel(*condition.args[0]);
  if (first.kind == BoundKind::kColumn) return &first;
  if (condition.args.size() != 2 || *op == Predicate::Op::kIn) return nullptr;
  const Bound& second = Peel(*condition.args[1]);
  return second.kind == BoundKind::kColumn ? &second : nullptr;
}

std::optional<Predicate> MakePredicate(const Bound& condition, const SourceColumn& column) {
  Predicate predicate{.column = column.name, .op = *OpOf(condition.name)};
  if (predicate.op == Predicate::Op::kIsNull || predicate.op == Predicate::Op::kIsNotNull)
    return predicate;
  const bool column_first = Peel(*condition.args[0]).kind == BoundKind::kColumn;
  if (!column_first) predicate.op = Mirrored(predicate.op);
  for (size_t i = 0; i < condition.args.size(); ++i) {
    if (i == (column_first ? 0u : 1u)) continue;
    const Bound& literal = PeelLiteral(*condition.args[i]);
    if (!IsConstant(literal)) return std::nullopt;
    std::shared_ptr<arrow::Scalar> value = ScalarOf(literal, *column.type);
    if (value == nullptr) return std::nullopt;
    predicate.values.push_back(std::move(value));
  }
  return predicate;
}

}  // namespace sluice::sql
