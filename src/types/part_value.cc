#include "types/part_value.h"

#include "base/bytes.h"
#include "base/check.h"
#include "types/column_view_internal.h"
#include "types/layout_internal.h"

namespace sluice::types {
namespace {

Status BadPart(const DataType& type) {
  return Corrupt("value of a row is damaged type=", type.ToString());
}

Status OutOfRange(const DataType& type) {
  return Corrupt("value is out of the range of its type=", type.ToString());
}

constexpr int64_t kTimeMsEnd = 86'400'000;

int64_t SignExtended(uint64_t bits, size_t width) {
  const size_t shift = 64 - 8 * width;
  return static_cast<int64_t>(bits << shift) >> shift;
}

}  // namespace

Result<int64_t> PartValue::Integer(std::string_view part) const {
  const ValueLayout layout = LayoutOf(*type_);
  CHECK(layout.shape == Shape::kFixed);
  uint64_t bits = 0;
  if (layout.varint && format_ == RowFormat::kCompacted) {
    if (!TakeVarint(&part, &bits)) return BadPart(*type_);
  } else {
    if (part.size() != layout.width) return BadPart(*type_);
    char raw[8] = {};
    part.copy(raw, layout.width);
    bits = LoadLe<uint64_t>(raw);
  }
  return SignExtended(bits, layout.width);
}

Result<PartValue::Time> PartValue::Timestamp(std::string_view part) const {
  if (LayoutOf(*type_).shape == Shape::kFixed) {
    ASSIGN_OR_RAISE(const int64_t ms, Integer(part));
    return Time(ms, 0);
  }
  if (format_ == RowFormat::kIndexed) {
    if (part.size() != 12) return BadPart(*type_);
    return Time(LoadLe<int64_t>(part.data()), LoadLe<int32_t>(part.data() + 8));
  }
  uint64_t ms = 0;
  uint64_t nanos = 0;
  if (!TakeVarint(&part, &ms) || !TakeVarint(&part, &nanos, 5)) return BadPart(*type_);
  return Time(static_cast<int64_t>(ms), static_cast<int32_t>(nanos));
}

Result<arrow::Decimal256> PartValue::Decimal(std::string_view part) const {
  if (LayoutOf(*type_).shape == Shape::kFixed) {
    ASSIGN_OR_RAISE(const int64_t unscaled, Integer(part));
    return arrow::Decimal256(unscaled);
  }
  ASSIGN_OR_RAISE(const std::string_view bytes, Bytes(part));
  if (bytes.empty() || bytes.size() > kBigDecimalBytes) return BadPart(*type_);
  return arrow::Decimal256::FromBigEndian(reinterpret_cast<const uint8_t*>(bytes.data()),
                                          static_cast<int32_t>(bytes.size()));
}

Result<std::string_view> PartValue::Bytes(std::string_view part) const {
  const ValueLayout layout = LayoutOf(*type_);
  CHECK(layout.shape == Shape::kBytes || layout.shape == Shape::kBigDecimal);
  if (format_ == RowFormat::kIndexed) return part;
  uint64_t size = 0;
  if (!TakeVarint(&part, &size, 5) || size != part.size()) return BadPart(*type_);
  return part;
}

Status PartValue::CheckRange(std::string_view part) const {
  switch (type_->kind()) {
    case TypeKind::kDecimal: {
      ASSIGN_OR_RAISE(const arrow::Decimal256 value, Decimal(part));
      return value.FitsInPrecision(type_->precision()) ? Status::OK() : OutOfRange(*type_);
    }
    case TypeKind::kTime: {
      ASSIGN_OR_RAISE(const int64_t ms, Integer(part));
      return ms >= 0 && ms < kTimeMsEnd ? Status::OK() : OutOfRange(*type_);
    }
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz: {
      if (LayoutOf(*type_).shape == Shape::kFixed) return Status::OK();  // Any millisecond.
      ASSIGN_OR_RAISE(const Time time, Timestamp(part));
      int64_t units = 0;
      const bool fits = ToArrowTime(type_->precision(), {time.first, time.second}, &units);
      return fits ? Status::OK() : OutOfRange(*type_);
    }
    case TypeKind::kBinary: {
      ASSIGN_OR_RAISE(const std::string_view bytes, Bytes(part));
      const bool fits = bytes.size() <= static_cast<size_t>(type_->length());
      return fits ? Status::OK() : OutOfRange(*type_);
    }
    default:
      return Status::OK();
  }
}

void PartValue::PutInteger(int64_t value, std::string* out) const {
  const ValueLayout layout = LayoutOf(*type_);
  CHECK(layout.shape == Shape::kFixed);
  const auto bits = static_cast<uint64_t>(value);
  out->clear();
  if (layout.varint && format_ == RowFormat::kCompacted)
    return AppendVarint(out, layout.width == 4 ? static_cast<uint32_t>(bits) : bits);
  AppendLe(out, bits);
  out->resize(layout.width);
}

void PartValue::PutDecimal(const arrow::Decimal256& value, std::string* out) const {
  const auto words = value.little_endian_array();
  if (LayoutOf(*type_).shape == Shape::kFixed)
    return PutInteger(static_cast<int64_t>(words[0]), out);
  std::string bytes;
  AppendBe(&bytes, words[1]);
  AppendBe(&bytes, words[0]);
  // As few bytes as keep the sign.
  size_t skip = 0;
  const char fill = bytes[0] < 0 ? '\xff' : '\0';
  while (skip + 1 < bytes.size() && bytes[skip] == fill && (bytes[skip + 1] < 0) == (fill != 0))
    ++skip;
  PutBytes(std::string_view(bytes).substr(skip), out);
}

void PartValue::PutBytes(std::string_view value, std::string* out) const {
  CHECK(LayoutOf(*type_).padded_size == 0);
  out->clear();
  if (format_ == RowFormat::kCompacted) AppendVarint(out, value.size());
  out->append(value);
}

}  // namespace sluice::types
