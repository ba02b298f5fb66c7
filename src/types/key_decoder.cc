#include <arrow/record_batch.h>

#include "base/bytes.h"
#include "base/floor_div.h"
#include "types/layout_internal.h"
#include "types/part_value.h"
#include "types/row.h"

namespace sluice::types {
namespace {

Status NoKey(const DataType& type) { return Corrupt("bytes are no key of type=", type.ToString()); }

Result<int64_t> TakeLong(const DataType& type, std::string_view key) {
  if (key.size() != 8) return NoKey(type);
  return LoadLe<int64_t>(key.data());
}

// The value of an iceberg key as a part of a COMPACTED row.
Result<std::string> IcebergPart(const DataTypePtr& type, std::string_view key) {
  const PartValue value(RowFormat::kCompacted, type);
  std::string part;
  switch (type->kind()) {
    case TypeKind::kInteger:
    case TypeKind::kDate:
    case TypeKind::kBigInt:
    case TypeKind::kTime: {
      ASSIGN_OR_RAISE(const int64_t number, TakeLong(*type, key));
      value.PutInteger(type->kind() == TypeKind::kTime ? number / 1000 : number, &part);
      return part;
    }
    case TypeKind::kTimestamp: {
      ASSIGN_OR_RAISE(const int64_t micros, TakeLong(*type, key));
      const int64_t ms = FloorDiv(micros, 1000);
      AppendVarint(&part, static_cast<uint64_t>(ms));
      if (LayoutOf(*type).shape == Shape::kTimePair)
        AppendVarint(&part, static_cast<uint64_t>(FloorMod(micros, 1000) * 1000));
      return part;
    }
    case TypeKind::kFloat:
    case TypeKind::kDouble:
      return std::string(key);  // The reader looks at its size.
    case TypeKind::kDecimal: {
      if (key.empty() || key.size() > kBigDecimalBytes) return NoKey(*type);
      ASSIGN_OR_RAISE(const auto unscaled,
                      arrow::Decimal256::FromBigEndian(reinterpret_cast<const uint8_t*>(key.data()),
                                                       static_cast<int32_t>(key.size())));
      value.PutDecimal(unscaled, &part);
      return part;
    }
    default:
      AppendVarint(&part, key.size());
      return part.append(key);
  }
}

}  // namespace

Result<std::shared_ptr<arrow::RecordBatch>> DecodeKeys(KeyFormat format,
                                                       const std::vector<DataTypePtr>& columns,
                                                       std::span<const std::string_view> keys) {
  if (format == KeyFormat::kPaimon) return DecodeBinaryRows(columns, keys);
  const RowCodec codec(RowFormat::kCompacted, columns);
  if (format == KeyFormat::kCompacted) {
    // A row's values without its null bits.
    std::vector<std::string> rows;
    for (const std::string_view key : keys)
      rows.push_back(std::string(NullBytes(columns.size()), '\0').append(key));
    const std::vector<std::string_view> views(rows.begin(), rows.end());
    return codec.Decode(views);
  }
  std::vector<std::string> parts;
  for (const std::string_view key : keys) {
    ASSIGN_OR_RAISE(std::string part, IcebergPart(columns.front(), key));
    parts.push_back(std::move(part));
  }
  const std::vector<std::optional<std::string_view>> views(parts.begin(), parts.end());
  return codec.DecodeParts(views);
}

}  // namespace sluice::types
