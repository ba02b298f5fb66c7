#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/floor_div.h"
#include "types/column_view_internal.h"

namespace sluice::types {
namespace {

const char* BufferAt(const arrow::ArrayData& data, size_t index) {
  if (index >= data.buffers.size() || data.buffers[index] == nullptr) return nullptr;
  return reinterpret_cast<const char*>(data.buffers[index]->data());
}

// Of types that fit by their kind: whether their parameters do.
bool HasShapeOf(const DataType& type, const arrow::ArrayData& data) {
  if (type.kind() == TypeKind::kDecimal)
    return static_cast<const arrow::Decimal128Type&>(*data.type).scale() == type.scale();
  return type.kind() != TypeKind::kRow || data.child_data.size() == type.fields().size();
}

}  // namespace

Result<ColumnView> ColumnView::Make(const DataType& type, const arrow::ArrayData& data,
                                    int64_t base) {
  ColumnView view;
  view.layout_ = LayoutOf(type);
  view.offset_ = data.offset + base;
  view.validity_ = reinterpret_cast<const uint8_t*>(BufferAt(data, 0));
  if (data.null_count == 0) view.validity_ = nullptr;
  view.values_ = BufferAt(data, 1);
  view.bytes_ = BufferAt(data, 2);
  RETURN_NOT_OK(view.SetSource(type, data));
  return view;
}

void ColumnView::SetUnit(int unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND:
      ms_per_unit_ = 1000;
      break;
    case arrow::TimeUnit::MILLI:
      break;
    case arrow::TimeUnit::MICRO:
      units_per_ms_ = 1000;
      break;
    case arrow::TimeUnit::NANO:
      units_per_ms_ = 1000000;
      break;
  }
}

// Which Arrow types hold values of which of ours.
std::optional<ColumnView::Source> ColumnView::SourceOf(TypeKind kind, arrow::Type::type arrow) {
  struct Fit {
    TypeKind kind;
    arrow::Type::type arrow;
    Source source;
  };
  static constexpr Fit kFits[] = {
      {TypeKind::kBoolean, arrow::Type::BOOL, Source::kBool},
      {TypeKind::kTinyInt, arrow::Type::INT8, Source::kInt8},
      {TypeKind::kSmallInt, arrow::Type::INT16, Source::kInt16},
      {TypeKind::kInteger, arrow::Type::INT32, Source::kInt32},
      {TypeKind::kDate, arrow::Type::DATE32, Source::kInt32},
      {TypeKind::kBigInt, arrow::Type::INT64, Source::kInt64},
      {TypeKind::kFloat, arrow::Type::FLOAT, Source::kFloat},
      {TypeKind::kDouble, arrow::Type::DOUBLE, Source::kDouble},
      {TypeKind::kTime, arrow::Type::TIME32, Source::kTime},
      {TypeKind::kTime, arrow::Type::TIME64, Source::kTime},
      {TypeKind::kTimestamp, arrow::Type::TIMESTAMP, Source::kTimestamp},
      {TypeKind::kTimestampLtz, arrow::Type::TIMESTAMP, Source::kTimestamp},
      {TypeKind::kDecimal, arrow::Type::DECIMAL128, Source::kDecimal},
      {TypeKind::kChar, arrow::Type::STRING, Source::kBytes},
      {TypeKind::kChar, arrow::Type::BINARY, Source::kBytes},
      {TypeKind::kString, arrow::Type::STRING, Source::kBytes},
      {TypeKind::kString, arrow::Type::BINARY, Source::kBytes},
      {TypeKind::kBytes, arrow::Type::BINARY, Source::kBytes},
      {TypeKind::kBytes, arrow::Type::FIXED_SIZE_BINARY, Source::kFixedBytes},
      {TypeKind::kBinary, arrow::Type::BINARY, Source::kBytes},
      {TypeKind::kBinary, arrow::Type::FIXED_SIZE_BINARY, Source::kFixedBytes},
      {TypeKind::kArray, arrow::Type::LIST, Source::kNested},
      {TypeKind::kMap, arrow::Type::MAP, Source::kNested},
      {TypeKind::kRow, arrow::Type::STRUCT, Source::kNested},
  };
  const auto found = std::ranges::find_if(
      kFits, [&](const Fit& fit) { return fit.kind == kind && fit.arrow == arrow; });
  return found == std::end(kFits) ? std::nullopt : std::optional(found->source);
}

Status ColumnView::SetSource(const DataType& type, const arrow::ArrayData& data) {
  const arrow::DataType& arrow_type = *data.type;
  if (arrow_type.id() == arrow::Type::NA) return Status::OK();
  const auto source = SourceOf(type.kind(), arrow_type.id());
  if (!source || !HasShapeOf(type, data)) {
    return Error(ErrorCode::kInvalidTable,
                 "arrow column does not fit its type type=", type.ToString(),
                 " arrow=", arrow_type.ToString());
  }
  source_ = *source;
  SetWidth(arrow_type);
  return source_ == Source::kNested ? SetChildren(type, data) : Status::OK();
}

void ColumnView::SetWidth(const arrow::DataType& type) {
  if (source_ == Source::kTime) {
    value_bytes_ = type.id() == arrow::Type::TIME32 ? 4 : 8;
    SetUnit(static_cast<const arrow::TimeType&>(type).unit());
  } else if (source_ == Source::kTimestamp) {
    SetUnit(static_cast<const arrow::TimestampType&>(type).unit());
  } else if (source_ == Source::kFixedBytes) {
    value_bytes_ = static_cast<const arrow::FixedSizeBinaryType&>(type).byte_width();
  }
}

