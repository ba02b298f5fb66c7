#pragma once
#include <arrow/util/decimal.h>

#include <string>
#include <string_view>
#include <utility>

#include "types/row.h"

namespace sluice::types {

/// The encoded value of one column, as RowCodec takes rows apart, read and written alone.
///
/// Format: that of RowCodec. Immutable. Errors of all reads: kCorruptRecord.
class PartValue {
 public:
  /// Epoch milliseconds and the nanoseconds within: compares like the time.
  using Time = std::pair<int64_t, int32_t>;

  PartValue(RowFormat format, DataTypePtr type) : format_(format), type_(std::move(type)) {}

  /// BOOLEAN, integers, DATE, TIME, DECIMAL of at most 18 digits (unscaled); the bits of a FLOAT or
  /// DOUBLE.
  Result<int64_t> Integer(std::string_view part) const;
  /// TIMESTAMP and TIMESTAMP_LTZ of any precision.
  Result<Time> Timestamp(std::string_view part) const;
  /// DECIMAL of any precision, unscaled.
  Result<arrow::Decimal256> Decimal(std::string_view part) const;
  /// CHAR, STRING, BINARY, BYTES.
  Result<std::string_view> Bytes(std::string_view part) const;
  /// Can a reader hold the value? A DECIMAL of its precision, a TIME within the day, a
  /// TIMESTAMP(_LTZ) that Arrow's unit reaches, a BINARY(n) of at most n bytes; of other types the
  /// bits and bytes are not looked at.
  Status CheckRange(std::string_view part) const;

  /// Make `out` the part of such a value. An integer is cut to the type's width.
  void PutInteger(int64_t value, std::string* out) const;
  /// A value that fits the type's precision.
  void PutDecimal(const arrow::Decimal256& value, std::string* out) const;
  void PutBytes(std::string_view value, std::string* out) const;

  const DataType& type() const { return *type_; }

 private:
  RowFormat format_;
  DataTypePtr type_;
};

}  // namespace sluice::types
