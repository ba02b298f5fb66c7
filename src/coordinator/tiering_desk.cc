#include <algorithm>
#include <set>

#include "base/log.h"
#include "coordinator/table_options.h"
#include "coordinator/tiering_desk_internal.h"
#include "types/table_options.h"
#include "wire/frame.h"

namespace sluice::coordinator {

namespace {
using Time = TieringQueue::Time;
// Timers of a millisecond would only burn the loop.
constexpr Time kTickLeast = std::chrono::milliseconds(5);
}  // namespace

Time TieringDesk::Now() const {
  return std::chrono::duration_cast<Time>(options_.clock->Monotonic());
}

void TieringDesk::Start() {
  stopped_ = false;
  const meta::CatalogStatePtr state = options_.catalog->state();
  for (const auto& [table_id, table] : state->tables_by_id) TableChanged(table_id);
}

io::Task<void> TieringDesk::Stop() {
  stopped_ = true;
  if (armed_) options_.loop->Cancel(timer_);
  armed_ = false;
  co_await probes_.CloseAndWait(*options_.loop);
}

void TieringDesk::TableChanged(int64_t table_id) {
  if (stopped_) return;
  const meta::TablePtr table = options_.catalog->state()->FindTable(table_id);
  const bool wanted = table != nullptr && LakeEnabled(table->info.descriptor);
  if (!wanted) {
    queue_.Remove(table_id);
  } else if (!queue_.Contains(table_id)) {
    queue_.Add(table_id, table->info.path, Time(FreshnessMs(table->info.descriptor)), Now());
  }
  Arm();
}

void TieringDesk::Arm() {
  if (armed_) options_.loop->Cancel(timer_);
  armed_ = false;
  const std::optional<Time> next = queue_.NextEvent();
  if (stopped_ || !next.has_value()) return;
  const Time delay = std::max(*next - Now(), kTickLeast);
  armed_ = true;
  timer_ = options_.loop->After(delay, [self = shared_from_this()] {
    self->armed_ = false;
    if (!self->stopped_) self->Tick();
  });
}

void TieringDesk::Tick() {
  queue_.Advance(Now());
  for (const int64_t table_id : queue_.TakeProbes(Now()))
    io::Spawn(Probe(shared_from_this(), table_id));
  Arm();
}

io::Task<void> TieringDesk::Probe(std::shared_ptr<TieringDesk> self, int64_t table_id) {
  const meta::TablePtr table = self->options_.catalog->state()->FindTable(table_id);
  if (table == nullptr) co_return;
  const auto pass = self->probes_.Enter();
  auto rows = co_await self->options_.link->HasUntieredRows(table);
  if (self->stopped_) co_return;
  std::optional<bool> answer;
  if (rows.ok()) {
    answer = *rows;
  } else {
    LogDebug("cannot tell whether a table has rows to tier table={} cause={}",
             table->info.path.ToString(), rows.status().ToString());
  }
  self->queue_.Probed(table_id, answer, self->Now());
  self->Tick();
}

wire::LakeTieringHeartbeatResponse TieringDesk::Heartbeat(
    const wire::LakeTieringHeartbeatRequest& request) {
  const Time now = Now();
  const int32_t epoch = options_.catalog->state()->coordinator_epoch;
  wire::LakeTieringHeartbeatResponse response;
  response.set_coordinator_epoch(epoch);
  const auto answer = [&](const wire::PbHeartbeatReqForTable& table, const auto& act,
                          wire::PbHeartbeatRespForTable* entry) {
    entry->set_table_id(table.table_id());
    const Status status =
        table.coordinator_epoch() == epoch
            ? act(table)
            : Error(ErrorCode::kInvalidCoordinator,
                    "another coordinator is in office table_id=", table.table_id(),
                    " coordinator_epoch=", table.coordinator_epoch(), " current=", epoch);
    if (!status.ok()) wire::SetError(entry->mutable_error(), status);
  };
  const std::set<int64_t> again(request.force_finished_tables().begin(),
                                request.force_finished_tables().end());
  queue_.Advance(now);
  for (const auto& table : request.failed_tables()) {
    answer(
        table, [&](const auto& t) { return queue_.Fail(t.table_id(), t.tiering_epoch(), now); },
        response.add_failed_table_resp());
  }
  for (const auto& table : request.tiering_tables()) {
    answer(
        table,
        [&](const auto& t) { return queue_.Heartbeat(t.table_id(), t.tiering_epoch(), now); },
        response.add_tiering_table_resp());
  }
  for (const auto& table : request.finished_tables()) {
    answer(
        table,
        [&](const auto& t) {
          return queue_.Finish(t.table_id(), t.tiering_epoch(), again.contains(t.table_id()), now);
        },
        response.add_finished_table_resp());
  }
  if (request.request_table()) {
    if (const auto handout = queue_.Take(now); handout.has_value()) {
      wire::PbLakeTieringTableInfo* table = response.mutable_tiering_table();
      table->set_table_id(handout->table_id);
      table->mutable_table_path()->set_database_name(handout->path.database);
      table->mutable_table_path()->set_table_name(handout->path.table);
      table->set_tiering_epoch(handout->tiering_epoch);
    }
  }
  Arm();
  return response;
}

}  // namespace sluice::coordinator
