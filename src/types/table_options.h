#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "types/row.h"
#include "types/schema.h"

namespace sluice::types {

// The `table.*` options by meaning (reference 7.4), for all who act on them: names of values count
// in any case, true and false also with blanks around them. What cannot be read, and the
// coordinator therefore refuses, gives the default.

/// "true" or "false". Errors: kInvalidConfig.
Result<bool> ParseBoolean(std::string_view text);
/// A whole number of 32 bits. Errors: kInvalidConfig.
Result<int64_t> ParseInteger(std::string_view text);
/// Letters of ASCII in upper case.
std::string UpperCase(std::string_view text);
/// An option by its key that is a whole number.
int64_t IntegerOption(const TableDescriptor& table, const std::string& key, int64_t fallback);

/// `table.datalake.enabled`: rows move to the lake.
bool LakeEnabled(const TableDescriptor& table);
/// No option is a longer time: 100 years.
inline constexpr int64_t kDurationMaxMs = int64_t{36'500} * 24 * 3600 * 1000;
/// `table.datalake.freshness`, at most kDurationMaxMs.
int64_t FreshnessMs(const TableDescriptor& table);
/// `table.datalake.auto-compaction` and `table.datalake.auto-expire-snapshot`.
bool AutoCompaction(const TableDescriptor& table);
bool AutoExpireSnapshot(const TableDescriptor& table, bool fallback = true);
/// How the batches of a log hold their rows.
enum class LogFormat : uint8_t { kArrow, kIndexed, kCompacted };
/// `table.log.format`.
LogFormat LogFormatOf(const TableDescriptor& table);
/// The rows of a log that is not ARROW.
RowFormat RowFormatOf(LogFormat format);
inline constexpr char kStatisticsColumnsKey[] = "table.statistics.columns";
/// Whether batches may say the least and greatest value of a column of this type.
bool CanHaveStatistics(const DataType& type);
/// `table.statistics.columns` of an append table: positions of the columns that it names (`*` = all
/// that can have statistics), as far as they are there. Empty when it is not set.
std::vector<int> StatisticsColumns(const TableDescriptor& table);
/// The names in a value of `table.statistics.columns` other than `*`.
std::vector<std::string> StatisticsColumnNames(std::string_view value);
/// `table.kv.format`. Errors: kInvalidTable.
Result<RowFormat> KvFormatOf(const TableDescriptor& table);
/// `table.kv.format-version`.
int64_t KvFormatVersion(const TableDescriptor& table);

/// `table.auto-partition.*`. What a text means is for who makes partitions to say.
struct AutoPartitionOptions {
  bool enabled = false;
  std::string key;          ///< Column; empty = the first partition column.
  std::string time_unit;    ///< In upper case.
  std::string time_format;  ///< Empty = the unit's own.
  std::string time_zone;    ///< Empty = the machine's.
  int64_t precreate = 0;
  int64_t retention = 0;  ///< Negative = all are kept.
};
AutoPartitionOptions AutoPartitionOf(const TableDescriptor& table);

}  // namespace sluice::types
