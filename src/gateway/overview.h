#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/clock.h"

namespace sluice::gateway {

/// Log records that expired before they were in the lake, while tiering was switched off.
struct TableGap {
  std::string partition;  ///< Empty when the table has no partitions.
  int32_t bucket = 0;
  int64_t from = 0;
  int64_t to = 0;  ///< Exclusive.
};

/// One table as the console shows it. Offsets are sums over its buckets.
struct TableStatus {
  std::string database;
  std::string table;
  bool has_primary_key = false;
  int32_t buckets = 0;
  int64_t log_end_offset = 0;  ///< Sum of the high watermarks.
  bool lake_enabled = false;
  std::optional<int64_t>
      lake_offset;  ///< Sum of the offsets in the lake, none before the first commit.
  std::optional<int64_t> lake_snapshot_id;
  std::optional<int64_t> lag_rows;  ///< Set when the lake is enabled, as the next two.
  std::optional<int64_t> lag_ms;  ///< Age of the oldest row not in the lake, 0 when there is none.
  std::optional<int64_t> freshness_ms;
  bool late = false;  ///< The lag is past the freshness, as the tiering service judges it.
  /// The part of the logs that lies in remote storage; not shown by the console, but counted.
  struct Remote {
    size_t segments = 0;
    uint64_t size_bytes = 0;
    uint64_t copied_segments = 0;  ///< Since the server started, as what follows.
    uint64_t copied_bytes = 0;
    uint64_t copy_errors = 0;
    int64_t lag_rows = 0;  ///< Records that were never copied.
  };
  Remote remote;
  std::string state;   ///< SCHEDULED, PENDING, TIERING, TIERED or FAILED; empty without a lake.
  std::string reason;  ///< Why the last round failed, empty when it did not.
  std::optional<int64_t> failed_since_ms;  ///< Set when it did: when the first in a row did so.
  std::optional<int64_t> next_try_ms;      ///< When a failed table is queued again, if it waits.
  std::vector<TableGap> gaps;
};

/// Where the figures come from.
class StatusSource {
 public:
  virtual ~StatusSource() = default;
  /// All tables by name. Threads: any; may wait for servers.
  virtual Result<std::vector<TableStatus>> Tables() = 0;
};

/// Answers of GET /api/v1/tables: the source's figures, rows/s measured between answers, and a
/// revision that counts.
///
/// Answers within `kReuseMs` are the same, so that many open pages cost what one does. Threads:
/// any.
class Overview {
 public:
  static constexpr int64_t kReuseMs = 200;
  static constexpr int64_t kRateWindowMs = 5000;

  Overview(StatusSource& source, io::Clock& clock, std::string version)
      : source_(source), clock_(clock), version_(std::move(version)), started_ms_(MonotonicMs()) {}

  /// The JSON document.
  Result<std::string> Json();

 private:
  struct Sample {
    int64_t time_ms;
    int64_t log_end_offset;
  };
  struct Samples {
    int64_t revision = 0;  // Of the last answer that had the table.
    std::deque<Sample> samples;
  };
  // What is measured here goes on when the wall clock is set back.
  int64_t MonotonicMs() const;
  double RowsPerSecond(const TableStatus& table, int64_t now_ms);

  StatusSource& source_;
  io::Clock& clock_;
  const std::string version_;
  const int64_t started_ms_;
  std::mutex mutex_;                        // Guards what follows; held while the source is asked.
  std::map<std::string, Samples> samples_;  // Of the tables of the last answer.
  int64_t revision_ = 0;
  std::optional<int64_t> answered_ms_;
  std::string answer_;
};

}  // namespace sluice::gateway
