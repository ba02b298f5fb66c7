#include "kv/row_check.h"

#include <arrow/record_batch.h>
#include <arrow/util/utf8.h>

#include "base/bytes.h"

namespace sluice::kv {
namespace {

bool IsText(const types::DataType& type) {
  return type.kind() == types::TypeKind::kString || type.kind() == types::TypeKind::kChar;
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
    if (IsText(*codec.columns()[i])) texts_.push_back({i, schema.columns[i].name});
    if (IsNested(*codec.columns()[i])) nested_.push_back(i);
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

}  // namespace sluice::kv
