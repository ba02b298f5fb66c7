#include "tiering/tiering_service.h"

#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "base/check.h"
#include "base/log.h"
#include "io/crash_point.h"
#include "io/pool.h"
#include "tiering/heartbeat_book.h"
#include "tiering/lag.h"
#include "tiering/round.h"
#include "tiering/state_board.h"
#include "tiering/upkeep.h"

namespace sluice::tiering {

namespace {
constexpr std::chrono::hours kSweepInterval{24};
}

// Pools: "control" sends heartbeats one after another and starts rounds; "rounds" runs one table
// per thread, waiting for "buckets"; "upkeep" compacts and expires; "lag" measures. None of them
// waits for one that waits for it.
class TieringService::Engine : public std::enable_shared_from_this<Engine> {
 public:
  explicit Engine(ServiceOptions options)
      : options_(std::move(options)),
        clock_(options_.loop->clock()),
        book_(options_.rounds_max),
        rows_(options_.row_bytes_max),
        meter_(*options_.link, clock_) {}

  void Start();
  void Stop();
  std::vector<TableState> Tables() const { return board_.Tables(); }
  int64_t row_bytes() const { return rows_.used_bytes(); }

 private:
  enum class Timer { kHeartbeat, kLag };

  void Arm(Timer timer, std::chrono::milliseconds delay);
  void OnTimer(Timer timer);
  void Wake();
  void SendHeartbeats();
  bool SendHeartbeat();
  void StartRound(client::TieringRound handout);
  void RunRound(const client::TieringRound& handout);
  void StartUpkeep(const client::TieringRound& handout);
  void RunUpkeep(const client::TieringRound& handout);
  void MeasureLags();
  void Discover();
  void StartSweep(const types::TableInfo& table);
  void ReadGaps(const types::TableInfo& table);

  const ServiceOptions options_;
  io::Clock& clock_;
  HeartbeatBook book_;
  MemoryBudget rows_;
  StateBoard board_;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> heartbeat_queued_ = false;
  bool warned_ = false;  // Control thread: the coordinator cannot be reached, and was told so once.

  // Lag thread alone.
  LagMeter meter_;
  std::vector<types::TableInfo> lake_tables_;
  std::chrono::nanoseconds discover_at_{0};
  std::map<int64_t, std::chrono::nanoseconds> swept_;  // By table id: when orphans were looked for.

  std::set<int64_t> gaps_read_;  // Table ids.

