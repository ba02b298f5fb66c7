#include "tiering/table_state.h"

#include <algorithm>
#include <limits>
#include <map>

namespace sluice::tiering {

namespace {

constexpr int64_t kLateGraceMs = 2000;

int64_t MsBetween(std::chrono::nanoseconds from, std::chrono::nanoseconds to) {
  return std::max<int64_t>(
      0, std::chrono::duration_cast<std::chrono::milliseconds>(to - from).count());
}

// The age of the row at `offset`, which the lake lacks.
int64_t AgeOf(const BucketLag& measured, int64_t offset, std::chrono::nanoseconds now) {
  int64_t most = std::numeric_limits<int64_t>::max();
  if (measured.lag_rows > 0) {
    most = measured.lag_ms + MsBetween(measured.measured_at, now);
    if (offset <= measured.lake_offset) return most;
  }
  const auto above = std::ranges::upper_bound(measured.log_ends, offset, {}, &LogEndSeen::offset);
  if (above != measured.log_ends.begin()) most = std::min(most, MsBetween((above - 1)->at, now));
  return most == std::numeric_limits<int64_t>::max() ? 0 : most;
}

State StateOf(const TableState& table) {
  if (table.tiering) return State::kTiering;
  if (!table.reason.empty()) return State::kFailed;
  if (table.lag_rows > 0)
    return table.lag_ms >= table.freshness_ms ? State::kPending : State::kScheduled;
  return table.last_round.has_value() ? State::kTiered : State::kScheduled;
}

}  // namespace

void TableState::Judge() {
  lag_rows = lag_ms = 0;
  for (const BucketLag& bucket : buckets) {
    lag_rows += bucket.lag_rows;
    lag_ms = std::max(lag_ms, bucket.lag_ms);
  }
  late = lag_ms > freshness_ms + kLateGraceMs;
  state = StateOf(*this);
}

void TableState::BringUpTo(const std::vector<BucketOffsets>& offsets,
                           std::chrono::nanoseconds now) {
  std::map<types::BucketId, BucketLag> measured;
  for (BucketLag& bucket : buckets) measured[bucket.bucket] = std::move(bucket);
  buckets.clear();
  for (const BucketOffsets& at : offsets) {
    BucketLag& lag = measured[at.bucket];
    const int64_t rows = std::max<int64_t>(0, at.log_end_offset - at.lake_offset);
    lag.lag_ms = rows > 0 ? AgeOf(lag, at.lake_offset, now) : 0;
    lag.bucket = at.bucket;
    lag.lake_offset = at.lake_offset;
    lag.log_end_offset = at.log_end_offset;
    lag.lag_rows = rows;
    lag.measured_at = now;
    buckets.push_back(std::move(lag));
  }
  Judge();
}

std::string_view NameOf(State state) {
  switch (state) {
    case State::kScheduled:
      return "SCHEDULED";
    case State::kPending:
      return "PENDING";
    case State::kTiering:
      return "TIERING";
    case State::kTiered:
      return "TIERED";
    case State::kFailed:
      return "FAILED";
  }
  return "UNKNOWN";
}

}  // namespace sluice::tiering
