#include <arrow/record_batch.h>

#include <numeric>

#include "base/bytes.h"
#include "base/check.h"
#include "base/text.h"
#include "types/nested_type.h"
#include "types/row.h"
#include "types/row_writer_internal.h"
#include "types/table_options.h"

namespace sluice::types {
namespace {

bool IcebergKnows(const DataType& type) {
  switch (type.kind()) {
    case TypeKind::kBoolean:
    case TypeKind::kTinyInt:
    case TypeKind::kSmallInt:
    case TypeKind::kTimestampLtz:
      return false;
    default:
      return !IsNested(type);
  }
}

void AppendIcebergDecimal(const ColumnView& column, int64_t row, std::string* out) {
  if (column.layout().shape == Shape::kBigDecimal) {
    char bytes[kBigDecimalBytes];
    out->append(bytes, column.BigDecimal(row, bytes));
    return;
  }
  const auto unscaled = static_cast<int64_t>(column.Bits(row));
  char bytes[8];
  StoreBe(bytes, unscaled);
  size_t skipped = 0;
  while (skipped < 7 && (unscaled << (8 * skipped + 8) >> (8 * skipped + 8)) == unscaled) ++skipped;
  out->append(bytes + skipped, 8 - skipped);
}

void AppendIceberg(const DataType& type, const ColumnView& column, int64_t row, std::string* out) {
  switch (type.kind()) {
    case TypeKind::kInteger:
    case TypeKind::kDate:
      return AppendLe<int64_t>(out, static_cast<int32_t>(column.Bits(row)));
    case TypeKind::kBigInt:
      return AppendLe(out, column.Bits(row));
    case TypeKind::kTime:
      return AppendLe<int64_t>(out, static_cast<int64_t>(column.Bits(row)) * 1000);
    case TypeKind::kFloat:
      return AppendLe(out, static_cast<uint32_t>(column.Bits(row)));
    case TypeKind::kDouble:
      return AppendLe(out, column.Bits(row));
    case TypeKind::kTimestamp: {
      const TimePair time = column.Time(row);
      return AppendLe<int64_t>(out, time.ms * 1000 + time.nanos / 1000);
    }
    case TypeKind::kDecimal:
      return AppendIcebergDecimal(column, row, out);
    default:
      out->append(column.Bytes(row));
  }
}

}  // namespace

Result<KeyEncoder> KeyEncoder::Make(KeyFormat format, std::vector<DataTypePtr> columns,
                                    bool null_allowed) {
  if (format == KeyFormat::kIceberg && columns.size() != 1) {
    return Error(ErrorCode::kInvalidTable,
                 "iceberg keys have exactly one column columns=", columns.size());
  }
  for (const DataTypePtr& column : columns) {
    const bool known = format == KeyFormat::kIceberg ? IcebergKnows(*column) : !IsNested(*column);
    if (!known)
      return Error(ErrorCode::kInvalidTable,
                   "type cannot be part of a key type=", column->ToString());
  }
  return KeyEncoder(format, std::move(columns), null_allowed);
}

Status KeyEncoder::Encode(const arrow::RecordBatch& batch, std::span<const int> columns,
                          std::vector<std::string>* out) const {
  std::vector<int64_t> rows(static_cast<size_t>(batch.num_rows()));
  std::iota(rows.begin(), rows.end(), 0);
  out->reserve(out->size() + rows.size());
  return EncodeEach(batch, columns, rows, [out](std::string_view key) { out->emplace_back(key); });
}

Status KeyEncoder::EncodeEach(const arrow::RecordBatch& batch, std::span<const int> columns,
                              std::span<const int64_t> rows, const TakeBytes& take) const {
  ASSIGN_OR_RAISE(const auto views, ViewColumns(columns_, batch, columns));
  // Only binary rows have a place for NULL.
  const bool null_allowed = null_allowed_ && format_ == KeyFormat::kPaimon;
  RowWriter writer(format_ == KeyFormat::kPaimon ? RowLayout::kBinary : RowLayout::kCompacted);
  std::string key;
  for (const int64_t row : rows) {
    CHECK(row >= 0 && row < batch.num_rows());
    const auto null =
        std::ranges::find_if(views, [row](const ColumnView& view) { return view.IsNull(row); });
    if (null != views.end() && !null_allowed) {
      return Error(ErrorCode::kInvalidTable, "key column is null column=",
                   batch.column_name(columns[static_cast<size_t>(null - views.begin())]),
                   " row=", row);
    }
    key.clear();
    switch (format_) {
      case KeyFormat::kPaimon:
        writer.AppendRow(views, row, &key);
        break;
      case KeyFormat::kIceberg:
        AppendIceberg(*columns_[0], views[0], row, &key);
        break;
      case KeyFormat::kCompacted:
        for (const ColumnView& view : views) writer.AppendCompactedValue(view, row, &key);
        break;
    }
    take(key);
  }
  return writer.status();
}

namespace {

Result<KeyFormat> FormatOfLake(const std::string& lake_format) {
  if (lake_format.empty() || lake_format == "lance") return KeyFormat::kCompacted;
  if (lake_format == "paimon") return KeyFormat::kPaimon;
  if (lake_format == "iceberg") return KeyFormat::kIceberg;
  return Error(ErrorCode::kInvalidTable,
               "lake format is not supported table.datalake.format=", lake_format);
}

}  // namespace

Result<KeyPlan> PlanKeys(const TableDescriptor& descriptor) {
  KeyPlan plan;
  plan.lake_format = LowerCase(descriptor.Property("table.datalake.format"));
  ASSIGN_OR_RAISE(plan.bucket_key_format, FormatOfLake(plan.lake_format));
  plan.physical_primary_key = descriptor.PhysicalPrimaryKey();
  plan.bucket_keys = descriptor.bucket_keys;
  if (plan.bucket_keys.empty()) plan.bucket_keys = plan.physical_primary_key;
  plan.primary_key_format = plan.bucket_key_format;
  // Since version 2 a bucket key that is a part of the primary key must be a prefix of its bytes.
  const bool version_2 = KvFormatVersion(descriptor) == 2;
  if (version_2 && plan.bucket_keys != plan.physical_primary_key)
    plan.primary_key_format = KeyFormat::kCompacted;
  return plan;
}

}  // namespace sluice::types
