#include "coordinator/table_options.h"

#include <algorithm>

#include "types/duration.h"
#include "types/table_options.h"

namespace sluice::coordinator {

namespace {

using Kind = TableOption::Kind;

// Left out, so refused with kInvalidConfig until something here acts on them:
// table.datalake.historical-partition.enabled, and what only the 1.0.0 clients know.
const std::vector<TableOption>& Options() {
  static const std::vector<TableOption> options = {
      {"table.replication.factor", Kind::kInteger, false},
      {"table.log.format", Kind::kChoice, false, {"ARROW", "INDEXED", "COMPACTED"}},
      {"table.log.arrow.compression.type", Kind::kChoice, false, {"NONE", "LZ4_FRAME", "ZSTD"}},
      {"table.log.arrow.compression.zstd.level", Kind::kInteger, false},
      {"table.log.ttl", Kind::kDuration, true},
      {"table.log.local-ttl", Kind::kDuration, true},
      {"table.log.tiered.local-segments", Kind::kInteger, true},
      {types::kStatisticsColumnsKey, Kind::kText, true},
      {"table.kv.format", Kind::kChoice, false, {"COMPACTED", "INDEXED"}},
      {"table.kv.format-version", Kind::kInteger, false},
      {"table.kv.standby-replica.enabled", Kind::kBoolean, true},
      {"table.auto-partition.enabled", Kind::kBoolean, true},
      {"table.auto-partition.key", Kind::kText, false},
      {"table.auto-partition.time-unit",
       Kind::kChoice,
       false,
       {"YEAR", "QUARTER", "MONTH", "DAY", "HOUR"}},
      {"table.auto-partition.time-format", Kind::kText, false},
      {"table.auto-partition.time-zone", Kind::kText, false},
      {"table.auto-partition.num-precreate", Kind::kInteger, true},
      {"table.auto-partition.num-retention", Kind::kInteger, true},
      {"table.datalake.enabled", Kind::kBoolean, true},
      {"table.datalake.format", Kind::kChoice, false, {"PAIMON", "ICEBERG", "LANCE", "HUDI"}},
      {"table.datalake.freshness", Kind::kDuration, false},
      {"table.datalake.auto-compaction", Kind::kBoolean, true},
      {"table.datalake.auto-expire-snapshot", Kind::kBoolean, false},
      {"table.merge-engine", Kind::kChoice, false, {"FIRST_ROW", "VERSIONED", "AGGREGATION"}},
      {"table.merge-engine.versioned.ver-column", Kind::kText, false},
      {"table.delete.behavior", Kind::kChoice, false, {"ALLOW", "IGNORE", "DISABLE"}},
      {"table.auto-increment.cache-size", Kind::kInteger, false},
      {"table.changelog.image", Kind::kChoice, false, {"FULL", "WAL"}},
  };
  return options;
}

}  // namespace

const TableOption* FindTableOption(std::string_view key) {
  const auto found = std::ranges::find(Options(), key, &TableOption::key);
  return found == Options().end() ? nullptr : &*found;
}

Status CheckTableOption(const TableOption& option, const std::string& value) {
  Status read;
  switch (option.kind) {
    case Kind::kBoolean:
      read = types::ParseBoolean(value).status();
      break;
    case Kind::kInteger:
      read = types::ParseInteger(value).status();
      break;
    case Kind::kDuration: {
      const auto duration_ms = types::ParseDurationMs(value);
      read = duration_ms.status();
      if (duration_ms.ok() && *duration_ms < 0)
        read = Error(ErrorCode::kInvalidConfig, "negative duration value=", value);
      if (duration_ms.ok() && *duration_ms > types::kDurationMaxMs)
        read = Error(ErrorCode::kInvalidConfig, "duration is past 36500 d value=", value);
      break;
    }
    case Kind::kChoice:
      if (std::ranges::find(option.choices, types::UpperCase(value)) == option.choices.end()) {
        std::string known;
        for (const std::string_view choice : option.choices)
          known.append(known.empty() ? "" : ", ").append(choice);
        read = Error(ErrorCode::kInvalidConfig, "none of ", known, " value=", value);
      }
      break;
    case Kind::kText:
      break;
  }
  if (read.ok()) return read;
  return Error(ErrorCode::kInvalidConfig, "invalid table option ", option.key, ": ",
               read.message());
}

}  // namespace sluice::coordinator
