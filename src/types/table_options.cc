#include "types/table_options.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/check.h"
#include "base/text.h"
#include "types/duration.h"

namespace sluice::types {
namespace {

constexpr int64_t kDefaultFreshnessMs = 3 * 60 * 1000;

bool BooleanOption(const TableDescriptor& table, const std::string& key, bool fallback) {
  return ParseBoolean(table.Property(key)).ValueOr(fallback);
}

}  // namespace

Result<bool> ParseBoolean(std::string_view text) {
  const std::string upper = UpperCase(TrimBlanks(text));
  if (upper == "TRUE") return true;
  if (upper == "FALSE") return false;
  return Error(ErrorCode::kInvalidConfig, "neither true nor false value=", text);
}

Result<int64_t> ParseInteger(std::string_view text) {
  const std::string_view digits = TrimBlanks(text);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool in_range =
      value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max();
  if (error != std::errc() || end != digits.data() + digits.size() || digits.empty() || !in_range) {
    return Error(ErrorCode::kInvalidConfig, "not an integer value=", text);
  }
  return value;
}

std::string UpperCase(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return out;
}

int64_t IntegerOption(const TableDescriptor& table, const std::string& key, int64_t fallback) {
  return ParseInteger(table.Property(key)).ValueOr(fallback);
}

bool LakeEnabled(const TableDescriptor& table) {
  return BooleanOption(table, "table.datalake.enabled", false);
}

int64_t FreshnessMs(const TableDescriptor& table) {
  return std::min(
      ParseDurationMs(table.Property("table.datalake.freshness")).ValueOr(kDefaultFreshnessMs),
      kDurationMaxMs);
}

bool AutoCompaction(const TableDescriptor& table) {
  return BooleanOption(table, "table.datalake.auto-compaction", true);
}

bool AutoExpireSnapshot(const TableDescriptor& table, bool fallback) {
  return BooleanOption(table, "table.datalake.auto-expire-snapshot", fallback);
}

LogFormat LogFormatOf(const TableDescriptor& table) {
  const std::string name = UpperCase(table.Property("table.log.format"));
  if (name == "INDEXED") return LogFormat::kIndexed;
  return name == "COMPACTED" ? LogFormat::kCompacted : LogFormat::kArrow;
}

bool CanHaveStatistics(const DataType& type) {
  switch (type.kind()) {
    case TypeKind::kBinary:
    case TypeKind::kBytes:
    case TypeKind::kArray:
    case TypeKind::kMap:
    case TypeKind::kRow:
      return false;
    default:
      return true;
  }
}

std::vector<std::string> StatisticsColumnNames(std::string_view value) {
  std::vector<std::string> names;
  for (size_t at = 0; at <= value.size();) {
    const size_t comma = std::min(value.find(',', at), value.size());
    const std::string_view name = TrimBlanks(value.substr(at, comma - at));
    if (!name.empty()) names.emplace_back(name);
    at = comma + 1;
  }
  return names;
}

std::vector<int> StatisticsColumns(const TableDescriptor& table) {
  const std::string value = table.Property(kStatisticsColumnsKey);
  if (value.empty() || table.has_primary_key()) return {};
  const bool all = TrimBlanks(value) == "*";
  const std::vector<std::string> names = StatisticsColumnNames(value);
  std::vector<int> positions;
  for (size_t i = 0; i < table.schema.columns.size(); ++i) {
    const Column& column = table.schema.columns[i];
    const bool named = all || std::ranges::find(names, column.name) != names.end();
    if (named && CanHaveStatistics(*column.type)) positions.push_back(static_cast<int>(i));
  }
  return positions;
}

RowFormat RowFormatOf(LogFormat format) {
  CHECK(format != LogFormat::kArrow);
  return format == LogFormat::kIndexed ? RowFormat::kIndexed : RowFormat::kCompacted;
}

Result<RowFormat> KvFormatOf(const TableDescriptor& table) {
  const std::string name = UpperCase(table.Property("table.kv.format", "COMPACTED"));
  if (name == "COMPACTED") return RowFormat::kCompacted;
  if (name == "INDEXED") return RowFormat::kIndexed;
  return Error(ErrorCode::kInvalidTable, "unknown table.kv.format=", name);
}

int64_t KvFormatVersion(const TableDescriptor& table) {
  return IntegerOption(table, "table.kv.format-version", 1);
}

AutoPartitionOptions AutoPartitionOf(const TableDescriptor& table) {
  return {
      .enabled = BooleanOption(table, "table.auto-partition.enabled", false),
      .key = table.Property("table.auto-partition.key"),
      .time_unit = UpperCase(table.Property("table.auto-partition.time-unit", "DAY")),
      .time_format = table.Property("table.auto-partition.time-format"),
      .time_zone = table.Property("table.auto-partition.time-zone"),
      .precreate = IntegerOption(table, "table.auto-partition.num-precreate", 2),
      .retention = IntegerOption(table, "table.auto-partition.num-retention", 7),
  };
}

}  // namespace sluice::types