  std::mutex mutex_;  // Guards upkeep_running_ and the pools' presence.
  std::set<int64_t> upkeep_running_;
  std::unique_ptr<io::Pool> upkeep_;
  std::unique_ptr<io::Pool> buckets_;
  std::unique_ptr<io::Pool> rounds_;
  std::unique_ptr<io::Pool> lag_;
  std::unique_ptr<io::Pool> control_;
};

void TieringService::Engine::Start() {
  const int nice = 5;  // Behind the shards.
  upkeep_ = io::Pool::Start({.name = "lake-upkeep", .threads = 1, .nice = nice});
  buckets_ =
      io::Pool::Start({.name = "tier-bucket", .threads = options_.bucket_threads, .nice = nice});
  rounds_ = io::Pool::Start({.name = "tier-round", .threads = options_.rounds_max, .nice = nice});
  lag_ = io::Pool::Start({.name = "tier-lag", .threads = 1, .nice = nice});
  control_ = io::Pool::Start({.name = "tier-control", .threads = 1});
  Arm(Timer::kHeartbeat, std::chrono::milliseconds(0));
  Arm(Timer::kLag, std::chrono::milliseconds(0));
}

void TieringService::Engine::Stop() {
  if (stopping_.exchange(true)) return;
  // Each pool ends what it runs before the ones that it waits for go; timers that still fire find
  // no pool.
  for (auto* pool : {&control_, &lag_, &rounds_, &buckets_, &upkeep_}) {
    std::unique_ptr<io::Pool> ending;
    {
      const std::lock_guard lock(mutex_);
      ending = std::move(*pool);
    }
    ending.reset();
  }
  if (book_.has_reports()) SendHeartbeat();  // So that the coordinator need not wait for a timeout.
}

void TieringService::Engine::Arm(Timer timer, std::chrono::milliseconds delay) {
  options_.loop->Post([weak = weak_from_this(), loop = options_.loop, timer, delay] {
    loop->After(delay, [weak, timer] {
      if (const auto self = weak.lock()) self->OnTimer(timer);
    });
  });
}

void TieringService::Engine::OnTimer(Timer timer) {
  if (timer == Timer::kHeartbeat) {
    Wake();
    if (!stopping_) Arm(timer, options_.poll_interval);
    return;
  }
  const std::lock_guard lock(mutex_);
  if (stopping_ || lag_ == nullptr) return;
  const bool posted = lag_->TryPost([this] {
    MeasureLags();
    if (!stopping_) Arm(Timer::kLag, options_.lag_interval);
  });
  LogIfError(posted ? Status::OK() : Status::Invalid("queue is full"), "lag measurement");
}

// Have a heartbeat sent soon; several wishes become one.
void TieringService::Engine::Wake() {
  const std::lock_guard lock(mutex_);
  if (stopping_ || control_ == nullptr || heartbeat_queued_.exchange(true)) return;
  if (!control_->TryPost([this] { SendHeartbeats(); })) heartbeat_queued_ = false;
}

void TieringService::Engine::SendHeartbeats() {
  heartbeat_queued_ = false;
  while (!stopping_ && SendHeartbeat()) {
  }
}

// True when a table came back, so that there may be another.
bool TieringService::Engine::SendHeartbeat() {
  client::Heartbeat heartbeat = book_.Next(/*accept=*/!stopping_);
  auto reply = options_.link->Beat(heartbeat);
  if (!reply.ok()) {
    if (!warned_ && !stopping_)
      LogWarn("tiering heartbeat failed error={}", reply.status().ToString());
    warned_ = true;
    book_.Lost(std::move(heartbeat));
    return false;
  }
  warned_ = false;
  book_.Heard(reply->coordinator_epoch);
  for (const auto& [table_id, status] : reply->refused) {
    // A dropped table, or a coordinator that started anew: its queue hands the table out again.
    LogInfo("coordinator refused a tiering report table_id={} error={}", table_id,
            status.ToString());
  }
  if (!reply->round.has_value()) return false;
  StartRound(*std::move(reply->round));
  return true;
}

void TieringService::Engine::StartRound(client::TieringRound handout) {
  if (!book_.Started(handout)) return;
  board_.RoundStarted(handout.table_id, handout.path);
  const std::lock_guard lock(mutex_);
  if (rounds_ != nullptr && rounds_->TryPost([this, handout] { RunRound(handout); })) return;
  board_.RoundFailed(handout.table_id, Status::Invalid("service is stopping"), clock_.NowMs());
  book_.Failed(handout.table_id);
}

void TieringService::Engine::RunRound(const client::TieringRound& handout) {
  const RoundOptions round{.link = options_.link.get(),
                           .lake = options_.lake,
                           .clock = &clock_,
                           .bucket_pool = buckets_.get(),
                           .bytes_max = options_.round_bytes_max,
                           .time_max = options_.round_time_max,
                           .rows = &rows_,
                           .stopping = &stopping_};
  const Status room = options_.has_room ? options_.has_room() : Status::OK();
  const auto result = room.ok() ? Round(round, handout).Run() : Result<RoundResult>(room);
  if (result.ok()) {
    board_.RoundFinished(handout.table_id, result->summary);
    board_.GapsSeen(handout.table_id, result->gaps);
    book_.Finished(handout.table_id, result->summary.records, result->summary.file_bytes,
                   result->more);
    if (result->summary.snapshot_id >= 0) StartUpkeep(handout);
  } else {
    if (!stopping_)
      LogWarn("tiering round failed table={} error={}", handout.path.ToString(),
              result.status().ToString());
    board_.RoundFailed(handout.table_id, result.status(), clock_.NowMs());
    book_.Failed(handout.table_id);
  }
  Wake();
}

void TieringService::Engine::StartUpkeep(const client::TieringRound& handout) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || upkeep_ == nullptr || !upkeep_running_.insert(handout.table_id).second) return;
  if (!upkeep_->TryPost([this, handout] { RunUpkeep(handout); }))
    upkeep_running_.erase(handout.table_id);
}

