#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/metrics.h"
#include "io/transport.h"
#include "wire/api.h"

namespace sluice::server {

/// One call that was answered.
struct ServedRequest {
  int16_t api_key = 0;
  std::string_view listener, peer;
  io::CallNotes notes;
  std::chrono::nanoseconds queued{0};   ///< It waited for memory, see ByteBudget.
  std::chrono::nanoseconds handled{0};  ///< From its start to its answer.
  uint64_t received_bytes = 0, sent_bytes = 0;
  bool failed = false;  ///< As a whole; errors of single buckets are in its answer.

  /// What it took, without the wait that its caller asked for (a fetch for rows to come).
  std::chrono::nanoseconds took() const { return queued + handled - notes.waited; }
};

/// Counts calls by API, and writes a log line of those that took long.
///
/// Threads: any.
class RequestStats {
 public:
  struct Options {
    std::chrono::milliseconds slow_from{1000};  ///< 0 = none is slow.
    int64_t lines_per_second = 10;              ///< More are counted, and the next line says so.
    /// Name of a table by id, empty = unknown.
    std::function<std::string(int64_t table_id)> name_of;
    std::function<void(const std::string& line)> write;  ///< Null = the log.
  };
  explicit RequestStats(Options options) : options_(std::move(options)) {}

  /// `now` of a monotonic clock.
  void Count(const ServedRequest& request, std::chrono::nanoseconds now);
  /// Samples with the label `api`, of calls that came: at most one series per call of the protocol
  /// and one for keys that are none.
  void Collect(std::vector<MetricSample>* samples) const;

 private:
  struct Counters {
    std::atomic<uint64_t> requests{0}, failed{0}, slow{0}, took_ns{0};
  };
  static constexpr auto kFirstKey = static_cast<int16_t>(wire::ApiKey::kApiVersions);
  static constexpr auto kLastKey = static_cast<int16_t>(wire::ApiKey::kListKvSnapshots);
  static constexpr size_t kUnknown = kLastKey - kFirstKey + 1;
  static size_t IndexOf(int16_t api_key);

  bool MayWrite(std::chrono::nanoseconds now, uint64_t* not_shown);
  std::string LineOf(const ServedRequest& request, uint64_t not_shown) const;

  const Options options_;
  std::array<Counters, kUnknown + 1> counters_;  // By key; the last one is of keys that are none.
  std::mutex mutex_;                             // Guards what follows.
  std::chrono::nanoseconds second_began_{0};
  int64_t lines_ = 0;       // Written in this second.
  uint64_t not_shown_ = 0;  // Since the last line.
};

}  // namespace sluice::server
