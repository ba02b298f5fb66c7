#pragma once
#include <optional>
#include <string>
#include <vector>

#include "io/file.h"
#include "lake/paimon/durable_file.h"
#include "lake/paimon/paths.h"
#include "lake/paimon/writer_session.h"

namespace sluice::lake::paimon {

/// The snapshot files of one table and their hints (Java's SnapshotManager). Holds no state of its
/// own.
///
/// Threads: any.
class SnapshotStore {
 public:
  SnapshotStore(io::FileSystem& files, const TablePaths& paths) : files_(files), paths_(paths) {}

  /// Newest snapshot id, nullopt when there is none.
  Result<std::optional<int64_t>> LatestId() const;
  /// Oldest snapshot id, nullopt when there is none.
  Result<std::optional<int64_t>> EarliestId() const;
  /// All ids, ascending: looks at every file of the folder.
  Result<std::vector<int64_t>> Ids() const {
    return ListIds(files_, paths_.SnapshotFolder(), "snapshot-");
  }
  /// Errors: kLakeSnapshotNotExist.
  Result<LakeSnapshot> Read(int64_t id) const;
  /// nullopt when the file is not there.
  Result<std::optional<LakeSnapshot>> Find(int64_t id) const;
  /// Newest snapshot with time <= `time_ms`. Errors: kLakeSnapshotNotExist naming the time.
  Result<LakeSnapshot> AtTime(int64_t time_ms) const;
  Result<std::optional<LakeSnapshot>> NewestOf(std::string_view user) const;
  /// Make every snapshot that is visible survive a power loss.
  Status MakeDurable() const;

  /// Put the snapshot in place unless its id is taken: false then. Durable on return. The LATEST
  /// hint follows if it can: without it readers list the folder.
  Result<bool> TryPut(const LakeSnapshot& snapshot, WriterSession& session) const;
  /// Set the EARLIEST hint.
  Status PutEarliest(int64_t id, WriterSession& session) const {
    return ReplaceFileAtomically(files_, session.NewName(), paths_.Earliest(), std::to_string(id));
  }

  // Consumers: the least next snapshot over all of them, nullopt when there are none.
  Result<std::optional<int64_t>> LeastConsumed() const;
  Status PutConsumer(const std::string& id, int64_t next_snapshot, WriterSession& session) const;
  Status RemoveConsumer(const std::string& id) const;

 private:
  Result<std::optional<int64_t>> ReadHint(const std::string& path) const;
  Result<bool> Exists(int64_t id) const { return files_.Exists(paths_.Snapshot(id)); }

  io::FileSystem& files_;
  const TablePaths& paths_;
};

}  // namespace sluice::lake::paimon
