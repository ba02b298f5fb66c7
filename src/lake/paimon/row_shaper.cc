#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/paimon/bucket_writer.h"

namespace sluice::lake::paimon {
namespace {

template <typename T, typename ValueOf>
std::shared_ptr<arrow::Array> Generate(const std::shared_ptr<arrow::DataType>& type, int64_t rows,
                                       ValueOf value_of) {
  std::string bytes(static_cast<size_t>(rows) * sizeof(T), '\0');
  auto* out = reinterpret_cast<T*>(bytes.data());
  for (int64_t i = 0; i < rows; ++i) out[i] = value_of(i);
  return arrow::MakeArray(arrow::ArrayData::Make(
      type, rows, {nullptr, arrow::Buffer::FromString(std::move(bytes))}, 0));
}

// The value of __bucket, __offset or __timestamp; null for another column. The older __timestamp
// has microseconds.
std::shared_ptr<arrow::Array> SystemColumn(const types::Column& column, const LakeRows& rows,
                                           int32_t bucket) {
  const int64_t count = rows.rows->num_rows();
  const auto type = FileArrowType(*column.type);
  if (column.name == kBucketColumn && type->id() == arrow::Type::INT32) {
    return Generate<int32_t>(type, count, [&](int64_t) { return bucket; });
  }
  if (column.name == kOffsetColumn && type->id() == arrow::Type::INT64) {
    return Generate<int64_t>(type, count, [&](int64_t i) { return rows.base_offset + i; });
  }
  if (column.name == kTimestampColumn && type->id() == arrow::Type::TIMESTAMP) {
    const int64_t scale = column.type->precision() <= 3   ? 1
                          : column.type->precision() <= 6 ? 1000
                                                          : 1'000'000;
    return Generate<int64_t>(type, count, [&](int64_t) { return rows.timestamp_ms * scale; });
  }
  return nullptr;
}

bool IsTime(const arrow::DataType& type) {
  return type.id() == arrow::Type::TIME32 || type.id() == arrow::Type::TIME64;
}

Status CheckType(const types::Column& column, const arrow::DataType& type) {
  const auto wanted = column.type->ToArrow();
  // Nested types are compared by shape alone: who may be NULL inside is the lake schema's business.
  const bool fits = arrow::is_nested(type.id())
                        ? type.id() == wanted->id()
                        : type.Equals(*wanted) || (IsTime(type) && IsTime(*wanted));
  if (fits) return Status::OK();
  return Error(ErrorCode::kInvalidTable,
               "column has another type in the lake table, column=", column.name,
               " type=", type.ToString(), " lake_type=", column.type->ToString());
}

}  // namespace

Result<RowShaper> RowShaper::Make(std::shared_ptr<const LakeSchema> schema,
                                  const std::vector<std::string>& columns) {
  RowShaper shaper;
  shaper.sources_.assign(schema->columns.size(), -1);
  for (size_t i = 0; i < columns.size(); ++i) {
    const int at = schema->IndexOf(columns[i]);
    if (at < 0)
      return Error(ErrorCode::kInvalidTable,
                   "column is not in the lake table, column=", columns[i]);
    shaper.sources_[static_cast<size_t>(at)] = static_cast<int>(i);
  }
  shaper.schema_ = std::move(schema);
  return shaper;
}

Result<std::vector<std::shared_ptr<arrow::Array>>> RowShaper::Shape(const LakeRows& rows,
                                                                    int32_t fluss_bucket) const {
  std::vector<std::shared_ptr<arrow::Array>> shaped;
  for (size_t i = 0; i < sources_.size(); ++i) {
    const types::Column& column = schema_->columns[i];
    const auto type = FileArrowType(*column.type);
    std::shared_ptr<arrow::Array> array =
        sources_[i] < 0 ? SystemColumn(column, rows, fluss_bucket) : nullptr;
    if (sources_[i] >= 0) {
      RETURN_NOT_OK(CheckType(column, *rows.rows->column(sources_[i])->type()));
      ASSIGN_OR_RAISE(array, Conform(rows.rows->column(sources_[i]), type));
    } else if (array == nullptr) {
      ASSIGN_OR_RAISE(array, arrow::MakeArrayOfNull(type, rows.rows->num_rows()));
    }
    if (!column.type->nullable() && array->null_count() > 0) {
      return Error(ErrorCode::kInvalidTable,
                   "NULL in a column that is NOT NULL, column=", column.name);
    }
    shaped.push_back(std::move(array));
  }
  return shaped;
}

}  // namespace sluice::lake::paimon
