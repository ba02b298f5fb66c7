#include <arrow/array.h>
#include <arrow/util/bitmap_ops.h>
#include <arrow/util/decimal.h>

#include "sql/vectors.h"

namespace sluice::sql::duckdb {

namespace {

/// Where values go: a vector and the row of it that comes next (children of lists fill up over
/// several calls).
struct Target {
  const Api& api;
  Vector vector;
  Index at;
};

Status Fill(const SqlType& type, const arrow::Array& array, int64_t from, int64_t count,
            Target target);

void FillValidity(const arrow::Array& array, int64_t from, int64_t count, const Target& target) {
  if (array.null_count() == 0) return;
  target.api.vector_ensure_validity_writable(target.vector);
  auto* mask = reinterpret_cast<uint8_t*>(target.api.vector_get_validity(target.vector));
  if (array.null_bitmap_data() == nullptr) {  // An array of the null type.
    for (int64_t i = 0; i < count; ++i)
      mask[(target.at + i) / 8] &= static_cast<uint8_t>(~(1u << (target.at + i) % 8));
    return;
  }
  arrow::internal::CopyBitmap(array.null_bitmap_data(), array.offset() + from, count, mask,
                              static_cast<int64_t>(target.at));
}

template <typename T>
T* DataOf(const Target& target) {
  return static_cast<T*>(target.api.vector_get_data(target.vector)) + target.at;
}

template <typename ArrayType>
Status CopyPlain(const arrow::Array& array, int64_t from, int64_t count, const Target& target) {
  using Value = typename ArrayType::value_type;
  const auto& typed = static_cast<const ArrayType&>(array);
  std::copy_n(typed.raw_values() + from, count, DataOf<Value>(target));
  return Status::OK();
}

template <typename ArrayType, typename Out, typename Convert>
Status CopyEach(const arrow::Array& array, int64_t from, int64_t count, const Target& target,
                Convert convert) {
  const auto& typed = static_cast<const ArrayType&>(array);
  Out* out = DataOf<Out>(target);
  for (int64_t i = 0; i < count; ++i) out[i] = convert(typed.Value(from + i));
  return Status::OK();
}

template <typename ArrayType>
Status CopyText(const arrow::Array& array, int64_t from, int64_t count, const Target& target) {
  const auto& typed = static_cast<const ArrayType&>(array);
  for (int64_t i = 0; i < count; ++i) {
    if (typed.IsNull(from + i)) continue;
    const std::string_view text = typed.GetView(from + i);
    target.api.vector_assign_string_element_len(target.vector, target.at + i, text.data(),
                                                text.size());
  }
  return Status::OK();
}

template <typename Out>
Status CopyDecimal(const arrow::Array& array, int64_t from, int64_t count, const Target& target) {
  const auto& typed = static_cast<const arrow::Decimal128Array&>(array);
  Out* out = DataOf<Out>(target);
  for (int64_t i = 0; i < count; ++i) {
    // The engine's storage holds any value of the declared precision, so the low bytes are the
    // value.
    std::memcpy(out + i, typed.GetValue(from + i), sizeof(Out));
  }
  return Status::OK();
}

Status FillDecimal(const SqlType& type, const arrow::Array& array, int64_t from, int64_t count,
                   const Target& target) {
  if (type.precision <= 4) return CopyDecimal<int16_t>(array, from, count, target);
  if (type.precision <= 9) return CopyDecimal<int32_t>(array, from, count, target);
  if (type.precision <= 18) return CopyDecimal<int64_t>(array, from, count, target);
  return CopyDecimal<std::array<char, 16>>(array, from, count, target);
}

// Units per second of an Arrow time or timestamp array.
int64_t TicksPerSecond(arrow::TimeUnit::type unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND:
      return 1;
    case arrow::TimeUnit::MILLI:
      return 1000;
    case arrow::TimeUnit::MICRO:
      return 1000000;
    case arrow::TimeUnit::NANO:
      return 1000000000;
  }
  return 1;
}

Status FillTimestamp(const SqlType& type, const arrow::Array& array, int64_t from, int64_t count,
                     const Target& target) {
  const auto unit = static_cast<const arrow::TimestampType&>(*array.type()).unit();
  const int64_t wanted = type.is_nanos() ? 1000000000 : 1000000;
  if (TicksPerSecond(unit) > wanted)
    return Status::Invalid("timestamp column is finer than its type");
  const int64_t factor = wanted / TicksPerSecond(unit);
  const auto& typed = static_cast<const arrow::TimestampArray&>(array);
  auto* out = DataOf<int64_t>(target);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t value = typed.Value(from + i);
    // The engine keeps the last values for its infinities.
    const bool too_far = __builtin_mul_overflow(value, factor, out + i) || out[i] == INT64_MAX ||
                         out[i] <= -INT64_MAX;
    if (too_far && typed.IsValid(from + i)) {
      return Status::ExecutionError("timestamp is outside what a query can hold, value=", value,
                                    " ticks_per_second=", TicksPerSecond(unit));
    }
  }
  return Status::OK();
}

Status FillTime(const arrow::Array& array, int64_t from, int64_t count, const Target& target) {
  if (array.type_id() == arrow::Type::TIME32) {
    const int64_t ticks =
        TicksPerSecond(static_cast<const arrow::Time32Type&>(*array.type()).unit());
    const int64_t factor = 1000000 / ticks;
    return CopyEach<arrow::Time32Array, int64_t>(
        array, from, count, target, [factor](int32_t value) { return value * factor; });
  }
  const bool nanos =
      static_cast<const arrow::Time64Type&>(*array.type()).unit() == arrow::TimeUnit::NANO;
  return CopyEach<arrow::Time64Array, int64_t>(
      array, from, count, target, [nanos](int64_t value) { return nanos ? value / 1000 : value; });
}

