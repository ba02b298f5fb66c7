#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/floor_div.h"
#include "types/column_sink_internal.h"

namespace sluice::types {
namespace {

std::shared_ptr<arrow::Buffer> PackBits(const std::string& bytes) {
  std::string bits((bytes.size() + 7) / 8, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != 0) bits[i >> 3] = static_cast<char>(bits[i >> 3] | 1 << (i & 7));
  }
  return arrow::Buffer::FromString(std::move(bits));
}

bool HasOffsets(const DataType& type) {
  switch (type.kind()) {
    case TypeKind::kChar:
    case TypeKind::kString:
    case TypeKind::kBytes:
    case TypeKind::kArray:
    case TypeKind::kMap:
      return true;
    default:
      return false;
  }
}

bool StoredAsIs(TypeKind kind) {
  switch (kind) {
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
    case TypeKind::kDecimal:
    case TypeKind::kBoolean:
      return false;
    default:
      return true;
  }
}

}  // namespace

ColumnSink::ColumnSink(DataTypePtr type)
    : type_(std::move(type)), layout_(LayoutOf(*type_)), stored_as_is_(StoredAsIs(type_->kind())) {
  if (HasOffsets(*type_)) AppendLe<int32_t>(&values_, 0);
  if (layout_.shape == Shape::kArray) children_.emplace_back(type_->element());
  if (layout_.shape == Shape::kMap) {
    children_.emplace_back(type_->key());
    children_.emplace_back(type_->value());
  }
  for (const RowField& field : type_->fields()) children_.emplace_back(field.type);
}

void ColumnSink::Reserve(int64_t rows) {
  const size_t width = type_->kind() == TypeKind::kDecimal ? 16
                       : HasOffsets(*type_)                ? 4
                                                           : layout_.width;
  if (type_->kind() != TypeKind::kBinary) values_.reserve(static_cast<size_t>(rows + 1) * width);
  if (layout_.shape != Shape::kRow) return;
  for (ColumnSink& child : children_) child.Reserve(rows);
}

/// Room for a value that nobody reads.
void ColumnSink::AppendPlaceholder() {
  if (HasOffsets(*type_)) {
    AppendLe<int32_t>(&values_, LoadLe<int32_t>(values_.data() + values_.size() - 4));
    return;
  }
  switch (type_->kind()) {
    case TypeKind::kBoolean:
      values_.push_back(0);
      return;
    case TypeKind::kDecimal:
      values_.append(16, '\0');
      return;
    case TypeKind::kBinary:
      AppendPadded({});
      return;
    case TypeKind::kTime:
      values_.append(type_->precision() <= 3 ? 4 : 8, '\0');
      return;
    case TypeKind::kRow:
      break;
    default:
      values_.append(layout_.width, '\0');
      return;
  }
  for (ColumnSink& child : children_) {
    if (child.type_->nullable()) {
      child.AppendNull();
    } else {
      child.AppendPlaceholder();
      child.AppendValid();
    }
  }
}

// A row needs a bit for a NULL; what that takes here is bounded.
void ColumnSink::AppendPadded(std::string_view bytes) {
  const auto size = static_cast<size_t>(type_->length());
  too_large_ = too_large_ || values_.size() + size > kBinaryBytesMax;
  if (too_large_) return;
  values_.append(bytes);
  values_.append(size - bytes.size(), '\0');
}

void ColumnSink::AppendNull() {
  AppendPlaceholder();
  if (nulls_ == 0) valid_.assign(static_cast<size_t>(length_), 1);
  ++nulls_;
  ++length_;
  valid_.push_back(0);
}

void ColumnSink::AppendConverted(uint64_t bits) {
  switch (type_->kind()) {
    case TypeKind::kTime: {
      const auto ms = static_cast<int64_t>(static_cast<int32_t>(bits));
      if (type_->precision() == 0)
        AppendLe(&values_, static_cast<int32_t>(ms / 1000));
      else if (type_->precision() <= 3)
        AppendLe(&values_, static_cast<int32_t>(ms));
      else
        AppendLe<int64_t>(&values_, ms * (type_->precision() <= 6 ? 1000 : 1000000));
      break;
    }
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz: {
      const auto ms = static_cast<int64_t>(bits);
      AppendLe(&values_, type_->precision() == 0 ? FloorDiv(ms, 1000) : ms);
      break;
    }
    case TypeKind::kDecimal:
      AppendLe(&values_, bits);
      AppendLe(&values_, static_cast<int64_t>(bits) < 0 ? ~uint64_t{0} : uint64_t{0});
      break;
    case TypeKind::kBoolean:
      values_.push_back(bits != 0 ? 1 : 0);
      break;
    default:
      CHECK(false && "stored as it is");
  }
  AppendValid();
}

