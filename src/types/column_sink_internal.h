#pragma once
#include <arrow/type_fwd.h>

#include <string>
#include <vector>

#include "types/column_view_internal.h"
#include "types/row.h"

namespace sluice::types {

/// Builds one Arrow column value by value from the units of the row layouts; the counterpart of
/// ColumnView.
class ColumnSink {
 public:
  static constexpr size_t kBinaryBytesMax = RowCodec::kBinaryBytesMax;

  explicit ColumnSink(DataTypePtr type);
  void Reserve(int64_t rows);

  const ValueLayout& layout() const { return layout_; }
  const DataType& type() const { return *type_; }
  int64_t length() const { return length_; }
  int64_t null_count() const { return nulls_; }

  void AppendNull();
  /// kFixed: the value's bits.
  void AppendBits(uint64_t bits) {
    if (!stored_as_is_) return AppendConverted(bits);
    char raw[8];
    StoreLe(raw, bits);
    values_.append(raw, layout_.width);
    AppendValid();
  }
  /// Errors: kCorruptRecord when the bytes are longer than a BINARY(n); shorter ones are padded
  /// with zeros.
  Status AppendBytes(std::string_view bytes);
  /// Errors: kCorruptRecord when the time is beyond what the Arrow unit can hold.
  Status AppendTime(TimePair time);
  /// Errors: kCorruptRecord for no or more than 16 bytes.
  Status AppendBigDecimal(std::string_view big_endian);
  /// kArray, kMap, kRow: the value whose elements or fields were just appended to the children.
  void AppendNested();
  std::vector<ColumnSink>& children() { return children_; }

  /// Errors: kRecordTooLarge when the values of a BINARY(n), NULLs among them, pass
  /// kBinaryBytesMax.
  Result<std::shared_ptr<arrow::ArrayData>> Finish();

 private:
  void AppendConverted(uint64_t bits);
  void AppendPlaceholder();
  /// One BINARY(n), filled up with zeros.
  void AppendPadded(std::string_view bytes);
  void AppendValid() {
    ++length_;
    if (nulls_ > 0) valid_.push_back(1);
  }

  DataTypePtr type_;
  ValueLayout layout_;
  bool stored_as_is_;  // Arrow holds the bits as rows do.
  int64_t length_ = 0;
  int64_t nulls_ = 0;
  bool too_large_ = false;  // Values are left out.
  std::string valid_;       // One byte per row, empty while there is no NULL.
  std::string values_;      // Values; one byte each for BOOLEAN; offsets where they vary.
  std::string bytes_;       // What the offsets point into.
  std::vector<ColumnSink> children_;
};

/// Make a sink per type and, at the end, a batch with columns named f0, f1, ….
std::vector<ColumnSink> MakeSinks(const std::vector<DataTypePtr>& types, int64_t rows);
Result<std::shared_ptr<arrow::RecordBatch>> FinishSinks(const std::vector<DataTypePtr>& types,
                                                        std::vector<ColumnSink> sinks,
                                                        int64_t rows);

}  // namespace sluice::types
