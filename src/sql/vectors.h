#pragma once
#include <arrow/type_fwd.h>

#include "sql/duckdb_api.h"
#include "sql/sql_type.h"

// Columns between Arrow and the query engine, a column at a time.
namespace sluice::sql::duckdb {

/// Copy rows [from, from + count) of `array`, which has the Arrow type of `type`'s column type, to
/// the front of `out`.
Status FillVector(const Api& api, const SqlType& type, const arrow::Array& array, int64_t from,
                  int64_t count, Vector out);

/// How many of the rows [from, from + count) of `vector` hold no more than `bytes_max` of text or
/// bytes (not counting those inside of arrays, maps and rows); at least one.
int64_t RowsWithin(const Api& api, const SqlType& type, Vector vector, int64_t from, int64_t count,
                   int64_t bytes_max);

/// Append rows [from, from + count) of `vector` to a builder of the Arrow type of `type`'s column
/// type. Values of more digits than the type's precision are cut (a TIMESTAMP_NS column of the
/// engine keeps nine).
Status ReadVector(const Api& api, const SqlType& type, Vector vector, int64_t from, int64_t count,
                  arrow::ArrayBuilder* out);

}  // namespace sluice::sql::duckdb
