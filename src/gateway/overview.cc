#include "gateway/overview.h"

#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace sluice::gateway {
namespace {

template <typename T>
nlohmann::json OrNull(const std::optional<T>& value) {
  return value.has_value() ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

nlohmann::json GapsToJson(const std::vector<TableGap>& gaps) {
  auto list = nlohmann::json::array();
  for (const TableGap& gap : gaps) {
    list.push_back(
        {{"partition", gap.partition}, {"bucket", gap.bucket}, {"from", gap.from}, {"to", gap.to}});
  }
  return list;
}

nlohmann::json ToJson(const TableStatus& table, double rows_per_second) {
  return {{"database", table.database},
          {"table", table.table},
          {"kind", table.has_primary_key ? "primary-key" : "log"},
          {"buckets", table.buckets},
          {"rows_per_second", rows_per_second},
          {"log_end_offset", table.log_end_offset},
          {"lake_enabled", table.lake_enabled},
          {"lake_offset", OrNull(table.lake_offset)},
          {"lake_snapshot_id", OrNull(table.lake_snapshot_id)},
          {"lag_rows", OrNull(table.lag_rows)},
          {"lag_ms", OrNull(table.lag_ms)},
          {"freshness_ms", OrNull(table.freshness_ms)},
          {"late", table.late},
          {"state", table.state},
          {"reason", table.reason},
          {"failed_since_ms", OrNull(table.failed_since_ms)},
          {"next_try_ms", OrNull(table.next_try_ms)},
          {"gaps", GapsToJson(table.gaps)}};
}

}  // namespace

int64_t Overview::MonotonicMs() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(clock_.Monotonic()).count();
}

double Overview::RowsPerSecond(const TableStatus& table, int64_t now_ms) {
  Samples& entry = samples_[table.database + "." + table.table];
  entry.revision = revision_;
  auto& samples = entry.samples;
  // A table made anew under the same name starts from zero.
  if (!samples.empty() && samples.back().log_end_offset > table.log_end_offset) samples.clear();
  samples.push_back({now_ms, table.log_end_offset});
  while (samples.size() > 2 && samples[1].time_ms <= now_ms - kRateWindowMs) samples.pop_front();
  const int64_t passed_ms = now_ms - samples.front().time_ms;
  if (passed_ms <= 0) return 0;
  return static_cast<double>(table.log_end_offset - samples.front().log_end_offset) * 1000.0 /
         static_cast<double>(passed_ms);
}

Result<std::string> Overview::Json() {
  const std::lock_guard lock(mutex_);
  const int64_t now_ms = MonotonicMs();
  if (answered_ms_.has_value() && now_ms - *answered_ms_ < kReuseMs) return answer_;
  ASSIGN_OR_RAISE(const auto tables, source_.Tables());
  nlohmann::json document = {{"revision", ++revision_},
                             {"time_ms", clock_.NowMs()},
                             {"version", version_},
                             {"uptime_ms", now_ms - started_ms_},
                             {"tables", nlohmann::json::array()}};
  for (const TableStatus& table : tables) {
    document["tables"].push_back(ToJson(table, RowsPerSecond(table, now_ms)));
  }
  std::erase_if(samples_, [this](const auto& entry) { return entry.second.revision != revision_; });
  answered_ms_ = now_ms;
  answer_ = JsonText(document);
  return answer_;
}

}  // namespace sluice::gateway