Status ColumnSink::AppendBytes(std::string_view bytes) {
  if (type_->kind() == TypeKind::kBinary) {
    const auto size = static_cast<size_t>(type_->length());
    if (bytes.size() > size)
      return Corrupt("value is longer than its type type=", type_->ToString(),
                     " size_bytes=", bytes.size());
    AppendPadded(bytes);
  } else {
    if (bytes_.size() + bytes.size() > INT32_MAX) {
      return Corrupt("column holds more than 2 GiB type=", type_->ToString());
    }
    bytes_.append(bytes);
    AppendLe(&values_, static_cast<int32_t>(bytes_.size()));
  }
  AppendValid();
  return Status::OK();
}

Status ColumnSink::AppendTime(TimePair time) {
  int64_t units = 0;
  if (!ToArrowTime(type_->precision(), time, &units))
    return Corrupt("timestamp is out of range ms=", time.ms, " nanos=", time.nanos);
  AppendLe(&values_, units);
  AppendValid();
  return Status::OK();
}

Status ColumnSink::AppendBigDecimal(std::string_view big_endian) {
  if (big_endian.empty() || big_endian.size() > kBigDecimalBytes) {
    return Corrupt("decimal has no fitting size size_bytes=", big_endian.size());
  }
  char little[kBigDecimalBytes];
  std::memset(little, (big_endian[0] & 0x80) != 0 ? 0xff : 0, kBigDecimalBytes);
  for (size_t i = 0; i < big_endian.size(); ++i) little[i] = big_endian[big_endian.size() - 1 - i];
  values_.append(little, kBigDecimalBytes);
  AppendValid();
  return Status::OK();
}

void ColumnSink::AppendNested() {
  if (layout_.shape != Shape::kRow) AppendLe(&values_, static_cast<int32_t>(children_[0].length_));
  AppendValid();
}

Result<std::shared_ptr<arrow::ArrayData>> ColumnSink::Finish() {
  if (too_large_) {
    return Error(ErrorCode::kRecordTooLarge,
                 "values of a column are too large together type=", type_->ToString(),
                 " bytes_max=", kBinaryBytesMax);
  }
  auto validity = nulls_ == 0 ? nullptr : PackBits(valid_);
  std::vector<std::shared_ptr<arrow::Buffer>> buffers = {std::move(validity)};
  if (type_->kind() == TypeKind::kBoolean) {
    buffers.push_back(PackBits(values_));
  } else if (layout_.shape != Shape::kRow) {
    buffers.push_back(arrow::Buffer::FromString(std::move(values_)));
  }
  if (HasOffsets(*type_) && layout_.shape == Shape::kBytes)
    buffers.push_back(arrow::Buffer::FromString(std::move(bytes_)));
  auto arrow_type = type_->ToArrow();
  std::vector<std::shared_ptr<arrow::ArrayData>> children;
  for (ColumnSink& child : children_) {
    ASSIGN_OR_RAISE(auto data, child.Finish());
    children.push_back(std::move(data));
  }
  if (layout_.shape == Shape::kMap) {
    const int64_t entries = children[0]->length;
    const auto& entries_type = static_cast<const arrow::MapType&>(*arrow_type).value_type();
    children = {arrow::ArrayData::Make(entries_type, entries, {nullptr}, std::move(children), 0)};
  }
  return arrow::ArrayData::Make(std::move(arrow_type), length_, std::move(buffers),
                                std::move(children), nulls_);
}

std::vector<ColumnSink> MakeSinks(const std::vector<DataTypePtr>& types, int64_t rows) {
  std::vector<ColumnSink> sinks;
  sinks.reserve(types.size());
  for (const DataTypePtr& type : types) sinks.emplace_back(type).Reserve(rows);
  return sinks;
}

Result<std::shared_ptr<arrow::RecordBatch>> FinishSinks(const std::vector<DataTypePtr>& types,
                                                        std::vector<ColumnSink> sinks,
                                                        int64_t rows) {
  arrow::FieldVector fields;
  std::vector<std::shared_ptr<arrow::ArrayData>> columns;
  for (size_t i = 0; i < sinks.size(); ++i) {
    ASSIGN_OR_RAISE(auto data, sinks[i].Finish());
    fields.push_back(arrow::field("f" + std::to_string(i), data->type, types[i]->nullable()));
    columns.push_back(std::move(data));
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), rows, std::move(columns));
}

}  // namespace sluice::types
