#include "tiering/lag.h"

#include <algorithm>

#include "tiering/plan.h"

namespace sluice::tiering {

Result<std::vector<BucketLag>> LagMeter::Measure(const types::TableInfo& table) {
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
                  .lag_rows = std::max<int64_t>(0, span.to - span.from)};
    if (lag.lag_rows > 0) {
      ASSIGN_OR_RAISE(lag.oldest_ms, OldestTime(table.path, lag));
      if (lag.oldest_ms >= 0) lag.lag_ms = std::max<int64_t>(0, clock_.NowMs() - lag.oldest_ms);
    }
    lags.push_back(std::move(lag));
  }
  return lags;
}

Result<int64_t> LagMeter::OldestTime(const types::TablePath& path, const BucketLag& lag) {
  const auto known = oldest_.find(lag.bucket);
  if (known != oldest_.end() && known->second.offset == lag.lake_offset)
    return known->second.commit_ms;
  const auto found = link_.CommitTimeAt(path, lag.bucket, lag.lake_offset);
  // A damaged batch does not tell its age; the table's rounds tell what is wrong with it.
  if (CodeOf(found.status()) == ErrorCode::kCorruptRecord) return -1;
  ASSIGN_OR_RAISE(const int64_t commit_ms, found);
  if (commit_ms >= 0) oldest_.insert_or_assign(lag.bucket, Oldest{lag.lake_offset, commit_ms});
  return commit_ms;
}

void LagMeter::Forget(int64_t table_id) {
  std::erase_if(oldest_,
                [table_id](const auto& entry) { return entry.first.table_id == table_id; });
}

}  // namespace sluice::tiering
