#pragma once
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "io/clock.h"
#include "lake/paimon/manifest_store.h"
#include "lake/paimon/snapshot_pins.h"
#include "lake/paimon/snapshot_store.h"

namespace sluice::lake::paimon {

/// The live files of the snapshots that were asked for last. The next one is usually a delta or two
/// away from one of them, and then only its delta is read.
///
/// Threads: any.
class LiveFilesCache {
 public:
  explicit LiveFilesCache(io::Clock& clock) : clock_(clock) {}
  Result<std::shared_ptr<const LiveFiles>> Get(const ManifestStore& manifests,
                                               const SnapshotStore& snapshots,
                                               const LakeSnapshot& snapshot);
  /// Forget what nobody has asked for in this time.
  void Trim(std::chrono::nanoseconds unused);
  bool empty() const;

 private:
  struct Known {
    int64_t id;
    std::string delta_list;  // Names are never used twice.
    std::shared_ptr<const LiveFiles> live;
    std::chrono::nanoseconds asked_at;
  };
  // The files at `snapshot`, from `before` on; null when it does not lead there.
  static std::shared_ptr<const LiveFiles> Advance(const Known& before,
                                                  const ManifestStore& manifests,
                                                  const SnapshotStore& snapshots,
                                                  const LakeSnapshot& snapshot);
  static constexpr size_t kKnownMax = 3;
  static constexpr int64_t kDeltasMax = 8;

  std::shared_ptr<const LiveFiles> Find(const LakeSnapshot& snapshot);
  Known NearestBefore(int64_t id) const;
  void Add(const LakeSnapshot& snapshot, std::shared_ptr<const LiveFiles> live);

  io::Clock& clock_;
  mutable std::mutex mutex_;  // Guards what follows.
  std::vector<Known> known_;
};

/// What all openings of one lake table in a process have in common.
///
/// Threads: any.
class TableShare {
 public:
  TableShare(io::FileSystem& files, io::Clock& clock, io::Random& random, std::string location)
      : paths_(std::move(location)), live_(clock), pins_(files, clock, random, paths_) {}

  /// False when the table at this place is not the one of the last call: it was made anew.
  bool IsOf(const LakeSchema& newest);
  LiveFilesCache& live() { return live_; }
  SnapshotPins& pins() { return pins_; }
  /// Give up what nobody used for a while; pins after `pins_unused`.
  void Trim(std::chrono::nanoseconds pins_unused);
  bool empty() const { return live_.empty() && pins_.idle(); }

 private:
  const TablePaths paths_;
  LiveFilesCache live_;
  SnapshotPins pins_;
  std::mutex mutex_;  // Guards what follows.
  int64_t schema_id_ = -1;
  int64_t schema_time_ms_ = 0;
};

}  // namespace sluice::lake::paimon
