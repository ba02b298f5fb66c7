#include "coordinator/table_rules.h"

#include <algorithm>
#include <set>

#include "coordinator/auto_partition.h"
#include "coordinator/table_options.h"
#include "types/agg_function.h"
#include "types/duration.h"
#include "types/nested_type.h"
#include "types/table_options.h"

namespace sluice::coordinator {

namespace {

using types::Column;
using types::DataType;
using types::TableDescriptor;
using types::TypeKind;

constexpr std::string_view kReservedColumns[] = {
    "__offset", "__timestamp", "__bucket", "_change_type", "_log_offset", "_commit_timestamp"};
constexpr int64_t kKvFormatVersion = 2;
constexpr int64_t kZstdLevelMax = 22;
constexpr int64_t kIdBlockMax = 1'000'000'000;

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::string MergeEngine(const TableDescriptor& descriptor) {
  return types::UpperCase(descriptor.Property("table.merge-engine"));
}

Status Invalid(std::string_view what, std::string_view column) {
  return Error(ErrorCode::kInvalidTable, what, " column=", column);
}

// Each name is a column, once, and not of a nested type.
Status CheckKey(const TableDescriptor& descriptor, const std::vector<std::string>& names,
                std::string_view what) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    const int index = descriptor.schema.IndexOf(name);
    if (index < 0) return Error(ErrorCode::kInvalidTable, what, " names no column column=", name);
    if (!seen.insert(name).second)
      return Error(ErrorCode::kInvalidTable, what, " repeats a column column=", name);
    if (types::IsNested(*descriptor.schema.columns[index].type)) {
      return Error(ErrorCode::kInvalidTable, what,
                   " has a column of type ARRAY, MAP or ROW column=", name);
    }
  }
  return Status::OK();
}

Status CheckColumns(const TableDescriptor& descriptor) {
  if (descriptor.schema.columns.empty())
    return Error(ErrorCode::kInvalidTable, "table has no columns");
  RETURN_NOT_OK(CheckColumnCount(descriptor.schema.columns.size()));
  std::set<std::string> seen;
  for (const Column& column : descriptor.schema.columns) {
    RETURN_NOT_OK(ValidateColumn(column));
    if (!seen.insert(column.name).second) return Invalid("column name repeats", column.name);
  }
  return Status::OK();
}

Status CheckKeys(const TableDescriptor& descriptor) {
  const auto& primary_key = descriptor.schema.primary_key;
  RETURN_NOT_OK(CheckKey(descriptor, primary_key, "primary key"));
  RETURN_NOT_OK(CheckKey(descriptor, descriptor.partition_keys, "partition key"));
  RETURN_NOT_OK(CheckKey(descriptor, descriptor.bucket_keys, "bucket key"));
  for (const std::string& name : descriptor.partition_keys) {
    RETURN_NOT_OK(
        ValidatePartitionType(descriptor.schema.columns[descriptor.schema.IndexOf(name)]));
    if (descriptor.has_primary_key() && !Contains(primary_key, name)) {
      return Invalid("partition column is not in the primary key", name);
    }
  }
  for (const std::string& name : descriptor.bucket_keys) {
    if (Contains(descriptor.partition_keys, name))
      return Invalid("bucket key has a partition column", name);
    if (descriptor.has_primary_key() && !Contains(primary_key, name)) {
      return Invalid("bucket key is not part of the primary key", name);
    }
  }
  if (descriptor.has_primary_key() && descriptor.PhysicalPrimaryKey().empty()) {
    return Error(ErrorCode::kInvalidTable, "primary key has only partition columns");
  }
  return Status::OK();
}

Status CheckBuckets(const ClusterSettings& settings, const TableDescriptor& descriptor) {
  const int32_t count = descriptor.bucket_count.value_or(settings.default_bucket_number);
  if (count <= 0)
    return Error(ErrorCode::kInvalidTable, "bucket count is not positive bucket_count=", count);
  if (count > settings.max_bucket_number) {
    return Error(ErrorCode::kBucketMaxNum, "too many buckets bucket_count=", count,
                 " max.bucket.num=", settings.max_bucket_number);
  }
  return Status::OK();
}

