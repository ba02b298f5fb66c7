#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/file.h"

namespace sluice::log {

inline constexpr char kLogStateFile[] = "log-state.json";

/// Records from `start_offset` on were appended by the leader of this epoch, or taken from it.
struct LeaderEpoch {
  int32_t epoch;
  int64_t start_offset;
  bool operator==(const LeaderEpoch&) const = default;
};

/// What a log must know beside its segments: where it starts, what was under way, its leaders'
/// epochs.
///
/// Format: JSON file "log-state.json" in the log's folder, replaced durably; absent while all has
/// its first value. Threads: confined to the log's shard, except SetStart.
class LogState {
 public:
  static Result<LogState> Load(io::FileSystem& files, const std::string& folder);
  /// Remember, durably, that segments below `start_offset` are to go. Threads: any, beside
  /// leader_epoch() and AddEpoch().
  Status SetStart(int64_t start_offset);
  /// Remember, durably, that every segment is to go and the log goes on empty at `start_offset`;
  /// then that it is done.
  Status BeginRestart(int64_t start_offset);
  Status EndRestart();

  /// Remember, durably, that the log is to be cut at `offset`; then that it is done.
  Status BeginCut(int64_t offset);
  Status EndCut();
  /// Remember, durably, that records from `start_offset`, the end of the log, on are those of
  /// `epoch`. One that has no records is forgotten for it.
  Status AddEpoch(int32_t epoch, int64_t start_offset);
  /// Forget epochs that start at or after `offset`.
  Status TruncateEpochs(int64_t offset);
  /// Let the newest epoch start at `end_offset` at the latest: the records that it began with may
  /// be lost, and others come in their place.
  Status BoundEpochs(int64_t end_offset);

  /// 0 until a leader of a later epoch appended.
  int32_t leader_epoch() const { return epochs_.empty() ? 0 : epochs_.back().epoch; }
  /// Of the leader that appended `offset`; 0 of what came before the first that is known.
  int32_t EpochAt(int64_t offset) const;
  /// Both numbers increase.
  const std::vector<LeaderEpoch>& epochs() const { return epochs_; }
  int64_t start_offset() const { return start_offset_; }
  bool restarting() const { return restarting_; }
  std::optional<int64_t> cutting_at() const { return cutting_at_; }

 private:
  LogState(io::FileSystem& files, std::string path) : files_(&files), path_(std::move(path)) {}
  Status Save() const;

  io::FileSystem* files_;
  std::string path_;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();  // For changes and the file.
  std::vector<LeaderEpoch> epochs_;
  int64_t start_offset_ = 0;
  bool restarting_ = false;
  std::optional<int64_t> cutting_at_;
};

}  // namespace sluice::log
