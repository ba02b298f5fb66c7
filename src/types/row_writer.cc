#include "base/bytes.h"
#include "types/row_writer_internal.h"

namespace sluice::types {
namespace {

void SetBit(std::string* out, size_t at, size_t bit) {
  char& byte = (*out)[at + bit / 8];
  byte = static_cast<char>(byte | 1 << (bit & 7));
}

void AppendFixed(uint64_t bits, size_t width, std::string* out) {
  char raw[8];
  StoreLe(raw, bits);
  out->append(raw, width);
}

/// As AppendVarint, for the inner loop: one append.
void AppendVarintFast(uint64_t value, std::string* out) {
  if (value < 0x80) return out->push_back(static_cast<char>(value));
  char raw[10];
  size_t size = 0;
  for (; value >= 0x80; value >>= 7) raw[size++] = static_cast<char>(value | 0x80);
  raw[size++] = static_cast<char>(value);
  out->append(raw, size);
}

/// Put `bytes` behind the section that starts at `base`, padded to words, and return what the slot
/// says of it.
uint64_t AppendPiece(std::string_view bytes, size_t base, std::string* out) {
  const uint64_t offset = out->size() - base;
  out->append(bytes);
  out->append(RoundUpToWord(bytes.size()) - bytes.size(), '\0');
  return offset << 32 | bytes.size();
}

uint64_t InlineSlot(std::string_view bytes) {
  char raw[8] = {};
  std::memcpy(raw, bytes.data(), bytes.size());
  raw[7] = static_cast<char>(kInlineMark | bytes.size());
  return LoadLe<uint64_t>(raw);
}

}  // namespace

void RowWriter::AppendRow(const std::vector<ColumnView>& columns, int64_t row, std::string* out) {
  switch (layout_) {
    case RowLayout::kCompacted:
      return AppendCompactedRow(columns, row, out);
    case RowLayout::kIndexed:
      return AppendIndexedRow(columns, row, out);
    case RowLayout::kBinary:
      return AppendBinaryRow(columns, row, out);
  }
}

void RowWriter::AppendCompactedRow(const std::vector<ColumnView>& columns, int64_t row,
                                   std::string* out) {
  const size_t nulls_at = out->size();
  out->append(NullBytes(columns.size()), '\0');
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].IsNull(row)) {
      SetBit(out, nulls_at, i);
    } else {
      AppendCompactedValue(columns[i], row, out);
    }
  }
}

void RowWriter::AppendCompactedValue(const ColumnView& column, int64_t row, std::string* out) {
  const ValueLayout& layout = column.layout();
  const auto with_size = [out](std::string_view bytes) {
    AppendVarint(out, bytes.size());
    out->append(bytes);
  };
  switch (layout.shape) {
    case Shape::kFixed: {
      const uint64_t bits = column.Bits(row);
      if (!layout.varint) return AppendFixed(bits, layout.width, out);
      return AppendVarintFast(layout.width == 4 ? static_cast<uint32_t>(bits) : bits, out);
    }
    case Shape::kBytes:
      return with_size(column.Bytes(row));
    case Shape::kTimePair: {
      const TimePair time = column.Time(row);
      AppendVarint(out, static_cast<uint64_t>(time.ms));
      return AppendVarint(out, static_cast<uint32_t>(time.nanos));
    }
    case Shape::kBigDecimal: {
      char bytes[kBigDecimalBytes];
      return with_size({bytes, column.BigDecimal(row, bytes)});
    }
    default:
      return with_size(Nested(column, row));
  }
}

void RowWriter::AppendIndexedRow(const std::vector<ColumnView>& columns, int64_t row,
                                 std::string* out) {
  const size_t nulls_at = out->size();
  const size_t listed =
      std::ranges::count_if(columns, [](const auto& c) { return HasListedSize(c.layout()); });
  size_t size_at = nulls_at + NullBytes(columns.size());
  out->append(NullBytes(columns.size()) + listed * 4, '\0');
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].IsNull(row)) {
      SetBit(out, nulls_at, i);
      continue;
    }
    const size_t value_at = out->size();
    AppendIndexedValue(columns[i], row, out);
    if (!HasListedSize(columns[i].layout())) continue;
    StoreLe(out->data() + size_at, static_cast<int32_t>(out->size() - value_at));
    size_at += 4;
  }
}

void RowWriter::AppendIndexedValue(const ColumnView& column, int64_t row, std::string* out) {
  switch (column.layout().shape) {
    case Shape::kFixed:
      return AppendFixed(column.Bits(row), column.layout().width, out);
    case Shape::kBytes:
      return AppendPadded(column.Bytes(row), column.layout(), out);
    case Shape::kTimePair: {
      const TimePair time = column.Time(row);
      AppendLe(out, time.ms);
      return AppendLe(out, time.nanos);
    }
    case Shape::kBigDecimal: {
      char bytes[kBigDecimalBytes];
      out->append(bytes, column.BigDecimal(row, bytes));
      return;
    }
    default:
      out->append(Nested(column, row));
  }
}