// Writers leave the column out, which takes a partial update; its type and place are the schema's
// to check.
Status CheckAutoIncrement(const TableDescriptor& descriptor) {
  if (descriptor.schema.auto_increment.empty()) return Status::OK();
  for (const Column& column : descriptor.schema.columns) {
    if (Contains(descriptor.schema.primary_key, column.name) || column.type->nullable()) continue;
    return Invalid("a table with an auto-increment column takes NULL in all but its primary key,",
                   column.name);
  }
  const std::string engine = MergeEngine(descriptor);
  return engine.empty() || engine == "AGGREGATION"
             ? Status::OK()
             : Error(ErrorCode::kInvalidTable,
                     "merge engine takes no partial updates, which an auto-increment "
                     "column needs table.merge-engine=",
                     engine);
}

Status BadOption(std::string_view what, std::string_view key) {
  return Error(ErrorCode::kInvalidConfig, what, " option=", key);
}

// Of options that were checked; 0 where one cannot be read.
int64_t DurationOption(const TableDescriptor& descriptor, const char* key, const char* fallback) {
  return types::ParseDurationMs(descriptor.Property(key, fallback)).ValueOr(0);
}

Status CheckFormats(const TableDescriptor& descriptor) {
  if (IntegerOption(descriptor, "table.replication.factor", 1) <= 0) {
    return BadOption("not positive", "table.replication.factor");
  }
  const int64_t level = IntegerOption(descriptor, "table.log.arrow.compression.zstd.level", 3);
  if (level < 1 || level > kZstdLevelMax) {
    return BadOption("not between 1 and 22", "table.log.arrow.compression.zstd.level");
  }
  if (IntegerOption(descriptor, "table.kv.format-version", 1) > kKvFormatVersion) {
    return BadOption("kv format version is not known", "table.kv.format-version");
  }
  const int64_t id_block = IntegerOption(descriptor, "table.auto-increment.cache-size", 1);
  if (id_block < 1 || id_block > kIdBlockMax) {
    return BadOption("not between 1 and 1000000000", "table.auto-increment.cache-size");
  }
  if (IntegerOption(descriptor, "table.log.tiered.local-segments", 2) <= 0) {
    return BadOption("not positive", "table.log.tiered.local-segments");
  }
  const int64_t ttl_ms = DurationOption(descriptor, "table.log.ttl", "7 d");
  const int64_t local_ttl_ms = DurationOption(descriptor, "table.log.local-ttl", "0 s");
  if (ttl_ms > 0 && local_ttl_ms > ttl_ms)
    return BadOption("above table.log.ttl", "table.log.local-ttl");
  const auto kv_format = types::KvFormatOf(descriptor);
  if (descriptor.has_primary_key() && kv_format.ok() &&
      *kv_format == types::RowFormat::kCompacted &&
      types::LogFormatOf(descriptor) == types::LogFormat::kIndexed) {
    return BadOption("rows of keys are COMPACTED, so those of the log are not INDEXED",
                     "table.log.format");
  }
  return Status::OK();
}

Status CheckVersionColumn(const TableDescriptor& descriptor) {
  constexpr std::string_view kKey = "table.merge-engine.versioned.ver-column";
  const int index = descriptor.schema.IndexOf(descriptor.Property(std::string(kKey)));
  if (index < 0) return BadOption("version column is missing", kKey);
  switch (descriptor.schema.columns[index].type->kind()) {
    case TypeKind::kInteger:
    case TypeKind::kBigInt:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      return Status::OK();
    default:
      return BadOption("version column is none of INT, BIGINT, TIMESTAMP, TIMESTAMP_LTZ", kKey);
  }
}

Status CheckMergeEngine(const TableDescriptor& descriptor) {
  const std::string engine = MergeEngine(descriptor);
  if (!engine.empty() && !descriptor.has_primary_key())
    return BadOption("needs a primary key", "table.merge-engine");
  if (engine == "VERSIONED") RETURN_NOT_OK(CheckVersionColumn(descriptor));
  const bool wal = types::UpperCase(descriptor.Property("table.changelog.image")) == "WAL";
  if (engine == "AGGREGATION" && wal) {
    // Who must take back what it wrote finds the old values in the changelog.
    return BadOption("the aggregation merge engine needs the full image", "table.changelog.image");
  }
  for (const Column& column : descriptor.schema.columns)
    RETURN_NOT_OK(ValidateAggFunction(descriptor, column));
  return Status::OK();
}

