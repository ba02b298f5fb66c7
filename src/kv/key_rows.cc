#include "kv/key_rows.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

namespace sluice::kv {
namespace {

constexpr size_t kRecordHeadBytesMax = 9;  // Of a KV batch: two lengths.

Result<std::string> EncodePart(types::RowFormat format, const types::Column& column,
                               const std::string& text) {
  ASSIGN_OR_RAISE(const auto array, types::PartitionValue(*column.type, text));
  const auto batch =
      arrow::RecordBatch::Make(arrow::schema({arrow::field("v", array->type())}), 1, {array});
  const types::RowCodec codec(format, {column.type});
  std::vector<std::string> rows;
  RETURN_NOT_OK(codec.Encode(*batch, 0, 1, &rows));
  ASSIGN_OR_RAISE(const Parts parts, codec.Split(rows.front()));
  return std::string(parts.front().value_or(""));
}

}  // namespace

Result<KeyRows> KeyRows::Make(const types::TableDescriptor& table, const RowVersion& latest,
                              std::span<const std::string> partition_values) {
  ASSIGN_OR_RAISE(const types::KeyPlan plan, types::PlanKeys(table));
  ASSIGN_OR_RAISE(std::vector<int> positions, table.schema.IndexesOf(plan.physical_primary_key));
  std::vector<types::DataTypePtr> key_types;
  for (const int position : positions)
    key_types.push_back(table.schema.columns[static_cast<size_t>(position)].type);
  const types::RowFormat format = latest.codec.format();
  KeyRows rows(plan.primary_key_format, latest, types::RowCodec(format, std::move(key_types)));
  rows.positions_ = std::move(positions);
  ASSIGN_OR_RAISE(rows.key_columns_, table.schema.IndexesOf(table.schema.primary_key));
  ASSIGN_OR_RAISE(const auto partition_columns, table.schema.IndexesOf(table.partition_keys));
  if (partition_columns.size() != partition_values.size()) {
    return Error(ErrorCode::kInvalidTable,
                 "bucket lacks the values of its partition values=", partition_values.size());
  }
  for (size_t i = 0; i < partition_columns.size(); ++i) {
    const auto& column = table.schema.columns[static_cast<size_t>(partition_columns[i])];
    ASSIGN_OR_RAISE(std::string part, EncodePart(format, column, partition_values[i]));
    rows.partition_parts_.emplace_back(partition_columns[i], std::move(part));
  }
  return rows;
}

Result<std::vector<std::string>> KeyRows::RowsOf(std::span<const std::string_view> keys,
                                                 size_t bytes_max) const {
  ASSIGN_OR_RAISE(const auto batch, types::DecodeKeys(format_, key_codec_.columns(), keys));
  std::vector<std::string> key_rows;
  RETURN_NOT_OK(key_codec_.Encode(*batch, 0, batch->num_rows(), &key_rows));
  std::vector<std::string> rows;
  size_t size_bytes = 0;
  Parts parts(latest_.codec.columns().size());
  for (const auto& [position, part] : partition_parts_) parts[static_cast<size_t>(position)] = part;
  for (const std::string& key_row : key_rows) {
    ASSIGN_OR_RAISE(const Parts key_parts, key_codec_.Split(key_row));
    for (size_t i = 0; i < positions_.size(); ++i)
      parts[static_cast<size_t>(positions_[i])] = key_parts[i];
    rows.push_back(latest_.codec.Join(parts));
    size_bytes += keys[rows.size() - 1].size() + rows.back().size() + kRecordHeadBytesMax;
    if (size_bytes > bytes_max) {
      return Error(ErrorCode::kRecordTooLarge,
                   "rows of keys are too much for one put keys=", keys.size(),
                   " bytes_max=", bytes_max);
    }
  }
  return rows;
}

}  // namespace sluice::kv
