#include "tiering/round.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/log.h"
#include "io/crash_point.h"
#include "tiering/work_group.h"

namespace sluice::tiering {
namespace {

constexpr int64_t kKeepAllSnapshots = -1;
constexpr int64_t kBucketBytesMin = 256 << 10;

std::vector<std::unique_ptr<lake::PreparedFiles>> TakeFiles(std::vector<BucketMoved>* moved) {
  std::vector<std::unique_ptr<lake::PreparedFiles>> files;
  for (BucketMoved& bucket : *moved) {
    if (bucket.files != nullptr) files.push_back(std::move(bucket.files));
  }
  return files;
}

std::vector<client::LakeBucketOffset> OffsetsOf(const std::vector<BucketSpan>& spans,
                                                const std::vector<BucketMoved>& moved) {
  std::vector<client::LakeBucketOffset> offsets;
  for (size_t i = 0; i < spans.size(); ++i) {
    offsets.push_back({.partition_id = spans[i].bucket.partition_id,
                       .bucket = spans[i].bucket.bucket,
                       .log_end_offset = moved[i].end_offset,
                       .partition_name = spans[i].partition_name,
                       .max_timestamp_ms = moved[i].max_timestamp_ms});
  }
  return offsets;
}

}  // namespace

Result<std::vector<LogGap>> GapsOf(const std::optional<lake::LakeSnapshot>& snapshot) {
  if (!snapshot.has_value()) return std::vector<LogGap>();
  const auto text = snapshot->properties.find(std::string(kGapsProperty));
  return text == snapshot->properties.end() ? std::vector<LogGap>() : GapsFromText(text->second);
}

Result<RoundResult> Round::Run() {
  const auto started = options_.clock->Monotonic();
  RETURN_NOT_OK(Open());
  RETURN_NOT_OK(AdoptNewer());
  CRASH_POINT("tiering.after-adopt");
  ASSIGN_OR_RAISE(auto spans, PlanSpans(*options_.link, table_, recorded_));
  std::erase_if(spans,
                [](const BucketSpan& span) { return span.from >= span.to && !span.gap_from; });
  RoundResult result;
  if (!spans.empty()) {
    ASSIGN_OR_RAISE(auto moved, MoveAll(spans));
    CRASH_POINT("tiering.after-write");
    RETURN_NOT_OK(LeaveOutDropped(&spans, &moved));
    for (size_t i = 0; i < spans.size(); ++i) {
      result.summary.records += moved[i].records;
      if (moved[i].files != nullptr) result.summary.file_bytes += moved[i].files->size_bytes();
      result.more = result.more || moved[i].end_offset < spans[i].to;
    }
    if (!spans.empty()) {
      NoteGaps(spans);
      ASSIGN_OR_RAISE(result.summary.snapshot_id, CommitAll(spans, std::move(moved)));
    }
  }
  result.gaps = std::move(gaps_);
  result.summary.duration_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(options_.clock->Monotonic() - started)
          .count();
  result.summary.finished_ms = options_.clock->NowMs();
  return result;
}

Status Round::Open() {
  ASSIGN_OR_RAISE(table_, options_.link->GetTable(handout_.path));
  if (table_.table_id != handout_.table_id) {
    return Error(ErrorCode::kTableNotExist, "table was made anew table=", handout_.path.ToString(),
                 " table_id=", table_.table_id, " expected=", handout_.table_id);
  }
  ASSIGN_OR_RAISE(lake_, options_.lake->OpenTable(handout_.path));
  ASSIGN_OR_RAISE(recorded_, options_.link->RecordedSnapshot(handout_.path));
  return Status::OK();
}

Status Round::AdoptNewer() {
  ASSIGN_OR_RAISE(const auto newest, lake_->NewestSnapshotOf(lake::kTieringUser));
  ASSIGN_OR_RAISE(gaps_, GapsOf(newest));
  if (!newest.has_value() || (recorded_.has_value() && newest->id <= recorded_->snapshot_id))
    return Status::OK();
  const auto path = newest->properties.find(std::string(lake::kOffsetsProperty));
  if (path == newest->properties.end()) {
    return Corrupt("lake snapshot of tiering names no offsets file table=",
                   handout_.path.ToString(), " snapshot=", newest->id);
  }
  LogInfo("lake snapshot of an unfinished round is registered table={} snapshot={}",
          handout_.path.ToString(), newest->id);
  RETURN_NOT_OK(CommitToCluster(newest->id, path->second, {}, kKeepAllSnapshots));
  ASSIGN_OR_RAISE(recorded_, options_.link->RecordedSnapshot(handout_.path));
  if (!recorded_.has_value() || recorded_->snapshot_id != newest->id) {
    return Error(ErrorCode::kUnknownServer,
                 "coordinator did not take up lake snapshot=", newest->id);
  }
  return Status::OK();
}

void Round::NoteGaps(const std::vector<BucketSpan>& spans) {
  for (const BucketSpan& span : spans) {
    if (!span.gap_from) continue;
    LogWarn("log records expired before they were in the lake table={} {} from={} to={}",
            handout_.path.ToString(), span.bucket.ToString(), *span.gap_from, span.from);
    AddGap({span.partition_name, span.bucket.bucket, *span.gap_from, span.from}, &gaps_);
  }
}

// Every bucket gets the same share of the round, so that a long one does not keep the others
// waiting.
Result<Round::Moved> Round::MoveAll(const std::vector<BucketSpan>& spans) {
  std::atomic<bool> cancelled = false;
  const MoveLimits limits{
      .bytes_max =
          std::max(options_.bytes_max / static_cast<int64_t>(spans.size()), kBucketBytesMin),
      .clock = options_.clock,
      .until = options_.clock->Monotonic() + options_.time_max,
      .rows = options_.rows,
      .cancelled = &cancelled,
      .stopping = options_.stopping};
  std::vector<std::optional<Result<BucketMoved>>> results(spans.size());
  WorkGroup group(*options_.bucket_pool);
  for (size_t i = 0; i < spans.size(); ++i) {
    group.Run([this, &limits, &cancelled, &span = spans[i], &result = results[i]] {
      result.emplace(MoveBucket(*options_.link, *lake_, handout_.path, span, limits));
      if (!result->ok()) cancelled = true;
    });
  }
  group.Wait();
  Moved moved;
  Status failed;
  for (auto& result : results) {
    // The first real reason, rather than that of a bucket that was cancelled for it.
    if (result->ok()) {
      moved.push_back(std::move(*result).ValueUnsafe());
    } else if (failed.ok() || CodeOf(failed) == ErrorCode::kOperationNotAttempted) {
      failed = result->status();
    }
  }
  if (failed.ok()) return moved;
  lake_->Discard(TakeFiles(&moved));
  return failed;
}

// A partition that was dropped since the plan takes its rows with it: one of the same name that is
// made by now is another, and has another id.
Status Round::LeaveOutDropped(std::vector<BucketSpan>* spans, Moved* moved) {
  if (!table_.descriptor.partitioned()) return Status::OK();
  auto listed = options_.link->ListPartitions(handout_.path);
  if (!listed.ok()) {
    lake_->Discard(TakeFiles(moved));
    return listed.status();
  }
  std::set<std::optional<int64_t>> present;
  for (const types::PartitionInfo& partition : *listed) present.insert(partition.partition_id);
  std::vector<BucketSpan> kept_spans;
  Moved kept, dropped;
  for (size_t i = 0; i < spans->size(); ++i) {
    const bool keep = present.contains((*spans)[i].bucket.partition_id);
    (keep ? kept : dropped).push_back(std::move((*moved)[i]));
    if (keep) kept_spans.push_back(std::move((*spans)[i]));
  }
  *spans = std::move(kept_spans);
  *moved = std::move(kept);
  if (auto files = TakeFiles(&dropped); !files.empty()) lake_->Discard(std::move(files));
  return Status::OK();
}

Result<int64_t> Round::CommitAll(const std::vector<BucketSpan>& spans, Moved moved) {
  auto offsets = OffsetsOf(spans, moved);
  auto files = TakeFiles(&moved);
  auto path = [&]() -> Result<std::string> {
    RETURN_NOT_OK(CheckStillOurs());
    return options_.link->Prepare(handout_.path, handout_.table_id, offsets);
  }();
  if (!path.ok()) {
    lake_->Discard(std::move(files));
    return path.status();
  }
  CRASH_POINT("tiering.after-prepare");
  ASSIGN_OR_RAISE(const int64_t snapshot_id, CommitToLake(std::move(files), *path));
  CRASH_POINT("tiering.after-lake-commit");
  RETURN_NOT_OK(
      CommitToCluster(snapshot_id, *path, std::move(offsets), /*keep_from=*/std::nullopt));
  CRASH_POINT("tiering.after-commit");
  return snapshot_id;
}

// The table may have been dropped and made anew, or handed to another service that went on without
// us.
Status Round::CheckStillOurs() {
  ASSIGN_OR_RAISE(const auto table, options_.link->GetTable(handout_.path));
  if (table.table_id != handout_.table_id) {
    return Error(ErrorCode::kTableNotExist, "table was made anew table=", handout_.path.ToString());
  }
  ASSIGN_OR_RAISE(const auto newest, lake_->NewestSnapshotOf(lake::kTieringUser));
  if (newest.has_value() && (!recorded_.has_value() || newest->id > recorded_->snapshot_id)) {
    return Error(ErrorCode::kFencedTieringEpoch,
                 "another service has tiered table=", handout_.path.ToString(),
                 " snapshot=", newest->id);
  }
  return Status::OK();
}

Result<int64_t> Round::CommitToLake(std::vector<std::unique_ptr<lake::PreparedFiles>> files,
                                    const std::string& offsets_path) {
  const std::string property(lake::kOffsetsProperty);
  lake::CommitOptions options;
  options.properties[property] = offsets_path;
  if (!gaps_.empty()) options.properties[std::string(kGapsProperty)] = GapsToText(gaps_);
  options.newest_of_user = recorded_.has_value() ? recorded_->snapshot_id : 0;
  auto committed = lake_->Commit(std::move(files), options);
  if (committed.ok()) return committed;
  // It may have happened all the same.
  ASSIGN_OR_RAISE(const auto newest, lake_->NewestSnapshotOf(lake::kTieringUser));
  if (newest.has_value()) {
    const auto path = newest->properties.find(property);
    if (path != newest->properties.end() && path->second == offsets_path) return newest->id;
  }
  return committed;
}

Status Round::CommitToCluster(int64_t snapshot_id, const std::string& offsets_path,
                              std::vector<client::LakeBucketOffset> offsets,
                              std::optional<int64_t> keep_from) {
  client::LakeCommit commit;
  commit.path = handout_.path;
  commit.table_id = handout_.table_id;
  commit.snapshot_id = snapshot_id;
  commit.tiered_offsets_path = offsets_path;
  commit.readable_offsets_path = offsets_path;  // What the lake holds can be read at once.
  commit.earliest_snapshot_to_keep = keep_from;
  commit.buckets = std::move(offsets);
  return options_.link->Commit(std::move(commit));
}

}  // namespace sluice::tiering