void TieringService::Engine::RunUpkeep(const client::TieringRound& handout) {
  if (!stopping_) {
    const auto result = KeepUp(*options_.link, *options_.lake, handout.path,
                               options_.compaction_files_min, options_.expire_all);
    LogIfError(result.status(), "upkeep of lake table " + handout.path.ToString());
    LogIfError(SweepOrphans(*options_.lake, handout.path, /*by_age=*/false).status(),
               "sweep of lake table " + handout.path.ToString());
    if (result.ok() && result->compacted_snapshot.has_value()) board_.Compacted(handout.table_id);
  }
  const std::lock_guard lock(mutex_);
  upkeep_running_.erase(handout.table_id);
}

void TieringService::Engine::MeasureLags() {
  options_.lake->Trim();
  if (clock_.Monotonic() >= discover_at_) Discover();
  for (const types::TableInfo& table : lake_tables_) {
    if (stopping_) return;
    auto lags = meter_.Measure(table);
    if (!lags.ok()) {
      discover_at_ = {};  // Perhaps it is gone.
      LogDebug("lag is not known table={} error={}", table.path.ToString(),
               lags.status().ToString());
      continue;
    }
    board_.Measured(table.table_id, table.path, options_.freshness_of(table.descriptor).count(),
                    *std::move(lags));
    ReadGaps(table);
  }
}

// Once after the start; later each round tells.
void TieringService::Engine::ReadGaps(const types::TableInfo& table) {
  if (gaps_read_.contains(table.table_id)) return;
  const auto read = [&]() -> Result<std::vector<LogGap>> {
    ASSIGN_OR_RAISE(const auto lake, options_.lake->OpenTable(table.path));
    ASSIGN_OR_RAISE(const auto newest, lake->NewestSnapshotOf(lake::kTieringUser));
    return GapsOf(newest);
  };
  auto gaps = read();
  if (gaps.ok()) {
    board_.GapsSeen(table.table_id, *std::move(gaps));
    gaps_read_.insert(table.table_id);
  } else {
    LogDebug("gaps are not known table={} error={}", table.path.ToString(),
             gaps.status().ToString());
  }
}

void TieringService::Engine::Discover() {
  auto tables = options_.link->LakeTables();
  if (!tables.ok()) {
    LogDebug("lake tables are not known error={}", tables.status().ToString());
    return;
  }
  discover_at_ = clock_.Monotonic() + options_.discovery_interval;
  lake_tables_ = *std::move(tables);
  std::vector<int64_t> table_ids;
  for (const types::TableInfo& table : lake_tables_) {
    table_ids.push_back(table.table_id);
    StartSweep(table);
  }
  for (const int64_t gone : board_.Retain(table_ids)) {
    meter_.Forget(gone);
    swept_.erase(gone);
    gaps_read_.erase(gone);
  }
}

// Once after the start, since a killed process may be our forerunner, and then once a day.
void TieringService::Engine::StartSweep(const types::TableInfo& table) {
  const auto now = clock_.Monotonic();
  const auto last = swept_.find(table.table_id);
  if (last != swept_.end() && now - last->second < kSweepInterval) return;
  const std::lock_guard lock(mutex_);
  if (stopping_ || upkeep_ == nullptr) return;
  const bool posted = upkeep_->TryPost([this, path = table.path] {
    if (stopping_) return;
    const Status swept = SweepOrphans(*options_.lake, path, /*by_age=*/true).status();
    if (CodeOf(swept) != ErrorCode::kTableNotExist)
      LogIfError(swept, "sweep of lake table " + path.ToString());
  });
  if (posted) swept_[table.table_id] = now;
}

TieringService::TieringService(ServiceOptions options)
    : engine_(std::make_shared<Engine>(std::move(options))) {}

TieringService::~TieringService() { Stop(); }

void TieringService::Start() { engine_->Start(); }
void TieringService::Stop() { engine_->Stop(); }
std::vector<TableState> TieringService::Tables() const { return engine_->Tables(); }
int64_t TieringService::row_bytes() const { return engine_->row_bytes(); }

}  // namespace sluice::tiering
