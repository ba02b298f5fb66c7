#include "lake/paimon/columns.h"

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/compute/cast.h>
#include <arrow/type.h>

namespace sluice::lake::paimon {
namespace {

using arrow::ArrayData;
using ArrayDataPtr = std::shared_ptr<ArrayData>;
using ArrowTypePtr = std::shared_ptr<arrow::DataType>;
using types::DataType;
using types::TypeKind;

constexpr int32_t kKeyIdBase = 1073741823;
constexpr int32_t kSequenceId = 2147483646;
constexpr int32_t kKindId = 2147483645;

arrow::TimeUnit::type FileUnit(int32_t precision) {
  if (precision <= 3) return arrow::TimeUnit::MILLI;
  return precision <= 6 ? arrow::TimeUnit::MICRO : arrow::TimeUnit::NANO;
}

std::shared_ptr<arrow::Field> FileField(const std::string& name, const DataType& type) {
  return arrow::field(name, FileArrowType(type), type.nullable());
}

Result<ArrayDataPtr> ConformData(const ArrayDataPtr& data, const ArrowTypePtr& to);

// The same array with another type of the same layout, and with other children.
ArrayDataPtr Rewrap(const ArrayDataPtr& data, const ArrowTypePtr& to) {
  auto copy = data->Copy();
  copy->type = to;
  return copy;
}

Result<ArrayDataPtr> ConformChildren(const ArrayDataPtr& data, const ArrowTypePtr& to) {
  auto copy = Rewrap(data, to);
  if (copy->child_data.size() != static_cast<size_t>(to->num_fields())) {
    return Status::TypeError("column has another number of nested fields, from=",
                             data->type->ToString(), " to=", to->ToString());
  }
  for (size_t i = 0; i < copy->child_data.size(); ++i) {
    ASSIGN_OR_RAISE(copy->child_data[i],
                    ConformData(data->child_data[i], to->field(static_cast<int>(i))->type()));
  }
  return copy;
}

bool SameTimestampUnit(const arrow::DataType& a, const arrow::DataType& b) {
  return a.id() == arrow::Type::TIMESTAMP && b.id() == arrow::Type::TIMESTAMP &&
         static_cast<const arrow::TimestampType&>(a).unit() ==
             static_cast<const arrow::TimestampType&>(b).unit();
}

Result<ArrayDataPtr> ConformData(const ArrayDataPtr& data, const ArrowTypePtr& to) {
  const arrow::DataType& from = *data->type;
  if (from.Equals(*to)) return data;
  if (from.id() == to->id() && arrow::is_nested(from.id())) return ConformChildren(data, to);
  // A zone says nothing about the value: both count from 1970 in UTC.
  if (SameTimestampUnit(from, *to)) return Rewrap(data, to);
  ArrayDataPtr plain = data;
  if (from.id() == arrow::Type::TIMESTAMP) {
    plain = Rewrap(data, arrow::timestamp(static_cast<const arrow::TimestampType&>(from).unit()));
  }
  ASSIGN_OR_RAISE(const auto array, arrow::compute::Cast(*arrow::MakeArray(plain), to,
                                                         arrow::compute::CastOptions::Unsafe()));
  return array->data();
}

// True when a value of `from` can be taken as `to` without looking at nested fields one by one.
bool SameNesting(const DataType& from, const DataType& to) {
  if (from.kind() != to.kind())
    return true;  // A scalar cast, or an error that the cast will report.
  switch (from.kind()) {
    case TypeKind::kArray:
      return SameNesting(*from.element(), *to.element());
    case TypeKind::kMap:
      return SameNesting(*from.key(), *to.key()) && SameNesting(*from.value(), *to.value());
    case TypeKind::kRow:
      return std::ranges::equal(from.fields(), to.fields(),
                                [](const types::RowField& a, const types::RowField& b) {
                                  return a.field_id == b.field_id && SameNesting(*a.type, *b.type);
                                });
    default:
      return true;
  }
}

Result<ArrayDataPtr> EvolveData(const ArrayDataPtr& data, const DataType& from, const DataType& to);

Result<ArrayDataPtr> EvolveRow(const ArrayDataPtr& data, const DataType& from, const DataType& to) {
  auto copy = data->Copy();
  copy->child_data.clear();
  arrow::FieldVector fields;
  for (const types::RowField& field : to.fields()) {
    const auto old = std::ranges::find(from.fields(), field.field_id, &types::RowField::field_id);
    const size_t at = static_cast<size_t>(old - from.fields().begin());
    if (old == from.fields().end() || at >= data->child_data.size()) {
      ASSIGN_OR_RAISE(const auto nulls, arrow::MakeArrayOfNull(LakeArrowType(*field.type),
                                                               data->offset + data->length));
      copy->child_data.push_back(nulls->data());
    } else {
      ASSIGN_OR_RAISE(auto child, EvolveData(data->child_data[at], *old->type, *field.type));
      copy->child_data.push_back(std::move(child));
    }
    fields.push_back(arrow::field(field.name, copy->child_data.back()->type));
  }
  copy->type = arrow::struct_(fields);
  return copy;
}

Result<ArrayDataPtr> EvolveData(const ArrayDataPtr& data, const DataType& from,
                                const DataType& to) {
  if (SameNesting(from, to)) return ConformData(data, LakeArrowType(to));
  if (to.kind() == TypeKind::kRow) return EvolveRow(data, from, to);
  auto copy = data->Copy();
  if (to.kind() == TypeKind::kArray) {
    ASSIGN_OR_RAISE(copy->child_data[0],
                    EvolveData(data->child_data[0], *from.element(), *to.element()));
    copy->type = LakeArrowType(to);
    return copy;
  }
  // The entries of a map are a struct of key and value.
  auto entries = data->child_data[0]->Copy();
  ASSIGN_OR_RAISE(entries->child_data[0],
                  EvolveData(entries->child_data[0], *from.key(), *to.key()));
  ASSIGN_OR_RAISE(entries->child_data[1],
                  EvolveData(entries->child_data[1], *from.value(), *to.value()));
  copy->type = LakeArrowType(to);
  entries->type = copy->type->field(0)->type();
  copy->child_data[0] = std::move(entries);
  return copy;
}

}  // namespace

ArrowTypePtr FileArrowType(const DataType& type) {
  switch (type.kind()) {
    case TypeKind::kBinary:
      return arrow::binary();
    case TypeKind::kTime:
      return arrow::time32(arrow::TimeUnit::MILLI);
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      return arrow::timestamp(FileUnit(type.precision()));
    case TypeKind::kArray:
      return arrow::list(FileField("element", *type.element()));
    case TypeKind::kMap:
      return arrow::map(FileArrowType(*type.key()), FileField("value", *type.value()));
    case TypeKind::kRow: {
      arrow::FieldVector fields;
      for (const types::RowField& field : type.fields())
        fields.push_back(FileField(field.name, *field.type));
      return arrow::struct_(fields);
    }
    default:
      return type.ToArrow();
  }
}

types::DataTypePtr RowType(const DataType& type) {
  switch (type.kind()) {
    case TypeKind::kChar:
      return DataType::Of(TypeKind::kString);
    case TypeKind::kBinary:
      return DataType::Of(TypeKind::kBytes);
    case TypeKind::kTime:
      return DataType::Time(3);
    case TypeKind::kTimestamp:
      return DataType::Timestamp(std::max(type.precision(), 3));
    case TypeKind::kTimestampLtz:
      return DataType::TimestampLtz(std::max(type.precision(), 3));
    default:
      return type.WithNullable(true);
  }
}

Result<std::shared_ptr<arrow::Array>> Conform(const std::shared_ptr<arrow::Array>& array,
                                              const ArrowTypePtr& to) {
  if (array->type()->Equals(*to)) return array;
  ASSIGN_OR_RAISE(auto data, ConformData(array->data(), to));
  return arrow::MakeArray(std::move(data));
}

Result<std::shared_ptr<arrow::Array>> Evolve(const std::shared_ptr<arrow::Array>& array,
                                             const DataType& from, const DataType& to) {
  ASSIGN_OR_RAISE(auto data, EvolveData(array->data(), from, to));
  return arrow::MakeArray(std::move(data));
}

std::vector<FileColumn> FileColumnsOf(const LakeSchema& schema) {
  std::vector<FileColumn> columns;
  if (schema.has_primary_key()) {
    for (const std::string& key : schema.TrimmedPrimaryKey()) {
      const types::Column& column = schema.columns[static_cast<size_t>(schema.IndexOf(key))];
      columns.push_back({"_KEY_" + key, column.type, column.id + kKeyIdBase});
    }
    columns.push_back(
        {std::string(kSequenceColumn), DataType::Of(TypeKind::kBigInt, false), kSequenceId});
    columns.push_back({std::string(kKindColumn), DataType::Of(TypeKind::kTinyInt, false), kKindId});
  }
  for (const types::Column& column : schema.columns)
    columns.push_back({column.name, column.type, column.id});
  return columns;
}

std::shared_ptr<arrow::Schema> FileArrowSchema(const std::vector<FileColumn>& columns) {
  arrow::FieldVector fields;
  for (const FileColumn& column : columns) fields.push_back(FileField(column.name, *column.type));
  return arrow::schema(fields);
}

}  // namespace sluice::lake::paimon
