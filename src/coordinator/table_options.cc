#include "coordinator/table_options.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

namespace sluice::coordinator {

namespace {

constexpr int64_t kDefaultFreshnessMs = 3 * 60 * 1000;

using Kind = TableOption::Kind;

// Left out, so refused with kInvalidConfig until something here acts on them: table.log.local-ttl,
// table.auto-partition.time-format, table.datalake.historical-partition.enabled,
// table.statistics.columns, and what only the 1.0.0 clients know.
const std::vector<TableOption>& Options() {
  static const std::vector<TableOption> options = {
      {"table.replication.factor", Kind::kInteger, false},
      {"table.log.format", Kind::kChoice, false, {"ARROW", "INDEXED", "COMPACTED"}},
      {"table.log.arrow.compression.type", Kind::kChoice, false, {"NONE", "LZ4_FRAME", "ZSTD"}},
      {"table.log.arrow.compression.zstd.level", Kind::kInteger, false},
      {"table.log.ttl", Kind::kDuration, true},
      {"table.log.tiered.local-segments", Kind::kInteger, true},
      {"table.kv.format", Kind::kChoice, false, {"COMPACTED", "INDEXED"}},
      {"table.kv.format-version", Kind::kInteger, false},
      {"table.kv.standby-replica.enabled", Kind::kBoolean, true},
      {"table.auto-partition.enabled", Kind::kBoolean, true},
      {"table.auto-partition.key", Kind::kText, false},
      {"table.auto-partition.time-unit",
       Kind::kChoice,
       false,
       {"YEAR", "QUARTER", "MONTH", "DAY", "HOUR"}},
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

struct DurationUnit {
  std::string_view name;
  double ms;
};
constexpr DurationUnit kUnits[] = {
    {"", 1},
    {"ms", 1},
    {"milli", 1},
    {"millis", 1},
    {"millisecond", 1},
    {"milliseconds", 1},
    {"s", 1e3},
    {"sec", 1e3},
    {"secs", 1e3},
    {"second", 1e3},
    {"seconds", 1e3},
    {"min", 6e4},
    {"m", 6e4},
    {"minute", 6e4},
    {"minutes", 6e4},
    {"h", 3.6e6},
    {"hour", 3.6e6},
    {"hours", 3.6e6},
    {"d", 8.64e7},
    {"day", 8.64e7},
    {"days", 8.64e7},
    {"ns", 1e-6},
    {"nano", 1e-6},
    {"nanos", 1e-6},
    {"nanosecond", 1e-6},
    {"nanoseconds", 1e-6},
    {"us", 1e-3},
    {"µs", 1e-3},
    {"micro", 1e-3},
    {"micros", 1e-3},
    {"microsecond", 1e-3},
    {"microseconds", 1e-3},
};

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string LowerCase(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

}  // namespace

std::string UpperCase(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out;
}

const TableOption* FindTableOption(std::string_view key) {
  const auto found = std::ranges::find(Options(), key, &TableOption::key);
  return found == Options().end() ? nullptr : &*found;
}

Result<int64_t> ParseInteger(std::string_view text) {
  const std::string_view digits = Trim(text);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool in_range =
      value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max();
  if (error != std::errc() || end != digits.data() + digits.size() || digits.empty() || !in_range) {
    return Error(ErrorCode::kInvalidConfig, "not an integer value=", text);
  }
  return value;
}

Result<bool> ParseBoolean(std::string_view text) {
  const std::string upper = UpperCase(Trim(text));
  if (upper == "TRUE") return true;
  if (upper == "FALSE") return false;
  return Error(ErrorCode::kInvalidConfig, "neither true nor false value=", text);
}

Result<int64_t> ParseDurationMs(std::string_view text) {
  const std::string_view trimmed = Trim(text);
  int64_t number = 0;
  const auto [end, error] =
      std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), number);
  if (error != std::errc()) return Error(ErrorCode::kInvalidConfig, "not a duration value=", text);
  const std::string unit = LowerCase(Trim(trimmed.substr(end - trimmed.data())));
  const auto found = std::ranges::find(kUnits, std::string_view(unit), &DurationUnit::name);
  if (found == std::end(kUnits))
    return Error(ErrorCode::kInvalidConfig, "unknown time unit value=", text);
  const double ms = static_cast<double>(number) * found->ms;
  if (ms > 9e18 || ms < -9e18)
    return Error(ErrorCode::kInvalidConfig, "duration is out of range value=", text);
  return found->ms >= 1 ? number * static_cast<int64_t>(found->ms) : static_cast<int64_t>(ms);
}

Status CheckTableOption(const TableOption& option, const std::string& value) {
  Status read;
  switch (option.kind) {
    case Kind::kBoolean:
      read = ParseBoolean(value).status();
      break;
    case Kind::kInteger:
      read = ParseInteger(value).status();
      break;
    case Kind::kDuration:
      read = ParseDurationMs(value).status();
      break;
    case Kind::kChoice:
      if (std::ranges::find(option.choices, UpperCase(value)) == option.choices.end()) {
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

bool LakeEnabled(const types::TableDescriptor& descriptor) {
  return ParseBoolean(descriptor.Property("table.datalake.enabled", "false")).ValueOr(false);
}

int64_t FreshnessMs(const types::TableDescriptor& descriptor) {
  const std::string text = descriptor.Property("table.datalake.freshness");
  return text.empty() ? kDefaultFreshnessMs : ParseDurationMs(text).ValueOr(kDefaultFreshnessMs);
}

}  // namespace sluice::coordinator
