#include "sim/log_workload.h"

#include <algorithm>

#include "log/log.h"
#include "log/log_state.h"
#include "log/log_testing.h"

namespace sluice::sim {
namespace {

using log::Log;
using log::internal::MakeBatch;
using log::internal::TestBatch;

constexpr char kFolder[] = "/data/db/t-1/log-0";
constexpr int64_t kWriters = 3;
constexpr size_t kKeptBatches = 5;  // That a log recognises of each writer.

// A batch that the log holds, or may hold.
struct Entry {
  int64_t base_offset = 0;
  TestBatch batch;
  int32_t epoch = 0;  // Of the leader that appended it.
  int64_t timestamp_ms = 0;
  int64_t next_offset() const { return base_offset + std::max(batch.records, 1); }
};

bool SameBytes(const Entry& entry, const wire::LogBatchView& found) {
  std::string expected = MakeBatch(entry.batch);
  wire::StampBatch(expected.data(), entry.base_offset, found.header().commit_timestamp_ms);
  return expected == found.bytes();
}

class LogWorkload : public Workload {
 public:
  explicit LogWorkload(Machine& machine) {
    options_.segment_bytes = 300 + machine.random.Below(3000);
    options_.index_interval_bytes = static_cast<uint32_t>(50 + machine.random.Below(500));
    options_.loaded_indexes_max = 1 + machine.random.Below(3);
    for (const char* name :
         {"log.duplicate", "log.gap-refused", "log.unanswered-batch-found", "log.tail-lost",
          "log.truncated", "log.restarted", "log.deleted-segments", "log.undone-append",
          "log.clean-close", "log.followed", "log.fenced", "log.epoch-lost-its-records"}) {
      ExpectProbe(name);
    }
  }

  Status Open(Machine& machine) override {
    // The checkpoint file of the shard may be older than the truth, and after a truncation beyond
    // it.
    ARROW_ASSIGN_OR_RAISE(log_,
                          Log::Open(machine.files, machine.clock, kFolder, options_, checkpoint_));
    return Status::OK();
  }
  void Drop() override { log_.reset(); }
  Status Check(Machine& machine, Stop stop) override;
  Status Step(Machine& machine) override;

 private:
  Status Append(Machine& machine);
  Status AppendAsLeader(const std::string& bytes, std::vector<Entry>* sent);
  Status AppendAsFollower(Machine& machine, std::vector<Entry>* sent);
  Status OldLeader();
  Status Retry(Machine& machine);
  Status Gap(Machine& machine);
  Status Flush(Machine& machine);
  Status Truncate(Machine& machine);
  Status Restart(Machine& machine);
  Status Delete(Machine& machine);
  Status Read(Machine& machine);
  Status ReadByTime(Machine& machine);
  Status CheckPrefix(const std::vector<Entry>& found, int64_t must_end) const;
  Status CheckEpochs();
  Result<std::vector<Entry>> ReadAll();

  int64_t end() const { return entries_.empty() ? empty_end_ : entries_.back().next_offset(); }
  std::vector<const Entry*> BatchesOf(int64_t writer_id) const;
  int32_t NextSequence(int64_t writer_id) const;
  TestBatch RandomBatch(Machine& machine, int64_t writer_id, int32_t sequence);

