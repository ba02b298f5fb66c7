#include "coordinator/partition_rules.h"

#include <arrow/array.h>

#include <algorithm>

#include "base/check.h"
#include "types/row.h"

namespace sluice::coordinator {

namespace {

Status Invalid(std::string_view what, const types::TableInfo& table, std::string_view name) {
  return Error(ErrorCode::kPartitionSpecInvalid, what, " table=", table.path, " value=", name);
}

bool IsFloating(const types::DataType& type) {
  return type.kind() == types::TypeKind::kFloat || type.kind() == types::TypeKind::kDouble;
}

// Releases of Java differ in the digits that they print of one FLOAT or DOUBLE ("9_999E22" and
// "1_0E23"), and a writer whose text is refused never gives up. None ends a fraction with zeros.
bool HasJavaDigits(const std::string& text) {
  const size_t point = text.find('_');
  if (point == std::string::npos) return false;
  const size_t end = std::min(text.find('E', point), text.size());
  return end == point + 2 || (end > point + 2 && text[end - 1] != '0');
}

// The text must be the one that writers would make of the value, or two partitions could hold the
// same.
Status CheckValue(const types::TableInfo& table, const std::string& column,
                  const std::string& text) {
  if (const std::string problem = types::NameProblem(text, /*creating=*/true); !problem.empty()) {
    return Invalid("invalid partition value, " + problem + ",", table, text);
  }
  const types::Schema& schema = table.descriptor.schema;
  const int index = schema.IndexOf(column);
  CHECK(index >= 0);
  const types::DataType& type = *schema.columns[index].type;
  const auto value = types::PartitionValue(type, text);
  if (!value.ok()) return Invalid("not a value of type " + type.ToString(), table, text);
  if (IsFloating(type) && HasJavaDigits(text)) return Status::OK();
  const auto canonical = types::PartitionText(type, **value, 0);
  if (!canonical.ok() || *canonical != text)
    return Invalid("not the text form of " + type.ToString(), table, text);
  return Status::OK();
}

}  // namespace

Result<std::map<std::string, std::string>> PartialPartitionSpec(const types::TableInfo& table,
                                                                const PartitionSpec& spec) {
  const auto& keys = table.descriptor.partition_keys;
  if (keys.empty())
    return Error(ErrorCode::kTableNotPartitioned, "table is not partitioned table=", table.path);
  std::map<std::string, std::string> values;
  for (const auto& [column, text] : spec) {
    if (std::ranges::find(keys, column) == keys.end())
      return Invalid("not a partition column", table, column);
    if (!values.emplace(column, text).second)
      return Invalid("partition column repeats", table, column);
  }
  return values;
}

Result<std::vector<std::string>> PartitionValues(const types::TableInfo& table,
                                                 const PartitionSpec& spec, bool creating) {
  ASSIGN_OR_RAISE(const auto given, PartialPartitionSpec(table, spec));
  std::vector<std::string> values;
  for (const std::string& column : table.descriptor.partition_keys) {
    const auto found = given.find(column);
    if (found == given.end()) return Invalid("partition column is missing", table, column);
    if (creating) RETURN_NOT_OK(CheckValue(table, column, found->second));
    values.push_back(found->second);
  }
  return values;
}

}  // namespace sluice::coordinator
