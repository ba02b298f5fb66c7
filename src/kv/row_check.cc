#include "kv/row_check.h"

#include <arrow/record_batch.h>
#include <arrow/util/utf8.h>

#include "base/bytes.h"
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

bool IsNested(const types::DataType& type) {
  return type.kind() == types::TypeKind::kArray || type.kind() == types::TypeKind::kMap ||
         type.kind() == types::TypeKind::kRow;
}

std::vector<types::DataTypePtr> NestedTypes(const types::RowCodec& codec) {
  std::vector<types::DataTypePtr> nested;
  for (const auto& type : codec.columns()) {
    if (IsNested(*type)) nested.push_back(type);
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
    if (IsNested(*type)) nested_.push_back(i);
  }
}

Status RowCheck::Check(std::span<const std::string_view> rows, std::span<const Part> parts) const {
  for (size_t i = 0; i < rows.size(); ++i) {
    const Status status = CheckRow(rows[i], parts.subspan(i * width_, width_));
    if (!status.ok()) return status.WithMessage(status.message(), " record=", i);
  }
  return nested_.empty() || rows.empty() ? Status::OK() : CheckNested(parts);
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

Status RowCheck::CheckNested(std::span<const Part> parts) const {
  Parts nested;
  nested.reserve(parts.size() / width_ * nested_.size());
  for (size_t row = 0; row < parts.size(); row += width_) {
    for (const size_t position : nested_) nested.push_back(parts[row + position]);
  }
  ASSIGN_OR_RAISE(const auto batch, nested_codec_.DecodeParts(nested));
  const Status valid = batch->ValidateFull();
  return valid.ok() ? valid : Corrupt("nested value is damaged: ", valid.message());
}

Status CheckLogRows(const wire::LogBatchView& batch, types::LogFormat format,
                    const types::Schema& schema) {
  ASSIGN_OR_RAISE(const wire::RowRecords records, wire::SplitRowBatch(batch));
  const types::RowCodec codec(types::RowFormatOf(format), TypesOf(schema.columns));
  const size_t width = schema.columns.size();
  Parts parts(records.rows.size() * width);
  for (size_t i = 0; i < records.rows.size(); ++i) {
    const auto own = std::span(parts).subspan(i * width, width);
    RETURN_NOT_OK(codec.SplitInto(records.rows[i], own));
    for (size_t column = 0; column < width; ++column) {
      if (own[column].has_value() || schema.columns[column].type->nullable()) continue;
      return Error(ErrorCode::kInvalidTable,
                   "column does not allow NULL column=", schema.columns[column].name);
    }
  }
  return RowCheck(schema, codec).Check(records.rows, parts);
}

}  // namespace sluice::kv
