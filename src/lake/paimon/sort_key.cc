#include "lake/paimon/sort_key.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include <cmath>

#include "base/bytes.h"
#include "lake/paimon/columns.h"
#include "types/row.h"

namespace sluice::lake::paimon {
namespace {

// Each column becomes: 0 for NULL (NULLs first), or 1 and its value: numbers big-endian with the
// sign bit flipped, bytes with 00 written as 00 FF and 00 00 at the end, so that no key is the
// front part of another.
constexpr char kNullMark = 0;
constexpr char kValueMark = 1;

template <typename T>
void AppendOrdered(std::string* out, T value) {
  using U = std::make_unsigned_t<T>;
  AppendBe(out, static_cast<U>(static_cast<U>(value) ^ (U{1} << (8 * sizeof(T) - 1))));
}

// The order of Java's compare: -0.0 before 0.0, one NaN behind everything.
template <typename F, typename Bits>
void AppendFloating(std::string* out, F value) {
  if (std::isnan(value)) value = std::numeric_limits<F>::quiet_NaN();
  Bits bits;
  std::memcpy(&bits, &value, sizeof(bits));
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  AppendBe(out, static_cast<Bits>((bits & kSign) != 0 ? ~bits : bits | kSign));
}

void AppendBytes(std::string* out, std::string_view bytes) {
  for (const char c : bytes) {
    out->push_back(c);
    if (c == 0) out->push_back(static_cast<char>(0xff));
  }
  out->append(2, '\0');
}

template <typename ArrayType>
void AppendNumber(const arrow::Array& array, int64_t row, std::string* out) {
  AppendOrdered(out, static_cast<const ArrayType&>(array).Value(row));
}

using Appender = void (*)(const arrow::Array&, int64_t, std::string*);

Result<Appender> AppenderFor(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::BOOL:
      return +[](const arrow::Array& array, int64_t row, std::string* out) {
        out->push_back(static_cast<const arrow::BooleanArray&>(array).Value(row) ? 1 : 0);
      };
    case arrow::Type::INT8:
      return &AppendNumber<arrow::Int8Array>;
    case arrow::Type::INT16:
      return &AppendNumber<arrow::Int16Array>;
    case arrow::Type::INT32:
      return &AppendNumber<arrow::Int32Array>;
    case arrow::Type::INT64:
      return &AppendNumber<arrow::Int64Array>;
    case arrow::Type::DATE32:
      return &AppendNumber<arrow::Date32Array>;
    case arrow::Type::TIME32:
      return &AppendNumber<arrow::Time32Array>;
    case arrow::Type::TIMESTAMP:
      return &AppendNumber<arrow::TimestampArray>;
    case arrow::Type::FLOAT:
      return +[](const arrow::Array& array, int64_t row, std::string* out) {
        AppendFloating<float, uint32_t>(out,
                                        static_cast<const arrow::FloatArray&>(array).Value(row));
      };
    case arrow::Type::DOUBLE:
      return +[](const arrow::Array& array, int64_t row, std::string* out) {
        AppendFloating<double, uint64_t>(out,
                                         static_cast<const arrow::DoubleArray&>(array).Value(row));
      };
    case arrow::Type::DECIMAL128:
      return +[](const arrow::Array& array, int64_t row, std::string* out) {
        const arrow::Decimal128 value(
            static_cast<const arrow::Decimal128Array&>(array).GetValue(row));
        AppendOrdered(out, value.high_bits());
        AppendBe(out, value.low_bits());
      };
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return +[](const arrow::Array& array, int64_t row, std::string* out) {
        AppendBytes(out, static_cast<const arrow::BinaryArray&>(array).GetView(row));
      };
    default:
      return Error(ErrorCode::kInvalidTable,
                   "type cannot be part of a key, type=", type.ToString());
  }
}

uint64_t PrefixOf(std::string_view key) {
  char raw[8] = {};
  std::memcpy(raw, key.data(), std::min<size_t>(key.size(), 8));
  return static_cast<uint64_t>(LoadBe<int64_t>(raw));
}

}  // namespace

Status SortKeys::Append(const std::vector<std::shared_ptr<arrow::Array>>& columns, int64_t rows) {
  std::vector<Appender> appenders;
  for (const auto& column : columns) {
    ASSIGN_OR_RAISE(const Appender appender, AppenderFor(*column->type()));
    appenders.push_back(appender);
  }
  ends_.reserve(ends_.size() + static_cast<size_t>(rows));
  for (int64_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < columns.size(); ++i) {
      const bool null = columns[i]->IsNull(row);
      bytes_.push_back(null ? kNullMark : kValueMark);
      if (!null) appenders[i](*columns[i], row, &bytes_);
    }
    ends_.push_back(bytes_.size());
  }
  return Status::OK();
}

Result<SortKeys> SortKeysOfRows(const std::vector<types::DataTypePtr>& types,
                                std::span<const std::string_view> rows) {
  std::vector<types::DataTypePtr> row_types;
  for (const auto& type : types) row_types.push_back(RowType(*type));
  std::vector<std::string_view> bodies;
  for (const std::string_view row : rows) {
    if (row.size() < 4 || LoadBe<int32_t>(row.data()) != static_cast<int32_t>(types.size())) {
      return Corrupt("key in a manifest has another number of columns than the table's key");
    }
    bodies.push_back(row.substr(4));
  }
  ASSIGN_OR_RAISE(const auto batch, types::DecodeBinaryRows(row_types, bodies));
  std::vector<std::shared_ptr<arrow::Array>> columns;
  for (size_t i = 0; i < types.size(); ++i) {
    ASSIGN_OR_RAISE(auto column,
                    Conform(batch->column(static_cast<int>(i)), FileArrowType(*types[i])));
    columns.push_back(std::move(column));
  }
  SortKeys keys;
  RETURN_NOT_OK(keys.Append(columns, batch->num_rows()));
  return keys;
}

std::vector<uint32_t> SortedRows(const SortKeys& keys) {
  struct Item {
    uint64_t
        prefix;  // The key's first eight bytes decide most comparisons without a look at the rest.
    uint32_t row;
  };
  std::vector<Item> items(keys.size());
  for (size_t i = 0; i < items.size(); ++i)
    items[i] = {PrefixOf(keys[i]), static_cast<uint32_t>(i)};
  std::sort(items.begin(), items.end(), [&](const Item& a, const Item& b) {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    const int order = keys[a.row].compare(keys[b.row]);
    return order != 0 ? order < 0 : a.row < b.row;
  });
  std::vector<uint32_t> rows(items.size());
  std::ranges::transform(items, rows.begin(), &Item::row);
  return rows;
}

}  // namespace sluice::lake::paimon
