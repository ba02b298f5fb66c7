#include "tiering/heartbeat_book.h"

#include <utility>

#include "base/check.h"

namespace sluice::tiering {

bool HeartbeatBook::Started(const client::TieringRound& round) {
  const std::lock_guard lock(mutex_);
  if (running_.emplace(round.table_id, round.tiering_epoch).second) return true;
  failed_.push_back({round.table_id, round.tiering_epoch, std::nullopt, std::nullopt});
  return false;
}

void HeartbeatBook::Finished(int64_t table_id, int64_t records, int64_t file_bytes, bool again) {
  const std::lock_guard lock(mutex_);
  const auto round = running_.find(table_id);
  CHECK(round != running_.end());
  finished_.push_back({table_id, round->second, file_bytes, records});
  if (again) again_.push_back(table_id);
  running_.erase(round);
}

void HeartbeatBook::Failed(int64_t table_id) {
  const std::lock_guard lock(mutex_);
  const auto round = running_.find(table_id);
  CHECK(round != running_.end());
  failed_.push_back({table_id, round->second, std::nullopt, std::nullopt});
  running_.erase(round);
}

client::Heartbeat HeartbeatBook::Next(bool accept) {
  const std::lock_guard lock(mutex_);
  client::Heartbeat heartbeat;
  heartbeat.coordinator_epoch = coordinator_epoch_;
  for (const auto& [table_id, epoch] : running_)
    heartbeat.tiering.push_back({table_id, epoch, {}, {}});
  heartbeat.finished = std::exchange(finished_, {});
  heartbeat.failed = std::exchange(failed_, {});
  heartbeat.force_finished_tables = std::exchange(again_, {});
  heartbeat.request_table = accept && running_.size() < rounds_max_;
  return heartbeat;
}

void HeartbeatBook::Heard(int32_t coordinator_epoch) {
  const std::lock_guard lock(mutex_);
  coordinator_epoch_ = coordinator_epoch;
}

void HeartbeatBook::Lost(client::Heartbeat sent) {
  const std::lock_guard lock(mutex_);
  finished_.insert(finished_.begin(), sent.finished.begin(), sent.finished.end());
  failed_.insert(failed_.begin(), sent.failed.begin(), sent.failed.end());
  again_.insert(again_.begin(), sent.force_finished_tables.begin(),
                sent.force_finished_tables.end());
}

size_t HeartbeatBook::running() const {
  const std::lock_guard lock(mutex_);
  return running_.size();
}

bool HeartbeatBook::has_reports() const {
  const std::lock_guard lock(mutex_);
  return !finished_.empty() || !failed_.empty();
}

}  // namespace sluice::tiering
