#pragma once
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "client/tiering.h"
#include "io/clock.h"
#include "io/pool.h"
#include "lake/lake_catalog.h"
#include "tiering/bucket_mover.h"
#include "tiering/cluster_link.h"
#include "tiering/plan.h"
#include "tiering/table_state.h"

namespace sluice::tiering {

struct RoundOptions {
  ClusterLink* link = nullptr;
  lake::LakeCatalog* lake = nullptr;
  io::Clock* clock = nullptr;
  io::Pool* bucket_pool = nullptr;  ///< Not the pool that the round itself runs on.
  int64_t bytes_max = 64 << 20;
  std::chrono::milliseconds time_max = std::chrono::minutes(10);  ///< For reading the logs.
  MemoryBudget* rows = nullptr;                                   ///< Shared by all rounds.
  const std::atomic<bool>* stopping = nullptr;
};

struct RoundResult {
  RoundSummary summary;
  std::vector<LogGap> gaps;  ///< Of the table, those of earlier rounds too.
  bool more = false;         ///< A limit ended it early: the table has untiered rows that are due.
};

/// The gaps that a snapshot of tiering has recorded. Errors: kCorruptRecord.
Result<std::vector<LogGap>> GapsOf(const std::optional<lake::LakeSnapshot>& snapshot);

/// One tiering round of one table: moves what its logs hold beyond the lake, in one lake snapshot.
///
/// Order, which makes every kill harmless: files that nobody sees → the offsets file (PREPARE) →
/// the lake snapshot that names it → the coordinator's record (COMMIT). A lake snapshot that the
/// coordinator does not know is a round that died between the last two: it is registered first, and
/// this round goes on behind it.
class Round {
 public:
  Round(const RoundOptions& options, client::TieringRound handout)
      : options_(options), handout_(std::move(handout)) {}

  /// Blocks its pool thread. On an error nothing of this round is in the lake, or the next round
  /// adopts it.
  Result<RoundResult> Run();

 private:
  using Moved = std::vector<BucketMoved>;

  Status Open();
  Status AdoptNewer();
  void NoteGaps(const std::vector<BucketSpan>& spans);
  Result<Moved> MoveAll(const std::vector<BucketSpan>& spans);
  Status LeaveOutDropped(std::vector<BucketSpan>* spans, Moved* moved);
  Result<int64_t> CommitAll(const std::vector<BucketSpan>& spans, Moved moved);
  Status CheckStillOurs();
  Result<int64_t> CommitToLake(std::vector<std::unique_ptr<lake::PreparedFiles>> files,
                               const std::string& offsets_path);
  Status CommitToCluster(int64_t snapshot_id, const std::string& offsets_path,
                         std::vector<client::LakeBucketOffset> offsets,
                         std::optional<int64_t> keep_from);

  const RoundOptions options_;
  const client::TieringRound handout_;
  types::TableInfo table_;
  std::unique_ptr<lake::LakeTable> lake_;
  std::optional<client::LakeSnapshot> recorded_;
  std::vector<LogGap> gaps_;  // Recorded, and those of the spans that are committed.
};

}  // namespace sluice::tiering
