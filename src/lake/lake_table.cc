#include "lake/lake_table.h"

#include <arrow/type.h>

#include <charconv>

namespace sluice::lake {

int LakeSchema::IndexOf(std::string_view name) const {
  const auto at = std::ranges::find(columns, name, &types::Column::name);
  return at == columns.end() ? -1 : static_cast<int>(at - columns.begin());
}

int LakeSchema::IndexOfId(int32_t field_id) const {
  const auto at = std::ranges::find(columns, field_id, &types::Column::id);
  return at == columns.end() ? -1 : static_cast<int>(at - columns.begin());
}

std::vector<std::string> LakeSchema::TrimmedPrimaryKey() const {
  std::vector<std::string> trimmed;
  for (const std::string& key : primary_keys) {
    if (std::ranges::find(partition_keys, key) == partition_keys.end()) trimmed.push_back(key);
  }
  return trimmed;
}

int32_t LakeSchema::bucket_count() const {
  const std::string text = Option("bucket", "-1");
  int32_t count = -1;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

std::string LakeSchema::Option(const std::string& key, const std::string& fallback) const {
  const auto at = options.find(key);
  return at == options.end() ? fallback : at->second;
}

std::shared_ptr<arrow::DataType> LakeArrowType(const types::DataType& type) {
  switch (type.kind()) {
    case types::TypeKind::kTime:
      return arrow::time32(arrow::TimeUnit::MILLI);
    case types::TypeKind::kArray:
      return arrow::list(LakeArrowType(*type.element()));
    case types::TypeKind::kMap:
      return arrow::map(LakeArrowType(*type.key()), LakeArrowType(*type.value()));
    case types::TypeKind::kRow: {
      arrow::FieldVector fields;
      for (const types::RowField& field : type.fields()) {
        fields.push_back(
            arrow::field(field.name, LakeArrowType(*field.type), field.type->nullable()));
      }
      return arrow::struct_(fields);
    }
    default:
      return type.ToArrow();
  }
}

}  // namespace sluice::lake
