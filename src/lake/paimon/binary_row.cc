#include "lake/paimon/binary_row.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "base/bytes.h"
#include "lake/paimon/columns.h"
#include "types/row.h"

namespace sluice::lake::paimon {

Result<std::string> EncodeRow(const std::vector<types::DataTypePtr>& types,
                              const std::vector<std::shared_ptr<arrow::Array>>& columns,
                              int64_t row) {
  std::vector<types::DataTypePtr> row_types;
  arrow::FieldVector fields;
  arrow::ArrayVector values;  // One row each: a slice, whatever the length of the columns.
  std::vector<int> positions;
  for (size_t i = 0; i < types.size(); ++i) {
    row_types.push_back(RowType(*types[i]));
    fields.push_back(arrow::field("f" + std::to_string(i), columns[i]->type()));
    values.push_back(columns[i]->Slice(row, 1));
    positions.push_back(static_cast<int>(i));
  }
  std::string out;
  AppendBe(&out, static_cast<int32_t>(types.size()));
  const auto batch = arrow::RecordBatch::Make(arrow::schema(fields), 1, std::move(values));
  std::string body;
  RETURN_NOT_OK(types::BinaryRowEncoder(std::move(row_types)).Encode(*batch, positions, 0, &body));
  return out + body;
}

Result<std::string> EncodePartition(const std::vector<types::DataTypePtr>& types,
                                    const std::vector<std::string>& values) {
  if (types.size() != values.size()) {
    return Error(ErrorCode::kPartitionSpecInvalid,
                 "partition has another number of values than the table has keys, values=",
                 values.size(), " keys=", types.size());
  }
  std::vector<std::shared_ptr<arrow::Array>> columns;
  for (size_t i = 0; i < types.size(); ++i) {
    ASSIGN_OR_RAISE(const auto value, types::PartitionValue(*types[i], values[i]));
    ASSIGN_OR_RAISE(auto column, Conform(value, FileArrowType(*types[i])));
    columns.push_back(std::move(column));
  }
  return EncodeRow(types, columns, 0);
}

Result<std::vector<std::shared_ptr<arrow::Array>>> DecodeRow(
    const std::vector<types::DataTypePtr>& types, std::string_view row) {
  if (row.size() < 4 || LoadBe<int32_t>(row.data()) != static_cast<int32_t>(types.size())) {
    return Corrupt("row in a manifest has another number of columns than expected=", types.size());
  }
  if (types.empty()) return std::vector<std::shared_ptr<arrow::Array>>();
  const std::string_view body = row.substr(4);
  std::vector<types::DataTypePtr> nullable;
  for (const auto& type : types) nullable.push_back(type->WithNullable(true));
  ASSIGN_OR_RAISE(const auto batch, types::DecodeBinaryRows(nullable, std::span(&body, 1)));
  return batch->columns();
}

Result<std::vector<std::optional<std::string>>> PartitionTexts(
    const std::vector<types::DataTypePtr>& types, std::string_view row) {
  ASSIGN_OR_RAISE(const auto columns, DecodeRow(types, row));
  std::vector<std::optional<std::string>> texts;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i]->IsNull(0)) {
      texts.push_back(std::nullopt);
      continue;
    }
    ASSIGN_OR_RAISE(std::string text, types::PartitionText(*types[i], *columns[i], 0));
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace sluice::lake::paimon