  log::LogOptions options_;
  std::unique_ptr<Log> log_;
  int64_t checkpoint_ = Log::kScanAll;
  std::vector<Entry>
      entries_;  // Acknowledged, and since the last check surely there; deleted ones included.
  std::vector<Entry>
      unanswered_;            // Sent when the machine stopped; a first part of them may follow.
  int64_t start_ = 0;         // Records below it may be gone.
  int64_t empty_end_ = 0;     // Where the log stands when it has no entry.
  int64_t synced_ = 0;        // Below it nothing may be lost.
  int64_t may_end_ = -1;      // An unanswered truncation: the log may end anywhere from here on.
  int64_t may_restart_ = -1;  // An unanswered restart: the log may be empty and stand here.
  int32_t epoch_ = 0;         // Of the leader now.
  int32_t known_epoch_ = 0;   // The newest that the log has to know.
  uint64_t bodies_ = 0;
};

std::vector<const Entry*> LogWorkload::BatchesOf(int64_t writer_id) const {
  std::vector<const Entry*> batches;
  for (const Entry& entry : entries_) {
    if (entry.batch.writer_id == writer_id) batches.push_back(&entry);
  }
  return batches;
}

int32_t LogWorkload::NextSequence(int64_t writer_id) const {
  const auto batches = BatchesOf(writer_id);
  return batches.empty() ? 0 : batches.back()->batch.sequence + 1;
}

TestBatch LogWorkload::RandomBatch(Machine& machine, int64_t writer_id, int32_t sequence) {
  const auto records = static_cast<int32_t>(machine.random.Below(5));
  std::string body = "body " + std::to_string(bodies_++) + " ";
  body.resize(body.size() + machine.random.Below(machine.OneIn(20) ? 2000 : 120), 'x');
  return {.writer_id = writer_id, .sequence = sequence, .records = records, .body = body};
}

Status LogWorkload::Step(Machine& machine) {
  machine.clock.Advance(std::chrono::milliseconds(machine.random.Below(50)));
  if (machine.OneIn(20)) ++epoch_;
  const uint64_t choice = machine.random.Below(100);
  if (choice < 55) return Append(machine);
  if (choice < 62) return Retry(machine);
  if (choice < 66) return Gap(machine);
  if (choice < 74) return Flush(machine);
  if (choice < 76) return log_->Roll();
  if (choice < 78) return Truncate(machine);
  if (choice < 79) return machine.OneIn(3) ? Restart(machine) : OldLeader();
  if (choice < 83) return Delete(machine);
  if (choice < 94) return Read(machine);
  return ReadByTime(machine);
}

Status LogWorkload::Append(Machine& machine) {
  // One to three batches of one writer, or of none, in one call.
  const int64_t writer_id = static_cast<int64_t>(machine.random.Below(kWriters + 1)) - 1;
  int32_t sequence = writer_id < 0 ? -1 : NextSequence(writer_id);
  std::vector<Entry> sent;
  std::string bytes;
  int64_t next = end();
  for (uint64_t count = machine.OneIn(4) ? 1 + machine.random.Below(3) : 1; count > 0; --count) {
    sent.push_back({next, RandomBatch(machine, writer_id, sequence), epoch_, 0});
    next = sent.back().next_offset();
    if (writer_id >= 0) ++sequence;
    bytes += MakeBatch(sent.back().batch);
  }
  const Status appended =
      machine.OneIn(4) ? AppendAsFollower(machine, &sent) : AppendAsLeader(bytes, &sent);
  if (IsBroken(appended)) return appended;
  if (!appended.ok()) {
    if (CodeOf(appended) != ErrorCode::kLogStorage) {
      return Broken("append refused: ", appended.ToString());
    }
    unanswered_ = sent;
    // The fault may be over and the append undone: then nothing of it may be there.
    if (log_->AppendAsLeader(MakeBatch(sent.front().batch), epoch_).ok()) {
      Probe("log.undone-append");
      unanswered_.clear();
      sent.front().timestamp_ms = log_->largest_timestamp_ms();
      entries_.push_back(sent.front());
      known_epoch_ = epoch_;
      return log_->end_offset() == end() ? Status::OK()
                                         : Broken("an undone append left records behind");
    }
    return appended;
  }
  entries_.insert(entries_.end(), sent.begin(), sent.end());
  known_epoch_ = epoch_;
  return log_->end_offset() == end() ? Status::OK()
                                     : Broken("end is ", log_->end_offset(), " expected ", end());
}

Status LogWorkload::AppendAsLeader(const std::string& bytes, std::vector<Entry>* sent) {
  ASSIGN_OR_RAISE(const auto appended, log_->AppendAsLeader(bytes, epoch_));
  if (appended.duplicate || appended.base_offset != sent->front().base_offset ||
      appended.last_offset != sent->back().next_offset() - 1) {
    return Broken("append got offsets ", appended.base_offset, "..", appended.last_offset,
                  " expected ", sent->front().base_offset, "..", sent->back().next_offset() - 1);
  }
  for (Entry& entry : *sent) entry.timestamp_ms = appended.commit_timestamp_ms;
  return Status::OK();
}

// What another server, whose clock may be behind, has appended as the leader.
Status LogWorkload::AppendAsFollower(Machine& machine, std::vector<Entry>* sent) {
  int64_t timestamp_ms = std::max(log_->largest_timestamp_ms(), machine.clock.NowMs() - 1000);
  std::string bytes;
  for (Entry& entry : *sent) {
    entry.timestamp_ms = timestamp_ms++;
    std::string batch = MakeBatch(entry.batch);
    wire::StampBatch(batch.data(), entry.base_offset, entry.timestamp_ms);
    bytes += batch;
  }
  RETURN_NOT_OK(log_->AppendAsFollower(bytes, epoch_));
  Probe("log.followed");
  return Status::OK();
}

Status LogWorkload::OldLeader() {
  if (known_epoch_ == 0) return Status::OK();
  Probe("log.fenced");
  const auto refused = log_->AppendAsLeader(MakeBatch({}), known_epoch_ - 1);
  return CodeOf(refused.status()) == ErrorCode::kFencedLeaderEpoch
             ? Status::OK()
             : Broken("an old leader was not fenced, epoch=", known_epoch_ - 1);
}

Status LogWorkload::Retry(Machine& machine) {
  const int64_t writer_id = static_cast<int64_t>(machine.random.Below(kWriters));
  const auto batches = BatchesOf(writer_id);
  if (batches.empty()) return Status::OK();
  const Entry& entry =
      *batches[batches.size() - 1 - machine.random.Below(std::min(kKeptBatches, batches.size()))];
  const auto again = log_->AppendAsLeader(MakeBatch(entry.batch), epoch_);
  if (!again.ok()) {
    return CodeOf(again.status()) == ErrorCode::kLogStorage
               ? again.status()
               : Broken("retry refused offset=", entry.base_offset, ": ",
                        again.status().ToString());
  }
  Probe("log.duplicate");
  if (!again->duplicate || again->base_offset != entry.base_offset ||
      again->last_offset != entry.next_offset() - 1) {
    return Broken("retry of offset ", entry.base_offset, " got ", again->base_offset);
  }
  return Status::OK();
}

Status LogWorkload::Gap(Machine& machine) {
  const int64_t writer_id = static_cast<int64_t>(machine.random.Below(kWriters));
  const int32_t sequence =
      NextSequence(writer_id) + 1 + static_cast<int32_t>(machine.random.Below(3));
  const auto refused =
      log_->AppendAsLeader(MakeBatch({.writer_id = writer_id, .sequence = sequence}), epoch_);
  if (CodeOf(refused.status()) == ErrorCode::kLogStorage) return refused.status();
  Probe("log.gap-refused");
  return CodeOf(refused.status()) == ErrorCode::kOutOfOrderSequence
             ? Status::OK()
             : Broken("a gap in sequences was taken");
}

Status LogWorkload::Flush(Machine& machine) {
  const auto kind = machine.OneIn(2) ? Log::FlushKind::kData : Log::FlushKind::kCheckpoint;
  ARROW_ASSIGN_OR_RAISE(const auto flush, log_->BeginFlush(kind));
  const int64_t flushed = end();
  // The log goes on while the pool waits for the device.
  if (machine.OneIn(2)) RETURN_NOT_OK(Append(machine));
  const Status ran = flush.Run();
  RETURN_NOT_OK(log_->FinishFlush(flush, ran));
  synced_ = std::max(synced_, flushed);
  if (log_->synced_offset() < flushed) return Broken("flush did not raise the synced offset");
  if (kind == Log::FlushKind::kCheckpoint && machine.OneIn(2)) checkpoint_ = log_->recovery_point();
  return Status::OK();
}

Status LogWorkload::Truncate(Machine& machine) {
  // Below the last checkpoint a log knows only the writers of the records that it still has.
  const bool deleted = !entries_.empty() && entries_.front().base_offset < start_;
  const int64_t span = end() - (deleted ? std::max(start_, log_->recovery_point()) : start_);
  if (span <= 0) return Status::OK();
  const int64_t reach = machine.OneIn(4) ? span : std::min<int64_t>(span, 20);
  const int64_t cut =
      end() - static_cast<int64_t>(machine.random.Below(static_cast<uint64_t>(reach) + 1));
  may_end_ = cut;
  while (may_end_ > start_ && !std::ranges::any_of(entries_, [&](const Entry& e) {
           return e.next_offset() == may_end_;
         })) {
    --may_end_;  // A batch that contains the cut goes whole.
  }
  may_end_ = std::max(may_end_, start_);
  RETURN_NOT_OK(log_->TruncateTo(cut));
  Probe("log.truncated");
  std::erase_if(entries_, [&](const Entry& entry) { return entry.base_offset >= may_end_; });
  if (entries_.empty()) empty_end_ = may_end_;
  synced_ = std::min(synced_, may_end_);
  may_end_ = -1;
  RETURN_NOT_OK(CheckEpochs());
  return log_->end_offset() == end() ? Status::OK()
                                     : Broken("cut at ", cut, " ended at ", log_->end_offset());
}

Status LogWorkload::Restart(Machine& machine) {
  may_restart_ = static_cast<int64_t>(machine.random.Below(static_cast<uint64_t>(end()) + 100));
  RETURN_NOT_OK(log_->TruncateFullyAndStartAt(may_restart_));
  Probe("log.restarted");
  entries_.clear();
  start_ = empty_end_ = synced_ = may_restart_;
  may_restart_ = -1;
  return CheckEpochs();
}

Status LogWorkload::Delete(Machine& machine) {
  log_->AdvanceHighWatermark(end());
  const int64_t floor =
      start_ +
      static_cast<int64_t>(machine.random.Below(static_cast<uint64_t>(end() - start_) + 1));
  const auto deleted = log_->DeleteSegments({.delete_before_ms = INT64_MAX, .floor_offset = floor});
  start_ = std::max(start_, std::min(floor, end()));  // An unanswered deletion may have reached it.
  RETURN_NOT_OK(deleted);
  if (*deleted > 0) Probe("log.deleted-segments");
  if (log_->start_offset() > floor) return Broken("deletion went past its floor");
  start_ = log_->start_offset();
  return Status::OK();
}

Status LogWorkload::Read(Machine& machine) {
  const int64_t from = log_->start_offset();
  const int64_t offset =
      from + static_cast<int64_t>(machine.random.Below(static_cast<uint64_t>(end() - from) + 1));
  const int64_t upper =
      machine.OneIn(3) ? offset + static_cast<int64_t>(machine.random.Below(40)) : end();
  ARROW_ASSIGN_OR_RAISE(const auto slice,
                        log_->Read(offset, machine.random.Below(4000), upper, true));
  const std::string bytes = log::internal::BytesOf(slice);
  wire::LogBatchIterator found(bytes);
  auto entry =
      std::ranges::find_if(entries_, [&](const Entry& e) { return e.next_offset() > offset; });
  while (true) {
    ARROW_ASSIGN_OR_RAISE(const auto batch, found.Next());
    if (!batch) break;
    if (entry == entries_.end() || entry->next_offset() > upper || !SameBytes(*entry, *batch)) {
      return Broken("read at ", offset, " found another batch at ", batch->header().base_offset);
    }
    ++entry;
  }
  const bool nothing_fits = entry == entries_.end() || entry->next_offset() > upper;
  if (bytes.empty() && !nothing_fits) return Broken("read at ", offset, " found nothing");
  return found.rest().empty() ? Status::OK() : Broken("read at ", offset, " ended inside a batch");
}

Status LogWorkload::ReadByTime(Machine& machine) {
  if (entries_.empty()) return Status::OK();
  const int64_t timestamp_ms = entries_[machine.random.Below(entries_.size())].timestamp_ms +
                               static_cast<int64_t>(machine.random.Below(3)) - 1;
  const auto expected = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.base_offset >= log_->start_offset() && entry.timestamp_ms >= timestamp_ms;
  });
  ARROW_ASSIGN_OR_RAISE(const int64_t found, log_->OffsetOfTimestamp(timestamp_ms));
  const int64_t wanted = expected == entries_.end() ? end() : expected->base_offset;
  return found == wanted
             ? Status::OK()
             : Broken("timestamp ", timestamp_ms, " is at ", found, " expected ", wanted);
}