void RowWriter::AppendPadded(std::string_view bytes, const ValueLayout& layout, std::string* out) {
  out->append(bytes);
  const auto size = static_cast<size_t>(layout.padded_size);
  if (size == 0) return;
  if (bytes.size() <= size) {
    out->append(size - bytes.size(), '\0');
  } else if (status_.ok()) {
    status_ = Error(ErrorCode::kInvalidTable, "value is longer than its column length=", size,
                    " size_bytes=", bytes.size());
  }
}

void RowWriter::AppendBinaryRow(const std::vector<ColumnView>& columns, int64_t row,
                                std::string* out) {
  const size_t base = out->size();
  const size_t slots_at = base + BinaryNullBytes(columns.size());
  out->append(BinaryNullBytes(columns.size()) + columns.size() * kSlotBytes, '\0');
  for (size_t i = 0; i < columns.size(); ++i) {
    const ColumnView& column = columns[i];
    const size_t slot = slots_at + i * kSlotBytes;
    const bool null = column.IsNull(row);
    if (null) SetBit(out, base, 8 + i);
    if (column.layout().shape == Shape::kFixed) {
      if (null) continue;
      char raw[8];
      StoreLe(raw, column.Bits(row));
      std::memcpy(out->data() + slot, raw, column.layout().width);
    } else if (!null) {
      PutSlot(column, row, base, slot, out);
    } else if (column.layout().shape == Shape::kBigDecimal ||
               column.layout().shape == Shape::kTimePair) {
      // NULL keeps its room, so that a writer in Java can set the value later; hashes see it.
      const uint64_t offset = out->size() - base;
      out->append(column.layout().shape == Shape::kBigDecimal ? kBigDecimalBytes : kSlotBytes,
                  '\0');
      StoreLe(out->data() + slot, offset << 32);
    }
  }
}

void RowWriter::PutSlot(const ColumnView& column, int64_t row, size_t base, size_t slot,
                        std::string* out) {
  uint64_t value = 0;
  switch (column.layout().shape) {
    case Shape::kBytes: {
      const std::string_view bytes = column.Bytes(row);
      value = bytes.size() <= kInlineBytesMax ? InlineSlot(bytes) : AppendPiece(bytes, base, out);
      break;
    }
    case Shape::kTimePair: {
      const TimePair time = column.Time(row);
      value = static_cast<uint64_t>(out->size() - base) << 32 | static_cast<uint32_t>(time.nanos);
      AppendLe(out, time.ms);
      break;
    }
    case Shape::kBigDecimal: {
      char bytes[kBigDecimalBytes] = {};
      const size_t size = column.BigDecimal(row, bytes);
      std::memset(bytes + size, 0, kBigDecimalBytes - size);
      value = (AppendPiece({bytes, kBigDecimalBytes}, base, out) & ~uint64_t{0xffffffff}) | size;
      break;
    }
    default:
      value = AppendPiece(Nested(column, row), base, out);
  }
  StoreLe(out->data() + slot, value);
}

void RowWriter::AppendArray(const ColumnView& element, ColumnView::Range range, std::string* out) {
  const size_t base = out->size();
  const auto count = static_cast<size_t>(range.to - range.from);
  const size_t width = element.layout().width;
  const size_t header = ArrayHeaderBytes(count);
  out->append(RoundUpToWord(header + count * width), '\0');
  StoreLe(out->data() + base, static_cast<int32_t>(count));
  for (size_t i = 0; i < count; ++i) {
    const int64_t row = range.from + static_cast<int64_t>(i);
    const size_t slot = base + header + i * width;
    if (element.IsNull(row)) {
      SetBit(out, base + 4, i);
    } else if (element.layout().shape != Shape::kFixed) {
      PutSlot(element, row, base, slot, out);
    } else {
      char raw[8];
      StoreLe(raw, element.Bits(row));
      std::memcpy(out->data() + slot, raw, width);
    }
  }
}

void RowWriter::AppendMap(const ColumnView& map, int64_t row, std::string* out) {
  const size_t size_at = out->size();
  out->append(4, '\0');
  AppendArray(map.children()[0], map.Elements(row), out);
  StoreLe(out->data() + size_at, static_cast<int32_t>(out->size() - size_at - 4));
  AppendArray(map.children()[1], map.Elements(row), out);
}

std::string RowWriter::Nested(const ColumnView& column, int64_t row) {
  std::string bytes;
  switch (column.layout().shape) {
    case Shape::kArray:
      AppendArray(column.children()[0], column.Elements(row), &bytes);
      break;
    case Shape::kMap:
      AppendMap(column, row, &bytes);
      break;
    default:
      AppendRow(column.children(), row, &bytes);
  }
  return bytes;
}

}  // namespace sluice::types
