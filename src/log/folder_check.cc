#include "log/folder_check.h"

#include <algorithm>
#include <limits>

#include "log/log_state.h"
#include "log/offset_index.h"
#include "log/recovery_internal.h"
#include "log/segment.h"
#include "log/segment_walk.h"
#include "log/time_index.h"
#include "log/writer_states.h"

namespace sluice::log {
namespace {

constexpr size_t kFindingsMax = 200;  // Of one folder.
constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

// The check of one folder.
class FolderChecker {
 public:
  FolderChecker(io::FileSystem& files, const std::string& folder, const FolderCheckOptions& options)
      : files_(files), folder_(folder), options_(options) {}

  Result<FolderCheck> Run() {
    RETURN_NOT_OK(TakeStock());
    ReadState();
    ReadSnapshots();
    if (state_ && state_->restarting()) return std::move(check_);
    DecideTrust();
    CheckSegments();
    CheckEnds();
    if (left_out_ > 0) {
      check_.findings.push_back({left_out_kind_, folder_, std::nullopt,
                                 "more findings count=" + std::to_string(left_out_)});
    }
    return std::move(check_);
  }

 private:
  struct Snapshot {
    int64_t offset;
    std::string path;
  };

  void Add(Finding::Kind kind, std::string file, std::optional<int64_t> offset, std::string text) {
    if (check_.findings.size() < kFindingsMax)
      return check_.findings.push_back({kind, std::move(file), offset, std::move(text)});
    ++left_out_;
    if (kind == Finding::Kind::kDamage) left_out_kind_ = kind;
  }
  void Damage(std::string file, std::optional<int64_t> offset, std::string text) {
    Add(Finding::Kind::kDamage, std::move(file), offset, std::move(text));
  }
  void Note(std::string file, std::optional<int64_t> offset, std::string text) {
    Add(Finding::Kind::kNote, std::move(file), offset, std::move(text));
  }
  // Of what the next start makes anew when it lies above what is trusted.
  void DamageBelowTrust(const std::string& file, int64_t offset, const std::string& text) {
    if (offset < trusted_) return Damage(file, offset, text);
    Note(file, offset, text + "; the next start builds it anew");
  }

  Status TakeStock() {
    ASSIGN_OR_RAISE(const auto entries, files_.List(folder_));
    for (const auto& entry : entries) {
      const std::string path = io::JoinPath(folder_, entry.name);
      if (const auto base = OffsetInName(entry.name, kLogSuffix)) {
        bases_.push_back(*base);
      } else if (const auto offset = OffsetInName(entry.name, kWriterSnapshotSuffix)) {
        snapshots_.push_back({*offset, path});
      } else if (entry.name.ends_with(".tmp") || entry.name.ends_with(".deleted")) {
        Note(path, std::nullopt, "leftover, which the next start removes");
      } else if (!OffsetInName(entry.name, kIndexSuffix) &&
                 !OffsetInName(entry.name, kTimeIndexSuffix) && entry.name != kLogStateFile) {
        Note(path, std::nullopt, "file of an unknown kind");
      }
    }
    return Status::OK();
  }

  void ReadState() {
    auto state = LogState::Load(files_, folder_);
    const std::string path = io::JoinPath(folder_, kLogStateFile);
    if (!state.ok()) return Damage(path, std::nullopt, state.status().message());
    state_.emplace(std::move(*state));
    if (state_->restarting()) {
      check_.start_offset = check_.end_offset = check_.recovery_point = state_->start_offset();
      Note(path, state_->start_offset(), "log is to go on empty from here");
    }
    if (const auto at = state_->cutting_at()) Note(path, *at, "log is to be cut here");
    const auto& epochs = state_->epochs();
    const auto not_above = [](const LeaderEpoch& a, const LeaderEpoch& b) {
      return b.epoch <= a.epoch || b.start_offset < a.start_offset;
    };
    const auto fallen = std::ranges::adjacent_find(epochs, not_above);
    if (fallen != epochs.end()) Damage(path, fallen->start_offset, "leader epochs do not increase");
  }

  void ReadSnapshots() {
    for (Snapshot& snapshot : snapshots_) {
      const auto json = files_.ReadFile(snapshot.path);
      const auto writers = json.ok() ? WriterStates::FromJson(*json) : json.status();
      if (!writers.ok()) {
        Damage(snapshot.path, snapshot.offset, writers.status().message());
        continue;
      }
      newest_snapshot_ = snapshot.offset;
      for (const auto& [writer_id, writer] : writers->writers()) {
        const WriterStates::Batch& last = writer.back();
        const int64_t end = last.base_offset + last.last_offset_delta + 1;
        if (end <= snapshot.offset) continue;
        Damage(snapshot.path, last.base_offset,
               "writer snapshot tells of a batch behind its own offset writer_id=" +
                   std::to_string(writer_id));
      }
    }
  }

