#include "base/bytes.h"
#include "types/row_reader_internal.h"

namespace sluice::types {
namespace {

bool BitAt(std::string_view bytes, size_t bit) {
  return (static_cast<uint8_t>(bytes[bit / 8]) >> (bit & 7) & 1) != 0;
}

uint64_t FixedBits(const char* at, size_t width) {
  char raw[8] = {};
  std::memcpy(raw, at, width);
  return LoadLe<uint64_t>(raw);
}

Status TooShort(const char* what) { return Corrupt("row ends early at=", what); }

/// Take a size and as many bytes off the front.
Status TakeSized(std::string_view* rest, std::string_view* bytes) {
  uint64_t size = 0;
  if (!TakeVarint(rest, &size, 5) || size > rest->size()) return TooShort("sized value");
  *bytes = rest->substr(0, size);
  rest->remove_prefix(size);
  return Status::OK();
}

Status AtColumn(const Status& status, size_t column) {
  return status.ok() ? status : status.WithMessage(status.message(), " column=", column);
}

/// Bytes that fill a CHAR(n) up are no part of its text.
std::string_view WithoutPadding(std::string_view bytes) {
  const size_t last = bytes.find_last_not_of('\0');
  return bytes.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

}  // namespace

Status RowReader::ReadRow(std::string_view row, std::vector<ColumnSink>* sinks) const {
  switch (layout_) {
    case RowLayout::kCompacted:
      return ReadCompactedRow(row, sinks);
    case RowLayout::kIndexed:
      return ReadIndexedRow(row, sinks);
    case RowLayout::kBinary:
      return ReadBinaryRow(row, sinks);
  }
  return Status::OK();
}

Status RowReader::ReadCompactedRow(std::string_view row, std::vector<ColumnSink>* sinks) const {
  const size_t null_bytes = NullBytes(sinks->size());
  if (row.size() < null_bytes) return TooShort("null bits");
  std::string_view rest = row.substr(null_bytes);
  for (size_t i = 0; i < sinks->size(); ++i) {
    if (BitAt(row, i)) {
      (*sinks)[i].AppendNull();
    } else if (const Status status = ReadCompactedValue(&rest, &(*sinks)[i]); !status.ok()) {
      return AtColumn(status, i);
    }
  }
  return Status::OK();
}

Status RowReader::ReadCompactedValue(std::string_view* rest, ColumnSink* sink) const {
  const ValueLayout& layout = sink->layout();
  if (layout.shape == Shape::kFixed) {
    uint64_t bits = 0;
    if (layout.varint) {
      if (!TakeVarint(rest, &bits, layout.width == 4 ? 5 : 10)) return TooShort("number");
    } else {
      if (rest->size() < layout.width) return TooShort("fixed value");
      bits = FixedBits(rest->data(), layout.width);
      rest->remove_prefix(layout.width);
    }
    sink->AppendBits(bits);
    return Status::OK();
  }
  if (layout.shape == Shape::kTimePair) {
    uint64_t ms = 0;
    uint64_t nanos = 0;
    if (!TakeVarint(rest, &ms) || !TakeVarint(rest, &nanos, 5)) return TooShort("timestamp");
    return sink->AppendTime({static_cast<int64_t>(ms), static_cast<int32_t>(nanos)});
  }
  std::string_view bytes;
  RETURN_NOT_OK(TakeSized(rest, &bytes));
  return ReadWhole(bytes, sink);
}

Status RowReader::ReadIndexedValue(std::string_view bytes, ColumnSink* sink) const {
  switch (sink->layout().shape) {
    case Shape::kFixed:
      sink->AppendBits(FixedBits(bytes.data(), bytes.size()));
      return Status::OK();
    case Shape::kTimePair:
      return sink->AppendTime({LoadLe<int64_t>(bytes.data()), LoadLe<int32_t>(bytes.data() + 8)});
    default:
      return ReadWhole(sink->type().kind() == TypeKind::kChar ? WithoutPadding(bytes) : bytes,
                       sink);
  }
}

Status RowReader::ReadIndexedRow(std::string_view row, std::vector<ColumnSink>* sinks) const {
  std::vector<ValueLayout> layouts;
  layouts.reserve(sinks->size());
  for (const ColumnSink& sink : *sinks) layouts.push_back(sink.layout());
  std::vector<std::optional<std::string_view>> parts(layouts.size());
  RETURN_NOT_OK(SplitIndexed(layouts, row, parts));
  for (size_t i = 0; i < parts.size(); ++i)
    RETURN_NOT_OK(AtColumn(ReadPart(parts[i], &(*sinks)[i]), i));
  return Status::OK();
}

Status RowReader::ReadPart(std::optional<std::string_view> part, ColumnSink* sink) const {
  if (!part.has_value()) {
    sink->AppendNull();
    return Status::OK();
  }
  if (layout_ == RowLayout::kIndexed) return ReadIndexedValue(*part, sink);
  return ReadCompactedValue(&*part, sink);
}

Status RowReader::ReadBinaryRow(std::string_view row, std::vector<ColumnSink>* sinks) const {
  const size_t slots_at = BinaryNullBytes(sinks->size());
  if (row.size() < slots_at + sinks->size() * kSlotBytes) return TooShort("slots");
  size_t budget = row.size();
  for (size_t i = 0; i < sinks->size(); ++i) {
    ColumnSink& sink = (*sinks)[i];
    const char* slot = row.data() + slots_at + i * kSlotBytes;
    if (BitAt(row, 8 + i)) {
      sink.AppendNull();
    } else if (sink.layout().shape == Shape::kFixed) {
      sink.AppendBits(FixedBits(slot, sink.layout().width));
    } else {
      RETURN_NOT_OK(AtColumn(ReadSlot(row, LoadLe<uint64_t>(slot), &budget, &sink), i));
    }
  }
  return Status::OK();
}

Status RowReader::ReadSlot(std::string_view section, uint64_t slot, size_t* budget,
                           ColumnSink* sink) const {
  const Shape shape = sink->layout().shape;
  if (shape == Shape::kBytes && (slot >> 56 & kInlineMark) != 0) {
    const uint64_t size = slot >> 56 & ~uint64_t{kInlineMark};
    if (size > kInlineBytesMax)
      return Corrupt("inline value has no fitting size size_bytes=", size);
    char raw[8];
    StoreLe(raw, slot);
    return sink->AppendBytes({raw, size});
  }
  const uint64_t offset = slot >> 32;
  const uint64_t size = shape == Shape::kTimePair ? 8 : slot & 0xffffffff;
  if (offset > section.size() || size > section.size() - offset) return TooShort("variable part");
  // Pieces do not overlap, so few bytes cannot unfold to many.
  if (size > *budget) return Corrupt("pieces of a section overlap");
  *budget -= size;
  const std::string_view piece = section.substr(offset, size);
  if (shape != Shape::kTimePair) return ReadWhole(piece, sink);
  return sink->AppendTime({LoadLe<int64_t>(piece.data()), static_cast<int32_t>(slot & 0xffffffff)});
}

Status RowReader::ReadWhole(std::string_view bytes, ColumnSink* sink) const {
  switch (sink->layout().shape) {
    case Shape::kBytes:
      return sink->AppendBytes(bytes);
    case Shape::kBigDecimal:
      return sink->AppendBigDecimal(bytes);
    case Shape::kArray: {
      int64_t count = 0;
      RETURN_NOT_OK(ReadArray(bytes, &sink->children()[0], &count));
      break;
    }
    case Shape::kMap:
      RETURN_NOT_OK(ReadMap(bytes, sink));
      break;
    default:
      RETURN_NOT_OK(ReadRow(bytes, &sink->children()));
  }
  sink->AppendNested();
  return Status::OK();
}

Status RowReader::ReadArray(std::string_view bytes, ColumnSink* element, int64_t* count) const {
  if (bytes.size() < 4) return TooShort("array size");
  const auto stated = LoadLe<int32_t>(bytes.data());
  if (stated < 0) return Corrupt("array has a negative size count=", stated);
  const auto elements = static_cast<size_t>(stated);
  const size_t width = element->layout().width;
  const size_t header = ArrayHeaderBytes(elements);
  if (header + elements * width > bytes.size()) return TooShort("array elements");
  size_t budget = bytes.size();
  for (size_t i = 0; i < elements; ++i) {
    const char* slot = bytes.data() + header + i * width;
    if (BitAt(bytes.substr(4), i)) {
      element->AppendNull();
    } else if (element->layout().shape == Shape::kFixed) {
      element->AppendBits(FixedBits(slot, width));
    } else {
      RETURN_NOT_OK(ReadSlot(bytes, LoadLe<uint64_t>(slot), &budget, element));
    }
  }
  *count = stated;
  return Status::OK();
}

Status RowReader::ReadMap(std::string_view bytes, ColumnSink* map) const {
  if (bytes.size() < 4) return TooShort("map size");
  const auto key_bytes = LoadLe<int32_t>(bytes.data());
  const std::string_view rest = bytes.substr(4);
  if (key_bytes < 0 || static_cast<size_t>(key_bytes) > rest.size()) return TooShort("map keys");
  int64_t keys = 0;
  int64_t values = 0;
  RETURN_NOT_OK(
      ReadArray(rest.substr(0, static_cast<size_t>(key_bytes)), &map->children()[0], &keys));
  RETURN_NOT_OK(
      ReadArray(rest.substr(static_cast<size_t>(key_bytes)), &map->children()[1], &values));
  if (map->children()[0].null_count() > 0) return Corrupt("map has a null key");
  if (keys != values)
    return Corrupt("map has another number of values keys=", keys, " values=", values);
  return Status::OK();
}

Status SplitCompacted(const std::vector<ValueLayout>& layouts, std::string_view row,
                      std::span<std::optional<std::string_view>> out) {
  const size_t null_bytes = NullBytes(layouts.size());
  if (row.size() < null_bytes) return TooShort("null bits");
  std::string_view rest = row.substr(null_bytes);
  for (size_t i = 0; i < layouts.size(); ++i) {
    out[i].reset();
    if (BitAt(row, i)) continue;
    const ValueLayout& layout = layouts[i];
    const char* from = rest.data();
    uint64_t number = 0;
    bool whole = true;
    if (layout.shape == Shape::kTimePair) {
      whole = TakeVarint(&rest, &number) && TakeVarint(&rest, &number, 5);
    } else if (layout.varint) {
      whole = TakeVarint(&rest, &number, layout.width == 4 ? 5 : 10);
    } else {
      uint64_t size = layout.width;
      if (layout.shape != Shape::kFixed) whole = TakeVarint(&rest, &size, 5);
      whole = whole && size <= rest.size();
      if (whole) rest.remove_prefix(size);
    }
    if (!whole) return AtColumn(TooShort("value"), i);
    out[i] = std::string_view(from, static_cast<size_t>(rest.data() - from));
  }
  return Status::OK();
}

Status SplitIndexed(const std::vector<ValueLayout>& layouts, std::string_view row,
                    std::span<std::optional<std::string_view>> out) {
  const size_t listed = std::ranges::count_if(layouts, HasListedSize);
  const size_t sizes_at = NullBytes(layouts.size());
  if (row.size() < sizes_at + listed * 4) return TooShort("header");
  std::string_view rest = row.substr(sizes_at + listed * 4);
  const char* next_size = row.data() + sizes_at;
  for (size_t i = 0; i < layouts.size(); ++i) {
    out[i].reset();
    if (BitAt(row, i)) continue;
    const ValueLayout& layout = layouts[i];
    size_t size = layout.width;
    if (layout.shape == Shape::kTimePair) size = 12;
    if (layout.padded_size > 0) size = static_cast<size_t>(layout.padded_size);
    if (HasListedSize(layout)) {
      size = LoadLe<uint32_t>(next_size);  // A negative size is larger than any row.
      next_size += 4;
    }
    if (size > rest.size()) return AtColumn(TooShort("value"), i);
    out[i] = rest.substr(0, size);
    rest.remove_prefix(size);
  }
  return Status::OK();
}

}  // namespace sluice::types
