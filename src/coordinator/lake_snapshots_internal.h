#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/tablet_link.h"
#include "io/file.h"
#include "io/pool.h"
#include "io/random.h"
#include "io/remote_folder.h"
#include "meta/catalog.h"
#include "wire/proto/lake.pb.h"

namespace sluice::coordinator {

/// The two calls by which tiering tells what the lake holds (wire/proto/lake.proto).
///
/// Threads: confined to the coordinator's loop; files on the pool.
class LakeSnapshots {
 public:
  struct Options {
    meta::Catalog* catalog = nullptr;
    io::Loop* loop = nullptr;
    io::Pool* pool = nullptr;
    io::FileSystem* files = nullptr;
    io::Random* random = nullptr;
    TabletLink* link = nullptr;
    io::RemoteFolder remote_folder;  ///< Of new tables; older ones may have others.
  };
  explicit LakeSnapshots(Options options) : options_(std::move(options)) {}

  /// Write a file of offsets per table; its path goes into the lake's commit. Errors are per table,
  /// in the reply: kTableNotExist, kUnknownTableOrBucket, kStorage.
  io::Task<Result<wire::PrepareLakeTableSnapshotResponse>> Prepare(
      wire::PrepareLakeTableSnapshotRequest request);
  /// Record committed lake snapshots and tell the tablet servers. Errors are per table, in the
  /// reply: as above, and kInvalidUpdateVersion for a snapshot older than one that is recorded.
  io::Task<Result<wire::CommitLakeTableSnapshotResponse>> Commit(
      wire::CommitLakeTableSnapshotRequest request);

 private:
  io::Task<Result<std::string>> PrepareTable(wire::PbTableOffsets request, bool ignore_previous);
  io::Task<Result<std::string>> WriteOffsets(meta::TablePtr table, meta::BucketOffsets offsets);
  io::Task<Result<std::shared_ptr<const meta::BucketOffsets>>> ReadOffsets(meta::TablePtr table,
                                                                           std::string path);
  using Timestamps = std::map<meta::PartitionBucket, int64_t>;
  /// The offsets file has been written by Prepare.
  io::Task<Status> CommitByPath(wire::PbLakeTableSnapshotMetadata metadata, Timestamps timestamps);
  /// The older style: the offsets are in the request.
  io::Task<Status> CommitInline(wire::PbLakeTableSnapshotInfo info);
  io::Task<Status> Record(meta::TablePtr table, meta::LakeSnapshot snapshot,
                          std::optional<int64_t> earliest_to_keep, Timestamps timestamps);
  io::Task<void> RemoveFiles(std::vector<meta::LakeSnapshot> forgotten, int64_t table_id);

  Options options_;
};

}  // namespace sluice::coordinator
