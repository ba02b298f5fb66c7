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
      RETURN_NOT_OK(SetAge(table.path, &lag));
    }
    lags.push_back(std::move(lag));
  }
  return lags;
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
  lag->lag_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now - oldest.seen_at).count();
  if (lag->oldest_ms >= 0) lag->lag_ms = std::max(lag->lag_ms, clock_.NowMs() - lag->oldest_ms);
  return Status::OK();
}

void LagMeter::Forget(int64_t table_id) {
  std::erase_if(oldest_,
                [table_id](const auto& entry) { return entry.first.table_id == table_id; });
}

}  // namespace sluice::tiering
