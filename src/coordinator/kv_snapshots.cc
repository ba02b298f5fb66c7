#include <algorithm>

#include "base/log.h"
#include "coordinator/kv_snapshots_internal.h"
#include "coordinator/remote_log_internal.h"
#include "io/crash_point.h"
#include "types/kv_snapshot.h"
#include "wire/bucket_id.h"

namespace sluice::coordinator {

namespace {

// The files of shared folders that recorded snapshots name. Errors: when one of the snapshots
// cannot be read, so that nobody knows.
Result<std::set<std::string>> SharedNamesOf(io::FileSystem& files,
                                            const meta::KvSnapshotList& recorded) {
  std::set<std::string> names;
  for (const meta::KvSnapshotEntry& entry : recorded) {
    ASSIGN_OR_RAISE(const std::string text, files.ReadFile(types::RemotePath(entry.metadata_path)));
    ASSIGN_OR_RAISE(const types::KvSnapshot snapshot, types::KvSnapshot::FromJson(text));
    for (const types::KvSnapshotFile& file : snapshot.shared_files)
      names.insert(file.remote_path.substr(file.remote_path.rfind('/') + 1));
  }
  return names;
}

// What of a bucket's folder no recorded snapshot names. Ids above the newest recorded one are of
// a snapshot that is being made now.
Status RemoveUnnamedFiles(io::FileSystem& files, const std::string& folder,
                          const meta::KvSnapshotList& recorded) {
  const int64_t newest = recorded.back().snapshot_id;
  ASSIGN_OR_RAISE(const auto named, SharedNamesOf(files, recorded));
  const std::string shared = io::JoinPath(folder, types::kKvSharedFolder);
  ASSIGN_OR_RAISE(const auto shared_files, files.List(shared));
  for (const auto& entry : shared_files) {
    const auto id = types::KvSharedNameId(entry.name);
    if (!id || *id > newest || named.contains(entry.name)) continue;
    const Status removed = files.Remove(io::JoinPath(shared, entry.name));
    if (!removed.ok() && !io::IsNotFound(removed)) return removed;
  }
  CRASH_POINT("kv.snapshot.between-removals");
  ASSIGN_OR_RAISE(const auto entries, files.List(folder));
  for (const auto& entry : entries) {
    const auto id = types::KvSnapshotIdOf(entry.name);
    const bool is_recorded =
        id &&
        std::ranges::find(recorded, *id, &meta::KvSnapshotEntry::snapshot_id) != recorded.end();
    if (!id || *id > newest || is_recorded) continue;
    RETURN_NOT_OK(files.RemoveTree(io::JoinPath(folder, entry.name)));
  }
  return Status::OK();
}

// Of all buckets of a table, or of one of its partitions.
std::string KvFolderAt(const std::string& root, const meta::TableState& table,
                       const meta::PartitionState* partition) {
  const std::string path = types::RemotePath(root);
  const types::TableInfo& info = table.info;
  return partition == nullptr
             ? types::KvRemoteFolder(path, info.path, info.table_id)
             : types::KvRemoteFolder(path, info.path, info.table_id, partition->info);
}

}  // namespace

std::vector<std::string> KvSnapshotFolders(const meta::TableState& table,
                                           const meta::PartitionState* partition) {
  std::vector<std::string> folders;
  if (partition == nullptr) {
    for (const std::string& root : RemoteRoots(table))
      folders.push_back(KvFolderAt(root, table, nullptr));
  } else if (!partition->remote_data_dir.empty()) {
    folders.push_back(KvFolderAt(partition->remote_data_dir, table, partition));
  }
  return folders;
}

Result<std::string> KvFolderOf(const meta::CatalogState& state, const types::BucketId& bucket) {
  RETURN_NOT_OK(state.Bucket(bucket));
  const meta::TablePtr table = state.FindTable(bucket.table_id);
  const meta::PartitionState* partition =
      bucket.partition_id ? table->FindPartition(*bucket.partition_id) : nullptr;
  const std::string& root =
      partition == nullptr ? table->info.remote_data_dir : partition->remote_data_dir;
  if (root.empty()) return Error(ErrorCode::kStorage, "no remote folder for kv snapshots ", bucket);
  return types::KvBucketFolder(KvFolderAt(root, *table, partition), bucket.bucket);
}

KvSnapshots::KvSnapshots(Options options)
    : options_(std::move(options)), leases_(*options_.catalog, *options_.clock) {}

Status KvSnapshots::Start() {
  RETURN_NOT_OK(leases_.Load());
  stopped_ = false;
  Arm();
  return Status::OK();
}

io::Task<void> KvSnapshots::Stop() {
  stopped_ = true;
  if (timer_) options_.loop->Cancel(*timer_);
  timer_.reset();
  co_await sweeps_.CloseAndWait(*options_.loop);
  while (!removing_.empty()) co_await io::Sleep(*options_.loop, std::chrono::milliseconds(1));
}

void KvSnapshots::Arm() {
  const std::chrono::milliseconds interval(options_.settings->kv_lease_check_interval_ms);
  timer_ = options_.loop->After(interval, [self = shared_from_this()] {
    self->timer_.reset();
    if (!self->stopped_) io::Spawn(Sweep(self));
  });
}

io::Task<void> KvSnapshots::Sweep(std::shared_ptr<KvSnapshots> self) {
  const auto pass = self->sweeps_.Enter();
  if (!pass) co_return;
  bool more = true;
  while (more && !self->stopped_) {
    const meta::CatalogStatePtr now = self->state();
    auto ended = self->leases_.EndSome(*now);
    LogIfError(ended.status(), "leases of kv snapshots that are over");
    more = ended.ok() && ended->more;
    if (ended.ok()) co_await RetireAll(self, std::move(ended->released));
    // Others have their turn between two writes.
    if (more) co_await io::Sleep(*self->options_.loop, std::chrono::milliseconds(1));
  }
  if (!self->stopped_) self->Arm();
}

Status KvSnapshots::CheckCommit(const wire::CommitKvSnapshotRequest& request,
                                const types::KvSnapshot& snapshot) const {
  const meta::CatalogStatePtr now = state();
  if (request.coordinator_epoch() != now->coordinator_epoch) {
    return Error(ErrorCode::kInvalidCoordinator,
                 "coordinator epoch is another coordinator_epoch=", request.coordinator_epoch(),
                 " known=", now->coordinator_epoch);
  }
  ASSIGN_OR_RAISE(const meta::BucketState* bucket, now->Bucket(snapshot.bucket));
  if (request.bucket_leader_epoch() != bucket->leader_epoch) {
    return Error(ErrorCode::kFencedLeaderEpoch,
                 "leader epoch is another leader_epoch=", request.bucket_leader_epoch(),
                 " known=", bucket->leader_epoch, " ", snapshot.bucket);
  }
  ASSIGN_OR_RAISE(const std::string folder, KvFolderOf(*now, snapshot.bucket));
  const std::string expected = types::KvSnapshotFolder(folder, snapshot.snapshot_id);
  if (types::RemotePath(snapshot.location) != expected) {
    return Error(ErrorCode::kStorage, "kv snapshot lies elsewhere location=", snapshot.location,
                 " expected=", expected);
  }
  return Status::OK();
}

std::set<int64_t> KvSnapshots::Over(const types::BucketId& bucket,
                                    std::optional<int64_t> added) const {
  const meta::CatalogStatePtr now = state();
  std::vector<int64_t> ids;  // Ascending.
  if (const auto* list = now->kv_snapshots.Find(bucket)) {
    for (const meta::KvSnapshotEntry& entry : **list) ids.push_back(entry.snapshot_id);
  }
  if (added) ids.push_back(*added);
  const auto kept = static_cast<size_t>(std::max(options_.settings->kv_snapshots_retained, 1));
  ids.resize(ids.size() - std::min(ids.size(), kept));
  std::erase_if(ids, [&](int64_t id) { return leases_.Holds(bucket, id); });
  return {ids.begin(), ids.end()};
}

io::Task<Status> KvSnapshots::Commit(std::shared_ptr<KvSnapshots> self,
                                     wire::CommitKvSnapshotRequest request) {
  CO_ASSIGN_OR_RETURN(const types::KvSnapshot snapshot,
                      types::KvSnapshot::FromJson(request.completed_snapshot()));
  CO_RETURN_NOT_OK(self->CheckCommit(request, snapshot));
  const meta::KvSnapshotEntry entry{
      .snapshot_id = snapshot.snapshot_id,
      .log_offset = snapshot.log_offset,
      .metadata_path = snapshot.location + "/" + types::kKvSnapshotMetadataFile};
  const std::set<int64_t> over = self->Over(snapshot.bucket, entry.snapshot_id);
  CO_RETURN_NOT_OK(self->options_.catalog->RecordKvSnapshot(snapshot.bucket, entry, over));
  CRASH_POINT("kv.snapshot.after-record");
  // Before the answer: the server begins no other snapshot of the bucket until then.
  co_await RemoveUnnamed(self, snapshot.bucket);
  co_return Status::OK();
}

// Snapshots of buckets that a lease has let go.
io::Task<void> KvSnapshots::RetireAll(std::shared_ptr<KvSnapshots> self,
                                      KvSnapshotLeases::Buckets buckets) {
  for (const types::BucketId& bucket : buckets) {
    if (self->stopped_) co_return;
    const std::set<int64_t> over = self->Over(bucket, std::nullopt);
    if (over.empty()) continue;
    const Status forgotten = self->options_.catalog->RecordKvSnapshot(bucket, std::nullopt, over);
    LogIfError(forgotten, "forgetting kv snapshots of " + bucket.ToString());
    if (forgotten.ok()) co_await RemoveUnnamed(self, bucket);
  }
}

// What cannot be removed now is when the next snapshot of the bucket is recorded.
io::Task<void> KvSnapshots::RemoveUnnamed(std::shared_ptr<KvSnapshots> self,
                                          types::BucketId bucket) {
  // One after another: each needs the metadata of all that is recorded.
  while (self->removing_.contains(bucket))
    co_await io::Sleep(*self->options_.loop, std::chrono::milliseconds(1));
  if (self->stopped_) co_return;
  const meta::CatalogStatePtr now = self->state();
  const auto folder = KvFolderOf(*now, bucket);
  const auto* recorded = now->kv_snapshots.Find(bucket);
  if (!folder.ok() || recorded == nullptr) co_return;
  auto remove = [files = self->options_.files, remote = self->options_.remote_folder,
                 folder = *folder, list = *recorded]() -> Status {
    RETURN_NOT_OK(remote.Check(*files, folder));
    return RemoveUnnamedFiles(*files, folder, *list);
  };
  self->removing_.insert(bucket);
  const Status removed = co_await self->options_.pool->Run(*self->options_.loop, std::move(remove));
  self->removing_.erase(bucket);
  // A table that was dropped meanwhile takes its folder with it.
  if (self->state()->Bucket(bucket).ok())
    LogIfError(removed, "removing files of old kv snapshots of " + bucket.ToString());
}

io::Task<Result<wire::AcquireKvSnapshotLeaseResponse>> KvSnapshots::Acquire(
    std::shared_ptr<KvSnapshots> self, wire::AcquireKvSnapshotLeaseRequest request) {
  size_t asked = 0;
  for (const auto& table : request.snapshots_to_lease())
    asked += static_cast<size_t>(table.bucket_snapshots_size());
  if (asked > KvSnapshotLeases::kSnapshotsMax) {
    co_return Error(ErrorCode::kUnknownServer,
                    "a call asks for too many snapshots lease_id=", request.lease_id(),
                    " snapshots=", asked, " most=", KvSnapshotLeases::kSnapshotsMax);
  }
  const meta::CatalogStatePtr now = self->state();
  wire::AcquireKvSnapshotLeaseResponse response;
  KvSnapshotLeases::Snapshots snapshots;
  for (const auto& table : request.snapshots_to_lease()) {
    wire::PbKvSnapshotLeaseForTable missing;
    missing.set_table_id(table.table_id());
    for (const auto& wanted : table.bucket_snapshots()) {
      const types::BucketId bucket = wire::BucketIdOf(table.table_id(), wanted);
      if (now->FindKvSnapshot(bucket, wanted.snapshot_id()) == nullptr) {
        *missing.add_bucket_snapshots() = wanted;
      } else {
        snapshots[bucket] = wanted.snapshot_id();
      }
    }
    if (missing.bucket_snapshots_size() > 0) *response.add_unavailable_snapshots() = missing;
  }
  CO_ASSIGN_OR_RETURN(
      KvSnapshotLeases::Buckets before,
      self->leases_.Acquire(request.lease_id(), request.lease_duration_ms(), std::move(snapshots)));
  co_await RetireAll(self, std::move(before));
  co_return response;
}

io::Task<Status> KvSnapshots::Release(std::shared_ptr<KvSnapshots> self,
                                      wire::ReleaseKvSnapshotLeaseRequest request) {
  KvSnapshotLeases::Buckets buckets;
  for (const auto& bucket : request.buckets_to_release())
    buckets.insert(wire::BucketIdOf(bucket.table_id(), bucket));
  CO_ASSIGN_OR_RETURN(KvSnapshotLeases::Buckets released,
                      self->leases_.Release(request.lease_id(), buckets));
  co_await RetireAll(self, std::move(released));
  co_return Status::OK();
}

io::Task<Status> KvSnapshots::Drop(std::shared_ptr<KvSnapshots> self, std::string lease_id) {
  CO_ASSIGN_OR_RETURN(KvSnapshotLeases::Buckets released, self->leases_.Drop(lease_id));
  co_await RetireAll(self, std::move(released));
  co_return Status::OK();
}

Result<wire::ListKvSnapshotsResponse> KvSnapshots::List(
    const wire::ListKvSnapshotsRequest& request) const {
  const meta::CatalogStatePtr now = state();
  ASSIGN_OR_RAISE(const meta::TablePtr table, now->Table(request.table_id()));
  types::BucketId bucket{.table_id = request.table_id()};
  wire::ListKvSnapshotsResponse response;
  response.set_table_id(request.table_id());
  if (request.has_partition_id()) {
    if (table->FindPartition(request.partition_id()) == nullptr) {
      return Error(ErrorCode::kPartitionNotExists, "no such partition table=", table->info.path,
                   " partition_id=", request.partition_id());
    }
    bucket.partition_id = request.partition_id();
    response.set_partition_id(request.partition_id());
  }
  for (; bucket.bucket < table->bucket_count(); ++bucket.bucket) {
    const auto* list = now->kv_snapshots.Find(bucket);
    if (list == nullptr) continue;
    for (const meta::KvSnapshotEntry& entry : **list) {
      wire::PbKvSnapshot* snapshot = response.add_active_snapshots();
      snapshot->set_bucket_id(bucket.bucket);
      snapshot->set_snapshot_id(entry.snapshot_id);
      snapshot->set_log_offset(entry.log_offset);
    }
  }
  return response;
}

}  // namespace sluice::coordinator
