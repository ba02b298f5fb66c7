#pragma once
#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace sluice::types {

enum class TypeKind : uint8_t {
  kChar,
  kString,
  kBoolean,
  kBinary,
  kBytes,
  kDecimal,
  kTinyInt,
  kSmallInt,
  kInteger,
  kBigInt,
  kFloat,
  kDouble,
  kDate,
  kTime,
  kTimestamp,
  kTimestampLtz,
  kArray,
  kMap,
  kRow,
};

class DataType;
using DataTypePtr = std::shared_ptr<const DataType>;

/// A field of a ROW type.
struct RowField {
  std::string name;
  DataTypePtr type;
  std::string description;
  int32_t field_id = -1;  ///< Fluss field id, -1 before the server assigned one.
};

/// A logical type of the Fluss system, immutable.
class DataType {
 public:
  /// Longest CHAR(n) and BINARY(n): a NULL of a BINARY takes its n bytes in memory.
  static constexpr int32_t kLengthMax = 65535;

  // Scalars. Lengths and precisions are checked by the coordinator when a table is made, not here.
  static DataTypePtr Of(TypeKind kind, bool nullable = true);
  static DataTypePtr Char(int32_t length, bool nullable = true);
  static DataTypePtr Binary(int32_t length, bool nullable = true);
  static DataTypePtr Decimal(int32_t precision, int32_t scale, bool nullable = true);
  static DataTypePtr Time(int32_t precision, bool nullable = true);
  static DataTypePtr Timestamp(int32_t precision, bool nullable = true);
  static DataTypePtr TimestampLtz(int32_t precision, bool nullable = true);
  static DataTypePtr Array(DataTypePtr element, bool nullable = true);
  static DataTypePtr Map(DataTypePtr key, DataTypePtr value, bool nullable = true);
  static DataTypePtr Row(std::vector<RowField> fields, bool nullable = true);

  TypeKind kind() const { return kind_; }
  bool nullable() const { return nullable_; }
  int32_t length() const { return length_; }        ///< CHAR, BINARY.
  int32_t precision() const { return precision_; }  ///< DECIMAL 1–38, TIME and TIMESTAMP(_LTZ) 0–9.
  int32_t scale() const { return scale_; }          ///< DECIMAL.
  const DataTypePtr& element() const { return children_[0]; }      ///< ARRAY.
  const DataTypePtr& key() const { return children_[0]; }          ///< MAP.
  const DataTypePtr& value() const { return children_[1]; }        ///< MAP.
  const std::vector<RowField>& fields() const { return fields_; }  ///< ROW.

  DataTypePtr WithNullable(bool nullable) const;
  /// Same shape; `nullable` and field ids count, descriptions do not.
  bool Equals(const DataType& other) const;
  /// SQL text as Flink prints it: "DECIMAL(10, 2) NOT NULL", "TIMESTAMP_LTZ(3)", "ARRAY<INT>".
  std::string ToString() const;

  /// The JSON document of the type (reference: table descriptor).
  std::string ToJson() const;
  static Result<DataTypePtr> FromJson(std::string_view json);

  /// The Arrow type of a log batch's column. Time-zone free; TIME and TIMESTAMP units follow the
  /// precision.
  std::shared_ptr<arrow::DataType> ToArrow() const;

 private:
  friend struct DataTypeBuilder;
  TypeKind kind_ = TypeKind::kInteger;
  bool nullable_ = true;
  int32_t length_ = 0;
  int32_t precision_ = 0;
  int32_t scale_ = 0;
  std::vector<DataTypePtr> children_;
  std::vector<RowField> fields_;
};

}  // namespace sluice::types
