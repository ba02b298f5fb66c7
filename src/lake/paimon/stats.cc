#include "lake/paimon/stats.h"

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include <cmath>

#include "lake/paimon/binary_row.h"
#include "lake/paimon/columns.h"

namespace sluice::lake::paimon {
namespace {

using types::TypeKind;

// Bytes of the first `characters` characters of UTF-8 text.
size_t BytesOfCharacters(std::string_view text, size_t characters) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    const bool starts = (static_cast<uint8_t>(text[at]) & 0xc0) != 0x80;
    if (starts && characters-- == 0) break;
  }
  return at;
}

void AppendUtf8(std::string* out, uint32_t point) {
  if (point < 0x80) {
    out->push_back(static_cast<char>(point));
    return;
  }
  const int tail = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  constexpr uint8_t kLeads[] = {0, 0xc0, 0xe0, 0xf0};
  out->push_back(static_cast<char>(kLeads[tail] | point >> (6 * tail)));
  for (int i = tail - 1; i >= 0; --i)
    out->push_back(static_cast<char>(0x80 | (point >> (6 * i) & 0x3f)));
}

uint32_t DecodeUtf8(std::string_view character) {
  const auto lead = static_cast<uint8_t>(character[0]);
  uint32_t point = character.size() == 1 ? lead : lead & (0xff >> (character.size() + 1));
  for (size_t i = 1; i < character.size(); ++i)
    point = point << 6 | (static_cast<uint8_t>(character[i]) & 0x3f);
  return point;
}

// The text with its last character that can grow grown by one, and nothing behind it.
std::optional<std::string> IncrementUtf8(std::string text) {
  while (!text.empty()) {
    size_t start = text.size() - 1;
    while (start > 0 && (static_cast<uint8_t>(text[start]) & 0xc0) == 0x80) --start;
    uint32_t point = DecodeUtf8(std::string_view(text).substr(start)) + 1;
    text.resize(start);
    if (point == 0xd800) point = 0xe000;  // The surrogates are no characters.
    if (point <= 0x10ffff) {
      AppendUtf8(&text, point);
      return text;
    }
  }
  return std::nullopt;
}

std::optional<std::string> IncrementBytes(std::string text) {
  for (; !text.empty(); text.pop_back()) {
    if (static_cast<uint8_t>(text.back()) == 0xff) continue;
    text.back() = static_cast<char>(static_cast<uint8_t>(text.back()) + 1);
    return text;
  }
  return std::nullopt;
}

// An array of one fixed-width value.
template <typename T>
std::shared_ptr<arrow::Array> OneOf(const std::shared_ptr<arrow::DataType>& type, T value) {
  auto buffer =
      arrow::Buffer::FromString(std::string(reinterpret_cast<const char*>(&value), sizeof(T)));
  return arrow::MakeArray(arrow::ArrayData::Make(type, 1, {nullptr, std::move(buffer)}, 0));
}

std::shared_ptr<arrow::Array> OneInteger(const std::shared_ptr<arrow::DataType>& type,
                                         int64_t value) {
  switch (type->byte_width()) {
    case 1:
      return OneOf(type, static_cast<int8_t>(value));
    case 2:
      return OneOf(type, static_cast<int16_t>(value));
    case 4:
      return OneOf(type, static_cast<int32_t>(value));
    default:
      return OneOf(type, value);
  }
}

Result<std::shared_ptr<arrow::Array>> OneBytes(const std::shared_ptr<arrow::DataType>& type,
                                               const std::string& value) {
  const auto buffer = arrow::Buffer::FromString(value);
  if (type->id() == arrow::Type::STRING)
    return arrow::MakeArrayFromScalar(arrow::StringScalar(buffer), 1);
  return arrow::MakeArrayFromScalar(arrow::BinaryScalar(buffer), 1);
}

bool IsText(const types::DataType& type) {
  return type.kind() == TypeKind::kString || type.kind() == TypeKind::kChar;
}

}  // namespace

std::string TruncateDown(std::string_view text, size_t size, bool utf8) {
  return std::string(text.substr(0, utf8 ? BytesOfCharacters(text, size) : size));
}

std::optional<std::string> TruncateUp(std::string_view text, size_t size, bool utf8) {
  std::string cut = TruncateDown(text, size, utf8);
  if (cut.size() == text.size()) return cut;
  return utf8 ? IncrementUtf8(std::move(cut)) : IncrementBytes(std::move(cut));
}

