#include "tiering/lag.h"

#include <algorithm>
#include <set>

#include "tiering/plan.h"

namespace sluice::tiering {

Result<std::vector<BucketLag>> LagMeter::Measure(const types::TableInfo& table) {
  const std::chrono::nanoseconds asked_at = clock_.Monotonic();
  // The lake's offset first: in the other order a round in between would make the lag negative.
  ASSIGN_OR_RAISE(const auto recorded, link_.RecordedSnapshot(table.path));
  ASSIGN_OR_RAISE(const auto spans, PlanSpans(link_, table, recorded));
  std::vector<BucketLag> lags;
  lags.reserve(spans.size());
  for (const BucketSpan& span : spans) {
    BucketLag lag{.bucket = span.bucket,
                  .partition = span.partition_name,
                  .lake_offset = span.from,
                  .log_end_offset = span.to,
                  .lag_rows = std::max<int64_t>(0, span.to - span.from),
                  .measured_at = asked_at};
    NoteLogEnd(lag.bucket, {span.to, asked_at});
    lag.log_ends = log_ends_[lag.bucket];
    if (lag.lag_rows > 0) {
      RETURN_NOT_OK(SetAge(table.path, &lag));
    }
    lags.push_back(std::move(lag));
  }
  ForgetBuckets(table.table_id, lags);
  return lags;
}

void LagMeter::NoteLogEnd(const types::BucketId& bucket, LogEndSeen end) {
  std::vector<LogEndSeen>& ends = log_ends_[bucket];
  if (!ends.empty() && ends.back().offset > end.offset) ends.clear();
  if (!ends.empty() && ends.back().offset == end.offset) ends.pop_back();
  if (ends.size() == kLogEndsMax) {
    // Every second one: an age that is told from what is left is larger, never too small.
    size_t kept = 0;
    for (size_t i = 1; i < ends.size(); i += 2) ends[kept++] = ends[i];
    ends.resize(kept);
  }
  ends.push_back(end);
}

// Of partitions that were dropped.
void LagMeter::ForgetBuckets(int64_t table_id, const std::vector<BucketLag>& but) {
  std::set<types::BucketId> present;
  for (const BucketLag& lag : but) present.insert(lag.bucket);
  const auto gone = [&](const auto& entry) {
    return entry.first.table_id == table_id && !present.contains(entry.first);
  };
  std::erase_if(oldest_, gone);
  std::erase_if(log_ends_, gone);
}

Status LagMeter::SetAge(const types::TablePath& path, BucketLag* lag) {
  const std::chrono::nanoseconds now = clock_.Monotonic();
  auto [known, fresh] = oldest_.try_emplace(lag->bucket, Oldest{lag->lake_offset, -1, now});
  Oldest& oldest = known->second;
  if (!fresh && oldest.offset != lag->lake_offset) oldest = {lag->lake_offset, -1, now};
  if (oldest.commit_ms < 0) {
    const auto found = link_.CommitTimeAt(path, lag->bucket, lag->lake_offset);
    // A damaged batch does not tell its age; the table's rounds tell what is wrong with it.
    if (CodeOf(found.status()) != ErrorCode::kCorruptRecord) {
      ASSIGN_OR_RAISE(oldest.commit_ms, found);
    }
  }
  lag->oldest_ms = oldest.commit_ms;
  lag->measured_at = now;
  lag->lag_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now - oldest.seen_at).count();
  if (lag->oldest_ms >= 0) lag->lag_ms = std::max(lag->lag_ms, clock_.NowMs() - lag->oldest_ms);
  return Status::OK();
}

void LagMeter::Forget(int64_t table_id) { ForgetBuckets(table_id, {}); }

}  // namespace sluice::tiering
