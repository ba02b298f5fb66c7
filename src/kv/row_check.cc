#include "kv/row_check.h"

#include <arrow/array/data.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/utf8.h>

#include "base/bytes.h"
#include "types/nested_type.h"
#include "wire/log_rows.h"

namespace sluice::kv {
namespace {

bool IsText(const types::DataType& type) {
  return type.kind() == types::TypeKind::kString || type.kind() == types::TypeKind::kChar;
}

// Are there encoded values of the right size that are none of the type?
bool HasRange(const types::DataType& type) {
  switch (type.kind()) {
    case types::TypeKind::kDecimal:
    case types::TypeKind::kTime:
    case types::TypeKind::kBinary:
      return true;
    case types::TypeKind::kTimestamp:
    case types::TypeKind::kTimestampLtz:
      return type.precision() > 3;
    default:
      return false;
  }
}

constexpr size_t kNestedRowsMax = 1024;  // Whose nested values are checked together.

size_t BinaryBytes(const arrow::ArrayData& data) {
  size_t bytes = 0;
  if (data.type->id() == arrow::Type::FIXED_SIZE_BINARY) {
    bytes = static_cast<size_t>(data.length) *
            static_cast<size_t>(
                static_cast<const arrow::FixedSizeBinaryType&>(*data.type).byte_width());
  }
  for (const auto& child : data.child_data) bytes += BinaryBytes(*child);
  return bytes;
}

Status TooLarge() {
  return Error(ErrorCode::kRecordTooLarge,
               "BINARY values of a batch are too large together bytes_max=",
               types::RowCodec::kBinaryBytesMax);
}

std::vector<types::DataTypePtr> NestedTypes(const types::RowCodec& codec) {
  std::vector<types::DataTypePtr> nested;
  for (const auto& type : codec.columns()) {
    if (types::IsNested(*type)) nested.push_back(type);
  }
  return nested;
}

}  // namespace

RowCheck::RowCheck(const types::Schema& schema, const types::RowCodec& codec)
    : width_(codec.columns().size()),
      header_bytes_(codec.Join(Parts(codec.columns().size())).size()),
      sized_(codec.format() == types::RowFormat::kCompacted),
      nested_codec_(codec.format(), NestedTypes(codec)) {
  arrow::util::InitializeUTF8();
  for (size_t i = 0; i < codec.columns().size(); ++i) {
    const types::DataTypePtr& type = codec.columns()[i];
    const std::string& name = schema.columns[i].name;
    if (IsText(*type)) texts_.push_back({i, name});
    if (HasRange(*type)) ranges_.push_back({i, name, {codec.format(), type}});
    if (types::IsNested(*type)) nested_.push_back(i);
  }
}

Status RowCheck::Check(std::span<const std::string_view> rows, std::span<const Part> parts) const {
  Nested nested;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Status status = CheckNext(rows[i], parts.subspan(i * width_, width_), &nested);
    if (!status.ok()) return status.WithMessage(status.message(), " record=", i);
  }
  return CheckNested(&nested);
}

Status RowCheck::CheckNext(std::string_view row, std::span<const Part> parts,
                           Nested* nested) const {
  RETURN_NOT_OK(CheckRow(row, parts));
  for (const size_t position : nested_) nested->parts.push_back(parts[position]);
  const bool many = nested->parts.size() >= kNestedRowsMax * nested_.size();
  return many ? CheckNested(nested) : Status::OK();
}

Status RowCheck::CheckRow(std::string_view row, std::span<const Part> parts) const {
  size_t size_bytes = header_bytes_;
  for (const auto& part : parts) size_bytes += part.has_value() ? part->size() : 0;
  if (size_bytes != row.size()) {
    return Corrupt("row goes on after its last column size_bytes=", row.size(),
                   " columns_end=", size_bytes);
  }
  for (const TextColumn& column : texts_) {
    if (!parts[column.position].has_value()) continue;
    std::string_view text = *parts[column.position];
    uint64_t size = 0;
    if (sized_ && !TakeVarint(&text, &size, 5))
      return Corrupt("text ends early column=", column.name);
    if (!arrow::util::ValidateUTF8(text)) {
      return Corrupt("text is not UTF-8 column=", column.name);
    }
  }
  for (const RangeColumn& column : ranges_) {
    if (!parts[column.position].has_value()) continue;
    const Status status = column.value.CheckRange(*parts[column.position]);
    if (!status.ok()) return status.WithMessage(status.message(), " column=", column.name);
  }
  return Status::OK();
}

Status RowCheck::CheckNested(Nested* nested) const {
  if (nested->parts.empty()) return Status::OK();
  ASSIGN_OR_RAISE(const auto batch, nested_codec_.DecodeParts(nested->parts));
  nested->parts.clear();
  const Status valid = batch->ValidateFull();
  if (!valid.ok()) return Corrupt("nested value is damaged: ", valid.message());
  for (const auto& column : batch->column_data()) nested->binary_bytes += BinaryBytes(*column);
  return nested->binary_bytes <= types::RowCodec::kBinaryBytesMax ? Status::OK() : TooLarge();
}

namespace {

// May the BINARY columns of so many rows be decoded together?
Status CheckBinaries(const types::Schema& schema, size_t rows) {
  for (const types::Column& column : schema.columns) {
    if (column.type->kind() != types::TypeKind::kBinary || column.type->length() <= 0) continue;
    const auto length = static_cast<size_t>(column.type->length());
    if (rows > types::RowCodec::kBinaryBytesMax / length) return TooLarge();
  }
  return Status::OK();
}

Status CheckNotNull(const types::Schema& schema, std::span<const Part> parts) {
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].has_value() || schema.columns[i].type->nullable()) continue;
    return Error(ErrorCode::kInvalidTable,
                 "column does not allow NULL column=", schema.columns[i].name);
  }
  return Status::OK();
}

}  // namespace

Status CheckLogRows(const wire::LogBatchView& batch, types::LogFormat format,
                    const types::Schema& schema) {
  ASSIGN_OR_RAISE(const wire::RowRecords records, wire::SplitRowBatch(batch));
  const types::RowCodec codec(types::RowFormatOf(format), TypesOf(schema.columns));
  RETURN_NOT_OK(CheckBinaries(schema, records.rows.size()));
  const RowCheck check(schema, codec);
  RowCheck::Nested nested;
  Parts parts(schema.columns.size());  // Of one row: of all they can be far larger than the batch.
  for (size_t i = 0; i < records.rows.size(); ++i) {
    RETURN_NOT_OK(codec.SplitInto(records.rows[i], parts));
    RETURN_NOT_OK(CheckNotNull(schema, parts));
    const Status status = check.CheckNext(records.rows[i], parts, &nested);
    if (!status.ok()) return status.WithMessage(status.message(), " record=", i);
  }
  return check.CheckNested(&nested);
}

}  // namespace sluice::kv
