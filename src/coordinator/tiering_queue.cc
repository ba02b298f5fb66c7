#include "coordinator/tiering_queue.h"

#include <algorithm>

#include "base/check.h"

namespace sluice::coordinator {

namespace {
using Time = TieringQueue::Time;

// When rows that may be as old as `clean_at` must be handed out. What a round takes and how late a
// probe may notice come off the freshness, but not more than half of it: beyond that a table would
// be tiered without pause.
Time DueAt(Time clean_at, Time freshness, Time round, Time probe_interval) {
  return clean_at + std::max(freshness - 2 * round - probe_interval, freshness / 2);
}
}  // namespace

std::string_view TieringQueue::NameOf(State state) {
  static constexpr std::string_view kNames[] = {"New",     "Initialized", "Scheduled", "Pending",
                                                "Tiering", "Tiered",      "Failed"};
  return kNames[static_cast<size_t>(state)];
}

Time TieringQueue::ProbeInterval(const Table& table) {
  return std::max(table.freshness / 4, kProbeLeast);
}

void TieringQueue::Add(int64_t table_id, types::TablePath path, Time freshness, Time now) {
  CHECK(freshness > Time::zero());
  const auto [at, added] = tables_.try_emplace(table_id);
  CHECK(added);
  at->second.path = std::move(path);
  at->second.freshness = freshness;
  at->second.tiering_epoch = removed_epoch_;
  // Nobody knows how old its untiered rows are: the lake may be behind by any time.
  Schedule(&at->second, now - freshness, now);
}

void TieringQueue::Remove(int64_t table_id) {
  const auto found = tables_.find(table_id);
  if (found == tables_.end()) return;
  removed_epoch_ = std::max(removed_epoch_, found->second.tiering_epoch);
  tables_.erase(found);
  std::erase(pending_, table_id);
}

void TieringQueue::Schedule(Table* table, Time clean_at, Time now) {
  table->state = State::kScheduled;
  table->has_rows = false;
  table->probing = false;
  table->clean_at = clean_at;
  table->probe_at = now;
}

void TieringQueue::Queue(int64_t table_id, Table* table) {
  table->state = State::kPending;
  ++table->tiering_epoch;
  pending_.push_back(table_id);
}

void TieringQueue::FailNow(Table* table, Time now) {
  table->state = State::kFailed;
  const int64_t doublings = std::min<int64_t>(table->failures, 16);
  table->due = now + std::min(kRetryFirst * (int64_t{1} << doublings), kRetryMost);
  ++table->failures;
}

void TieringQueue::Advance(Time now) {
  for (auto& [table_id, table] : tables_) {
    if (table.state == State::kTiering && now - table.heard >= kHeartbeatTimeout) {
      FailNow(&table, now);
      table.due = now;  // It was silent for long enough.
    }
    const bool waits =
        (table.state == State::kScheduled && table.has_rows) || table.state == State::kFailed;
    if (waits && now >= table.due) Queue(table_id, &table);
  }
}

std::optional<Time> TieringQueue::NextEvent() const {
  std::optional<Time> next;
  const auto consider = [&next](Time at) { next = next.has_value() ? std::min(*next, at) : at; };
  for (const auto& [table_id, table] : tables_) {
    if (table.state == State::kTiering) consider(table.heard + kHeartbeatTimeout);
    if (table.state == State::kFailed || (table.state == State::kScheduled && table.has_rows))
      consider(table.due);
    if (table.state == State::kScheduled && !table.has_rows && !table.probing)
      consider(table.probe_at);
  }
  return next;
}

std::vector<int64_t> TieringQueue::TakeProbes(Time now) {
  std::vector<int64_t> due;
  for (auto& [table_id, table] : tables_) {
    if (table.state != State::kScheduled || table.has_rows || table.probing || now < table.probe_at)
      continue;
    table.probing = true;
    due.push_back(table_id);
  }
  return due;
}

void TieringQueue::Probed(int64_t table_id, std::optional<bool> rows, Time now) {
  const auto found = tables_.find(table_id);
  if (found == tables_.end()) return;
  Table& table = found->second;
  if (table.state != State::kScheduled || !table.probing) return;
  table.probing = false;
  const Time interval = ProbeInterval(table);
  if (rows.value_or(false)) {
    table.has_rows = true;
    table.due = DueAt(table.clean_at, table.freshness, table.round, interval);
    return;
  }
  // Rows that were written while the probe was under way are caught by the next one.
  if (rows.has_value()) table.clean_at = std::max(table.clean_at, table.probe_at);
  table.probe_at = now + interval;
}

std::optional<TieringQueue::Handout> TieringQueue::Take(Time now) {
  if (pending_.empty()) return std::nullopt;
  const int64_t table_id = pending_.front();
  pending_.pop_front();
  Table& table = tables_.at(table_id);
  CHECK(table.state == State::kPending);
  table.state = State::kTiering;
  table.handed_out = table.heard = now;
  return Handout{table_id, table.path, table.tiering_epoch};
}

Result<TieringQueue::Table*> TieringQueue::Owned(int64_t table_id, int64_t tiering_epoch) {
  const auto found = tables_.find(table_id);
  if (found == tables_.end()) {
    return Error(ErrorCode::kTableNotExist,
                 "no such table in the tiering queue table_id=", table_id);
  }
  if (found->second.tiering_epoch != tiering_epoch) {
    return Error(ErrorCode::kFencedTieringEpoch, "table was handed out again table_id=", table_id,
                 " tiering_epoch=", tiering_epoch, " current=", found->second.tiering_epoch);
  }
  if (found->second.state != State::kTiering) {
    return Error(ErrorCode::kUnknownServer, "table is not being tiered table_id=", table_id,
                 " state=", NameOf(found->second.state));
  }
  return &found->second;
}

Status TieringQueue::Heartbeat(int64_t table_id, int64_t tiering_epoch, Time now) {
  ASSIGN_OR_RAISE(Table* const table, Owned(table_id, tiering_epoch));
  table->heard = now;
  return Status::OK();
}

Status TieringQueue::Finish(int64_t table_id, int64_t tiering_epoch, bool again, Time now) {
  ASSIGN_OR_RAISE(Table* const table, Owned(table_id, tiering_epoch));
  const Time took = now - table->handed_out;
  table->round = table->round == Time::zero() ? took : (3 * table->round + took) / 4;
  table->failures = 0;
  // Rows that came after the hand-out may have missed the round.
  Schedule(table, table->handed_out, now);
  if (again) Queue(table_id, table);
  return Status::OK();
}

Status TieringQueue::Fail(int64_t table_id, int64_t tiering_epoch, Time now) {
  ASSIGN_OR_RAISE(Table* const table, Owned(table_id, tiering_epoch));
  FailNow(table, now);
  return Status::OK();
}

std::optional<int64_t> TieringQueue::RoundOf(int64_t table_id) const {
  const auto found = tables_.find(table_id);
  if (found == tables_.end() || found->second.state != State::kTiering) return std::nullopt;
  return found->second.tiering_epoch;
}

std::map<int64_t, Time> TieringQueue::NextTries(Time now) const {
  std::map<int64_t, Time> tries;
  for (const auto& [table_id, table] : tables_) {
    if (table.state == State::kFailed) tries[table_id] = std::max(table.due - now, Time(0));
  }
  return tries;
}

}  // namespace sluice::coordinator
