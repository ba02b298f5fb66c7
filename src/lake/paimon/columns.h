#pragma once
#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <vector>

#include "lake/lake_table.h"

// How values of lake columns look in Arrow on their way between log, file and reader.
//
//   log batch (DataType::ToArrow)  ──Conform──▶  file form (FileArrowType)  ──Conform──▶  reader
//   (LakeArrowType)
//
// File form is what Parquet stores: TIME in milliseconds, TIMESTAMP in milli-, micro- or
// nanoseconds by precision, BINARY(n) as plain binary, children NOT NULL exactly where the schema
// says so.

namespace sluice::lake::paimon {

/// Arrow type of a column in file form.
std::shared_ptr<arrow::DataType> FileArrowType(const types::DataType& type);

/// A type with the same BinaryRow bytes whose ToArrow() is the file form, for encoding rows from
/// file-form arrays.
types::DataTypePtr RowType(const types::DataType& type);

/// `array` as `to`, which has the same shape: units, widths and nullability of children may differ.
/// Struct children are matched by position. Shares buffers wherever the layout is the same.
Result<std::shared_ptr<arrow::Array>> Conform(const std::shared_ptr<arrow::Array>& array,
                                              const std::shared_ptr<arrow::DataType>& to);

/// `array`, read as column type `from` of an older schema, as the newer type `to` in its reader's
/// form. Nested fields are matched by field id; new ones are NULL.
Result<std::shared_ptr<arrow::Array>> Evolve(const std::shared_ptr<arrow::Array>& array,
                                             const types::DataType& from,
                                             const types::DataType& to);

/// A column of a data file.
struct FileColumn {
  std::string name;
  types::DataTypePtr type;
  int32_t field_id;
};

inline constexpr std::string_view kSequenceColumn = "_SEQUENCE_NUMBER";
inline constexpr std::string_view kKindColumn = "_VALUE_KIND";

/// Columns of a data file in order: for primary-key tables _KEY_*, _SEQUENCE_NUMBER, _VALUE_KIND,
/// then the table's.
std::vector<FileColumn> FileColumnsOf(const LakeSchema& schema);
/// Arrow schema of a data file in file form.
std::shared_ptr<arrow::Schema> FileArrowSchema(const std::vector<FileColumn>& columns);

}  // namespace sluice::lake::paimon