Result<std::vector<Entry>> LogWorkload::ReadAll() {
  std::vector<Entry> found;
  int64_t last_timestamp_ms = 0;
  for (const std::string& bytes : log::internal::AllBatches(*log_)) {
    ARROW_ASSIGN_OR_RAISE(const auto batch, wire::LogBatchView::Parse(bytes));
    const wire::LogBatchHeader& header = batch.header();
    if (!batch.CrcMatches()) return Broken("a damaged batch is read at ", header.base_offset);
    if (header.commit_timestamp_ms < last_timestamp_ms)
      return Broken("time goes back at ", header.base_offset);
    last_timestamp_ms = header.commit_timestamp_ms;
    found.push_back({header.base_offset,
                     {.writer_id = header.writer_id,
                      .sequence = header.batch_sequence,
                      .records = header.record_count,
                      .body = std::string(batch.body())},
                     /*epoch=*/0,
                     header.commit_timestamp_ms});
  }
  return found;
}

// `found` is, from its start on, what was appended, and reaches at least `must_end`.
Status LogWorkload::CheckPrefix(const std::vector<Entry>& found, int64_t must_end) const {
  std::vector<Entry> sent = entries_;
  sent.insert(sent.end(), unanswered_.begin(), unanswered_.end());
  auto expected = std::ranges::find_if(
      sent, [&](const Entry& e) { return e.base_offset >= log_->start_offset(); });
  for (const Entry& entry : found) {
    if (expected == sent.end()) return Broken("a batch that nobody sent is at ", entry.base_offset);
    const bool same = expected->base_offset == entry.base_offset &&
                      expected->batch.body == entry.batch.body &&
                      expected->batch.writer_id == entry.batch.writer_id &&
                      expected->batch.sequence == entry.batch.sequence;
    if (!same) return Broken("another batch is at ", entry.base_offset, ": ", entry.batch.body);
    ++expected;
  }
  if (log_->end_offset() < must_end) {
    return Broken("the log ends at ", log_->end_offset(), " and must reach ", must_end);
  }
  return Status::OK();
}

