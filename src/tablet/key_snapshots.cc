#include "tablet/key_snapshots.h"

#include <algorithm>

#include "base/log.h"
#include "io/crash_point.h"
#include "kv/snapshot_upload.h"
#include "types/kv_snapshot.h"
#include "wire/api.h"
#include "wire/frame.h"
#include "wire/proto/replication.pb.h"

namespace sluice::tablet {
namespace {

constexpr char kCheckpointFolder[] = "checkpoint";
constexpr int kLooksPerInterval = 16;
constexpr std::chrono::milliseconds kLookLeast{10};
constexpr std::chrono::milliseconds kLookMost{1000};  // A changed interval is seen by then.

std::string RemoteFolderOf(const Replica& replica, const std::string& remote_root) {
  const types::TableInfo& table = replica.table()->info();
  const std::string root = types::RemotePath(remote_root);
  const types::BucketId& id = replica.id();
  std::string parent = types::KvRemoteFolder(root, table.path, id.table_id);
  // The last part of a partition's folder is the same on both sides: {name}-p{id}.
  const std::string& local = replica.folders().parent;
  if (id.partition_id) parent += local.substr(local.rfind('/'));
  return types::KvBucketFolder(parent, id.bucket);
}

// Runs on the pool. nullopt when the store has nothing that the newest snapshot lacks.
Result<std::optional<types::KvSnapshot>> CheckpointAndUpload(
    const std::function<Result<std::optional<kv::KeyStore::Checkpoint>>()>& checkpoint,
    kv::SnapshotUpload upload, int64_t known_offset) {
  std::optional<types::KvSnapshot> snapshot;
  ASSIGN_OR_RAISE(const auto made, checkpoint());
  CRASH_POINT("kv.snapshot.after-checkpoint");
  Status uploaded;
  if (made && made->applied.log_offset > known_offset) {
    upload.checkpoint = *made;
    auto result = kv::UploadSnapshot(upload);
    uploaded = result.status();
    if (result.ok()) snapshot = *std::move(result);
  }
  // Its links would keep files that the store has let go.
  RETURN_NOT_OK(upload.files->RemoveTree(upload.checkpoint_folder));
  RETURN_NOT_OK(uploaded);
  return snapshot;
}

}  // namespace

std::chrono::milliseconds KeySnapshots::LookInterval(const LiveOptions& live) {
  const std::chrono::milliseconds interval = live.kv_snapshot_interval;
  return std::clamp(interval / kLooksPerInterval, kLookLeast, kLookMost);
}

void KeySnapshots::Cancel(const types::BucketId& id) {
  if (making_ == id) *stop_making_ = true;
}

void KeySnapshots::Stop() {
  stopped_ = true;
  if (making_) *stop_making_ = true;
}

// Whether the bucket's time has come; then it is counted anew. The first time is spread by bucket.
bool KeySnapshots::TakeTurn(const Replica& replica) {
  const std::chrono::nanoseconds interval = server_->live->kv_snapshot_interval.load();
  const std::chrono::nanoseconds now = loop_->clock().Monotonic();
  const auto known = counted_from_.find(replica.id());
  if (known == counted_from_.end()) {
    const size_t share = std::hash<types::BucketId>()(replica.id()) % kLooksPerInterval;
    counted_from_[replica.id()] = now + interval * (share + 1) / kLooksPerInterval - interval;
    return false;
  }
  if (now - known->second < interval) return false;
  known->second = now;
  return true;
}

io::Task<void> KeySnapshots::RunDue(KeySnapshots* snapshots,
                                    std::vector<std::shared_ptr<Replica>> replicas) {
  if (snapshots->running_) co_return;
  snapshots->running_ = true;
  std::unordered_map<types::BucketId, std::chrono::nanoseconds> kept;
  for (const auto& replica : replicas) {
    const auto known = snapshots->counted_from_.find(replica->id());
    if (known != snapshots->counted_from_.end()) kept.insert(*known);
  }
  snapshots->counted_from_ = std::move(kept);
  for (const std::shared_ptr<Replica>& replica : replicas) {
    if (snapshots->stopped_) break;
    if (!replica->Keys().ok() || !snapshots->TakeTurn(*replica)) continue;
    snapshots->making_ = replica->id();
    snapshots->stop_making_ = std::make_shared<std::atomic<bool>>(false);
    const Status made = co_await snapshots->Make(replica);
    const bool ended = *snapshots->stop_making_;
    snapshots->making_.reset();
    if (made.ok()) continue;
    // A bucket that stops, and a coordinator that is gone before this server, are no trouble; of a
    // full disk its guard tells.
    const ErrorCode code = CodeOf(made);
    if (ended || code == ErrorCode::kNetwork || code == ErrorCode::kUnknownTableOrBucket ||
        code == ErrorCode::kDiskWriteLocked) {
      LogInfo("snapshot of keys was given up {} cause={}", replica->id().ToString(),
              made.ToString());
    } else {
      ++snapshots->failed_;
      LogWarn("snapshot of keys failed, will be tried again {} error={}", replica->id().ToString(),
              made.ToString());
    }
  }
  snapshots->running_ = false;
}

io::Task<Status> KeySnapshots::Make(std::shared_ptr<Replica> replica) {
  const Replica::Reading reading(replica);  // The bucket's close waits for this.
  const auto latest = server_->tables->LatestKvSnapshot(replica->id());
  const int64_t known_offset = latest ? latest->log_offset : 0;
  CO_ASSIGN_OR_RETURN(kv::KvTablet * keys, replica->Keys());
  const std::string root = server_->tables->RemoteRootOf(replica->id());
  if (root.empty() || keys->log_offset() <= known_offset) co_return Status::OK();
  if (server_->disk != nullptr) CO_RETURN_NOT_OK(server_->disk->CheckWrite());
  if (server_->remote_disk != nullptr) CO_RETURN_NOT_OK(server_->remote_disk->CheckWrite());
  if (!co_await Replica::MoveKeys(replica)) {
    co_return Error(ErrorCode::kKvStorage, "keys cannot be moved to their store ", replica->id());
  }
  CO_ASSIGN_OR_RETURN(keys, replica->Keys());
  kv::SnapshotUpload upload;
  upload.files = server_->files;
  upload.checkpoint_folder = io::JoinPath(replica->folders().kv, kCheckpointFolder);
  upload.bucket = replica->id();
  upload.snapshot_id = latest ? latest->snapshot_id + 1 : 0;
  upload.remote = server_->remote_folder;
  upload.root = root;
  upload.bucket_folder = RemoteFolderOf(*replica, root);
  if (latest) upload.base_metadata_path = latest->metadata_path;
  upload.stop = stop_making_;
  auto work = [checkpoint = keys->CheckpointLater(upload.checkpoint_folder), upload, known_offset] {
    return CheckpointAndUpload(checkpoint, upload, known_offset);
  };
  CO_ASSIGN_OR_RETURN(const std::optional<types::KvSnapshot> snapshot,
                      co_await server_->snapshot_pool->Run(*loop_, std::move(work)));
  if (!snapshot) co_return Status::OK();
  std::string json = snapshot->ToJson();
  CO_RETURN_NOT_OK(co_await Record(replica, std::move(json)));
  ++made_;
  copied_bytes_ += snapshot->incremental_bytes;
  LogDebug("made snapshot of keys {} snapshot_id={} log_offset={} files={} new_bytes={}",
           replica->id().ToString(), snapshot->snapshot_id, snapshot->log_offset,
           snapshot->shared_files.size() + snapshot->private_files.size(),
           snapshot->incremental_bytes);
  co_return Status::OK();
}

io::Task<Status> KeySnapshots::Record(std::shared_ptr<Replica> replica, std::string json) {
  wire::CommitKvSnapshotRequest request;
  request.set_completed_snapshot(std::move(json));
  request.set_coordinator_epoch(server_->tables->CoordinatorEpoch());
  request.set_bucket_leader_epoch(replica->leadership().leader_epoch);
  io::Call call{.api_key = static_cast<int16_t>(wire::ApiKey::kCommitKvSnapshot),
                .api_version = 0,
                .body = wire::Serialize(request)};
  const auto reply = co_await server_->call_coordinator(*loop_, std::move(call));
  co_return reply.status();
}

}  // namespace sluice::tablet
