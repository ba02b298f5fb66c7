#pragma once
#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "io/clock.h"
#include "io/file.h"
#include "io/random.h"
#include "lake/paimon/paths.h"
#include "lake/paimon/snapshot_store.h"
#include "lake/paimon/writer_session.h"

namespace sluice::lake::paimon {

/// The snapshots of one table that readers of this process use, kept from being expired.
///
/// Format: one consumer file of Paimon's stands for all of them. It names the oldest snapshot in
/// use, and whoever expires leaves that one and all after it; so a reader of the same snapshot or a
/// newer one writes nothing. The file follows the readers late: it is written anew for newer
/// snapshots, or removed when there is no reader, only once it is `kRenewal` old.
/// Threads: any; a call may wait for another's write.
class SnapshotPins {
 public:
  static constexpr std::chrono::seconds kRenewal{10};

  SnapshotPins(io::FileSystem& files, io::Clock& clock, io::Random& random,
               const TablePaths& paths);
  /// Removes the files.
  ~SnapshotPins();

  /// Errors: kLakeSnapshotNotExist when an expiry was there before.
  Status Take(int64_t snapshot_id);
  /// End a Take of this snapshot.
  void Release(int64_t snapshot_id);
  /// Have a file of this age follow the readers, and remove former ones that are still there.
  /// Errors: those of the files, which then stay as they are.
  Status Renew(std::chrono::nanoseconds age = kRenewal);
  /// Whether nobody reads and no file is left.
  bool idle() const;

 private:
  /// A former file that could not be removed.
  struct Left {
    std::string consumer;
    bool whole = false;  // Else its writing failed, and it may not be all that stays of it.
  };
  Status Record(int64_t snapshot_id);
  Status Follow(std::chrono::nanoseconds age);
  Status Remove();
  Status RemoveLeft();
  bool IsRecorded(int64_t snapshot_id) const;

  io::FileSystem& files_;
  io::Clock& clock_;
  const TablePaths& paths_;
  const SnapshotStore snapshots_;
  WriterSession session_;
  mutable std::mutex mutex_;  // Guards what follows.
  std::multiset<int64_t> used_;
  std::string consumer_;  // Empty: no file.
  std::vector<Left> left_;
  int64_t recorded_ = 0;                     // Snapshot in the file.
  std::chrono::nanoseconds followed_at_{0};  // When it last was as the readers are.
};

}  // namespace sluice::lake::paimon