Status CheckPrimaryKeyOptions(const TableDescriptor& descriptor) {
  RETURN_NOT_OK(CheckMergeEngine(descriptor));
  const std::string engine = MergeEngine(descriptor);
  const std::string behavior = types::UpperCase(descriptor.Property("table.delete.behavior"));
  if (!behavior.empty() && !descriptor.has_primary_key())
    return BadOption("needs a primary key", "table.delete.behavior");
  if (behavior == "ALLOW" && (engine == "FIRST_ROW" || engine == "VERSIONED")) {
    return BadOption("merge engine does not allow deletes", "table.delete.behavior");
  }
  return Status::OK();
}

bool AutoPartitioned(const TableDescriptor& descriptor) {
  return types::ParseBoolean(descriptor.Property("table.auto-partition.enabled", "false"))
      .ValueOr(false);
}

Status CheckAutoPartition(const TableDescriptor& descriptor) {
  if (!descriptor.partitioned()) {
    return AutoPartitioned(descriptor)
               ? BadOption("table is not partitioned", "table.auto-partition.enabled")
               : Status::OK();
  }
  if (!AutoPartitioned(descriptor)) return AutoPartition::Of(descriptor).status();
  const std::string key = descriptor.Property("table.auto-partition.key");
  const bool several = descriptor.partition_keys.size() > 1;
  if ((several || !key.empty()) && !Contains(descriptor.partition_keys, key)) {
    return Error(ErrorCode::kInvalidTable,
                 "no partition column option=table.auto-partition.key value=", key);
  }
  if (several && IntegerOption(descriptor, "table.auto-partition.num-precreate", 0) != 0) {
    return Error(
        ErrorCode::kInvalidTable,
        "must be 0 with several partition columns option=table.auto-partition.num-precreate");
  }
  return AutoPartition::Of(descriptor).status();
}

Status CheckLake(const ClusterSettings& settings, const TableDescriptor& descriptor) {
  if (!LakeEnabled(descriptor)) return Status::OK();
  if (!settings.lake_enabled) {
    return Error(ErrorCode::kInvalidTable, "the cluster has no lake option=table.datalake.enabled");
  }
  const std::string format = types::UpperCase(descriptor.Property("table.datalake.format"));
  if (format != types::UpperCase(settings.lake_format)) {
    return Error(ErrorCode::kInvalidConfig,
                 "not the cluster's lake format option=table.datalake.format value=", format,
                 " datalake.format=", settings.lake_format);
  }
  if (FreshnessMs(descriptor) <= 0) return BadOption("not positive", "table.datalake.freshness");
  return Status::OK();
}

}  // namespace

Status FillTableDefaults(const ClusterSettings& settings, TableDescriptor* descriptor) {
  for (Column& column : descriptor->schema.columns) {
    if (Contains(descriptor->schema.primary_key, column.name))
      column.type = column.type->WithNullable(false);
  }
  RETURN_NOT_OK(descriptor->schema.AssignIds());
  if (!descriptor->bucket_count.has_value())
    descriptor->bucket_count = settings.default_bucket_number;
  if (descriptor->bucket_keys.empty()) descriptor->bucket_keys = descriptor->PhysicalPrimaryKey();

  auto& properties = descriptor->properties;
  properties.try_emplace("table.replication.factor",
                         std::to_string(settings.default_replication_factor));
  if (!settings.lake_format.empty())
    properties.try_emplace("table.datalake.format", settings.lake_format);
  if (AutoPartitioned(*descriptor) && descriptor->partition_keys.size() > 1)
    properties.try_emplace("table.auto-partition.num-precreate", "0");
  if (!descriptor->has_primary_key()) return Status::OK();
  properties.try_emplace("table.kv.format-version", std::to_string(kKvFormatVersion));
  if (!MergeEngine(*descriptor).empty()) properties.try_emplace("table.delete.behavior", "IGNORE");
  return Status::OK();
}

Status CheckColumnCount(size_t count) {
  if (count <= kColumnsMax) return Status::OK();
  return Error(ErrorCode::kInvalidTable, "table has too many columns columns=", count,
               " most=", kColumnsMax);
}

