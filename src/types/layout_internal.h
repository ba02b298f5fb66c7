#pragma once
#include "types/data_type.h"

namespace sluice::types {

/// How the bytes of a type's values are built, in every row layout.
enum class Shape : uint8_t {
  kFixed,       ///< `width` bytes, little-endian.
  kBytes,       ///< CHAR, STRING, BINARY, BYTES.
  kBigDecimal,  ///< DECIMAL of more than 18 digits: big-endian two's complement, as few bytes as
                ///< possible.
  kTimePair,    ///< TIMESTAMP(_LTZ) of more than 3 digits: epoch milliseconds and the nanoseconds
                ///< within.
  kArray,
  kMap,
  kRow,
};

struct ValueLayout {
  Shape shape;
  uint8_t width = 8;    ///< Of kFixed, also inside arrays; all other shapes use 8-byte slots there.
  bool varint = false;  ///< COMPACTED rows write the value as a varint.
  int32_t padded_size = 0;  ///< CHAR and BINARY: their size in INDEXED rows.
};

inline ValueLayout LayoutOf(const DataType& type) {
  switch (type.kind()) {
    case TypeKind::kBoolean:
    case TypeKind::kTinyInt:
      return {Shape::kFixed, 1, false};
    case TypeKind::kSmallInt:
      return {Shape::kFixed, 2, false};
    case TypeKind::kInteger:
    case TypeKind::kDate:
    case TypeKind::kTime:
      return {Shape::kFixed, 4, true};
    case TypeKind::kFloat:
      return {Shape::kFixed, 4, false};
    case TypeKind::kBigInt:
      return {Shape::kFixed, 8, true};
    case TypeKind::kDouble:
      return {Shape::kFixed, 8, false};
    case TypeKind::kDecimal:
      return type.precision() <= 18 ? ValueLayout{Shape::kFixed, 8, true}
                                    : ValueLayout{Shape::kBigDecimal};
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      return type.precision() <= 3 ? ValueLayout{Shape::kFixed, 8, true}
                                   : ValueLayout{Shape::kTimePair};
    case TypeKind::kString:
    case TypeKind::kBytes:
      return {Shape::kBytes};
    case TypeKind::kChar:
    case TypeKind::kBinary:
      return {Shape::kBytes, 8, false, type.length()};
    case TypeKind::kArray:
      return {Shape::kArray};
    case TypeKind::kMap:
      return {Shape::kMap};
    case TypeKind::kRow:
      return {Shape::kRow};
  }
  return {Shape::kFixed};
}

/// INDEXED rows list the sizes of these in front.
inline bool HasListedSize(const ValueLayout& layout) {
  return layout.shape != Shape::kFixed && layout.shape != Shape::kTimePair &&
         layout.padded_size == 0;
}

// Sizes of the parts of rows, arrays and binary rows.
constexpr size_t kSlotBytes = 8;
inline size_t NullBytes(size_t columns) { return (columns + 7) / 8; }
inline size_t BinaryNullBytes(size_t columns) { return (columns + 8 + 63) / 64 * 8; }
inline size_t ArrayHeaderBytes(size_t count) { return 4 + (count + 31) / 32 * 4; }
inline size_t RoundUpToWord(size_t size) { return (size + 7) & ~size_t{7}; }

constexpr size_t kBigDecimalBytes = 16;  // Room of a wide decimal in a binary row, at most.
constexpr uint8_t kInlineMark = 0x80;    // Top byte of a slot that holds its bytes itself.
constexpr size_t kInlineBytesMax = 7;

enum class RowLayout : uint8_t { kCompacted, kIndexed, kBinary };

}  // namespace sluice::types
