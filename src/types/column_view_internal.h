#pragma once
#include <arrow/type_fwd.h>

#include <optional>
#include <vector>

#include "base/bytes.h"
#include "types/layout_internal.h"

namespace sluice::types {

/// Epoch milliseconds and the nanoseconds within the millisecond.
struct TimePair {
  int64_t ms;
  int32_t nanos;
};

/// The time in Arrow's unit for a TIMESTAMP(_LTZ) of more than 3 digits. False when nanoseconds
/// leave the millisecond or the time is beyond what the unit can hold.
inline bool ToArrowTime(int32_t precision, TimePair time, int64_t* units) {
  const int64_t units_per_ms = precision <= 6 ? 1000 : 1000000;
  return time.nanos >= 0 && time.nanos <= 999999 &&
         !__builtin_mul_overflow(time.ms, units_per_ms, units) &&
         !__builtin_add_overflow(*units, time.nanos / (1000000 / units_per_ms), units);
}

/// Reads one Arrow column value by value in the units of the row layouts, by raw pointers set up
/// once per batch.
///
/// Lifetime: borrows the array and its type.
class ColumnView {
 public:
  /// Errors: kInvalidTable when the array's Arrow type does not hold values of `type`.
  static Result<ColumnView> Make(const DataType& type, const arrow::ArrayData& data,
                                 int64_t base = 0);

  const ValueLayout& layout() const { return layout_; }
  bool IsNull(int64_t row) const {
    if (source_ == Source::kNull) return true;
    if (validity_ == nullptr) return false;
    const int64_t at = row + offset_;
    return (validity_[at >> 3] >> (at & 7) & 1) == 0;
  }
  /// kFixed: the value's bits, sign-extended where it has a sign.
  uint64_t Bits(int64_t row) const {
    // The most frequent kinds need no call.
    if (source_ == Source::kInt32)
      return static_cast<uint64_t>(int64_t{LoadLe<int32_t>(values_ + (row + offset_) * 4)});
    if (source_ == Source::kInt64) return LoadLe<uint64_t>(values_ + (row + offset_) * 8);
    return OtherBits(row);
  }
  std::string_view Bytes(int64_t row) const;
  TimePair Time(int64_t row) const;
  /// kBigDecimal: write up to 16 bytes to `out`, return how many.
  size_t BigDecimal(int64_t row, char* out) const;
  /// kArray, kMap: the positions of the elements in the children.
  struct Range {
    int64_t from;
    int64_t to;
  };
  Range Elements(int64_t row) const;
  /// kArray: the element; kMap: key and value; kRow: its fields, at the same positions as the row.
  const std::vector<ColumnView>& children() const { return children_; }

 private:
  enum class Source : uint8_t {
    kNull,
    kBool,
    kInt8,
    kInt16,
    kInt32,
    kInt64,
    kFloat,
    kDouble,
    kTime,
    kTimestamp,
    kDecimal,
    kBytes,
    kFixedBytes,
    kNested,
  };
  uint64_t OtherBits(int64_t row) const;
  static std::optional<Source> SourceOf(TypeKind kind, arrow::Type::type arrow);
  Status SetSource(const DataType& type, const arrow::ArrayData& data);
  void SetWidth(const arrow::DataType& type);
  Status SetChildren(const DataType& type, const arrow::ArrayData& data);
  void SetUnit(int unit);

  ValueLayout layout_{Shape::kFixed};
  Source source_ = Source::kNull;
  const uint8_t* validity_ = nullptr;
  const char* values_ = nullptr;  // Buffer of the values, or of the offsets of variable ones.
  const char* bytes_ = nullptr;   // Buffer that offsets point into.
  int64_t offset_ = 0;            // Added to each position asked for.
  int32_t value_bytes_ = 0;       // Width of TIME and of fixed bytes.
  int64_t units_per_ms_ = 1;      // TIME, TIMESTAMP of a unit of at least milliseconds,
  int64_t ms_per_unit_ = 1;       // or of seconds.
  std::vector<ColumnView> children_;
};

/// Views of the columns of a batch. Errors: kInvalidTable naming the position of the column that
/// does not fit.
Result<std::vector<ColumnView>> ViewColumns(const std::vector<DataTypePtr>& types,
                                            const arrow::RecordBatch& batch,
                                            std::span<const int> positions);
/// All columns in order.
Result<std::vector<ColumnView>> ViewColumns(const std::vector<DataTypePtr>& types,
                                            const arrow::RecordBatch& batch);

}  // namespace sluice::types
