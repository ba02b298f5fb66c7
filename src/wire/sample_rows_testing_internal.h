#pragma once
#include <arrow/json/from_string.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <memory>
#include <string>

namespace sluice::wire::internal {

inline std::shared_ptr<arrow::RecordBatch> RowsFromJson(
    const std::shared_ptr<arrow::Schema>& schema, const std::string& json) {
  const auto rows =
      arrow::json::ArrayFromJSONString(arrow::struct_(schema->fields()), json).ValueOrDie();
  const auto batch = arrow::RecordBatch::FromStructArray(rows).ValueOrDie();
  return arrow::RecordBatch::Make(schema, batch->num_rows(), batch->columns());
}

/// A column of every kind that a table can have, nested ones too.
inline std::shared_ptr<arrow::Schema> SampleSchema() {
  using namespace arrow;
  return arrow::schema(
      {field("bool", boolean()), field("tiny", int8()), field("small", int16()),
       field("int", int32()), field("big", int64()), field("float", float32()),
       field("double", float64()), field("string", utf8()), field("bytes", binary()),
       field("fixed", fixed_size_binary(3)), field("decimal", decimal128(10, 2)),
       field("date", date32()), field("time", time32(TimeUnit::SECOND)),
       field("time9", time64(TimeUnit::NANO)), field("timestamp", timestamp(TimeUnit::MICRO)),
       field("array", list(field("element", utf8()))), field("map", map(utf8(), int32())),
       field("row", struct_({field("a", int32()), field("b", list(field("element", int64())))})),
       field("last", int32())});
}

/// Rows with values, NULL everywhere, and empty values.
inline std::shared_ptr<arrow::RecordBatch> SampleRows() {
  return RowsFromJson(SampleSchema(), R"([
    [true, 1, 2, 3, 4, 0.5, 0.25, "text", "bytes", "abc", "12345.67", 19000, 3600, 1000000001, 1700000000000001,
     ["x", null, "yz"], [["k", 1], ["l", null]], {"a": 5, "b": [6, 7]}, 11],
    [null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null],
    [false, -1, -2, -3, -4, -0.5, -0.25, "", "", "xyz", "-0.01", -1, 0, 0, -1, [], [], {"a": null, "b": null}, 12],
    [true, 127, 32767, 2147483647, 9223372036854775807, 1, 2, "größer", "q", "123", "99999999.99", 0, 1, 2, 3,
     ["one"], [["z", 9]], {"a": 0, "b": []}, 13]])");
}

}  // namespace sluice::wire::internal