// Every record that is kept has its leader's epoch. After a cut the newest one is that of the
// records that are left, or of those that were there before.
Status LogWorkload::CheckEpochs() {
  const std::vector<log::LeaderEpoch> epochs = log_->leader_epochs();
  for (size_t i = 1; i < epochs.size(); ++i) {
    if (epochs[i].epoch <= epochs[i - 1].epoch ||
        epochs[i].start_offset <= epochs[i - 1].start_offset)
      return Broken("epochs do not increase, epoch=", epochs[i].epoch);
  }
  for (const Entry& entry : entries_) {
    if (entry.base_offset < log_->start_offset()) continue;
    const auto above =
        std::ranges::upper_bound(epochs, entry.base_offset, {}, &log::LeaderEpoch::start_offset);
    const int32_t found = above == epochs.begin() ? 0 : std::prev(above)->epoch;
    if (found != entry.epoch)
      return Broken("epoch of offset ", entry.base_offset, " is ", found, " expected ",
                    entry.epoch);
  }
  if (log_->leader_epoch() > epoch_) return Broken("an epoch of nobody: ", log_->leader_epoch());
  known_epoch_ = log_->leader_epoch();
  return Status::OK();
}

Status LogWorkload::Check(Machine& machine, Stop stop) {
  ARROW_ASSIGN_OR_RAISE(const std::vector<Entry> found, ReadAll());
  const bool restarted = may_restart_ >= 0 && found.empty() && log_->end_offset() == may_restart_ &&
                         log_->start_offset() == may_restart_;
  if (restarted) {
    entries_.clear();
    unanswered_.clear();
    start_ = empty_end_ = synced_ = may_restart_;
  } else {
    int64_t must_end = stop == Stop::kKill ? end() : synced_;
    if (may_end_ >= 0) must_end = std::min(must_end, may_end_);
    RETURN_NOT_OK(CheckPrefix(found, must_end));
    if (log_->start_offset() > std::max(start_, must_end))
      return Broken("the log starts at ", log_->start_offset());
    if (log_->end_offset() < end()) Probe("log.tail-lost");
    if (log_->end_offset() > end()) Probe("log.unanswered-batch-found");
    // What is there now is what the writers go on from.
    entries_.insert(entries_.end(), unanswered_.begin(), unanswered_.end());
    std::erase_if(entries_,
                  [&](const Entry& entry) { return entry.base_offset >= log_->end_offset(); });
    for (const Entry& entry : found) {
      std::ranges::find(entries_, entry.base_offset, &Entry::base_offset)->timestamp_ms =
          entry.timestamp_ms;
    }
    unanswered_.clear();
    start_ = log_->start_offset();
    if (entries_.empty()) empty_end_ = log_->end_offset();
    synced_ = std::min(synced_, end());
  }
  const bool cut = may_end_ >= 0 || restarted;
  may_end_ = may_restart_ = -1;
  if (log_->leader_epoch() < known_epoch_ && !cut)
    return Broken("epoch ", known_epoch_, " is forgotten, the log knows ", log_->leader_epoch());
  if (log_->leader_epoch() > 0 && log_->leader_epochs().back().start_offset == log_->end_offset())
    Probe("log.epoch-lost-its-records");
  RETURN_NOT_OK(CheckEpochs());
  if (log_->synced_offset() > log_->end_offset()) return Broken("synced offset lies after the end");
  if (machine.OneIn(4)) {
    const Status closed = log_->Close();
    if (closed.ok()) {
      Probe("log.clean-close");
      synced_ = end();
      log_.reset();
      RETURN_NOT_OK(Open(machine));
      if (log_->end_offset() != end())
        return Broken("a closed log came back with end ", log_->end_offset());
    }
  }
  return Status::OK();
}

}  // namespace

std::unique_ptr<Workload> MakeLogWorkload(Machine& machine) {
  return std::make_unique<LogWorkload>(machine);
}

}  // namespace sluice::sim
