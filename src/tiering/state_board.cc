#include "tiering/state_board.h"

#include <algorithm>

namespace sluice::tiering {
namespace {
constexpr int64_t kLateGraceMs = 2000;
}  // namespace

void StateBoard::RoundStarted(int64_t table_id, const types::TablePath& path) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[table_id];
  entry.shown.table_id = table_id;
  entry.shown.path = path;
  entry.tiering = true;
}

void StateBoard::RoundFinished(int64_t table_id, const RoundSummary& summary) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[table_id];
  entry.tiering = false;
  entry.shown.reason.clear();
  ++entry.shown.rounds;
  entry.shown.records_tiered += summary.records;
  entry.shown.last_round = summary;
}

void StateBoard::RoundFailed(int64_t table_id, const Status& reason) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[table_id];
  entry.tiering = false;
  entry.shown.reason = reason.message();
  ++entry.shown.failures;
}

void StateBoard::Compacted(int64_t table_id) {
  const std::lock_guard lock(mutex_);
  ++entries_[table_id].shown.compactions;
}

void StateBoard::Measured(int64_t table_id, const types::TablePath& path, int64_t freshness_ms,
                          std::vector<BucketLag> buckets) {
  const std::lock_guard lock(mutex_);
  TableState& shown = entries_[table_id].shown;
  shown.table_id = table_id;
  shown.path = path;
  shown.freshness_ms = freshness_ms;
  shown.lag_rows = shown.lag_ms = 0;
  for (const BucketLag& bucket : buckets) {
    shown.lag_rows += bucket.lag_rows;
    shown.lag_ms = std::max(shown.lag_ms, bucket.lag_ms);
  }
  shown.late = shown.lag_ms > freshness_ms + kLateGraceMs;
  shown.buckets = std::move(buckets);
}

std::vector<int64_t> StateBoard::Retain(const std::vector<int64_t>& table_ids) {
  const std::lock_guard lock(mutex_);
  std::vector<int64_t> gone;
  for (const auto& [table_id, entry] : entries_) {
    const bool listed = std::find(table_ids.begin(), table_ids.end(), table_id) != table_ids.end();
    if (!listed && !entry.tiering) gone.push_back(table_id);
  }
  for (const int64_t table_id : gone) entries_.erase(table_id);
  return gone;
}

State StateBoard::StateOf(const Entry& entry) {
  if (entry.tiering) return State::kTiering;
  if (!entry.shown.reason.empty()) return State::kFailed;
  if (entry.shown.lag_rows > 0) {
    return entry.shown.lag_ms >= entry.shown.freshness_ms ? State::kPending : State::kScheduled;
  }
  return entry.shown.last_round.has_value() ? State::kTiered : State::kScheduled;
}

std::vector<TableState> StateBoard::Tables() const {
  std::vector<TableState> tables;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [table_id, entry] : entries_) {
      tables.push_back(entry.shown);
      tables.back().state = StateOf(entry);
    }
  }
  std::ranges::sort(tables, {}, &TableState::path);
  return tables;
}

}  // namespace sluice::tiering
