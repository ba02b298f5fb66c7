#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "coordinator/ddl.h"
#include "coordinator/kv_snapshots_internal.h"
#include "coordinator/lake_paths.h"
#include "coordinator/remote_log_internal.h"
#include "io/crash_point.h"
#include "types/kv_snapshot.h"

namespace sluice::coordinator {

void Ddl::AddDeletion(const meta::TableState& table, const meta::PartitionState* partition,
                      DeleteIntent* out) const {
  for (const PlacedBucket& bucket : BucketsOf(table, partition)) {
    out->buckets.push_back({bucket.id, bucket.state.leader_epoch});
  }
  if (partition == nullptr && !table.info.remote_data_dir.empty())
    out->folders.push_back(types::RemotePath(io::FolderOf(LakeOffsetsFolder(table.info))));
  for (const std::string& folder : RemoteLogFolders(table, partition))
    out->folders.push_back(types::RemotePath(folder));
  if (!table.info.descriptor.has_primary_key()) return;
  for (std::string& folder : KvSnapshotFolders(table, partition))
    out->folders.push_back(std::move(folder));
}

meta::DdlIntent Ddl::DeletionOf(const types::TablePath& path, const DeleteIntent& deletion) const {
  return {.kind = DeleteIntent::kKind, .path = path, .payload = deletion.ToJson()};
}

io::Task<Status> Ddl::DropTable(types::TablePath path, bool ignore_if_not_exists) {
  const shard::Turnstile::Turn turn = co_await turnstile_.Enter(*options_.loop);
  Status settled = co_await Settle(path);
  CO_RETURN_NOT_OK(settled);
  const auto table = state()->Table(path);
  if (!table.ok()) co_return ignore_if_not_exists ? Status::OK() : table.status();
  DeleteIntent deletion;
  AddDeletion(**table, nullptr, &deletion);
  std::optional<meta::DdlIntent> left = DeletionOf(path, deletion);
  CO_ASSIGN_OR_RETURN(const int64_t intent, options_.catalog->DropTable(path, left));
  CRASH_POINT("ddl.drop.after-commit");
  LogInfo("dropped table={} table_id={}", path.ToString(), (*table)->info.table_id);
  dropped_.erase((*table)->info.table_id);
  options_.table_changed((*table)->info.table_id);
  co_await DeleteLeft(intent);
  co_return Status::OK();
}

io::Task<Status> Ddl::DropPartition(types::TablePath path, PartitionSpec spec,
                                    bool ignore_if_not_exists, Still still) {
  const shard::Turnstile::Turn turn = co_await turnstile_.Enter(*options_.loop);
  CO_ASSIGN_OR_RETURN(const meta::TablePtr table, state()->Table(path));
  if (still && !still(*table)) co_return Status::OK();
  CO_ASSIGN_OR_RETURN(std::vector<std::string> values,
                      PartitionValues(table->info, spec, /*creating=*/false));
  const types::PartitionInfo named{.values = std::move(values)};
  const meta::PartitionState* partition = table->FindPartition(named.Name());
  if (partition == nullptr && ignore_if_not_exists) co_return Status::OK();
  DeleteIntent deletion;
  if (partition != nullptr) AddDeletion(*table, partition, &deletion);
  std::optional<meta::DdlIntent> left = DeletionOf(path, deletion);
  CO_ASSIGN_OR_RETURN(const int64_t intent,
                      options_.catalog->DropPartition(path, named.Name(), left));
  if (partition != nullptr) NoteDropped(*table, named.Name());
  CRASH_POINT("ddl.drop-partition.after-commit");
  LogInfo("dropped partition table={} partition={}", path.ToString(), named.Name());
  co_await DeleteLeft(intent);
  co_return Status::OK();
}

// The drop is done; what it leaves may also be deleted later.
io::Task<void> Ddl::DeleteLeft(int64_t intent_id) {
  const meta::CatalogStatePtr current = state();
  const auto found = std::ranges::find(current->intents, intent_id, &meta::DdlIntent::id);
  CHECK(found != current->intents.end());
  meta::DdlIntent left = *found;
  Status deleted = co_await RecoverDelete(std::move(left));
  LogUntold(deleted, found->path);
}

io::Task<Status> Ddl::RecoverDelete(meta::DdlIntent intent) {
  CO_ASSIGN_OR_RETURN(DeleteIntent deletion, DeleteIntent::FromJson(intent.payload));
  Status stopped = co_await options_.link->StopReplicas(std::move(deletion.buckets));
  CO_RETURN_NOT_OK(stopped);
  CRASH_POINT("ddl.drop.after-stop");
  io::FileSystem* files = options_.files;
  // The intent stays while the disk is away: what is on it is removed once it is back.
  auto remove = [files, remote = options_.remote_folder,
                 folders = std::move(deletion.folders)]() -> Status {
    for (const std::string& folder : folders) {
      RETURN_NOT_OK(remote.Check(*files, folder));
      RETURN_NOT_OK(files->RemoveTree(folder));
    }
    return Status::OK();
  };
  Status removed = co_await options_.pool->Run(*options_.loop, std::move(remove));
  CO_RETURN_NOT_OK(removed);
  co_return options_.catalog->RemoveIntent(intent.id);
}

}  // namespace sluice::coordinator
