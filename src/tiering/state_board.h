#pragma once
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "tiering/table_state.h"

namespace sluice::tiering {

/// What is shown of each table. Rounds, upkeep and lag measurement write to it from their threads.
///
/// Threads: any.
class StateBoard {
 public:
  void RoundStarted(int64_t table_id, const types::TablePath& path);
  void RoundFinished(int64_t table_id, const RoundSummary& summary);
  /// What the newest tiering snapshot has recorded; of a table that is here. They
  /// only become more, so that fewer are older news.
  void GapsSeen(int64_t table_id, std::vector<LogGap> gaps);
  void RoundFailed(int64_t table_id, const Status& reason, int64_t now_ms);
  void Compacted(int64_t table_id);
  /// A measurement; adds the table when it is new.
  void Measured(int64_t table_id, const types::TablePath& path, int64_t freshness_ms,
                std::vector<BucketLag> buckets);
  /// Drop the tables that are not in `table_ids` and have no round under way; gives their ids.
  std::vector<int64_t> Retain(const std::vector<int64_t>& table_ids);

  /// By path.
  std::vector<TableState> Tables() const;

 private:
  mutable std::mutex mutex_;  // Guards tables_, whose sums and states are told when they are shown.
  std::map<int64_t, TableState> tables_;
};

}  // namespace sluice::tiering
