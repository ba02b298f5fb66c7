#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "client/tiering.h"

namespace sluice::tiering {

/// The rounds that this service holds, and what the coordinator has still to hear of them.
///
/// Threads: any; one heartbeat is under way at a time.
class HeartbeatBook {
 public:
  explicit HeartbeatBook(size_t rounds_max) : rounds_max_(rounds_max) {}

  /// False when a round of this table is under way: a coordinator that started anew has forgotten
  /// it. The new handout is reported as failed, so that it comes back.
  bool Started(const client::TieringRound& round);
  /// `again`: it has more that is due, so queue it at once.
  void Finished(int64_t table_id, int64_t records, int64_t file_bytes, bool again);
  void Failed(int64_t table_id);

  /// The next heartbeat; asks for a table when `accept` and there is room.
  client::Heartbeat Next(bool accept);
  /// The coordinator has heard the last one.
  void Heard(int32_t coordinator_epoch);
  /// It has not: the reports of `sent` are for the next heartbeat.
  void Lost(client::Heartbeat sent);

  size_t running() const;
  /// Something waits to be told.
  bool has_reports() const;

 private:
  const size_t rounds_max_;
  mutable std::mutex mutex_;  // Guards all below.
  int32_t coordinator_epoch_ = 0;
  std::map<int64_t, int64_t> running_;  // Table id → tiering epoch.
  std::vector<client::RoundReport> finished_;
  std::vector<client::RoundReport> failed_;
  std::vector<int64_t> again_;
};

}  // namespace sluice::tiering
