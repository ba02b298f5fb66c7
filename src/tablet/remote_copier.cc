#include "tablet/remote_copier.h"

#include <algorithm>
#include <set>

#include "base/log.h"
#include "io/crash_point.h"
#include "tablet/cold_read.h"
#include "types/kv_snapshot.h"
#include "wire/api.h"
#include "wire/frame.h"
#include "wire/proto/replication.pb.h"

namespace sluice::tablet {
namespace {

constexpr std::string_view kMetadataFolder = "metadata";

// Remove from a bucket's remote folder what `kept` (segment ids, manifest names) lacks.
Status SweepFolder(io::FileSystem& files, const std::string& folder,
                   const std::set<std::string>& kept) {
  const auto entries = files.List(folder);
  if (io::IsNotFound(entries.status())) return Status::OK();
  RETURN_NOT_OK(entries.status());
  for (const auto& entry : *entries) {
    if (entry.name == kMetadataFolder || kept.contains(entry.name)) continue;
    RETURN_NOT_OK(files.RemoveTree(io::JoinPath(folder, entry.name)));
  }
  const std::string manifests = log::RemoteManifestFolder(folder);
  const auto old = files.List(manifests);
  if (io::IsNotFound(old.status())) return Status::OK();
  RETURN_NOT_OK(old.status());
  for (const auto& entry : *old) {
    if (!kept.contains(entry.name))
      RETURN_NOT_OK(files.Remove(io::JoinPath(manifests, entry.name)));
  }
  return Status::OK();
}

std::string NameIn(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

// How many of the oldest segments have expired.
size_t ExpiredCount(const log::RemoteManifest& manifest, const RemoteCopier::Policy& policy) {
  const auto kept = std::ranges::find_if(manifest.segments, [&](const log::RemoteSegment& one) {
    return one.largest_timestamp_ms >= policy.delete_before_ms ||
           one.end_offset > policy.delete_below;
  });
  return static_cast<size_t>(kept - manifest.segments.begin());
}

io::Call CommitCall(const types::BucketId& id, const RemoteLogRecord& record,
                    const RemoteCopier::Policy& policy) {
  wire::CommitRemoteLogManifestRequest request;
  request.set_table_id(id.table_id);
  if (id.partition_id) request.set_partition_id(*id.partition_id);
  request.set_bucket_id(id.bucket);
  request.set_remote_log_manifest_path(record.manifest_path);
  request.set_remote_log_start_offset(record.start_offset);
  request.set_remote_log_end_offset(record.end_offset);
  request.set_highest_copied_end_offset(record.copied_end_offset);
  request.set_coordinator_epoch(policy.coordinator_epoch);
  request.set_bucket_leader_epoch(policy.leader_epoch);
  return {static_cast<int16_t>(wire::ApiKey::kCommitRemoteLogManifest), 0,
          request.SerializeAsString()};
}

}  // namespace

bool RemoteCopier::IsPassing(const Status& failed) {
  const ErrorCode code = CodeOf(failed);
  return code == ErrorCode::kTableNotExist || code == ErrorCode::kUnknownTableOrBucket ||
         code == ErrorCode::kNetwork;
}

bool RemoteCopier::HasWork(const log::Log& log) const {
  const auto candidates = Candidates(log);
  return candidates.ok() && !candidates->empty();
}

Result<std::vector<log::Log::SegmentInfo>> RemoteCopier::Candidates(const log::Log& log) const {
  std::vector<log::Log::SegmentInfo> closed = log.Segments();
  closed.pop_back();
  const int64_t copied = remote_->copied_end_offset();
  std::erase_if(closed, [&](const auto& segment) {
    return segment.end_offset <= copied || segment.end_offset > log.high_watermark();
  });
  if (!closed.empty() && closed.front().base_offset < copied) {
    return Error(ErrorCode::kLogStorage, "log does not go on where its remote part ends segment=",
                 closed.front().base_offset, " copied=", copied, " ", remote_->options().id);
  }
  return closed;
}

io::Task<Status> RemoteCopier::Run(std::shared_ptr<RemoteCopier> self, log::Log* log,
                                   Policy policy) {
  const std::shared_ptr<RemoteLog> remote = self->remote_;
  CO_RETURN_NOT_OK(co_await RemoteLog::Load(remote));
  CO_ASSIGN_OR_RETURN(auto candidates, self->Candidates(*log));
  std::erase_if(candidates, [&](const auto& one) { return one.end_offset > log->synced_offset(); });
  const size_t uploads_max = remote->options().server->remote_uploads_max;
  candidates.resize(policy.may_copy ? std::min(candidates.size(), uploads_max) : 0);
  const size_t expired = ExpiredCount(remote->manifest(), policy);
  if (!self->swept_) {
    // Nothing of this bucket is under way, so what no record names is nobody's.
    const bool nothing_there = remote->record().manifest_path.empty() && candidates.empty();
    if (nothing_there) co_return Status::OK();
    CO_RETURN_NOT_OK(co_await Sweep(self));
  }

  log::RemoteManifest next = remote->manifest();
  next.segments.erase(next.segments.begin(),
                      next.segments.begin() + static_cast<ptrdiff_t>(expired));
  Status failed;
  size_t copied = 0;
  for (const auto& candidate : candidates) {
    auto segment = co_await Copy(self, log, candidate);
    if (!segment.ok()) {
      // One that expired here meanwhile is no loss.
      if (log->start_offset() <= candidate.base_offset) failed = segment.status();
      break;
    }
    // Where segments are lacking in between, readers could not go on from the older ones.
    if (!next.segments.empty() && next.end_offset() != segment->start_offset) next.segments.clear();
    next.copied_end_offset = segment->end_offset;
    next.segments.push_back(*std::move(segment));
    ++copied;
  }
  if (copied + expired > 0) {
    CRASH_POINT("remote.after-segments");
    if (self->stopped()) co_return Status::Cancelled("copy was stopped");
    CO_RETURN_NOT_OK(co_await Commit(self, std::move(next), policy));
    LogInfo("remote log copied={} expired={} end={} {}", copied, expired, remote->end_offset(),
            remote->options().id.ToString());
    // What the new manifest does not name any more: files of readers stay open to their end.
    self->swept_ = false;
    LogIfError(co_await Sweep(self), "removing what a remote log names no more");
  }
  co_return failed;
}

io::Task<Status> RemoteCopier::Sweep(std::shared_ptr<RemoteCopier> self) {
  const RemoteLog& remote = *self->remote_;
  const TabletOptions& server = *remote.options().server;
  std::set<std::string> kept;
  if (!remote.record().manifest_path.empty()) kept.insert(NameIn(remote.record().manifest_path));
  for (const log::RemoteSegment& segment : remote.manifest().segments) kept.insert(segment.id);
  auto sweep = [files = server.files, marked = server.remote_folder, folder = remote.folder(),
                kept = std::move(kept)]() -> Status {
    RETURN_NOT_OK(marked.Check(*files, folder));
    return SweepFolder(*files, folder, kept);
  };
  const Status swept = co_await server.remote_pool->Run(*remote.options().loop, std::move(sweep));
  self->swept_ = swept.ok();
  co_return swept;
}

io::Task<Result<log::RemoteSegment>> RemoteCopier::Copy(std::shared_ptr<RemoteCopier> self,
                                                        log::Log* log, log::Log::SegmentInfo info) {
  const std::shared_ptr<RemoteLog> remote = self->remote_;
  const TabletOptions& server = *remote->options().server;
  io::Loop* const loop = remote->options().loop;
  if (self->stopped()) co_return Status::Cancelled("copy was stopped");
  log::RemoteSegment segment{.id = server.random->Uuid(),
                             .start_offset = info.base_offset,
                             .end_offset = info.end_offset,
                             .size_bytes = info.size_bytes};
  auto largest = [log, base_offset = info.base_offset](log::Miss* miss) {
    return log->LargestTimestampOfSegment(base_offset, miss);
  };
  CO_ASSIGN_OR_RETURN(segment.largest_timestamp_ms,
                      co_await ReadCold(server.read_pool, loop, std::move(largest)));
  const log::SegmentCopy copy{.files = server.files,
                              .from_folder = log->folder(),
                              .remote = server.remote_folder,
                              .root = types::RemotePath(remote->record().root),
                              .bucket_folder = remote->folder(),
                              .segment = segment,
                              .stop = self->stop_};
  auto run = [copy] { return copy.Run(); };
  const Status copied = co_await server.remote_pool->Run(*loop, std::move(run));
  if (!copied.ok()) {
    if (!copied.IsCancelled()) ++remote->counted().copy_errors;
    self->swept_ = false;  // Half of it may be there.
    co_return copied;
  }
  CRASH_POINT("remote.after-segment");
  ++remote->counted().copied_segments;
  remote->counted().copied_bytes += segment.size_bytes;
  co_return segment;
}

io::Task<Result<std::string>> RemoteCopier::WriteManifest(std::shared_ptr<RemoteCopier> self,
                                                          log::RemoteManifest manifest) {
  const RemoteLog& remote = *self->remote_;
  const TabletOptions& server = *remote.options().server;
  const std::string folder = log::RemoteManifestFolder(remote.folder());
  const std::string path =
      io::JoinPath(folder, server.random->Uuid() + std::string(log::kManifestSuffix));
  auto write = [files = server.files, marked = server.remote_folder,
                root = types::RemotePath(remote.record().root), folder, path,
                text = manifest.ToJson()]() -> Status {
    RETURN_NOT_OK(marked.Check(*files, root));
    RETURN_NOT_OK(files->MakeFoldersBelow(root, folder));
    RETURN_NOT_OK(files->ReplaceFile(path, text));
    return marked.Check(*files, root);  // It may have gone away in between.
  };
  CO_RETURN_NOT_OK(co_await server.remote_pool->Run(*remote.options().loop, std::move(write)));
  co_return path;
}

io::Task<Status> RemoteCopier::Commit(std::shared_ptr<RemoteCopier> self,
                                      log::RemoteManifest manifest, Policy policy) {
  const std::shared_ptr<RemoteLog> remote = self->remote_;
  const TabletOptions& server = *remote->options().server;
  RemoteLogRecord record{.root = remote->record().root,
                         .start_offset = manifest.start_offset(),
                         .end_offset = manifest.end_offset(),
                         .copied_end_offset = manifest.copied_end_offset};
  auto path = co_await WriteManifest(self, manifest);
  if (!path.ok()) {
    ++remote->counted().copy_errors;
    self->swept_ = false;
    co_return path.status();
  }
  record.manifest_path = *path;
  CRASH_POINT("remote.before-commit");
  io::Call call = CommitCall(remote->options().id, record, policy);
  auto reply = co_await server.call_coordinator(*remote->options().loop, std::move(call));
  Status committed = reply.status();
  if (committed.ok()) {
    const auto response = wire::ParseMessage<wire::CommitRemoteLogManifestResponse>(*reply);
    committed = response.status();
    if (committed.ok() && !response->commitsuccess())
      committed =
          Error(ErrorCode::kStorage, "the coordinator did not record a remote log manifest");
  }
  if (!committed.ok()) {
    // It may be on record all the same.
    if (!IsPassing(committed)) ++remote->counted().copy_errors;
    remote->Forget();
    self->swept_ = false;
    co_return committed;
  }
  CRASH_POINT("remote.after-commit");
  remote->Adopt(std::move(record), std::move(manifest));
  co_return Status::OK();
}

}  // namespace sluice::tablet