Status ValidateColumn(const Column& column) {
  if (column.name.empty()) return Error(ErrorCode::kInvalidTable, "column name is empty");
  if (std::ranges::find(kReservedColumns, column.name) != std::end(kReservedColumns)) {
    return Invalid("column name is reserved", column.name);
  }
  const DataType& type = *column.type;
  switch (type.kind()) {
    case TypeKind::kChar:
    case TypeKind::kBinary:
      if (type.length() < 1) return Invalid("length is below 1", column.name);
      if (type.length() > DataType::kLengthMax)
        return Invalid("length is above 65535", column.name);
      break;
    case TypeKind::kDecimal:
      if (type.precision() < 1 || type.precision() > 38 || type.scale() < 0 ||
          type.scale() > type.precision()) {
        return Invalid("decimal precision or scale is out of range", column.name);
      }
      break;
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      if (type.precision() < 0 || type.precision() > 9)
        return Invalid("precision is not between 0 and 9", column.name);
      break;
    case TypeKind::kArray:
      return ValidateColumn({.name = column.name + ".element", .type = type.element()});
    case TypeKind::kMap:
      RETURN_NOT_OK(ValidateColumn({.name = column.name + ".key", .type = type.key()}));
      return ValidateColumn({.name = column.name + ".value", .type = type.value()});
    case TypeKind::kRow:
      for (const types::RowField& field : type.fields()) {
        RETURN_NOT_OK(ValidateColumn({.name = column.name + "." + field.name, .type = field.type}));
      }
      break;
    default:
      break;
  }
  return Status::OK();
}

Status ValidateAggFunction(const TableDescriptor& descriptor, const Column& column) {
  if (column.agg_function.empty()) return Status::OK();
  if (Contains(descriptor.schema.primary_key, column.name))
    return Invalid("aggregate function on a primary key column", column.name);
  if (MergeEngine(descriptor) != "AGGREGATION") {
    return Error(ErrorCode::kInvalidConfig,
                 "aggregate function without the aggregation merge engine column=", column.name);
  }
  return types::CheckAggFunction(column);
}

Status ValidatePartitionType(const Column& column) {
  const TypeKind kind = column.type->kind();
  if (types::IsNested(*column.type) || kind == TypeKind::kDecimal) {
    return Invalid("type cannot partition a table", column.name);
  }
  return Status::OK();
}

// Statistics are of log tables; columns that are named must be there and have an order.
Status CheckStatistics(const TableDescriptor& descriptor) {
  const std::string key = types::kStatisticsColumnsKey;
  if (!descriptor.properties.contains(key)) return Status::OK();
  if (descriptor.has_primary_key())
    return BadOption("table option is for tables without a primary key", key);
  const std::vector<std::string> names = types::StatisticsColumnNames(descriptor.Property(key));
  if (names.empty()) return BadOption("table option names no column", key);
  if (names == std::vector<std::string>{"*"}) return Status::OK();
  for (const std::string& name : names) {
    const int at = descriptor.schema.IndexOf(name);
    if (at < 0) return BadOption("table option names a column that is not there, " + name, key);
    if (!types::CanHaveStatistics(*descriptor.schema.columns[static_cast<size_t>(at)].type))
      return BadOption("table option names a column whose type has no statistics, " + name, key);
  }
  return Status::OK();
}

Status ValidateProperties(const ClusterSettings& settings, const TableDescriptor& descriptor) {
  for (const auto& [key, value] : descriptor.properties) {
    const TableOption* option = FindTableOption(key);
    if (option == nullptr) return BadOption("table option is not known", key);
    RETURN_NOT_OK(CheckTableOption(*option, value));
  }
  RETURN_NOT_OK(CheckFormats(descriptor));
  RETURN_NOT_OK(CheckPrimaryKeyOptions(descriptor));
  RETURN_NOT_OK(CheckAutoPartition(descriptor));
  RETURN_NOT_OK(CheckStatistics(descriptor));
  return CheckLake(settings, descriptor);
}

Status ValidateTable(const ClusterSettings& settings, const TableDescriptor& descriptor) {
  if (descriptor.has_primary_key() && !settings.allow_create_kv_tables) {
    return Error(ErrorCode::kInvalidTable,
                 "primary key tables are not allowed here, see allow.create.kv.tables");
  }
  if (!descriptor.has_primary_key() && !settings.allow_create_log_tables) {
    return Error(ErrorCode::kInvalidTable,
                 "log tables are not allowed here, see allow.create.log.tables");
  }
  RETURN_NOT_OK(CheckColumns(descriptor));
  RETURN_NOT_OK(CheckKeys(descriptor));
  RETURN_NOT_OK(CheckBuckets(settings, descriptor));
  RETURN_NOT_OK(CheckAutoIncrement(descriptor));
  return ValidateProperties(settings, descriptor);
}

}  // namespace sluice::coordinator
