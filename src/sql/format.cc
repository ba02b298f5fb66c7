#include "sql/format.h"

#include <arrow/api.h>
#include <arrow/util/decimal.h>

#include <cmath>

#include "base/bytes.h"
#include "base/floor_div.h"
#include "sql/java_text.h"

namespace sluice::sql {

namespace {

using types::DataType;
using types::TypeKind;

void AppendQuoted(std::string_view text, std::string* out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out->push_back('"');
  for (const char c : text) {
    switch (c) {
      case '"':
        *out += "\\\"";
        break;
      case '\\':
        *out += "\\\\";
        break;
      case '\n':
        *out += "\\n";
        break;
      case '\r':
        *out += "\\r";
        break;
      case '\t':
        *out += "\\t";
        break;
      default:
        if (static_cast<uint8_t>(c) < 0x20) {
          *out += "\\u00";
          out->push_back(kHex[static_cast<uint8_t>(c) >> 4]);
          out->push_back(kHex[static_cast<uint8_t>(c) & 15]);
        } else {
          out->push_back(c);
        }
    }
  }
  out->push_back('"');
}

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

std::string TimestampCell(const DataType& type, const arrow::Array& array, int64_t row) {
  const int64_t ticks =
      TicksPerSecond(static_cast<const arrow::TimestampType&>(*array.type()).unit());
  const int64_t value = static_cast<const arrow::TimestampArray&>(array).Value(row);
  const int64_t seconds = FloorDiv(value, ticks);
  return TimestampText(seconds,
                       static_cast<int32_t>((value - seconds * ticks) * (1000000000 / ticks)),
                       type.precision());
}

std::string TimeCell(const DataType& type, const arrow::Array& array, int64_t row) {
  if (array.type_id() == arrow::Type::TIME32) {
    const int64_t ticks =
        TicksPerSecond(static_cast<const arrow::Time32Type&>(*array.type()).unit());
    return TimeText(static_cast<const arrow::Time32Array&>(array).Value(row) * (1000000000 / ticks),
                    type.precision());
  }
  const int64_t ticks = TicksPerSecond(static_cast<const arrow::Time64Type&>(*array.type()).unit());
  return TimeText(static_cast<const arrow::Time64Array&>(array).Value(row) * (1000000000 / ticks),
                  type.precision());
}

// All digits of the scale; Arrow's own text turns small ones into "0E-7".
std::string DecimalCell(const DataType& type, const arrow::Array& array, int64_t row) {
  const arrow::Decimal128 value(static_cast<const arrow::Decimal128Array&>(array).GetValue(row));
  std::string digits = arrow::Decimal128(arrow::Decimal128::Abs(value)).ToIntegerString();
  const auto scale = static_cast<size_t>(type.scale());
  if (digits.size() <= scale) digits.insert(0, scale + 1 - digits.size(), '0');
  if (scale > 0) digits.insert(digits.size() - scale, ".");
  return value < arrow::Decimal128(0) ? "-" + digits : digits;
}

/// A cell as text, and whether JSON may show the text bare.
struct Cell {
  std::string text;
  bool bare = false;
};

void AppendJson(const DataType& type, const arrow::Array& array, int64_t row, std::string* out);

void AppendJsonNested(const DataType& type, const arrow::Array& array, int64_t row,
                      std::string* out) {
  if (type.kind() == TypeKind::kRow) {
    const auto& rows = static_cast<const arrow::StructArray&>(array);
    out->push_back('{');
    for (size_t i = 0; i < type.fields().size(); ++i) {
      if (i > 0) out->push_back(',');
      AppendQuoted(type.fields()[i].name, out);
      out->push_back(':');
      AppendJson(*type.fields()[i].type, *rows.field(static_cast<int>(i)), row, out);
    }
    out->push_back('}');
    return;
  }
  const auto& list = static_cast<const arrow::ListArray&>(array);
  const bool map = type.kind() == TypeKind::kMap;
  out->push_back('[');
  for (int64_t i = list.value_offset(row); i < list.value_offset(row) + list.value_length(row);
       ++i) {
    if (i > list.value_offset(row)) out->push_back(',');
    if (map) {
      const auto& entries = static_cast<const arrow::MapArray&>(array);
      out->push_back('[');
      AppendJson(*type.key(), *entries.keys(), i, out);
      out->push_back(',');
      AppendJson(*type.value(), *entries.items(), i, out);
      out->push_back(']');
    } else {
      AppendJson(*type.element(), *list.values(), i, out);
    }
  }
  out->push_back(']');
}

template <typename Float>
Cell FloatCell(Float value) {
  return {JavaText(value), std::isfinite(value)};
}

Cell CellOf(const DataType& type, const arrow::Array& array, int64_t row) {
  switch (type.kind()) {
    case TypeKind::kBoolean:
      return {static_cast<const arrow::BooleanArray&>(array).Value(row) ? "true" : "false", true};
    case TypeKind::kTinyInt:
      return {std::to_string(static_cast<const arrow::Int8Array&>(array).Value(row)), true};
    case TypeKind::kSmallInt:
      return {std::to_string(static_cast<const arrow::Int16Array&>(array).Value(row)), true};
    case TypeKind::kInteger:
      return {std::to_string(static_cast<const arrow::Int32Array&>(array).Value(row)), true};
    case TypeKind::kBigInt:
      return {std::to_string(static_cast<const arrow::Int64Array&>(array).Value(row)), true};
    case TypeKind::kFloat:
      return FloatCell(static_cast<const arrow::FloatArray&>(array).Value(row));
    case TypeKind::kDouble:
      return FloatCell(static_cast<const arrow::DoubleArray&>(array).Value(row));
    case TypeKind::kChar:
    case TypeKind::kString:
      return {std::string(static_cast<const arrow::StringArray&>(array).GetView(row))};
    case TypeKind::kBinary:
      return {"0x" + ToHex(static_cast<const arrow::FixedSizeBinaryArray&>(array).GetView(row))};
    case TypeKind::kBytes:
      return {"0x" + ToHex(static_cast<const arrow::BinaryArray&>(array).GetView(row))};
    case TypeKind::kDecimal:
      return {DecimalCell(type, array, row)};
    case TypeKind::kDate:
      return {DateText(static_cast<const arrow::Date32Array&>(array).Value(row))};
    case TypeKind::kTime:
      return {TimeCell(type, array, row)};
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      return {TimestampCell(type, array, row)};
    case TypeKind::kArray:
    case TypeKind::kMap:
    case TypeKind::kRow:
      break;
  }
  std::string text;
  AppendJsonNested(type, array, row, &text);
  return {std::move(text), true};
}

void AppendJson(const DataType& type, const arrow::Array& array, int64_t row, std::string* out) {
  if (array.IsNull(row)) {
    *out += "null";
    return;
  }
  const Cell cell = CellOf(type, array, row);
  if (cell.bare) {
    *out += cell.text;
  } else {
    AppendQuoted(cell.text, out);
  }
}

Status CheckShape(const std::vector<ResultColumn>& columns, const arrow::RecordBatch& batch) {
  if (static_cast<int>(columns.size()) == batch.num_columns()) return Status::OK();
  return Status::Invalid("batch has another number of columns, expected=", columns.size(),
                         " got=", batch.num_columns());
}

}  // namespace

void AppendJsonColumns(const std::vector<ResultColumn>& columns, std::string* out) {
  out->push_back('[');
  for (size_t i = 0; i < columns.size(); ++i) {
    *out += i == 0 ? R"({"name":)" : R"(,{"name":)";
    AppendQuoted(columns[i].name, out);
    *out += R"(,"type":)";
    AppendQuoted(columns[i].type_text, out);
    out->push_back('}');
  }
  out->push_back(']');
}

Status AppendJsonRows(const std::vector<ResultColumn>& columns, const arrow::RecordBatch& batch,
                      int64_t from, int64_t count, std::string* out) {
  RETURN_NOT_OK(CheckShape(columns, batch));
  out->push_back('[');
  for (int64_t row = from; row < from + count; ++row) {
    if (row > from) out->push_back(',');
    out->push_back('[');
    for (size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) out->push_back(',');
      AppendJson(*columns[i].type, *batch.column(static_cast<int>(i)), row, out);
    }
    out->push_back(']');
  }
  out->push_back(']');
  return Status::OK();
}

Status AppendJsonLine(const std::vector<ResultColumn>& columns, const arrow::RecordBatch& batch,
                      int64_t row, std::string* out) {
  RETURN_NOT_OK(CheckShape(columns, batch));
  out->push_back('{');
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) out->push_back(',');
    AppendQuoted(columns[i].name, out);
    out->push_back(':');
    AppendJson(*columns[i].type, *batch.column(static_cast<int>(i)), row, out);
  }
  *out += "}\n";
  return Status::OK();
}

Result<std::string> CellText(const ResultColumn& column, const arrow::RecordBatch& batch,
                             int position, int64_t row) {
  if (position < 0 || position >= batch.num_columns())
    return Status::Invalid("no such column, position=", position);
  const arrow::Array& array = *batch.column(position);
  if (array.IsNull(row)) return std::string("NULL");
  return CellOf(*column.type, array, row).text;
}

}  // namespace sluice::sql
