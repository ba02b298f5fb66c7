#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "types/ids.h"

namespace sluice::coordinator {

/// Which lake table is tiered next, and by whom. Source: LakeTableTieringManager.
///
/// The wire behaviour is Fluss's: states, epochs, the heartbeat's errors. The timing is ours:
/// freshness is a bound on the age of an untiered row, so a table is queued by the age of its
/// oldest untiered row, not at a fixed interval. A Scheduled table is probed a few times per
/// freshness ("is there a row the lake lacks?"); only an answer of yes leads to Pending, so an idle
/// table costs its probes alone.
///
/// Time is a monotonic reading handed in. Threads: confined.
class TieringQueue {
 public:
  using Time = std::chrono::milliseconds;
  enum class State { kNew, kInitialized, kScheduled, kPending, kTiering, kTiered, kFailed };
  static std::string_view NameOf(State state);

  static constexpr Time kHeartbeatTimeout = std::chrono::minutes(2);
  static constexpr Time kProbeLeast = std::chrono::milliseconds(250);
  static constexpr Time kRetryFirst = std::chrono::milliseconds(200);
  static constexpr Time kRetryMost = std::chrono::seconds(30);

  struct Handout {
    int64_t table_id;
    types::TablePath path;
    int64_t tiering_epoch;
  };

  /// Start to follow a table. Its first probe is due at once.
  void Add(int64_t table_id, types::TablePath path, Time freshness, Time now);
  /// Forget a table (dropped, or tiering switched off); fine when it is not there.
  void Remove(int64_t table_id);
  bool Contains(int64_t table_id) const { return tables_.contains(table_id); }

  /// Time out lost services and queue what is due. Call it before Take and at NextEvent.
  void Advance(Time now);
  /// When something happens by time alone; nullopt when nothing will.
  std::optional<Time> NextEvent() const;

  /// Scheduled tables whose probe is due; they are not named again before Probed.
  std::vector<int64_t> TakeProbes(Time now);
  /// The answer of a probe that was taken: whether the log holds rows beyond the lake; nullopt =
  /// nobody could tell.
  void Probed(int64_t table_id, std::optional<bool> rows, Time now);

  /// Hand the table that waits longest to a service.
  std::optional<Handout> Take(Time now);

  // What a service says of a table. Errors: kTableNotExist, kFencedTieringEpoch, kUnknownServer
  // when it is not Tiering.
  Status Heartbeat(int64_t table_id, int64_t tiering_epoch, Time now);
  /// `again`: the service stopped before it was through (force finished), so queue it at once.
  Status Finish(int64_t table_id, int64_t tiering_epoch, bool again, Time now);
  Status Fail(int64_t table_id, int64_t tiering_epoch, Time now);

  /// The tiering epoch of a table that is Tiering, else nullopt.
  std::optional<int64_t> RoundOf(int64_t table_id) const;
  /// The tables that are Failed, and in how long each is queued again.
  std::map<int64_t, Time> NextTries(Time now) const;

 private:
  struct Table {
    types::TablePath path;
    Time freshness{};
    State state = State::kNew;
    int64_t tiering_epoch = 0;
    int64_t failures = 0;   // In a row.
    Time due{};             // Scheduled: becomes Pending, once rows are known. Failed: the same.
    bool has_rows = false;  // Scheduled: a probe said so.
    bool probing = false;   // Scheduled: a probe is under way.
    Time probe_at{};        // Scheduled: the next probe.
    Time clean_at{};        // Rows that came later may be untiered.
    Time handed_out{};      // Tiering.
    Time heard{};           // Tiering: last heartbeat.
    Time round{};           // Expected length of a round, a moving average.
  };

  static Time ProbeInterval(const Table& table);
  void Schedule(Table* table, Time clean_at, Time now);
  void Queue(int64_t table_id, Table* table);
  void FailNow(Table* table, Time now);
  Result<Table*> Owned(int64_t table_id, int64_t tiering_epoch);

  std::map<int64_t, Table> tables_;
  std::deque<int64_t> pending_;  // In order of entry; each is Pending.
  // The largest of a removed table. A table may come back, and none is given an epoch twice.
  int64_t removed_epoch_ = 0;
};

}  // namespace sluice::coordinator
