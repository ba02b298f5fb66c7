#include "lake/paimon/parquet_schema.h"

#include <parquet/exception.h>
#include <parquet/schema.h>

namespace sluice::lake::paimon {
namespace {

using parquet::LogicalType;
using parquet::Repetition;
using parquet::Type;
using parquet::schema::GroupNode;
using parquet::schema::NodePtr;
using parquet::schema::PrimitiveNode;
using types::DataType;
using types::TypeKind;

// Ids of list elements, map keys and values (Java's SpecialFields); depth counts nesting within one
// field.
constexpr int32_t kElementIdBase = 536870911;
constexpr int32_t kIdsPerField = 1024;

struct Place {
  int32_t field_id;
  int32_t depth = 0;
  int32_t element_id() const { return kElementIdBase + kIdsPerField * field_id + depth; }
  int32_t key_id() const { return kElementIdBase - kIdsPerField * field_id - depth; }
};

int BytesOfDecimal(int32_t precision) {
  // Smallest n with 2^(8n-1) >= 10^precision.
  int bytes = 1;
  while ((8 * bytes - 1) * 0.30102999566398120 < precision) ++bytes;
  return bytes;
}

NodePtr Leaf(const std::string& name, Repetition::type repetition, Type::type physical, int32_t id,
             std::shared_ptr<const LogicalType> logical = LogicalType::None(), int length = -1) {
  return PrimitiveNode::Make(name, repetition, std::move(logical), physical, length, id);
}

NodePtr DecimalLeaf(const std::string& name, Repetition::type repetition, const DataType& type,
                    int32_t id) {
  const auto logical = LogicalType::Decimal(type.precision(), type.scale());
  if (type.precision() <= 9) return Leaf(name, repetition, Type::INT32, id, logical);
  if (type.precision() <= 18) return Leaf(name, repetition, Type::INT64, id, logical);
  return Leaf(name, repetition, Type::FIXED_LEN_BYTE_ARRAY, id, logical,
              BytesOfDecimal(type.precision()));
}

NodePtr TimestampLeaf(const std::string& name, Repetition::type repetition, const DataType& type,
                      int32_t id) {
  if (type.precision() > 6) return Leaf(name, repetition, Type::INT96, id);
  const bool adjusted = type.kind() == TypeKind::kTimestampLtz;
  const auto unit =
      type.precision() <= 3 ? LogicalType::TimeUnit::MILLIS : LogicalType::TimeUnit::MICROS;
  return Leaf(name, repetition, Type::INT64, id, LogicalType::Timestamp(adjusted, unit));
}

NodePtr NodeOf(const std::string& name, const DataType& type, int32_t id, Place place,
               bool nullable);

NodePtr ListNode(const std::string& name, Repetition::type repetition, const DataType& type,
                 int32_t id, Place place) {
  ++place.depth;
  NodePtr element =
      NodeOf("element", *type.element(), place.element_id(), place, type.element()->nullable());
  NodePtr repeated = GroupNode::Make("list", Repetition::REPEATED, {element});
  return GroupNode::Make(name, repetition, {repeated}, LogicalType::List(), id);
}

NodePtr MapNode(const std::string& name, Repetition::type repetition, const DataType& type,
                int32_t id, Place place) {
  ++place.depth;
  NodePtr key = NodeOf("key", *type.key(), place.key_id(), place, /*nullable=*/false);
  NodePtr value =
      NodeOf("value", *type.value(), place.element_id(), place, type.value()->nullable());
  NodePtr repeated = GroupNode::Make("key_value", Repetition::REPEATED, {key, value});
  return GroupNode::Make(name, repetition, {repeated}, LogicalType::Map(), id);
}

NodePtr RowNode(const std::string& name, Repetition::type repetition, const DataType& type,
                int32_t id) {
  parquet::schema::NodeVector fields;
  for (const types::RowField& field : type.fields()) {
    fields.push_back(NodeOf(field.name, *field.type, field.field_id, Place{field.field_id},
                            field.type->nullable()));
  }
  return GroupNode::Make(name, repetition, fields, nullptr, id);
}

NodePtr NodeOf(const std::string& name, const DataType& type, int32_t id, Place place,
               bool nullable) {
  const auto repetition = nullable ? Repetition::OPTIONAL : Repetition::REQUIRED;
  switch (type.kind()) {
    case TypeKind::kChar:
    case TypeKind::kString:
      return Leaf(name, repetition, Type::BYTE_ARRAY, id, LogicalType::String());
    case TypeKind::kBinary:
    case TypeKind::kBytes:
      return Leaf(name, repetition, Type::BYTE_ARRAY, id);
    case TypeKind::kBoolean:
      return Leaf(name, repetition, Type::BOOLEAN, id);
    case TypeKind::kTinyInt:
      return Leaf(name, repetition, Type::INT32, id, LogicalType::Int(8, true));
    case TypeKind::kSmallInt:
      return Leaf(name, repetition, Type::INT32, id, LogicalType::Int(16, true));
    case TypeKind::kInteger:
      return Leaf(name, repetition, Type::INT32, id);
    case TypeKind::kBigInt:
      return Leaf(name, repetition, Type::INT64, id);
    case TypeKind::kFloat:
      return Leaf(name, repetition, Type::FLOAT, id);
    case TypeKind::kDouble:
      return Leaf(name, repetition, Type::DOUBLE, id);
    case TypeKind::kDate:
      return Leaf(name, repetition, Type::INT32, id, LogicalType::Date());
    case TypeKind::kTime:
      return Leaf(name, repetition, Type::INT32, id,
                  LogicalType::Time(true, LogicalType::TimeUnit::MILLIS));
    case TypeKind::kDecimal:
      return DecimalLeaf(name, repetition, type, id);
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      return TimestampLeaf(name, repetition, type, id);
    case TypeKind::kArray:
      return ListNode(name, repetition, type, id, place);
    case TypeKind::kMap:
      return MapNode(name, repetition, type, id, place);
    case TypeKind::kRow:
      return RowNode(name, repetition, type, id);
  }
  return nullptr;
}

}  // namespace

Result<std::shared_ptr<GroupNode>> ParquetSchemaOf(const std::vector<FileColumn>& columns) {
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  parquet::schema::NodeVector nodes;
  for (const FileColumn& column : columns) {
    nodes.push_back(NodeOf(column.name, *column.type, column.field_id, Place{column.field_id},
                           column.type->nullable()));
  }
  return std::static_pointer_cast<GroupNode>(
      GroupNode::Make("paimon_schema", Repetition::REQUIRED, nodes));
  END_PARQUET_CATCH_EXCEPTIONS
}

}  // namespace sluice::lake::paimon
