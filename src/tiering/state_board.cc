#include "tiering/state_board.h"

#include <algorithm>

namespace sluice::tiering {

void StateBoard::RoundStarted(int64_t table_id, const types::TablePath& path) {
  const std::lock_guard lock(mutex_);
  TableState& table = tables_[table_id];
  table.table_id = table_id;
  table.path = path;
  table.tiering = true;
}

void StateBoard::RoundFinished(int64_t table_id, const RoundSummary& summary) {
  const std::lock_guard lock(mutex_);
  TableState& table = tables_[table_id];
  table.tiering = false;
  table.reason.clear();
  ++table.rounds;
  table.records_tiered += summary.records;
  table.last_round = summary;
}

void StateBoard::GapsSeen(int64_t table_id, std::vector<LogGap> gaps) {
  const std::lock_guard lock(mutex_);
  const auto found = tables_.find(table_id);
  if (found == tables_.end() || gaps.size() < found->second.gaps.size()) return;
  found->second.gaps = std::move(gaps);
}

void StateBoard::RoundFailed(int64_t table_id, const Status& reason, int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  TableState& table = tables_[table_id];
  table.tiering = false;
  if (table.reason.empty()) table.failed_since_ms = now_ms;
  table.reason = reason.message();
  ++table.failures;
}

void StateBoard::Compacted(int64_t table_id) {
  const std::lock_guard lock(mutex_);
  ++tables_[table_id].compactions;
}

void StateBoard::Measured(int64_t table_id, const types::TablePath& path, int64_t freshness_ms,
                          std::vector<BucketLag> buckets) {
  const std::lock_guard lock(mutex_);
  TableState& table = tables_[table_id];
  table.table_id = table_id;
  table.path = path;
  table.freshness_ms = freshness_ms;
  table.buckets = std::move(buckets);
}

std::vector<int64_t> StateBoard::Retain(const std::vector<int64_t>& table_ids) {
  const std::lock_guard lock(mutex_);
  std::vector<int64_t> gone;
  for (const auto& [table_id, table] : tables_) {
    const bool listed = std::find(table_ids.begin(), table_ids.end(), table_id) != table_ids.end();
    if (!listed && !table.tiering) gone.push_back(table_id);
  }
  for (const int64_t table_id : gone) tables_.erase(table_id);
  return gone;
}

std::vector<TableState> StateBoard::Tables() const {
  std::vector<TableState> tables;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [table_id, table] : tables_) tables.push_back(table);
  }
  for (TableState& table : tables) table.Judge();
  std::ranges::sort(tables, {}, &TableState::path);
  return tables;
}

}  // namespace sluice::tiering