  // As recovery decides it: what lies below must be there and whole.
  void DecideTrust() {
    const int64_t start = bases_.empty() ? (state_ ? state_->start_offset() : 0) : bases_.front();
    check_.start_offset = check_.end_offset = start;
    trusted_ = std::max(start, newest_snapshot_.value_or(options_.recovery_point.value_or(start)));
    check_.recovery_point = trusted_;
    if (options_.clean_stop) trusted_ = kAll;
  }

  void CheckSegments() {
    if (bases_.empty() && state_ && state_->start_offset() > 0)
      Damage(folder_, state_->start_offset(), "log has lost all of its segments");
    if (!bases_.empty() && state_ && bases_.front() > state_->start_offset()) {
      Damage(SegmentPath(folder_, bases_.front(), kLogSuffix), state_->start_offset(),
             "log begins behind its start offset");
    }
    for (size_t i = 0; i < bases_.size(); ++i) CheckSegment(i);
  }

  void CheckSegment(size_t index) {
    const int64_t base = bases_[index];
    const std::string path = SegmentPath(folder_, base, kLogSuffix);
    segment_ = {.path = path, .closed = index + 1 < bases_.size()};
    LoadIndexes(base);
    const SegmentVisitor visitor{
        [this](const BatchScan::Batch& batch, std::string_view, bool whole) {
          CheckBatch(batch, whole);
          return Status::OK();
        },
        [this](const SegmentDamage& damage) {
          TellDamage(damage);
          return Status::OK();
        }};
    const auto extent = WalkSegment(files_, path, base, visitor);
    if (!extent.ok()) return Damage(path, base, extent.status().message());
    ++check_.segments;
    check_.size_bytes += extent->size_bytes;
    check_.end_offset = extent->next_offset;
    CheckIndexEnds(*extent);
    if (segment_.closed && extent->next_offset != bases_[index + 1]) {
      Damage(path, extent->next_offset,
             "segment does not end where the next one begins next=" +
                 std::to_string(bases_[index + 1]));
    }
  }

  void CheckBatch(const BatchScan::Batch& batch, bool whole) {
    const wire::LogBatchHeader& header = batch.header;
    ++check_.batches;
    check_.records += static_cast<uint64_t>(header.record_count);
    if (!whole) {
      segment_.damaged = true;
      Damage(segment_.path, header.base_offset,
             "log batch has a wrong crc position=" + std::to_string(batch.position_bytes) +
                 Afterwards(header.base_offset));
    }
    if (header.commit_timestamp_ms < timestamp_ms_) {
      Damage(segment_.path, header.base_offset,
             "commit timestamp falls position=" + std::to_string(batch.position_bytes));
    }
    timestamp_ms_ = header.commit_timestamp_ms;
    segment_.last_time = {{header.commit_timestamp_ms, header.base_offset}};
    if (segment_.damaged) return;  // What the indexes name may be what cannot be read.
    CheckOffsetEntry(batch);
    CheckTimeEntries(header);
  }

  void TellDamage(const SegmentDamage& damage) {
    if (damage.torn && !segment_.closed && damage.offset >= trusted_) {
      return Note(segment_.path, damage.offset,
                  "last write did not end, the next start cuts it bytes=" +
                      std::to_string(damage.size_bytes));
    }
    segment_.damaged = true;
    std::string text = damage.reason;
    if (damage.next_offset)
      text += ", the next whole batch is at offset=" + std::to_string(*damage.next_offset);
    Damage(segment_.path, damage.offset, text + Afterwards(damage.offset));
  }

  // What a start will do about damage.
  std::string Afterwards(int64_t offset) const {
    return offset < trusted_ ? "" : "; the next start cuts the log here";
  }

  void LoadIndexes(int64_t base) {
    const std::string offsets_path = SegmentPath(folder_, base, kIndexSuffix);
    const std::string times_path = SegmentPath(folder_, base, kTimeIndexSuffix);
    const auto offsets_image = files_.ReadFile(offsets_path);
    const auto times_image = files_.ReadFile(times_path);
    auto offsets = offsets_image.ok() ? OffsetIndex::Parse(base, *offsets_image)
                                      : Result<OffsetIndex>(offsets_image.status());
    auto times = times_image.ok() ? TimeIndex::Parse(base, *times_image)
                                  : Result<TimeIndex>(times_image.status());
    if (offsets.ok()) segment_.offsets.emplace(std::move(*offsets));
    if (times.ok()) segment_.times.emplace(std::move(*times));
    if (!offsets.ok()) DamageBelowTrust(offsets_path, base, offsets.status().message());
    if (!times.ok()) DamageBelowTrust(times_path, base, times.status().message());
    segment_.offsets_path = offsets_path;
    segment_.times_path = times_path;
  }

