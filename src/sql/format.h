#pragma once
#include <arrow/type_fwd.h>

#include <string>
#include <vector>

#include "sql/session.h"

namespace sluice::sql {

// Text of result cells: decimals and times with all declared digits ("2025-03-31 13:41:00.000000"),
// floating numbers in the shortest form that reads back, bytes as 0x and hexadecimal digits, a MAP
// as an array of [key, value] (keys may be of any type), a ROW as an object.

/// Append the columns as a JSON array of {"name": …, "type": …}, types as Flink prints them.
void AppendJsonColumns(const std::vector<ResultColumn>& columns, std::string* out);

/// Append rows [from, from + count) as one JSON array of arrays: numbers and booleans bare,
/// decimals, times, text and bytes as strings, NULL as null; NaN and the infinities are strings.
Status AppendJsonRows(const std::vector<ResultColumn>& columns, const arrow::RecordBatch& batch,
                      int64_t from, int64_t count, std::string* out);

/// Append one row as a JSON object with a newline; names in column order.
Status AppendJsonLine(const std::vector<ResultColumn>& columns, const arrow::RecordBatch& batch,
                      int64_t row, std::string* out);

/// Text of one cell as a table shows it; NULL is "NULL".
Result<std::string> CellText(const ResultColumn& column, const arrow::RecordBatch& batch,
                             int position, int64_t row);

}  // namespace sluice::sql
