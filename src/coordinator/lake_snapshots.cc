#include <set>

#include "base/log.h"
#include "coordinator/lake_paths.h"
#include "coordinator/lake_snapshots_internal.h"
#include "coordinator/message_parts_internal.h"
#include "io/crash_point.h"
#include "meta/lake_offsets.h"
#include "types/kv_snapshot.h"
#include "wire/frame.h"

namespace sluice::coordinator {

namespace {

constexpr char kOffsetsSuffix[] = ".offsets";
constexpr int kTablesMax = 1000;  // Of one request: each has a file to write or to read.

Status CheckTables(int count) {
  if (count <= kTablesMax) return Status::OK();
  return Error(ErrorCode::kRecordTooLarge, "request names too many tables count=", count,
               " most=", kTablesMax);
}

// Whether the table, or a partition that it has or had, has the bucket.
bool CanHave(const meta::TableState& table, const meta::PartitionBucket& bucket) {
  return table.partitioned() == bucket.partition_id.has_value() && bucket.bucket >= 0 &&
         bucket.bucket < table.bucket_count();
}

// The offsets that a request names, on top of `previous`. A partition may have been dropped while
// it was tiered: its bucket is left out, since nobody reads it by this offset any more.
template <typename Entries>
Result<meta::BucketOffsets> MergeOffsets(const meta::TableState& table,
                                         meta::BucketOffsets previous, const Entries& entries) {
  for (const auto& entry : entries) {
    const meta::PartitionBucket bucket = PartitionBucketOf(entry);
    if (!CanHave(table, bucket)) {
      return Error(ErrorCode::kUnknownTableOrBucket, "no such bucket table=", table.info.path,
                   " bucket=", bucket.bucket);
    }
    if (entry.has_log_end_offset() && entry.log_end_offset() >= 0)
      previous[bucket] = entry.log_end_offset();
  }
  std::erase_if(previous,
                [&](const auto& offset) { return table.FindBucket(offset.first) == nullptr; });
  return previous;
}

// Buckets of partitions that are gone may be among them, none that no partition has.
Status CheckBuckets(const meta::TableState& table, const meta::BucketOffsets& offsets,
                    const std::string& path) {
  for (const auto& [bucket, offset] : offsets) {
    if (CanHave(table, bucket)) continue;
    return Corrupt("lake offsets name a bucket that the table lacks path=", path,
                   " bucket=", bucket.bucket);
  }
  return Status::OK();
}

meta::BucketOffsets LatestOffsets(const meta::TableState& table) {
  const meta::LakeSnapshot* latest = table.LatestLakeSnapshot();
  return latest == nullptr ? meta::BucketOffsets() : *latest->tiered;
}

}  // namespace

io::Task<Result<wire::PrepareLakeTableSnapshotResponse>> LakeSnapshots::Prepare(
    wire::PrepareLakeTableSnapshotRequest request) {
  CO_RETURN_NOT_OK(CheckTables(request.bucket_offsets_size()));
  wire::PrepareLakeTableSnapshotResponse response;
  for (const wire::PbTableOffsets& offsets : request.bucket_offsets()) {
    auto path = co_await PrepareTable(offsets, request.ignore_previous_table_offsets());
    auto* entry = response.add_prepare_lake_table_resp();
    entry->set_table_id(offsets.table_id());
    if (path.ok()) entry->set_lake_table_offsets_path(*path);
    wire::SetError(entry, path.status());
  }
  co_return response;
}

io::Task<Result<std::string>> LakeSnapshots::PrepareTable(wire::PbTableOffsets request,
                                                          bool ignore_previous) {
  CO_ASSIGN_OR_RETURN(const meta::TablePtr table,
                      options_.catalog->state()->Table(request.table_id()));
  meta::BucketOffsets previous = ignore_previous ? meta::BucketOffsets() : LatestOffsets(*table);
  CO_ASSIGN_OR_RETURN(meta::BucketOffsets offsets,
                      MergeOffsets(*table, std::move(previous), request.bucket_offsets()));
  co_return co_await WriteOffsets(table, std::move(offsets));
}

io::Task<Result<std::string>> LakeSnapshots::WriteOffsets(meta::TablePtr table,
                                                          meta::BucketOffsets offsets) {
  const std::string folder = LakeOffsetsFolder(table->info);
  const std::string path = io::JoinPath(folder, options_.random->Uuid() + kOffsetsSuffix);
  std::string text = meta::LakeOffsetsToJson(table->info.table_id, offsets);
  io::FileSystem* files = options_.files;
  auto write = [files, remote = options_.remote_folder,
                root = types::RemotePath(table->info.remote_data_dir), folder, path,
                text = std::move(text)]() -> Status {
    RETURN_NOT_OK(remote.Check(*files, root));
    RETURN_NOT_OK(files->MakeFoldersBelow(root, types::RemotePath(folder)));
    return files->ReplaceFile(types::RemotePath(path), text);
  };
  Status written = co_await options_.pool->Run(*options_.loop, std::move(write));
  if (!written.ok()) {
    co_return Error(ErrorCode::kStorage, "cannot write lake offsets path=", path,
                    " cause=", written.ToString());
  }
  CRASH_POINT("lake.prepare.after-file");
  co_return path;
}

io::Task<Result<std::shared_ptr<const meta::BucketOffsets>>> LakeSnapshots::ReadOffsets(
    meta::TablePtr table, std::string path) {
  // The files that a snapshot names are removed in the end, so a client may name only such.
  if (io::FolderOf(types::RemotePath(path)) != types::RemotePath(LakeOffsetsFolder(table->info)) ||
      !path.ends_with(kOffsetsSuffix)) {
    co_return Error(ErrorCode::kStorage, "lake offsets are not in the table's folder path=", path,
                    " folder=", LakeOffsetsFolder(table->info));
  }
  io::FileSystem* files = options_.files;
  auto read = [files, path] { return files->ReadFile(types::RemotePath(path)); };
  auto text = co_await options_.pool->Run(*options_.loop, std::move(read));
  if (!text.ok()) {
    co_return Error(ErrorCode::kStorage, "cannot read lake offsets path=", path,
                    " cause=", text.status().ToString());
  }
  CO_ASSIGN_OR_RETURN(meta::LakeOffsetsDocument document, meta::LakeOffsetsFromJson(*text));
  if (document.table_id != table->info.table_id) {
    co_return Corrupt("lake offsets are of another table path=", path,
                      " table_id=", document.table_id, " expected=", table->info.table_id);
  }
  CO_RETURN_NOT_OK(CheckBuckets(*table, document.offsets, path));
  co_return std::make_shared<const meta::BucketOffsets>(std::move(document.offsets));
}

io::Task<Result<wire::CommitLakeTableSnapshotResponse>> LakeSnapshots::Commit(
    wire::CommitLakeTableSnapshotRequest request) {
  CO_RETURN_NOT_OK(
      CheckTables(request.tables_req_size() + request.lake_table_snapshot_metadata_size()));
  wire::CommitLakeTableSnapshotResponse response;
  std::map<int64_t, Timestamps> timestamps;
  for (const wire::PbLakeTableSnapshotInfo& info : request.tables_req()) {
    for (const auto& bucket : info.buckets_req()) {
      if (bucket.has_max_timestamp())
        timestamps[info.table_id()][PartitionBucketOf(bucket)] = bucket.max_timestamp();
    }
  }
  std::set<int64_t> by_path;
  for (const wire::PbLakeTableSnapshotMetadata& metadata : request.lake_table_snapshot_metadata()) {
    by_path.insert(metadata.table_id());
    Status committed = co_await CommitByPath(metadata, timestamps[metadata.table_id()]);
    auto* entry = response.add_table_resp();
    entry->set_table_id(metadata.table_id());
    wire::SetError(entry, committed);
  }
  for (const wire::PbLakeTableSnapshotInfo& info : request.tables_req()) {
    if (by_path.contains(info.table_id())) continue;
    Status committed = co_await CommitInline(info);
    auto* entry = response.add_table_resp();
    entry->set_table_id(info.table_id());
    wire::SetError(entry, committed);
  }
  co_return response;
}

io::Task<Status> LakeSnapshots::CommitByPath(wire::PbLakeTableSnapshotMetadata metadata,
                                             Timestamps timestamps) {
  CO_ASSIGN_OR_RETURN(const meta::TablePtr table,
                      options_.catalog->state()->Table(metadata.table_id()));
  meta::LakeSnapshot snapshot{
      .snapshot_id = metadata.snapshot_id(),
      .tiered_offsets_path = metadata.tiered_bucket_offsets_file_path(),
      .readable_offsets_path = metadata.readable_bucket_offsets_file_path()};
  auto tiered = co_await ReadOffsets(table, snapshot.tiered_offsets_path);
  CO_RETURN_NOT_OK(tiered);
  snapshot.tiered = *tiered;
  if (snapshot.readable_offsets_path == snapshot.tiered_offsets_path) {
    snapshot.readable = snapshot.tiered;
  } else if (!snapshot.readable_offsets_path.empty()) {
    auto readable = co_await ReadOffsets(table, snapshot.readable_offsets_path);
    CO_RETURN_NOT_OK(readable);
    snapshot.readable = *readable;
  }
  std::optional<int64_t> keep;
  if (metadata.has_earliest_snapshot_id_to_keep()) keep = metadata.earliest_snapshot_id_to_keep();
  co_return co_await Record(table, std::move(snapshot), keep, std::move(timestamps));
}

io::Task<Status> LakeSnapshots::CommitInline(wire::PbLakeTableSnapshotInfo info) {
  CO_ASSIGN_OR_RETURN(const meta::TablePtr table,
                      options_.catalog->state()->Table(info.table_id()));
  CO_ASSIGN_OR_RETURN(meta::BucketOffsets offsets,
                      MergeOffsets(*table, LatestOffsets(*table), info.buckets_req()));
  auto path = co_await WriteOffsets(table, offsets);
  CO_RETURN_NOT_OK(path);
  meta::LakeSnapshot snapshot{.snapshot_id = info.snapshot_id(),
                              .tiered_offsets_path = *path,
                              .readable_offsets_path = *path};
  snapshot.tiered = std::make_shared<const meta::BucketOffsets>(std::move(offsets));
  snapshot.readable = snapshot.tiered;
  Timestamps timestamps;
  for (const auto& bucket : info.buckets_req()) {
    if (bucket.has_max_timestamp()) timestamps[PartitionBucketOf(bucket)] = bucket.max_timestamp();
  }
  co_return co_await Record(table, std::move(snapshot), std::nullopt, std::move(timestamps));
}

io::Task<Status> LakeSnapshots::Record(meta::TablePtr table, meta::LakeSnapshot snapshot,
                                       std::optional<int64_t> earliest_to_keep,
                                       Timestamps timestamps) {
  const int64_t table_id = table->info.table_id;
  // The file was read on the pool: look at the table as it is now.
  CO_ASSIGN_OR_RETURN(const meta::TablePtr now, options_.catalog->state()->Table(table_id));
  const meta::LakeSnapshot* latest = now->LatestLakeSnapshot();
  const bool known = now->FindLakeSnapshot(snapshot.snapshot_id) != nullptr;
  if (latest != nullptr && snapshot.snapshot_id < latest->snapshot_id && !known) {
    co_return Error(ErrorCode::kInvalidUpdateVersion,
                    "a newer lake snapshot is recorded table=", now->info.path,
                    " snapshot_id=", snapshot.snapshot_id, " newest=", latest->snapshot_id);
  }
  const bool newest = latest == nullptr || snapshot.snapshot_id >= latest->snapshot_id;
  if (!newest && !earliest_to_keep.has_value())
    earliest_to_keep = -1;  // An older one cannot replace a newer.
  CO_ASSIGN_OR_RETURN(auto forgotten,
                      options_.catalog->RecordLakeSnapshot(table_id, snapshot, earliest_to_keep));
  CRASH_POINT("lake.commit.after-record");
  if (newest) {
    Status told = co_await options_.link->TellLakeSnapshot(table_id, std::move(snapshot),
                                                           std::move(timestamps));
    // The offsets only bound what a log may expire; the next commit tells them again.
    LogIfError(told, "telling lake offsets to a tablet server");
  }
  co_await RemoveFiles(std::move(forgotten), table_id);
  co_return Status::OK();
}

namespace {

// Offsets files of rounds that never committed are removed once a newer commit is this much
// younger. Until then a lake snapshot that the coordinator has not heard of may name them.
constexpr int64_t kOrphanAgeMs = 3600 * 1000;

// Remove `paths`, and what lies in `folder` for so long that no round can mean it any more.
Status RemoveOffsetsFiles(io::FileSystem& files, const std::set<std::string>& paths,
                          const std::string& folder, const std::set<std::string>& kept,
                          const std::string& newest) {
  for (const std::string& path : paths) {
    const Status removed = files.Remove(path);
    if (!removed.ok() && !io::IsNotFound(removed)) return removed;
  }
  const auto now = files.Stat(newest);
  const auto entries = files.List(folder);
  if (!now.ok() || !entries.ok())
    return Status::OK();  // The files are elsewhere, as after a change of the remote folder.
  for (const io::FileSystem::Entry& entry : *entries) {
    const std::string path = io::JoinPath(folder, entry.name);
    const bool old = entry.modified_ms + kOrphanAgeMs < now->modified_ms;
    if (old && entry.name.ends_with(kOffsetsSuffix) && !kept.contains(path))
      RETURN_NOT_OK(files.Remove(path));
  }
  return Status::OK();
}

}  // namespace

io::Task<void> LakeSnapshots::RemoveFiles(std::vector<meta::LakeSnapshot> forgotten,
                                          int64_t table_id) {
  const meta::TablePtr table = options_.catalog->state()->FindTable(table_id);
  if (table == nullptr) co_return;  // Dropped, and its folder with it.
  std::set<std::string> kept;
  for (const meta::LakeSnapshot& snapshot : table->lake_snapshots) {
    kept.insert(types::RemotePath(snapshot.tiered_offsets_path));
    kept.insert(types::RemotePath(snapshot.readable_offsets_path));
  }
  std::set<std::string> paths;
  for (const meta::LakeSnapshot& snapshot : forgotten) {
    paths.insert(types::RemotePath(snapshot.tiered_offsets_path));
    paths.insert(types::RemotePath(snapshot.readable_offsets_path));
  }
  std::erase_if(paths,
                [&](const std::string& path) { return path.empty() || kept.contains(path); });
  io::FileSystem* files = options_.files;
  auto remove =
      [files, remote = options_.remote_folder, paths, kept,
       folder = types::RemotePath(LakeOffsetsFolder(table->info)),
       newest = types::RemotePath(table->LatestLakeSnapshot()->tiered_offsets_path)]() -> Status {
    RETURN_NOT_OK(remote.Check(*files, folder));
    return RemoveOffsetsFiles(*files, paths, folder, kept, newest);
  };
  Status removed = co_await options_.pool->Run(*options_.loop, std::move(remove));
  LogIfError(removed, "removing lake offsets that nothing names any more");
}

}  // namespace sluice::coordinator