Status ColumnView::SetChildren(const DataType& type, const arrow::ArrayData& data) {
  const auto add = [this](const DataType& child_type, const arrow::ArrayData& child,
                          int64_t base) -> Status {
    ASSIGN_OR_RAISE(ColumnView view, Make(child_type, child, base));
    children_.push_back(std::move(view));
    return Status::OK();
  };
  if (type.kind() == TypeKind::kArray) return add(*type.element(), *data.child_data[0], 0);
  if (type.kind() == TypeKind::kMap) {
    const arrow::ArrayData& entries = *data.child_data[0];
    RETURN_NOT_OK(add(*type.key(), *entries.child_data[0], entries.offset));
    return add(*type.value(), *entries.child_data[1], entries.offset);
  }
  for (size_t i = 0; i < type.fields().size(); ++i) {
    RETURN_NOT_OK(add(*type.fields()[i].type, *data.child_data[i], offset_));
  }
  return Status::OK();
}

uint64_t ColumnView::OtherBits(int64_t row) const {
  const int64_t at = row + offset_;
  switch (source_) {
    case Source::kBool:
      return static_cast<uint8_t>(values_[at >> 3]) >> (at & 7) & 1;
    case Source::kInt8:
      return static_cast<uint64_t>(int64_t{static_cast<int8_t>(values_[at])});
    case Source::kInt16:
      return static_cast<uint64_t>(int64_t{LoadLe<int16_t>(values_ + at * 2)});
    // Java writes one pattern for all NaNs, and keys must not differ by it.
    case Source::kFloat:
      return std::isnan(LoadLe<float>(values_ + at * 4)) ? 0x7fc00000u
                                                         : LoadLe<uint32_t>(values_ + at * 4);
    case Source::kDouble:
      return std::isnan(LoadLe<double>(values_ + at * 8)) ? 0x7ff8000000000000u
                                                          : LoadLe<uint64_t>(values_ + at * 8);
    case Source::kTime: {
      const int64_t value =
          value_bytes_ == 4 ? LoadLe<int32_t>(values_ + at * 4) : LoadLe<int64_t>(values_ + at * 8);
      return static_cast<uint64_t>(value * ms_per_unit_ / units_per_ms_);
    }
    case Source::kTimestamp:
      return static_cast<uint64_t>(Time(row).ms);
    case Source::kDecimal:
      return LoadLe<uint64_t>(values_ + at * 16);  // Its high half only repeats the sign.
    default:
      return 0;
  }
}

std::string_view ColumnView::Bytes(int64_t row) const {
  const int64_t at = row + offset_;
  if (source_ == Source::kFixedBytes)
    return {values_ + at * value_bytes_, static_cast<size_t>(value_bytes_)};
  const auto from = LoadLe<int32_t>(values_ + at * 4);
  const auto to = LoadLe<int32_t>(values_ + at * 4 + 4);
  return bytes_ == nullptr ? std::string_view()
                           : std::string_view(bytes_ + from, static_cast<size_t>(to - from));
}

TimePair ColumnView::Time(int64_t row) const {
  const auto value = LoadLe<int64_t>(values_ + (row + offset_) * 8);
  if (units_per_ms_ == 1) {
    // Seconds beyond the range of milliseconds wrap, as they do in Java.
    return {
        static_cast<int64_t>(static_cast<uint64_t>(value) * static_cast<uint64_t>(ms_per_unit_)),
        0};
  }
  const int64_t ms = FloorDiv(value, units_per_ms_);
  return {ms, static_cast<int32_t>((value - ms * units_per_ms_) * (1000000 / units_per_ms_))};
}

size_t ColumnView::BigDecimal(int64_t row, char* out) const {
  const char* little = values_ + (row + offset_) * 16;
  for (size_t i = 0; i < kBigDecimalBytes; ++i) out[i] = little[15 - i];
  // Drop leading bytes that only repeat the sign of the next one.
  size_t skipped = 0;
  while (skipped < 15) {
    const auto lead = static_cast<uint8_t>(out[skipped]);
    const bool next_negative = (out[skipped + 1] & 0x80) != 0;
    if (lead != (next_negative ? 0xff : 0x00)) break;
    ++skipped;
  }
  std::memmove(out, out + skipped, kBigDecimalBytes - skipped);
  return kBigDecimalBytes - skipped;
}

ColumnView::Range ColumnView::Elements(int64_t row) const {
  const char* at = values_ + (row + offset_) * 4;
  return {LoadLe<int32_t>(at), LoadLe<int32_t>(at + 4)};
}

Result<std::vector<ColumnView>> ViewColumns(const std::vector<DataTypePtr>& types,
                                            const arrow::RecordBatch& batch,
                                            std::span<const int> positions) {
  if (positions.size() != types.size()) {
    return Error(ErrorCode::kInvalidTable, "another number of columns expected=", types.size(),
                 " got=", positions.size());
  }
  std::vector<ColumnView> views;
  views.reserve(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    if (positions[i] < 0 || positions[i] >= batch.num_columns()) {
      return Error(ErrorCode::kInvalidTable, "batch has no such column position=", positions[i]);
    }
    auto view = ColumnView::Make(*types[i], *batch.column_data(positions[i]));
    if (!view.ok())
      return view.status().WithMessage(view.status().message(), " position=", positions[i]);
    views.push_back(std::move(view).ValueUnsafe());
  }
  return views;
}

Result<std::vector<ColumnView>> ViewColumns(const std::vector<DataTypePtr>& types,
                                            const arrow::RecordBatch& batch) {
  std::vector<int> positions(static_cast<size_t>(batch.num_columns()));
  std::iota(positions.begin(), positions.end(), 0);
  return ViewColumns(types, batch, positions);
}

}  // namespace sluice::types
