#include "sql/lake_state.h"

#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

namespace sluice::sql {
namespace {

using types::DataType;
using types::TypeKind;

Status AppendText(arrow::StringBuilder& builder, const std::string& text) {
  return text.empty() ? builder.AppendNull() : builder.Append(text);
}

Status AppendTime(arrow::TimestampBuilder& builder, std::optional<int64_t> time_ms) {
  return time_ms.has_value() ? builder.Append(*time_ms) : builder.AppendNull();
}

}  // namespace

std::vector<SourceColumn> LakeStateColumns() {
  const auto whole = DataType::Of(TypeKind::kBigInt, /*nullable=*/false);
  const auto text = DataType::Of(TypeKind::kString);
  const auto time = DataType::TimestampLtz(3);
  return {{"partition_name", text},
          {"bucket", DataType::Of(TypeKind::kInteger, /*nullable=*/false)},
          {"lake_offset", whole},
          {"log_end_offset", whole},
          {"lag_rows", whole},
          {"lag_ms", whole},
          {"state", DataType::Of(TypeKind::kString, /*nullable=*/false)},
          {"reason", text},
          {"failed_since", time},
          {"next_try", time}};
}

Result<std::shared_ptr<arrow::RecordBatch>> LakeStateRows(const LakeState& state) {
  arrow::FieldVector fields;
  for (const SourceColumn& column : LakeStateColumns())
    fields.push_back(arrow::field(column.name, column.type->ToArrow(), column.type->nullable()));
  arrow::MemoryPool* const pool = arrow::default_memory_pool();
  arrow::StringBuilder partition, name, reason;
  arrow::Int32Builder number;
  arrow::Int64Builder lake_offset, log_end, lag_rows, lag_ms;
  arrow::TimestampBuilder since(fields[8]->type(), pool), next_try(fields[9]->type(), pool);
  for (const LakeState::Bucket& bucket : state.buckets) {
    RETURN_NOT_OK(AppendText(partition, bucket.partition));
    RETURN_NOT_OK(number.Append(bucket.bucket));
    RETURN_NOT_OK(lake_offset.Append(bucket.lake_offset));
    RETURN_NOT_OK(log_end.Append(bucket.log_end_offset));
    RETURN_NOT_OK(lag_rows.Append(bucket.lag_rows));
    RETURN_NOT_OK(lag_ms.Append(bucket.lag_ms));
    RETURN_NOT_OK(name.Append(state.state));
    RETURN_NOT_OK(AppendText(reason, state.reason));
    RETURN_NOT_OK(AppendTime(since, state.failed_since_ms));
    RETURN_NOT_OK(AppendTime(next_try, state.next_try_ms));
  }
  arrow::ArrayVector arrays;
  for (arrow::ArrayBuilder* builder :
       {static_cast<arrow::ArrayBuilder*>(&partition), static_cast<arrow::ArrayBuilder*>(&number),
        static_cast<arrow::ArrayBuilder*>(&lake_offset),
        static_cast<arrow::ArrayBuilder*>(&log_end), static_cast<arrow::ArrayBuilder*>(&lag_rows),
        static_cast<arrow::ArrayBuilder*>(&lag_ms), static_cast<arrow::ArrayBuilder*>(&name),
        static_cast<arrow::ArrayBuilder*>(&reason), static_cast<arrow::ArrayBuilder*>(&since),
        static_cast<arrow::ArrayBuilder*>(&next_try)}) {
    ASSIGN_OR_RAISE(auto array, builder->Finish());
    arrays.push_back(std::move(array));
  }
  const auto rows = static_cast<int64_t>(state.buckets.size());
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), rows, std::move(arrays));
}

}  // namespace sluice::sql
