#include <algorithm>
#include <limits>

#include "wire/proto/log.pb.h"
#include "wire/row_filter.h"

namespace sluice::wire {
namespace {

using Op = RowFilter::Op;
using types::TypeKind;

constexpr int32_t kLeaf = 0, kCompound = 1;
constexpr int32_t kAndCode = 0, kOrCode = 1;
constexpr int64_t kNanosPerMilli = 1'000'000;
constexpr int32_t kCompactPrecisionMax = 18;  // Of decimals that are sent as a whole number.

// The code of a leaf function is the place of its Op.
static_assert(static_cast<int32_t>(Op::kEqual) == 0 &&
              static_cast<int32_t>(Op::kGreaterOrEqual) == 5 &&
              static_cast<int32_t>(Op::kIsNull) == 6 &&
              static_cast<int32_t>(Op::kStartsWith) == 8 && static_cast<int32_t>(Op::kNotIn) == 12);
constexpr int32_t kFunctionMax = static_cast<int32_t>(Op::kNotIn);

Status BadFilter(std::string_view what, int64_t value) {
  return Error(ErrorCode::kCorruptMessage, "filter of a fetch ", what, value);
}

// -1 for nested types, which have no literals.
int32_t LiteralCode(TypeKind kind) {
  switch (kind) {
    case TypeKind::kBoolean:
      return 0;
    case TypeKind::kTinyInt:
      return 1;
    case TypeKind::kSmallInt:
      return 2;
    case TypeKind::kInteger:
      return 3;
    case TypeKind::kBigInt:
      return 4;
    case TypeKind::kFloat:
      return 5;
    case TypeKind::kDouble:
      return 6;
    case TypeKind::kChar:
      return 7;
    case TypeKind::kString:
      return 8;
    case TypeKind::kDecimal:
      return 9;
    case TypeKind::kDate:
      return 10;
    case TypeKind::kTime:
      return 11;
    case TypeKind::kTimestamp:
      return 12;
    case TypeKind::kTimestampLtz:
      return 13;
    case TypeKind::kBinary:
      return 14;
    case TypeKind::kBytes:
      return 15;
    default:
      return -1;
  }
}

// CHAR and STRING have the same literals, BINARY and BYTES too.
int32_t FamilyOf(int32_t code) { return code == 7 ? 8 : code == 14 ? 15 : code; }

Result<arrow::Decimal128> DecimalOf(const PbLiteralValue& literal) {
  if (!literal.has_decimal_bytes()) return arrow::Decimal128(literal.decimal_value());
  const std::string& bytes = literal.decimal_bytes();
  auto value = arrow::Decimal128::FromBigEndian(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int32_t>(bytes.size()));
  if (!value.ok()) return BadFilter("has a decimal of another size size_bytes=", bytes.size());
  return *value;
}

Result<std::optional<OrderedValue>> ReadLiteral(const PbLiteralValue& literal,
                                                const types::DataType& type) {
  if (literal.is_null()) return std::nullopt;
  const int32_t code = LiteralCode(type.kind());
  if (code < 0 || FamilyOf(literal.literal_type()) != FamilyOf(code))
    return BadFilter("compares a column with another type literal_type=", literal.literal_type());
  switch (type.kind()) {
    case TypeKind::kBoolean:
      return OrderedValue(int64_t{literal.boolean_value()});
    case TypeKind::kTinyInt:
    case TypeKind::kSmallInt:
    case TypeKind::kInteger:
      return OrderedValue(int64_t{literal.int_value()});
    case TypeKind::kTime:
      return OrderedValue(int64_t{literal.int_value()} * kNanosPerMilli);
    case TypeKind::kBigInt:
    case TypeKind::kDate:
      return OrderedValue(literal.bigint_value());
    case TypeKind::kFloat:
      return OrderedValue(static_cast<double>(literal.float_value()));
    case TypeKind::kDouble:
      return OrderedValue(literal.double_value());
    case TypeKind::kChar:
    case TypeKind::kString:
      return OrderedValue(literal.string_value());
    case TypeKind::kDecimal: {
      ASSIGN_OR_RAISE(const arrow::Decimal128 value, DecimalOf(literal));
      return OrderedValue(value);
    }
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      return OrderedValue(arrow::Decimal128(literal.timestamp_millis_value()) *
                              arrow::Decimal128(kNanosPerMilli) +
                          arrow::Decimal128(int64_t{literal.timestamp_nano_of_millis_value()}));
    default:
      return OrderedValue(literal.binary_value());
  }
}

// Decimal128 as the fewest big-endian bytes.
std::string BigEndian(const arrow::Decimal128& value) {
  const auto little = value.ToBytes();
  std::string bytes(little.rbegin(), little.rend());
  const char sign = value < 0 ? '\xff' : '\0';
  size_t extra = 0;
  while (extra + 1 < bytes.size() && bytes[extra] == sign &&
         (bytes[extra + 1] & 0x80) == (sign & 0x80)) {
    ++extra;
  }
  return bytes.substr(extra);
}

Status WriteTimestamp(const arrow::Decimal128& nanos, PbLiteralValue* literal) {
  ASSIGN_OR_RAISE(const auto parts, nanos.Divide(arrow::Decimal128(kNanosPerMilli)));
  auto [millis, rest] = parts;
  if (rest < 0) {
    millis -= 1;
    rest += kNanosPerMilli;
  }
  if (millis > std::numeric_limits<int64_t>::max() || millis < std::numeric_limits<int64_t>::min())
    return BadFilter("has a time out of range", 0);
  literal->set_timestamp_millis_value(static_cast<int64_t>(millis));
  literal->set_timestamp_nano_of_millis_value(static_cast<int32_t>(static_cast<int64_t>(rest)));
  return Status::OK();
}

struct LiteralWriter {
  const types::DataType& type;
  PbLiteralValue* literal;

