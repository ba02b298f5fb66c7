#include "types/data_type.h"

#include <arrow/type.h>

#include "types/data_type_internal.h"

namespace sluice::types {

DataTypePtr DataType::Of(TypeKind kind, bool nullable) {
  return DataTypeBuilder(kind, nullable).Build();
}

DataTypePtr DataType::Char(int32_t length, bool nullable) {
  return DataTypeBuilder(TypeKind::kChar, nullable).Length(length).Build();
}

DataTypePtr DataType::Binary(int32_t length, bool nullable) {
  return DataTypeBuilder(TypeKind::kBinary, nullable).Length(length).Build();
}

DataTypePtr DataType::Decimal(int32_t precision, int32_t scale, bool nullable) {
  return DataTypeBuilder(TypeKind::kDecimal, nullable).Precision(precision).Scale(scale).Build();
}

DataTypePtr DataType::Time(int32_t precision, bool nullable) {
  return DataTypeBuilder(TypeKind::kTime, nullable).Precision(precision).Build();
}

DataTypePtr DataType::Timestamp(int32_t precision, bool nullable) {
  return DataTypeBuilder(TypeKind::kTimestamp, nullable).Precision(precision).Build();
}

DataTypePtr DataType::TimestampLtz(int32_t precision, bool nullable) {
  return DataTypeBuilder(TypeKind::kTimestampLtz, nullable).Precision(precision).Build();
}

DataTypePtr DataType::Array(DataTypePtr element, bool nullable) {
  return DataTypeBuilder(TypeKind::kArray, nullable).Child(std::move(element)).Build();
}

DataTypePtr DataType::Map(DataTypePtr key, DataTypePtr value, bool nullable) {
  return DataTypeBuilder(TypeKind::kMap, nullable)
      .Child(std::move(key))
      .Child(std::move(value))
      .Build();
}

DataTypePtr DataType::Row(std::vector<RowField> fields, bool nullable) {
  return DataTypeBuilder(TypeKind::kRow, nullable).Fields(std::move(fields)).Build();
}

DataTypePtr DataType::WithNullable(bool nullable) const {
  return DataTypeBuilder(*this).Nullable(nullable).Build();
}

bool DataType::Equals(const DataType& other) const {
  if (kind_ != other.kind_ || nullable_ != other.nullable_ || length_ != other.length_ ||
      precision_ != other.precision_ || scale_ != other.scale_) {
    return false;
  }
  const auto same_type = [](const DataTypePtr& a, const DataTypePtr& b) { return a->Equals(*b); };
  const auto same_field = [](const RowField& a, const RowField& b) {
    return a.name == b.name && a.field_id == b.field_id && a.type->Equals(*b.type);
  };
  return std::ranges::equal(children_, other.children_, same_type) &&
         std::ranges::equal(fields_, other.fields_, same_field);
}

namespace {

std::string WithNumber(const char* name, int32_t number) {
  return std::string(name) + "(" + std::to_string(number) + ")";
}

std::string RowText(const DataType& type) {
  std::string text = "ROW<";
  for (const RowField& field : type.fields()) {
    if (text.size() > 4) text += ", ";
    text += "`";
    for (const char c : field.name) text.append(c == '`' ? 2 : 1, c);
    text += "` " + field.type->ToString();
    if (field.description.empty()) continue;
    text += " '";
    for (const char c : field.description) text.append(c == '\'' ? 2 : 1, c);
    text += "'";
  }
  return text + ">";
}

std::string BareText(const DataType& type) {
  switch (type.kind()) {
    case TypeKind::kChar:
      return WithNumber("CHAR", type.length());
    case TypeKind::kString:
      return "STRING";
    case TypeKind::kBoolean:
      return "BOOLEAN";
    case TypeKind::kBinary:
      return WithNumber("BINARY", type.length());
    case TypeKind::kBytes:
      return "BYTES";
    case TypeKind::kDecimal:
      return "DECIMAL(" + std::to_string(type.precision()) + ", " + std::to_string(type.scale()) +
             ")";
    case TypeKind::kTinyInt:
      return "TINYINT";
    case TypeKind::kSmallInt:
      return "SMALLINT";
    case TypeKind::kInteger:
      return "INT";
    case TypeKind::kBigInt:
      return "BIGINT";
    case TypeKind::kFloat:
      return "FLOAT";
    case TypeKind::kDouble:
      return "DOUBLE";
    case TypeKind::kDate:
      return "DATE";
    case TypeKind::kTime:
      return WithNumber("TIME", type.precision());
    case TypeKind::kTimestamp:
      return WithNumber("TIMESTAMP", type.precision());
    case TypeKind::kTimestampLtz:
      return WithNumber("TIMESTAMP_LTZ", type.precision());
    case TypeKind::kArray:
      return "ARRAY<" + type.element()->ToString() + ">";
    case TypeKind::kMap:
      return "MAP<" + type.key()->ToString() + ", " + type.value()->ToString() + ">";
    case TypeKind::kRow:
      return RowText(type);
  }
  return "";
}

arrow::TimeUnit::type UnitOf(int32_t precision) {
  if (precision == 0) return arrow::TimeUnit::SECOND;
  if (precision <= 3) return arrow::TimeUnit::MILLI;
  return precision <= 6 ? arrow::TimeUnit::MICRO : arrow::TimeUnit::NANO;
}

std::shared_ptr<arrow::Field> FieldOf(const char* name, const DataType& type) {
  return arrow::field(name, type.ToArrow(), type.nullable());
}

std::shared_ptr<arrow::DataType> StructOf(const DataType& type) {
  arrow::FieldVector fields;
  for (const RowField& field : type.fields())
    fields.push_back(FieldOf(field.name.c_str(), *field.type));
  return arrow::struct_(std::move(fields));
}

}  // namespace

std::string DataType::ToString() const { return BareText(*this) + (nullable_ ? "" : " NOT NULL"); }

std::shared_ptr<arrow::DataType> DataType::ToArrow() const {
  switch (kind_) {
    case TypeKind::kChar:
    case TypeKind::kString:
      return arrow::utf8();
    case TypeKind::kBoolean:
      return arrow::boolean();
    case TypeKind::kBinary:
      return arrow::fixed_size_binary(length_);
    case TypeKind::kBytes:
      return arrow::binary();
    case TypeKind::kDecimal:
      return arrow::decimal128(precision_, scale_);
    case TypeKind::kTinyInt:
      return arrow::int8();
    case TypeKind::kSmallInt:
      return arrow::int16();
    case TypeKind::kInteger:
      return arrow::int32();
    case TypeKind::kBigInt:
      return arrow::int64();
    case TypeKind::kFloat:
      return arrow::float32();
    case TypeKind::kDouble:
      return arrow::float64();
    case TypeKind::kDate:
      return arrow::date32();
    case TypeKind::kTime:
      return precision_ <= 3 ? arrow::time32(UnitOf(precision_))
                             : arrow::time64(UnitOf(precision_));
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      return arrow::timestamp(UnitOf(precision_));
    case TypeKind::kArray:
      return arrow::list(FieldOf("element", *element()));
    // Arrow knows no NULL keys; Java's layout has the same buffers either way.
    case TypeKind::kMap:
      return arrow::map(key()->ToArrow(), FieldOf("value", *value()));
    case TypeKind::kRow:
      return StructOf(*this);
  }
  return nullptr;
}

std::string DataType::ToJson() const { return Dump(TypeToJson(*this)); }

Result<DataTypePtr> DataType::FromJson(std::string_view json) {
  ASSIGN_OR_RAISE(const Json document, ParseObject(json, ErrorCode::kInvalidTable, "data type"));
  return TypeFromJson(document);
}

}  // namespace sluice::types
