#include "tablet/bucket_shard.h"

#include <algorithm>

#include "base/log.h"
#include "log/segment.h"
#include "tablet/client_error.h"

namespace sluice::tablet {

namespace {

Scanners::Limits LimitsOf(const TabletOptions& server) {
  // A share of the server's, since shards do not count together.
  const size_t share =
      std::max<size_t>(server.scanners_max / server.shards->size(), server.scanners_per_bucket_max);
  return {server.scanners_per_bucket_max, share, server.scanner_ttl};
}

Saver::Options SaverOptionsOf(const TabletOptions& server, io::Loop& loop,
                              Saver::Replicas replicas) {
  const size_t shards = server.shards->size();
  return {.log_bytes_max = server.unsaved_log_bytes_max / shards,
          .replay_bytes_max = server.replay_bytes_max / shards,
          .key_bytes_max = server.write_back_share_bytes / shards,
          .soon_bytes_min = server.save_soon_bytes_min,
          .loop = &loop,
          .replicas = std::move(replicas)};
}

}  // namespace

BucketShard::BucketShard(Options options)
    : options_(std::move(options)),
      loop_(&options_.server->shards->loop(options_.index)),
      log_files_(*options_.server->files, options_.server->open_files_max),
      scanners_(options_.index, LimitsOf(*options_.server), *options_.server->random),
      saver_(SaverOptionsOf(*options_.server, *loop_, [this] { return Replicas(); })),
      snapshots_(options_.server, loop_) {}

Result<std::shared_ptr<Replica>> BucketShard::Find(const types::BucketId& id) const {
  const auto found = replicas_.find(id);
  if (found != replicas_.end()) return found->second;
  if (const auto why = not_opened_.find(id); why != not_opened_.end()) {
    return Error(ErrorCode::kUnknownTableOrBucket, "bucket cannot be opened on this server ", id,
                 " cause=", why->second);
  }
  return Error(ErrorCode::kUnknownTableOrBucket, "bucket is not on this server ", id);
}

std::vector<std::shared_ptr<Replica>> BucketShard::Replicas() const {
  std::vector<std::shared_ptr<Replica>> replicas;
  for (const auto& [id, replica] : replicas_) replicas.push_back(replica);
  return replicas;
}

io::Task<Status> BucketShard::Take(News news) {
  const auto turn = co_await LaneOf(news.id).Enter(*loop_);
  co_return co_await TakeInTurn(std::move(news));
}

io::Task<Status> BucketShard::TakeInTurn(News news) {
  auto found = replicas_.find(news.id);
  if (found == replicas_.end()) {
    auto opened = co_await OpenReplica(news);
    if (!opened.ok()) {
      const Status& why = opened.status();
      not_opened_[news.id] = ForClient(why, nullptr, options_.server->data_dir).message();
      co_return why;
    }
    not_opened_.erase(news.id);
    found = replicas_.emplace(news.id, *std::move(opened)).first;
    in_order_.insert(news.id);
    options_.opened(news.id);
  }
  const std::shared_ptr<Replica> replica = found->second;
  CO_RETURN_NOT_OK(
      replica->CheckEpochs(news.leadership.leader_epoch, news.leadership.bucket_epoch));
  CO_RETURN_NOT_OK(co_await Replica::Take(replica, std::move(news.leadership)));
  saver_.SaveSoon(replica);
  co_return Status::OK();
}

io::Task<Result<std::shared_ptr<Replica>>> BucketShard::OpenReplica(News news) {
  const TabletOptions& server = *options_.server;
  Replica::Options replica;
  CO_ASSIGN_OR_RETURN(replica.table, options_.tables->Get(news.id.table_id));
  replica.server = &server;
  replica.loop = loop_;
  replica.log_files = &log_files_;
  replica.saver = &saver_;
  replica.id = news.id;
  replica.path = news.path;
  replica.partition_name = news.partition_name;
  replica.folders = BucketFolders::Of(server.data_dir, news.path, news.partition_name, news.id);
  replica.recovery_point = news.recovery_point;
  // Reads the folder, and all that a kill left unchecked.
  auto open = [replica = std::move(replica)] { return Replica::Open(replica); };
  CO_ASSIGN_OR_RETURN(auto opened, co_await server.read_pool->Run(*loop_, std::move(open)));
  // News of the table did not find the bucket meanwhile.
  CO_ASSIGN_OR_RETURN(auto table, options_.tables->Get(news.id.table_id));
  opened->SetTable(std::move(table));
  saver_.NoteRead(opened->log().scanned_bytes(), 0);
  co_return opened;
}

io::Task<Status> BucketShard::StopReplica(Stop stop) {
  const auto turn = co_await LaneOf(stop.id).Enter(*loop_);
  const auto found = replicas_.find(stop.id);
  not_opened_.erase(stop.id);
  if (found == replicas_.end()) {
    // Not open: a drop that a crash cut in two is told again after the restart.
    if (!stop.remove) co_return Status::OK();
    co_return co_await RemoveLeftovers(stop.id);
  }
  const std::shared_ptr<Replica> replica = found->second;
  if (stop.leader_epoch < replica->leadership().leader_epoch) {
    co_return Error(ErrorCode::kFencedLeaderEpoch,
                    "leader epoch is old leader_epoch=", stop.leader_epoch,
                    " known=", replica->leadership().leader_epoch, " ", stop.id);
  }
  replicas_.erase(found);
  in_order_.erase(stop.id);
  const Replica::Closing closing{.save_log = !stop.remove, .move_keys = !stop.remove};
  CO_RETURN_NOT_OK(co_await CloseReplica(replica, closing));
  if (!stop.remove) co_return Status::OK();
  co_return co_await RemoveFiles(replica->folders());
}

io::Task<Status> BucketShard::CloseReplica(std::shared_ptr<Replica> replica,
                                           Replica::Closing closing) {
  snapshots_.Cancel(replica->id());
  // A scan reads the keys, so it goes first; a call under way ends soon.
  while (!scanners_.CloseBucket(replica->id()))
    co_await io::Sleep(*loop_, std::chrono::milliseconds(1));
  Status closed = co_await Replica::Close(replica, closing);
  for (const auto& segment : replica->log().Segments()) {
    for (const auto suffix : {log::kLogSuffix, log::kIndexSuffix, log::kTimeIndexSuffix}) {
      log_files_.Drop(log::SegmentPath(replica->folders().log, segment.base_offset, suffix));
    }
  }
  co_return closed;
}

io::Task<Status> BucketShard::RemoveFiles(BucketFolders folders) {
  // A reply that is still being sent holds its file open and can be read to its end.
  const TabletOptions& server = *options_.server;
  auto remove = [folders, files = server.files, stores = server.key_stores]() -> Status {
    ARROW_RETURN_NOT_OK(files->RemoveTree(folders.log));
    ARROW_RETURN_NOT_OK(stores->Remove(folders.kv));
    ARROW_RETURN_NOT_OK(files->RemoveTree(folders.kv));
    for (const std::string& parent : {folders.parent, folders.table}) {
      // Refused while other buckets are there; to list them would take a time that grows with them.
      if (!files->Remove(parent).ok()) break;
    }
    return Status::OK();
  };
  co_return co_await server.sync_pool->Run(*loop_, std::move(remove));
}

io::Task<Status> BucketShard::RemoveLeftovers(types::BucketId id) {
  const TabletOptions& server = *options_.server;
  auto find = [id, files = server.files, data_dir = server.data_dir] {
    return BucketFolders::Find(*files, data_dir, id);
  };
  CO_ASSIGN_OR_RETURN(const auto folders, co_await server.sync_pool->Run(*loop_, std::move(find)));
  if (!folders) co_return Status::OK();
  co_return co_await RemoveFiles(*folders);
}

shard::Turnstile& BucketShard::LaneOf(const types::BucketId& id) {
  return lanes_[std::hash<types::BucketId>()(id) % kLanes];
}

bool BucketShard::LanesAreFree() const {
  return std::ranges::none_of(lanes_, &shard::Turnstile::busy);
}

size_t BucketShard::UnsavedLogs() const {
  return static_cast<size_t>(std::ranges::count_if(
      replicas_, [](const auto& entry) { return !entry.second->log().IsSaved(); }));
}

// What is to be closed, most to replay first.
std::deque<std::shared_ptr<Replica>> BucketShard::TakeAll() {
  std::vector<std::shared_ptr<Replica>> replicas = Replicas();
  replicas_.clear();
  in_order_.clear();
  std::ranges::sort(replicas, std::greater(),
                    [](const auto& replica) { return replica->unsaved().replay_bytes; });
  return {replicas.begin(), replicas.end()};
}

io::Task<Status> BucketShard::CloseAll(bool between_syncs) {
  while (!LanesAreFree()) co_await io::Sleep(*loop_, std::chrono::milliseconds(1));
  saver_.Stop();
  auto all = std::make_shared<ToClose>();
  all->left = TakeAll();
  all->between_syncs = between_syncs;
  all->moves_until = loop_->clock().Monotonic() + options_.server->stop_moves_max;
  const Gather<Status> gather(*loop_, kLanes);
  for (size_t lane = 0; lane < kLanes; ++lane) io::Spawn(CloseLane(this, all, gather, lane));
  const auto closed = co_await gather.Take();
  while (saver_.running()) co_await io::Sleep(*loop_, std::chrono::milliseconds(1));
  for (const Status& status : closed) CO_RETURN_NOT_OK(status);
  co_return Status::OK();
}

// Close one after another of those that are left.
io::Task<void> BucketShard::CloseLane(BucketShard* shard, std::shared_ptr<ToClose> all,
                                      Gather<Status> closed, size_t lane) {
  Status first;
  while (!all->left.empty()) {
    const std::shared_ptr<Replica> replica = all->left.front();
    all->left.pop_front();
    const bool in_time = shard->loop_->clock().Monotonic() < all->moves_until;
    const Replica::Closing closing{.save_log = true,
                                   .move_keys = in_time || replica->unsaved().replay_bytes == 0,
                                   .between_syncs = all->between_syncs};
    const Status status = co_await shard->CloseReplica(replica, closing);
    if (!status.ok())
      LogError("bucket did not close cleanly {} {}", replica->id().ToString(), status.ToString());
    if (first.ok()) first = status;
  }
  closed.Set(lane, first);
}

void BucketShard::Refresh(int64_t table_id) {
  auto at = in_order_.lower_bound({.table_id = table_id, .partition_id = {}, .bucket = 0});
  if (at == in_order_.end() || at->table_id != table_id) return;
  const auto table = options_.tables->Get(table_id);
  LogIfError(table.status(), "news of a table that cannot be read");  // It goes on as it was.
  if (!table.ok()) return;
  for (; at != in_order_.end() && at->table_id == table_id; ++at)
    replicas_.at(*at)->SetTable(*table);
}

}  // namespace sluice::tablet