  Status operator()(int64_t value) const {
    switch (type.kind()) {
      case TypeKind::kBoolean:
        literal->set_boolean_value(value != 0);
        return Status::OK();
      case TypeKind::kTinyInt:
      case TypeKind::kSmallInt:
      case TypeKind::kInteger:
        literal->set_int_value(static_cast<int32_t>(value));
        return Status::OK();
      case TypeKind::kTime:
        if (value % kNanosPerMilli != 0) return BadFilter("has a part of a millisecond ns=", value);
        literal->set_int_value(static_cast<int32_t>(value / kNanosPerMilli));
        return Status::OK();
      case TypeKind::kBigInt:
      case TypeKind::kDate:
        literal->set_bigint_value(value);
        return Status::OK();
      default:
        return BadFilter("compares a column with a whole number value=", value);
    }
  }
  Status operator()(double value) const {
    if (type.kind() == TypeKind::kFloat) {
      literal->set_float_value(static_cast<float>(value));
    } else {
      literal->set_double_value(value);
    }
    return Status::OK();
  }
  Status operator()(const arrow::Decimal128& value) const {
    if (type.kind() != TypeKind::kDecimal) return WriteTimestamp(value, literal);
    if (type.precision() <= kCompactPrecisionMax) {
      literal->set_decimal_value(static_cast<int64_t>(value));
    } else {
      literal->set_decimal_bytes(BigEndian(value));
    }
    return Status::OK();
  }
  Status operator()(const std::string& value) const {
    if (type.kind() == TypeKind::kChar || type.kind() == TypeKind::kString) {
      literal->set_string_value(value);
    } else {
      literal->set_binary_value(value);
    }
    return Status::OK();
  }
};

Result<const types::Column*> ColumnOf(const types::Schema& schema, int32_t id) {
  const auto column = std::ranges::find(schema.columns, id, &types::Column::id);
  if (column == schema.columns.end()) return BadFilter("names no column of its schema id=", id);
  return &*column;
}

Result<RowFilter> ReadLeaf(const PbLeafPredicate& leaf, const types::Schema& schema) {
  if (leaf.function() < 0 || leaf.function() > kFunctionMax)
    return BadFilter("has an unknown function=", leaf.function());
  RowFilter filter{.op = static_cast<Op>(leaf.function()),
                   .column_id = leaf.field_id(),
                   .values = {},
                   .children = {}};
  ASSIGN_OR_RAISE(const types::Column* column, ColumnOf(schema, filter.column_id));
  for (const PbLiteralValue& literal : leaf.literals()) {
    ASSIGN_OR_RAISE(auto value, ReadLiteral(literal, *column->type));
    filter.values.push_back(std::move(value));
  }
  const bool any_count = filter.op == Op::kIsNull || filter.op == Op::kIsNotNull ||
                         filter.op == Op::kIn || filter.op == Op::kNotIn;
  if (!any_count && filter.values.empty())
    return BadFilter("has nothing to compare a column with id=", filter.column_id);
  return filter;
}

}  // namespace

Result<RowFilter> ReadFilter(const PbPredicate& message, const types::Schema& schema) {
  if (message.type() == kLeaf && message.has_leaf()) return ReadLeaf(message.leaf(), schema);
  if (message.type() != kCompound || !message.has_compound())
    return BadFilter("has an unknown part type=", message.type());
  const PbCompoundPredicate& compound = message.compound();
  if (compound.function() != kAndCode && compound.function() != kOrCode)
    return BadFilter("joins its parts by an unknown function=", compound.function());
  RowFilter filter{.op = compound.function() == kAndCode ? Op::kAnd : Op::kOr,
                   .column_id = -1,
                   .values = {},
                   .children = {}};
  for (const PbPredicate& child : compound.children()) {
    ASSIGN_OR_RAISE(RowFilter part, ReadFilter(child, schema));
    filter.children.push_back(std::move(part));
  }
  return filter;
}

Status WriteFilter(const RowFilter& filter, const types::Schema& schema, PbPredicate* message) {
  if (filter.op == Op::kAnd || filter.op == Op::kOr) {
    message->set_type(kCompound);
    PbCompoundPredicate* compound = message->mutable_compound();
    compound->set_function(filter.op == Op::kAnd ? kAndCode : kOrCode);
    for (const RowFilter& child : filter.children)
      RETURN_NOT_OK(WriteFilter(child, schema, compound->add_children()));
    return Status::OK();
  }
  ASSIGN_OR_RAISE(const types::Column* column, ColumnOf(schema, filter.column_id));
  message->set_type(kLeaf);
  PbLeafPredicate* leaf = message->mutable_leaf();
  leaf->set_function(static_cast<int32_t>(filter.op));
  leaf->set_field_id(filter.column_id);
  for (const auto& value : filter.values) {
    PbLiteralValue* literal = leaf->add_literals();
    literal->set_literal_type(LiteralCode(column->type->kind()));
    literal->set_is_null(!value.has_value());
    if (value) RETURN_NOT_OK(std::visit(LiteralWriter{*column->type, literal}, *value));
  }
  return Status::OK();
}

}  // namespace sluice::wire