  void CheckOffsetEntry(const BatchScan::Batch& batch) {
    if (!segment_.offsets) return;
    const OffsetIndex::Entry entry = segment_.offsets->Floor(batch.header.last_offset());
    const bool inside = entry.offset >= batch.header.base_offset && entry.position_bytes > 0;
    if (!inside) return;
    if (entry.offset == batch.header.base_offset && entry.position_bytes == batch.position_bytes)
      return;
    DamageBelowTrust(
        segment_.offsets_path, entry.offset,
        "offset index names no batch position=" + std::to_string(entry.position_bytes));
  }

  void CheckTimeEntries(const wire::LogBatchHeader& header) {
    if (!segment_.times) return;
    const auto& entries = segment_.times->entries();
    for (size_t& next = segment_.next_time;
         next < entries.size() && entries[next].offset <= header.last_offset(); ++next) {
      const TimeIndex::Entry& entry = entries[next];
      if (entry == TimeIndex::Entry{header.commit_timestamp_ms, header.base_offset}) continue;
      DamageBelowTrust(segment_.times_path, entry.offset, "time index names no batch");
    }
  }

  void CheckIndexEnds(const SegmentExtent& extent) {
    const int64_t end = extent.next_offset;
    if (segment_.damaged) return;
    if (segment_.offsets && segment_.offsets->Last().position_bytes > 0 &&
        segment_.offsets->Last().offset >= end) {
      DamageBelowTrust(segment_.offsets_path, segment_.offsets->Last().offset,
                       "offset index points past its log file");
    }
    if (!segment_.times) return;
    const auto& entries = segment_.times->entries();
    if (segment_.next_time < entries.size()) {
      DamageBelowTrust(segment_.times_path, entries[segment_.next_time].offset,
                       "time index points past its log file");
    } else if (segment_.closed && segment_.last_time &&
               segment_.times->largest_timestamp_ms() != segment_.last_time->timestamp_ms) {
      DamageBelowTrust(segment_.times_path, segment_.last_time->offset,
                       "time index has lost its last entries");
    }
  }

  // Whether what tells of the log lies inside it. Behind damage nobody knows where it ends.
  void CheckEnds() {
    const bool damaged = std::ranges::any_of(check_.findings, [](const Finding& finding) {
      return finding.kind == Finding::Kind::kDamage;
    });
    if (damaged) return;
    const int64_t end = check_.end_offset;
    for (const Snapshot& snapshot : snapshots_) {
      if (snapshot.offset > end) Damage(snapshot.path, end, "log ends below its writer snapshot");
    }
    if (!newest_snapshot_ && options_.recovery_point.value_or(0) > end)
      Damage(folder_, end, "log ends below its recovery point");
    const std::string path = io::JoinPath(folder_, kLogStateFile);
    if (!state_) return;
    if (state_->start_offset() > end) Damage(path, end, "log ends below its start offset");
    if (!state_->epochs().empty() && state_->epochs().back().start_offset > end)
      Damage(path, end, "a leader epoch begins behind the end of the log");
  }

  io::FileSystem& files_;
  const std::string& folder_;
  const FolderCheckOptions& options_;
  FolderCheck check_;
  uint64_t left_out_ = 0;  // Findings beyond kFindingsMax, and the worst kind of them.
  Finding::Kind left_out_kind_ = Finding::Kind::kNote;
  std::vector<int64_t> bases_;              // Of the segments, ascending, as List gives them.
  std::vector<Snapshot> snapshots_;         // The same.
  std::optional<int64_t> newest_snapshot_;  // That can be read.
  std::optional<LogState> state_;
  int64_t trusted_ = 0;
  int64_t timestamp_ms_ = std::numeric_limits<int64_t>::min();  // Of the batch before.
  // The segment that is walked now.
  struct {
    std::string path, offsets_path, times_path;
    bool closed = false;
    bool damaged = false;
    std::optional<OffsetIndex> offsets;
    std::optional<TimeIndex> times;
    size_t next_time = 0;  // The first entry that was not compared yet.
    std::optional<TimeIndex::Entry> last_time;
  } segment_;
};

}  // namespace

Result<FolderCheck> CheckFolder(io::FileSystem& files, const std::string& folder,
                                const FolderCheckOptions& options) {
  return FolderChecker(files, folder, options).Run();
}

}  // namespace sluice::log
