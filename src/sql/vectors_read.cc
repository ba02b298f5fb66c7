#include <arrow/builder.h>
#include <arrow/util/decimal.h>

#include <algorithm>

#include "base/floor_div.h"
#include "sql/vectors.h"

namespace sluice::sql::duckdb {

namespace {

constexpr int32_t kFixedBytesMax = 16 << 20;  // Of one BINARY(n), which is filled up.

/// Rows [from, from + count) of a vector.
struct Slice {
  const Api& api;
  Vector vector;
  Index from;
  int64_t count;

  bool IsNull(int64_t row) const {
    const uint64_t at = from + static_cast<uint64_t>(row);
    return mask != nullptr && (mask[at / 64] >> at % 64 & 1) == 0;
  }
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(api.vector_get_data(vector)) + from;
  }
  const uint64_t* mask = api.vector_get_validity(vector);
};

Status Read(const SqlType& type, const Slice& slice, arrow::ArrayBuilder* out);

template <typename Builder, typename Raw, typename Convert>
Status ReadEach(const Slice& slice, arrow::ArrayBuilder* out, Convert convert) {
  auto* builder = static_cast<Builder*>(out);
  const Raw* values = slice.data<Raw>();
  RETURN_NOT_OK(builder->Reserve(slice.count));
  for (int64_t i = 0; i < slice.count; ++i) {
    if (slice.IsNull(i)) {
      builder->UnsafeAppendNull();
    } else {
      builder->UnsafeAppend(convert(values[i]));
    }
  }
  return Status::OK();
}

template <typename Builder, typename Raw>
Status ReadPlain(const Slice& slice, arrow::ArrayBuilder* out) {
  if (slice.mask == nullptr)
    return static_cast<Builder*>(out)->AppendValues(slice.data<Raw>(), slice.count);
  return ReadEach<Builder, Raw>(slice, out, [](Raw value) { return value; });
}

template <typename Builder>
Status ReadText(const Slice& slice, arrow::ArrayBuilder* out) {
  auto* builder = static_cast<Builder*>(out);
  const auto* values = slice.data<StringValue>();
  for (int64_t i = 0; i < slice.count; ++i) {
    RETURN_NOT_OK(slice.IsNull(i) ? builder->AppendNull() : builder->Append(values[i].view()));
  }
  return Status::OK();
}

Status ReadFixedBinary(const SqlType& type, const Slice& slice, arrow::ArrayBuilder* out) {
  if (type.length > kFixedBytesMax)
    return Error(ErrorCode::kInvalidTable, "value is too long, type=", type.ToString(),
                 " bytes_max=", kFixedBytesMax);
  auto* builder = static_cast<arrow::FixedSizeBinaryBuilder*>(out);
  const auto* values = slice.data<StringValue>();
  for (int64_t i = 0; i < slice.count; ++i) {
    if (slice.IsNull(i)) {
      RETURN_NOT_OK(builder->AppendNull());
      continue;
    }
    std::string padded(values[i].view().substr(0, static_cast<size_t>(type.length)));
    padded.resize(static_cast<size_t>(type.length), '\0');
    RETURN_NOT_OK(builder->Append(padded));
  }
  return Status::OK();
}

arrow::Decimal128 WideDecimal(const std::array<uint64_t, 2>& raw) {
  return arrow::Decimal128(static_cast<int64_t>(raw[1]), raw[0]);
}

Status ReadDecimal(const SqlType& type, const Slice& slice, arrow::ArrayBuilder* out) {
  using Builder = arrow::Decimal128Builder;
  const auto widen = [](auto value) { return arrow::Decimal128(static_cast<int64_t>(value)); };
  if (type.precision <= 4) return ReadEach<Builder, int16_t>(slice, out, widen);
  if (type.precision <= 9) return ReadEach<Builder, int32_t>(slice, out, widen);
  if (type.precision <= 18) return ReadEach<Builder, int64_t>(slice, out, widen);
  return ReadEach<Builder, std::array<uint64_t, 2>>(slice, out, WideDecimal);
}

Status ReadTimestamp(const SqlType& type, const Slice& slice, arrow::ArrayBuilder* out) {
  const int64_t divisor = type.precision == 0   ? 1000000
                          : type.precision <= 3 ? 1000
                                                : 1;  // From µs, or ns as ns.
  return ReadEach<arrow::TimestampBuilder, int64_t>(
      slice, out, [divisor](int64_t value) { return FloorDiv(value, divisor); });
}

Status ReadTime(const SqlType& type, const Slice& slice, arrow::ArrayBuilder* out) {
  if (type.precision <= 3) {
    const int64_t divisor = type.precision == 0 ? 1000000 : 1000;
    return ReadEach<arrow::Time32Builder, int64_t>(
        slice, out, [divisor](int64_t value) { return static_cast<int32_t>(value / divisor); });
  }
  const int64_t factor = type.precision > 6 ? 1000 : 1;
  return ReadEach<arrow::Time64Builder, int64_t>(
      slice, out, [factor](int64_t value) { return value * factor; });
}

// Entries of a list may lie anywhere in the child, so each is read by itself.
template <typename Builder, typename ReadEntry>
Status ReadEntries(const Slice& slice, arrow::ArrayBuilder* out, ReadEntry read) {
  auto* builder = static_cast<Builder*>(out);
  const auto* entries = slice.data<ListEntry>();
  for (int64_t i = 0; i < slice.count; ++i) {
    if (slice.IsNull(i)) {
      RETURN_NOT_OK(builder->AppendNull());
      continue;
    }
    RETURN_NOT_OK(builder->Append());
    RETURN_NOT_OK(read(builder, entries[i]));
  }
  return Status::OK();
}

Status ReadNested(const SqlType& type, const Slice& slice, arrow::ArrayBuilder* out) {
  const Api& api = slice.api;
  const auto cut = [&api](Vector vector, const ListEntry& entry) {
    return Slice{api, vector, entry.offset, static_cast<int64_t>(entry.length)};
  };
  if (type.kind == SqlKind::kArray) {
    const Vector child = api.list_vector_get_child(slice.vector);
    return ReadEntries<arrow::ListBuilder>(
        slice, out, [&](arrow::ListBuilder* list, const ListEntry& entry) {
          return Read(type.children[0], cut(child, entry), list->value_builder());
        });
  }
  if (type.kind == SqlKind::kMap) {
    const Vector child = api.list_vector_get_child(slice.vector);
    const Vector keys = api.struct_vector_get_child(child, 0);
    const Vector values = api.struct_vector_get_child(child, 1);
    return ReadEntries<arrow::MapBuilder>(
        slice, out, [&](arrow::MapBuilder* map, const ListEntry& entry) -> Status {
          RETURN_NOT_OK(Read(type.children[0], cut(keys, entry), map->key_builder()));
          return Read(type.children[1], cut(values, entry), map->item_builder());
        });
  }
  auto* row = static_cast<arrow::StructBuilder*>(out);
  for (int64_t i = 0; i < slice.count; ++i) RETURN_NOT_OK(row->Append(!slice.IsNull(i)));
  for (size_t i = 0; i < type.children.size(); ++i) {
    const Slice field{api, api.struct_vector_get_child(slice.vector, i), slice.from, slice.count};
    RETURN_NOT_OK(Read(type.children[i], field, row->field_builder(static_cast<int>(i))));
  }
  return Status::OK();
}

Status Read(const SqlType& type, const Slice& slice, arrow::ArrayBuilder* out) {
  switch (type.kind) {
    case SqlKind::kNull:
    case SqlKind::kBoolean:
      return ReadEach<arrow::BooleanBuilder, bool>(slice, out, [](bool value) { return value; });
    case SqlKind::kTinyInt:
      return ReadPlain<arrow::Int8Builder, int8_t>(slice, out);
    case SqlKind::kSmallInt:
      return ReadPlain<arrow::Int16Builder, int16_t>(slice, out);
    case SqlKind::kIntervalMonth:
    case SqlKind::kInteger:
      return ReadPlain<arrow::Int32Builder, int32_t>(slice, out);
    case SqlKind::kIntervalSecond:
    case SqlKind::kBigInt:
      return ReadPlain<arrow::Int64Builder, int64_t>(slice, out);
    case SqlKind::kFloat:
      return ReadPlain<arrow::FloatBuilder, float>(slice, out);
    case SqlKind::kDouble:
      return ReadPlain<arrow::DoubleBuilder, double>(slice, out);
    case SqlKind::kDate:
      return ReadPlain<arrow::Date32Builder, int32_t>(slice, out);
    case SqlKind::kDecimal:
      return ReadDecimal(type, slice, out);
    case SqlKind::kChar:
    case SqlKind::kVarchar:
      return ReadText<arrow::StringBuilder>(slice, out);
    case SqlKind::kBinary:
      return ReadFixedBinary(type, slice, out);
    case SqlKind::kVarbinary:
      return ReadText<arrow::BinaryBuilder>(slice, out);
    case SqlKind::kTime:
      return ReadTime(type, slice, out);
    case SqlKind::kTimestamp:
    case SqlKind::kTimestampLtz:
      return ReadTimestamp(type, slice, out);
    case SqlKind::kArray:
    case SqlKind::kMap:
    case SqlKind::kRow:
      return ReadNested(type, slice, out);
  }
  return Status::OK();
}

}  // namespace

int64_t RowsWithin(const Api& api, const SqlType& type, Vector vector, int64_t from, int64_t count,
                   int64_t bytes_max) {
  if (type.kind == SqlKind::kBinary)
    return std::clamp<int64_t>(bytes_max / std::max(1, type.length), 1, count);
  if (!type.is_text() && !type.is_binary()) return count;
  const Slice slice{api, vector, static_cast<Index>(from), count};
  const auto* values = slice.data<StringValue>();
  int64_t bytes = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (!slice.IsNull(i)) bytes += values[i].length;
    if (bytes > bytes_max) return std::max<int64_t>(i, 1);
  }
  return count;
}

Status ReadVector(const Api& api, const SqlType& type, Vector vector, int64_t from, int64_t count,
                  arrow::ArrayBuilder* out) {
  return Read(type, {api, vector, static_cast<Index>(from), count}, out);
}

}  // namespace sluice::sql::duckdb
