#include "wire/batch_statistics.h"

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <cmath>
#include <numeric>
#include <optional>

#include "base/bytes.h"
#include "base/check.h"

namespace sluice::wire {
namespace {

constexpr uint8_t kVersion = 1;
constexpr size_t kHeadBytes = 3;        // Version and number of columns.
constexpr size_t kColumnBytes = 2 + 4;  // Position and number of NULLs of one.
constexpr int64_t kMilliNanos = 1'000'000;

Status BadStatistics(std::string_view what) { return Corrupt("statistics of a log batch ", what); }

// A row with its size in front; none of size 0.
Result<std::optional<std::string_view>> TakeRow(std::string_view* rest) {
  if (rest->size() < sizeof(int32_t)) return BadStatistics("end inside a row's size");
  const auto size = LoadLe<int32_t>(rest->data());
  rest->remove_prefix(sizeof(int32_t));
  if (size < 0 || static_cast<size_t>(size) > rest->size())
    return BadStatistics("end inside a row");
  const std::string_view row = rest->substr(0, static_cast<size_t>(size));
  rest->remove_prefix(row.size());
  if (row.empty()) return std::nullopt;
  return row;
}

Result<std::shared_ptr<arrow::RecordBatch>> DecodeBounds(
    const std::vector<types::DataTypePtr>& types, std::optional<std::string_view> row) {
  if (!row) return nullptr;
  return types::DecodeBinaryRows(types, std::span(&*row, 1));
}

// How far a stored value may lie from the bound that was made of it before it was cut to the
// column's precision.
int64_t CutNanos(const types::DataType& type) {
  switch (type.kind()) {
    case types::TypeKind::kTime:
      return type.precision() > 3 ? kMilliNanos - 1 : 0;  // Bounds are in ms.
    case types::TypeKind::kTimestamp:
    case types::TypeKind::kTimestampLtz:
      if (type.precision() == 0) return 999'999'999;
      return type.precision() > 3 && type.precision() <= 6 ? 999 : 0;
    default:
      return 0;
  }
}

std::optional<OrderedValue> Moved(std::optional<OrderedValue> bound, int64_t nanos) {
  if (!bound || nanos == 0) return bound;
  if (auto* decimal = std::get_if<arrow::Decimal128>(&*bound)) {
    *decimal += arrow::Decimal128(nanos);
  } else {
    std::get<int64_t>(*bound) += nanos;
  }
  return bound;
}

// --- writing ---

// Java's order of reals: -0.0 below 0.0, NaN above all.
template <typename Real>
bool RealLess(Real a, Real b) {
  if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  return a < b || (a == b && std::signbit(a) && !std::signbit(b));
}

struct Extremes {
  int64_t least = -1, greatest = -1;  // Rows; -1 = all are NULL.
};

template <typename Less>
Extremes FindExtremes(const arrow::Array& array, Less less) {
  Extremes found;
  for (int64_t row = 0; row < array.length(); ++row) {
    if (array.IsNull(row)) continue;
    if (found.least < 0) found.least = found.greatest = row;
    if (less(row, found.least)) found.least = row;
    if (less(found.greatest, row)) found.greatest = row;
  }
  return found;
}

template <typename ArrayType>
Extremes ExtremesOf(const arrow::Array& array) {
  const auto& values = static_cast<const ArrayType&>(array);
  return FindExtremes(array, [&](int64_t a, int64_t b) {
    using Value = decltype(values.Value(a));
    if constexpr (std::is_floating_point_v<Value>)
      return RealLess(values.Value(a), values.Value(b));
    return values.Value(a) < values.Value(b);
  });
}

Extremes DecimalExtremes(const arrow::Array& array) {
  const auto& values = static_cast<const arrow::Decimal128Array&>(array);
  return FindExtremes(array, [&](int64_t a, int64_t b) {
    return arrow::Decimal128(values.GetValue(a)) < arrow::Decimal128(values.GetValue(b));
  });
}

Extremes ExtremesOf(const types::DataType& type, const arrow::Array& array) {
  switch (array.type_id()) {
    case arrow::Type::BOOL:
      return ExtremesOf<arrow::BooleanArray>(array);
    case arrow::Type::INT8:
      return ExtremesOf<arrow::Int8Array>(array);
    case arrow::Type::INT16:
      return ExtremesOf<arrow::Int16Array>(array);
    case arrow::Type::INT32:
      return ExtremesOf<arrow::Int32Array>(array);
    case arrow::Type::INT64:
      return ExtremesOf<arrow::Int64Array>(array);
    case arrow::Type::DATE32:
      return ExtremesOf<arrow::Date32Array>(array);
    case arrow::Type::TIME32:
      return ExtremesOf<arrow::Time32Array>(array);
    case arrow::Type::TIME64:
      return ExtremesOf<arrow::Time64Array>(array);
    case arrow::Type::TIMESTAMP:
      return ExtremesOf<arrow::TimestampArray>(array);
    case arrow::Type::FLOAT:
      return ExtremesOf<arrow::FloatArray>(array);
    case arrow::Type::DOUBLE:
      return ExtremesOf<arrow::DoubleArray>(array);
    case arrow::Type::DECIMAL128:
      return DecimalExtremes(array);
    case arrow::Type::STRING:
      // Java writes no bounds of CHAR.
      return type.kind() == types::TypeKind::kChar ? Extremes()
                                                   : ExtremesOf<arrow::StringArray>(array);
    default:
      return {};
  }
}

// One value, NULL where there is none to say.
Result<std::shared_ptr<arrow::Array>> BoundAt(const arrow::Array& array, int64_t row) {
  const bool too_long =
      row >= 0 && array.type_id() == arrow::Type::STRING &&
      static_cast<size_t>(static_cast<const arrow::StringArray&>(array).value_length(row)) >
          StatisticsWriter::kBoundBytesMax;
  if (row < 0 || too_long) return arrow::MakeArrayOfNull(array.type(), 1);
  return array.Slice(row, 1);
}

void AppendRow(std::string_view row, std::string* out) {
  AppendLe(out, static_cast<int32_t>(row.size()));
  out->append(row);
}

std::vector<types::DataTypePtr> NullableTypes(const types::Schema& schema,
                                              const std::vector<int>& positions) {
  std::vector<types::DataTypePtr> types;
  for (const int position : positions)
    types.push_back(schema.columns[static_cast<size_t>(position)].type->WithNullable(true));
  return types;
}

}  // namespace

Result<BatchStatistics> BatchStatistics::Parse(std::string_view bytes,
                                               const types::Schema& schema) {
  if (bytes.size() < kHeadBytes) return BadStatistics("end inside their head");
  if (static_cast<uint8_t>(bytes[0]) != kVersion) return BadStatistics("have another version");
  const auto count = LoadLe<int16_t>(bytes.data() + 1);
  if (count <= 0 || static_cast<size_t>(count) > schema.columns.size())
    return BadStatistics("have another number of columns than their schema");
  const auto columns = static_cast<size_t>(count);
  if (bytes.size() < kHeadBytes + columns * kColumnBytes)
    return BadStatistics("end inside their head");
  std::vector<int> positions;
  for (size_t i = 0; i < columns; ++i) {
    const auto position = LoadLe<int16_t>(bytes.data() + kHeadBytes + 2 * i);
    if (position < 0 || static_cast<size_t>(position) >= schema.columns.size())
      return BadStatistics("are of a column outside their schema");
    positions.push_back(position);
  }
  const std::vector<types::DataTypePtr> types = NullableTypes(schema, positions);
  std::string_view rest = bytes.substr(kHeadBytes + columns * kColumnBytes);
  ASSIGN_OR_RAISE(const auto least, TakeRow(&rest));
  ASSIGN_OR_RAISE(const auto greatest, TakeRow(&rest));
  ASSIGN_OR_RAISE(const auto min, DecodeBounds(types, least));
  ASSIGN_OR_RAISE(const auto max, DecodeBounds(types, greatest));
  BatchStatistics statistics;
  for (size_t i = 0; i < columns; ++i) {
    ColumnBounds bounds;
    const int64_t cut = CutNanos(*types[i]);
    const bool is_time = types[i]->kind() == types::TypeKind::kTime;
    if (min != nullptr)
      bounds.min = Moved(OrderedValueOf(*min->column(static_cast<int>(i)), 0), is_time ? 0 : -cut);
    if (max != nullptr)
      bounds.max = Moved(OrderedValueOf(*max->column(static_cast<int>(i)), 0), cut);
    const auto nulls = LoadLe<int32_t>(bytes.data() + kHeadBytes + 2 * columns + 4 * i);
    if (nulls >= 0) bounds.null_count = nulls;
    const auto position = static_cast<size_t>(positions[i]);
    if (!statistics.columns_.emplace(position, std::move(bounds)).second)
      return BadStatistics("name a column twice");
  }
  return statistics;
}

StatisticsWriter::StatisticsWriter(const types::Schema& schema, std::vector<int> positions)
    : positions_(std::move(positions)),
      types_(NullableTypes(schema, positions_)),
      encoder_(types_) {
  CHECK(!positions_.empty());
}

Result<std::string> StatisticsWriter::Encode(const arrow::RecordBatch& rows) const {
  std::string out;
  out.push_back(static_cast<char>(kVersion));
  AppendLe(&out, static_cast<int16_t>(positions_.size()));
  for (const int position : positions_) AppendLe(&out, static_cast<int16_t>(position));
  arrow::FieldVector fields;
  arrow::ArrayVector bounds;  // Per column: the least value, the greatest.
  for (size_t i = 0; i < positions_.size(); ++i) {
    const arrow::Array& column = *rows.column(positions_[i]);
    AppendLe(&out, static_cast<int32_t>(column.null_count()));
    const Extremes extremes = ExtremesOf(*types_[i], column);
    ASSIGN_OR_RAISE(auto least, BoundAt(column, extremes.least));
    ASSIGN_OR_RAISE(auto greatest, BoundAt(column, extremes.greatest));
    ASSIGN_OR_RAISE(auto both, arrow::Concatenate({std::move(least), std::move(greatest)}));
    bounds.push_back(std::move(both));
    fields.push_back(arrow::field(std::to_string(i), column.type()));
  }
  const auto batch = arrow::RecordBatch::Make(arrow::schema(std::move(fields)), 2, bounds);
  std::vector<int> all(positions_.size());
  std::iota(all.begin(), all.end(), 0);
  for (int64_t row = 0; row < 2; ++row) {
    std::string encoded;
    RETURN_NOT_OK(encoder_.Encode(*batch, all, row, &encoded));
    AppendRow(encoded, &out);
  }
  return out;
}

}  // namespace sluice::wire