// Lists and maps: entries point into a child vector that grows row by row.
Status FillList(const arrow::ListArray& list, int64_t from, int64_t count, const Target& target,
                Index* first) {
  *first = target.api.list_vector_get_size(target.vector);
  const int64_t begin = list.value_offset(from);
  const int64_t values = list.value_offset(from + count) - begin;
  auto* entries = DataOf<ListEntry>(target);
  for (int64_t i = 0; i < count; ++i) {
    entries[i] = {*first + static_cast<uint64_t>(list.value_offset(from + i) - begin),
                  static_cast<uint64_t>(list.value_length(from + i))};
  }
  const Index size = *first + static_cast<Index>(values);
  if (target.api.list_vector_reserve(target.vector, size) != State::kSuccess ||
      target.api.list_vector_set_size(target.vector, size) != State::kSuccess) {
    return Status::OutOfMemory("list column does not fit, values=", size);
  }
  return Status::OK();
}

Status FillNested(const SqlType& type, const arrow::Array& array, int64_t from, int64_t count,
                  const Target& target) {
  const Api& api = target.api;
  if (type.kind == SqlKind::kRow) {
    const auto& row = static_cast<const arrow::StructArray&>(array);
    for (size_t i = 0; i < type.children.size(); ++i) {
      const Target child{api, api.struct_vector_get_child(target.vector, i), target.at};
      RETURN_NOT_OK(Fill(type.children[i], *row.field(static_cast<int>(i)), from, count, child));
    }
    return Status::OK();
  }
  const auto& list = static_cast<const arrow::ListArray&>(array);
  Index first = 0;
  RETURN_NOT_OK(FillList(list, from, count, target, &first));
  const int64_t begin = list.value_offset(from);
  const int64_t values = list.value_offset(from + count) - begin;
  const Vector child = api.list_vector_get_child(target.vector);
  if (type.kind == SqlKind::kArray) {
    return Fill(type.children[0], *list.values(), begin, values, {api, child, first});
  }
  const auto& map = static_cast<const arrow::MapArray&>(array);
  RETURN_NOT_OK(Fill(type.children[0], *map.keys(), begin, values,
                     {api, api.struct_vector_get_child(child, 0), first}));
  return Fill(type.children[1], *map.items(), begin, values,
              {api, api.struct_vector_get_child(child, 1), first});
}

Status Fill(const SqlType& type, const arrow::Array& array, int64_t from, int64_t count,
            Target target) {
  FillValidity(array, from, count, target);
  switch (type.kind) {
    case SqlKind::kBoolean:
      return CopyEach<arrow::BooleanArray, bool>(array, from, count, target,
                                                 [](bool value) { return value; });
    case SqlKind::kTinyInt:
      return CopyPlain<arrow::Int8Array>(array, from, count, target);
    case SqlKind::kSmallInt:
      return CopyPlain<arrow::Int16Array>(array, from, count, target);
    case SqlKind::kInteger:
      return CopyPlain<arrow::Int32Array>(array, from, count, target);
    case SqlKind::kBigInt:
      return CopyPlain<arrow::Int64Array>(array, from, count, target);
    case SqlKind::kFloat:
      return CopyPlain<arrow::FloatArray>(array, from, count, target);
    case SqlKind::kDouble:
      return CopyPlain<arrow::DoubleArray>(array, from, count, target);
    case SqlKind::kDate:
      return CopyPlain<arrow::Date32Array>(array, from, count, target);
    case SqlKind::kDecimal:
      return FillDecimal(type, array, from, count, target);
    case SqlKind::kChar:
    case SqlKind::kVarchar:
      return CopyText<arrow::StringArray>(array, from, count, target);
    case SqlKind::kBinary:
      return CopyText<arrow::FixedSizeBinaryArray>(array, from, count, target);
    case SqlKind::kVarbinary:
      return CopyText<arrow::BinaryArray>(array, from, count, target);
    case SqlKind::kTime:
      return FillTime(array, from, count, target);
    case SqlKind::kTimestamp:
    case SqlKind::kTimestampLtz:
      return FillTimestamp(type, array, from, count, target);
    case SqlKind::kArray:
    case SqlKind::kMap:
    case SqlKind::kRow:
      return FillNested(type, array, from, count, target);
    default:
      return Status::NotImplemented("a scan has no columns of this type, type=", type.ToString());
  }
}

}  // namespace

Status FillVector(const Api& api, const SqlType& type, const arrow::Array& array, int64_t from,
                  int64_t count, Vector out) {
  const auto expected = type.ToColumn()->ToArrow();
  const bool time = type.kind == SqlKind::kTime && (array.type_id() == arrow::Type::TIME32 ||
                                                    array.type_id() == arrow::Type::TIME64);
  if (array.type_id() != expected->id() && !time) {  // Lakes hold TIME in a unit of their own.
    return Error(ErrorCode::kInvalidTable,
                 "table changed while the statement was read, a scan gave another column type, "
                 "expected=",
                 expected->ToString(), " got=", array.type()->ToString());
  }
  return Fill(type, array, from, count, {api, out, 0});
}

}  // namespace sluice::sql::duckdb