template <typename ArrayType>
void ColumnStats::UpdateIntegers(const arrow::Array& array) {
  const auto& values = static_cast<const ArrayType&>(array);
  const bool nulls = values.null_count() > 0;
  int64_t least = bounds_.min_integer, greatest = bounds_.max_integer;
  for (int64_t i = 0; i < values.length(); ++i) {
    if (nulls && values.IsNull(i)) continue;
    const auto value = static_cast<int64_t>(values.Value(i));
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
  bounds_.min_integer = least;
  bounds_.max_integer = greatest;
}

template <typename ArrayType>
void ColumnStats::UpdateReals(const arrow::Array& array) {
  const auto& values = static_cast<const ArrayType&>(array);
  bool seen = seen_;
  for (int64_t i = 0; i < values.length(); ++i) {
    if (values.IsNull(i)) continue;
    const double value = values.Value(i);
    unknown_ = unknown_ || std::isnan(value);
    bounds_.min_real = seen ? std::min(bounds_.min_real, value) : value;
    bounds_.max_real = seen ? std::max(bounds_.max_real, value) : value;
    seen = true;
  }
}

void ColumnStats::UpdateDecimals(const arrow::Array& array) {
  const auto& values = static_cast<const arrow::Decimal128Array&>(array);
  bool seen = seen_;
  for (int64_t i = 0; i < values.length(); ++i) {
    if (values.IsNull(i)) continue;
    const arrow::Decimal128 value(values.GetValue(i));
    if (!seen || value < bounds_.min_decimal) bounds_.min_decimal = value;
    if (!seen || value > bounds_.max_decimal) bounds_.max_decimal = value;
    seen = true;
  }
}

void ColumnStats::UpdateBytes(const arrow::Array& array) {
  const auto& values = static_cast<const arrow::BinaryArray&>(array);
  std::string_view least = bounds_.min_bytes, greatest = bounds_.max_bytes;
  bool seen = seen_;
  for (int64_t i = 0; i < values.length(); ++i) {
    if (values.IsNull(i)) continue;
    const std::string_view value = values.GetView(i);
    if (!seen || value < least) least = value;
    if (!seen || value > greatest) greatest = value;
    seen = true;
  }
  // The views may look into the old strings: copy both before either is replaced.
  std::string new_least(least), new_greatest(greatest);
  bounds_.min_bytes = std::move(new_least);
  bounds_.max_bytes = std::move(new_greatest);
}

void ColumnStats::Update(const arrow::Array& array) {
  null_count_ += array.null_count();
  if (array.null_count() == array.length()) return;
  switch (array.type_id()) {
    case arrow::Type::BOOL:
      UpdateIntegers<arrow::BooleanArray>(array);
      break;
    case arrow::Type::INT8:
      UpdateIntegers<arrow::Int8Array>(array);
      break;
    case arrow::Type::INT16:
      UpdateIntegers<arrow::Int16Array>(array);
      break;
    case arrow::Type::INT32:
      UpdateIntegers<arrow::Int32Array>(array);
      break;
    case arrow::Type::INT64:
      UpdateIntegers<arrow::Int64Array>(array);
      break;
    case arrow::Type::DATE32:
      UpdateIntegers<arrow::Date32Array>(array);
      break;
    case arrow::Type::TIME32:
      UpdateIntegers<arrow::Time32Array>(array);
      break;
    case arrow::Type::TIMESTAMP:
      UpdateIntegers<arrow::TimestampArray>(array);
      break;
    case arrow::Type::FLOAT:
      UpdateReals<arrow::FloatArray>(array);
      break;
    case arrow::Type::DOUBLE:
      UpdateReals<arrow::DoubleArray>(array);
      break;
    case arrow::Type::DECIMAL128:
      UpdateDecimals(array);
      break;
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      UpdateBytes(array);
      break;
    default:
      unknown_ = true;
  }
  seen_ = true;
}

Result<std::pair<std::shared_ptr<arrow::Array>, std::shared_ptr<arrow::Array>>> ColumnStats::MinMax(
    size_t truncate) const {
  const auto type = FileArrowType(*type_);
  const auto pair = [](auto least, auto greatest) {
    return std::make_pair(std::move(least), std::move(greatest));
  };
  ASSIGN_OR_RAISE(const auto null, arrow::MakeArrayOfNull(type, 1));
  if (!seen_ || unknown_) return pair(null, null);
  switch (type->id()) {
    case arrow::Type::BOOL:
      return pair(
          std::shared_ptr<arrow::Array>(OneOf(type, static_cast<uint8_t>(bounds_.min_integer))),
          std::shared_ptr<arrow::Array>(OneOf(type, static_cast<uint8_t>(bounds_.max_integer))));
    case arrow::Type::FLOAT:
      return pair(OneOf(type, static_cast<float>(bounds_.min_real)),
                  OneOf(type, static_cast<float>(bounds_.max_real)));
    case arrow::Type::DOUBLE:
      return pair(OneOf(type, bounds_.min_real), OneOf(type, bounds_.max_real));
    case arrow::Type::DECIMAL128:
      return pair(OneOf(type, bounds_.min_decimal.ToBytes()),
                  OneOf(type, bounds_.max_decimal.ToBytes()));
    case arrow::Type::STRING:
    case arrow::Type::BINARY: {
      const std::optional<std::string> greatest =
          TruncateUp(bounds_.max_bytes, truncate, IsText(*type_));
      if (!greatest.has_value()) return pair(null, null);
      ASSIGN_OR_RAISE(auto low,
                      OneBytes(type, TruncateDown(bounds_.min_bytes, truncate, IsText(*type_))));
      ASSIGN_OR_RAISE(auto high, OneBytes(type, *greatest));
      return pair(std::move(low), std::move(high));
    }
    default:
      return pair(OneInteger(type, bounds_.min_integer), OneInteger(type, bounds_.max_integer));
  }
}

StatsCollector::StatsCollector(std::vector<types::DataTypePtr> types, size_t truncate)
    : types_(std::move(types)), truncate_(truncate) {
  for (const auto& type : types_) columns_.emplace_back(type);
}

void StatsCollector::Update(const std::vector<std::shared_ptr<arrow::Array>>& columns) {
  for (size_t i = 0; i < columns_.size(); ++i) columns_[i].Update(*columns[i]);
}

Result<SimpleStats> StatsCollector::Finish() const {
  std::vector<std::shared_ptr<arrow::Array>> least, greatest;
  SimpleStats stats;
  for (const ColumnStats& column : columns_) {
    ASSIGN_OR_RAISE(auto bounds, column.MinMax(truncate_));
    least.push_back(std::move(bounds.first));
    greatest.push_back(std::move(bounds.second));
    stats.null_counts.push_back(column.null_count());
  }
  ASSIGN_OR_RAISE(stats.min_values, EncodeRow(types_, least, 0));
  ASSIGN_OR_RAISE(stats.max_values, EncodeRow(types_, greatest, 0));
  return stats;
}

}  // namespace sluice::lake::paimon
