#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tiering/log_gap.h"
#include "types/ids.h"

namespace sluice::tiering {

/// Where a table stands, as this service knows it.
enum class State : uint8_t {
  kScheduled,  ///< Nothing to move, or its turn has not come.
  kPending,    ///< Has untiered rows and waits for its round.
  kTiering,    ///< A round is under way.
  kTiered,     ///< The last round moved all that it found.
  kFailed,     ///< The last round failed; it is tried again.
};
std::string_view NameOf(State state);  ///< "SCHEDULED", …

/// What a measurement found to be the end of a log: rows from it on came later.
struct LogEndSeen {
  int64_t offset = 0;
  std::chrono::nanoseconds at{0};  ///< Monotonic.
};

/// How far the lake is behind one bucket's log.
struct BucketLag {
  types::BucketId bucket;
  std::string partition;       ///< Name, empty when the table has no partitions.
  int64_t lake_offset = 0;     ///< First offset that the lake lacks.
  int64_t log_end_offset = 0;  ///< High watermark.
  int64_t lag_rows = 0;        ///< Offsets between the two.
  int64_t oldest_ms =
      -1;              ///< Commit time of the record at lake_offset, -1 = none or not known yet.
  int64_t lag_ms = 0;  ///< now - oldest_ms; 0 when nothing is untiered.
  std::chrono::nanoseconds measured_at{0};  ///< Monotonic.
  std::vector<LogEndSeen> log_ends;         ///< Of this measurement and earlier ones, ascending.
};

/// Where one bucket stands at some moment.
struct BucketOffsets {
  types::BucketId bucket;
  int64_t lake_offset = 0;
  int64_t log_end_offset = 0;
};

/// The last finished round.
struct RoundSummary {
  int64_t snapshot_id = -1;  ///< Lake snapshot, -1 when nothing was to move.
  int64_t records = 0;
  int64_t file_bytes = 0;
  int64_t duration_ms = 0;
  int64_t finished_ms = 0;  ///< Wall clock.
};

/// A lake table as HTTP, metrics and SQL show it.
struct TableState {
  int64_t table_id = -1;
  types::TablePath path;
  State state = State::kScheduled;
  bool tiering = false;         ///< A round is under way.
  std::string reason;           ///< Why the last round failed, empty when it did not.
  int64_t failed_since_ms = 0;  ///< Wall clock of the first of the rounds in a row that failed.
  int64_t freshness_ms = 0;     ///< `table.datalake.freshness`.
  int64_t lag_rows = 0;         ///< Sum over buckets.
  int64_t lag_ms = 0;           ///< Largest of the buckets.
  bool late = false;            ///< Past freshness + 2 s.
  int64_t rounds = 0;
  int64_t failures = 0;  ///< Since the service started.
  int64_t records_tiered = 0;
  int64_t compactions = 0;
  std::optional<RoundSummary> last_round;
  std::vector<BucketLag> buckets;
  std::vector<LogGap> gaps;  ///< What the lake will never have, by the newest snapshot seen.

  /// Sum up the buckets, and tell state and lateness from it.
  void Judge();
  /// Bring the buckets from their measurement on to the moment `now` (monotonic), at which they
  /// stand so; then Judge. Rows and ages are of that moment then. Where the lake has gone on since
  /// the measurement, the age of the oldest row that it lacks is taken from the measurements before
  /// and after it came: too large by at most the time between two.
  void BringUpTo(const std::vector<BucketOffsets>& offsets, std::chrono::nanoseconds now);
};

}  // namespace sluice::tiering
