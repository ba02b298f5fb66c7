#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "base/log.h"
#include "log/log.h"
#include "log/log_state.h"
#include "log/segment.h"
#include "log/writer_states.h"

namespace sluice::log {

// One batch of an append and what becomes of it.
struct Log::Planned {
  wire::LogBatchHeader
      header;  // As it will stand in the log, or as it stands there when it is a duplicate.
  std::string_view bytes;  // As it came.
  bool duplicate;
};

namespace {

// The writers of one append, ahead of what the log remembers.
class StagedWriters {
 public:
  explicit StagedWriters(const WriterStates& known) : known_(known) {}

  const WriterStates::Writer* Find(int64_t writer_id) const {
    const WriterStates::Writer* staged = staged_.Find(writer_id);
    return staged != nullptr ? staged : known_.Find(writer_id);
  }
  void Add(const wire::LogBatchHeader& header) {
    if (const WriterStates::Writer* known = known_.Find(header.writer_id);
        known != nullptr && staged_.Find(header.writer_id) == nullptr) {
      staged_.Put(header.writer_id, *known);
    }
    staged_.Add(header);
  }

 private:
  const WriterStates& known_;
  WriterStates staged_;
};

Status OutOfOrder(const wire::LogBatchHeader& header, const WriterStates::Writer* writer) {
  return Error(ErrorCode::kOutOfOrderSequence,
               "batch of a writer is out of order writer_id=", header.writer_id,
               " sequence=", header.batch_sequence,
               " last_sequence=", writer == nullptr ? -1 : writer->back().sequence);
}

// Where the batch was appended before, if it was; an error when it does not follow its writer's
// last.
Result<std::optional<WriterStates::Batch>> CheckSequence(const wire::LogBatchHeader& header,
                                                         const WriterStates::Writer* writer,
                                                         bool leader) {
  if (header.writer_id < 0) return std::nullopt;
  if (const auto before = WriterStates::FindDuplicate(writer, header.batch_sequence)) {
    if (leader) return before;
    return Error(ErrorCode::kDuplicateSequence,
                 "batch of a writer was appended before writer_id=", header.writer_id,
                 " sequence=", header.batch_sequence);
  }
  if (writer == nullptr) {
    // A follower may start behind the writer's first batches.
    if (leader && header.batch_sequence != 0) return OutOfOrder(header, writer);
  } else if (header.batch_sequence != WriterStates::NextSequence(writer->back().sequence)) {
    return OutOfOrder(header, writer);
  }
  return std::nullopt;
}

}  // namespace

Result<Log::Plan> Log::PlanAppend(std::string_view batches, bool leader) const {
  Plan plan;
  StagedWriters writers(*writers_);
  int64_t next_offset = end_offset_;
  const int64_t commit_ms = std::max(largest_timestamp_ms_, clock_.NowMs());
  wire::LogBatchIterator iterator(batches);
  while (true) {
    ASSIGN_OR_RAISE(const auto batch, iterator.Next());
    if (!batch) break;
    if (!batch->CrcMatches()) return Corrupt("log batch has a wrong crc position=", plan.size());
    Planned planned{batch->header(), batch->bytes(), false};
    if (leader) {
      planned.header.base_offset = next_offset;
      planned.header.commit_timestamp_ms = commit_ms;
    } else if (planned.header.base_offset != next_offset) {
      return Error(ErrorCode::kLogOffsetOutOfRange,
                   "batch does not follow the end of the log offset=", planned.header.base_offset,
                   " end_offset=", next_offset);
    }
    ASSIGN_OR_RAISE(const auto before,
                    CheckSequence(planned.header, writers.Find(planned.header.writer_id), leader));
    if (before) {
      planned.duplicate = true;
      planned.header.base_offset = before->base_offset;
      planned.header.last_offset_delta = before->last_offset_delta;
      planned.header.commit_timestamp_ms = before->timestamp_ms;
    } else {
      next_offset = planned.header.next_offset();
      if (!iterator.rest().empty()) writers.Add(planned.header);
    }
    plan.push_back(planned);
  }
  if (plan.empty() || !iterator.rest().empty()) {
    return Corrupt("records end inside a batch left_bytes=", iterator.rest().size());
  }
  return plan;
}

Status Log::CheckEpoch(int32_t leader_epoch) const {
  if (leader_epoch >= state_->leader_epoch()) return Status::OK();
  return Error(ErrorCode::kFencedLeaderEpoch,
               "append under an old leader epoch epoch=", leader_epoch,
               " current=", state_->leader_epoch());
}

Result<Log::Appended> Log::AppendAsLeader(std::string_view batches, int32_t leader_epoch) {
  RETURN_NOT_OK(Usable());
  RETURN_NOT_OK(CheckEpoch(leader_epoch));
  ASSIGN_OR_RAISE(const Plan plan, PlanAppend(batches, /*leader=*/true));
  RETURN_NOT_OK(Append(plan, leader_epoch));
  const wire::LogBatchHeader& last = plan.back().header;
  return Appended{plan.front().header.base_offset, last.last_offset(), last.commit_timestamp_ms,
                  std::ranges::all_of(plan, &Planned::duplicate)};
}

Status Log::AddEpoch(int32_t epoch) { return state_->AddEpoch(epoch, end_offset_); }

Status Log::AppendAsFollower(std::string_view batches, int32_t leader_epoch) {
  RETURN_NOT_OK(Usable());
  RETURN_NOT_OK(CheckEpoch(leader_epoch));
  ASSIGN_OR_RAISE(const Plan plan, PlanAppend(batches, /*leader=*/false));
  return Append(plan, leader_epoch);
}

Status Log::AppendFailed(const Status& reason) const {
  return Error(ErrorCode::kLogStorage, "append failed folder=", folder_,
               " reason=", reason.message());
}

Status Log::Append(const Plan& plan, int32_t leader_epoch) {
  if (leader_epoch > state_->leader_epoch()) {
    const Status noted = AddEpoch(leader_epoch);
    if (!noted.ok()) return AppendFailed(noted);
  }
  const int64_t end_before = end_offset_;
  const int64_t largest_before_ms = largest_timestamp_ms_;
  const uint64_t bytes_before = written_bytes_;
  const Status written = Write(plan);
  if (!written.ok()) {
    const Status undone = CutAt(end_before);
    end_offset_ = end_before;
    largest_timestamp_ms_ = largest_before_ms;
    written_bytes_ = bytes_before;  // No flush began meanwhile.
    broken_ = !undone.ok();
    return AppendFailed(written);
  }
  for (const Planned& batch : plan) {
    if (!batch.duplicate) writers_->Add(batch.header);
  }
  return Status::OK();
}

Status Log::Write(const Plan& plan) {
  std::vector<Planned> run;  // Goes to the newest segment in one write.
  uint64_t run_bytes = 0;
  for (const Planned& batch : plan) {
    if (batch.duplicate) continue;
    const Segment& active = *segments_.back();
    const bool first = run.empty() && active.size_bytes() == 0;
    if (!first && !active.Fits(run_bytes + batch.bytes.size(), batch.header.last_offset(),
                               options_.segment_bytes)) {
      RETURN_NOT_OK(WriteRun(run));
      run.clear();
      run_bytes = 0;
      RETURN_NOT_OK(Roll());
    }
    run.push_back(batch);
    run_bytes += batch.bytes.size();
  }
  return WriteRun(run);
}

Status Log::WriteRun(std::span<const Planned> run) {
  if (run.empty()) return Status::OK();
  ASSIGN_OR_RAISE(Segment * active, Loaded(segments_.size() - 1));
  std::vector<std::array<char, wire::kLogBatchHeaderBytes>> heads(run.size());
  std::vector<std::string_view> parts;
  for (size_t i = 0; i < run.size(); ++i) {
    // Only the head is copied; the stamped fields lie outside the CRC.
    std::memcpy(heads[i].data(), run[i].bytes.data(), heads[i].size());
    wire::StampBatch(heads[i].data(), run[i].header.base_offset, run[i].header.commit_timestamp_ms);
    parts.emplace_back(heads[i].data(), heads[i].size());
    parts.push_back(run[i].bytes.substr(heads[i].size()));
  }
  uint64_t position = active->size_bytes();
  MarkDirty(active->base_offset());
  RETURN_NOT_OK(active->Append(parts));
  for (const Planned& batch : run) {
    RETURN_NOT_OK(active->Index(batch.header, position, options_.index_interval_bytes));
    position += batch.bytes.size();
    written_bytes_ += batch.bytes.size();
    end_offset_ = batch.header.next_offset();
    largest_timestamp_ms_ = batch.header.commit_timestamp_ms;
  }
  return Status::OK();
}

}  // namespace sluice::log
