#include "app/process_samples.h"

#include <atomic>
#include <map>
#include <string>

#include "app/disk_watch.h"
#include "app/memory_plan.h"
#include "io/loop.h"
#include "server/byte_budget.h"
#include "server/listener.h"
#include "server/request_stats.h"
#include "sql/fluss_catalog.h"
#include "tablet/tablet_service.h"
#include "tiering/tiering_service.h"

namespace sluice::app {
namespace {

using Kind = MetricSample::Kind;
using server::ConnectionCounters;

struct ListenerSample {
  const char* name;
  const char* help;
  Kind kind;
  std::atomic<int64_t> ConnectionCounters::* value;
};

constexpr ListenerSample kListenerSamples[] = {
    {"sluice_connections", "Open client connections.", Kind::kGauge, &ConnectionCounters::open},
    {"sluice_connections_turned_away_total", "Connections past server.connections-max.",
     Kind::kCounter, &ConnectionCounters::turned_away},
    {"sluice_requests_total", "Requests read.", Kind::kCounter, &ConnectionCounters::requests},
    {"sluice_received_bytes_total", "Bytes of requests.", Kind::kCounter,
     &ConnectionCounters::received_bytes},
    {"sluice_sent_bytes_total", "Bytes of answers.", Kind::kCounter,
     &ConnectionCounters::sent_bytes},
    {"sluice_failed_logins_total", "Logins refused.", Kind::kCounter,
     &ConnectionCounters::failed_logins},
    {"sluice_refused_frames_total", "Malformed, oversize or too slow requests.", Kind::kCounter,
     &ConnectionCounters::refused_frames},
    {"sluice_answers_not_taken_total", "Connections closed since nobody read their answers.",
     Kind::kCounter, &ConnectionCounters::answers_not_taken},
};

void CollectListener(const server::FrameListener& listener, std::vector<MetricSample>* samples) {
  const std::map<std::string, std::string> labels = {
      {"listener", listener.endpoint().listener},
      {"port", std::to_string(listener.endpoint().port)}};
  for (const ListenerSample& sample : kListenerSamples) {
    const int64_t value = (listener.counters().*sample.value).load(std::memory_order_relaxed);
    samples->push_back({sample.name, sample.help, sample.kind, labels, static_cast<double>(value)});
  }
}

}  // namespace

void CollectSamples(const SampledParts& parts, std::vector<MetricSample>* samples) {
  parts.disks.Collect(samples);
  for (const server::FrameListener* listener : parts.listeners) CollectListener(*listener, samples);
  parts.request_stats.Collect(samples);
  const auto gauge = [samples](const char* name, const char* help, auto value) {
    samples->push_back({name, help, Kind::kGauge, {}, static_cast<double>(value)});
  };
  const auto counter = [samples](const char* name, const char* help, auto value) {
    samples->push_back({name, help, Kind::kCounter, {}, static_cast<double>(value)});
  };
  gauge("sluice_request_budget_used_bytes", "Bodies of requests under way.",
        parts.request_budget.used_bytes());
  gauge("sluice_request_budget_bytes", "Most bytes of requests under way.",
        parts.request_budget.total_bytes());
  if (parts.tiering != nullptr) {
    gauge("sluice_tiering_budget_used_bytes", "Decoded rows that tiering rounds hold.",
          parts.tiering->row_bytes());
    gauge("sluice_tiering_budget_bytes", "Most bytes of decoded rows in tiering rounds.",
          parts.memory.tiering_bytes);
  }
  if (parts.tablet != nullptr) {
    gauge("sluice_write_back_budget_used_bytes",
          "Keys in memory that are not in RocksDB yet, all buckets together.",
          parts.tablet->write_back_bytes());
    gauge("sluice_write_back_budget_bytes",
          "Most bytes of such keys: at half of it they move, at all of it puts wait.",
          parts.memory.write_back_bytes);
    const auto opening = parts.tablet->opening_bytes();
    counter("sluice_opening_scanned_bytes_total",
            "Log that openings of buckets had to check: none after a clean stop.", opening.scanned);
    counter("sluice_opening_replayed_bytes_total",
            "Changelog that openings of buckets had to replay into keys: none after a clean stop.",
            opening.replayed);
    counter("sluice_fetch_skipped_batches_total",
            "Log batches that filters of fetches left out by their statistics.",
            parts.tablet->skipped_batches());
    const tablet::SnapshotCounts snapshots = parts.tablet->snapshot_counts();
    counter("sluice_kv_snapshots_total", "Snapshots of buckets' keys that were made.",
            snapshots.made);
    counter("sluice_kv_snapshots_failed_total", "Those that failed; they are tried again.",
            snapshots.failed);
    counter("sluice_kv_snapshots_copied_bytes_total",
            "Bytes that they brought to the remote folder.", snapshots.copied_bytes);
  }
  gauge("sluice_sql_rows_used_bytes", "Rows that queries hold outside of the engine.",
        parts.queries.memory->used_bytes());
  gauge("sluice_sql_rows_bytes", "Most bytes of such rows: beyond it queries are refused.",
        parts.queries.memory->bytes_max());
  gauge("sluice_sql_passing_used_bytes", "Rows that scans have read and the engine has not taken.",
        parts.queries.passing->used_bytes());
  gauge("sluice_sql_passing_most_bytes", "The most of them that there ever was.",
        parts.queries.passing->most_bytes());
  gauge("sluice_sql_passing_bytes", "Bytes of them at which scans read in the least pieces.",
        parts.queries.passing->bytes_max());
  counter("sluice_sql_reads_planned_anew_total",
          "Reads of tables whose point was gone before they ended, and that began anew.",
          parts.queries.planned_anew->load());
  gauge("sluice_loop_longest_pause_seconds",
        "Longest callback on a shard's loop since the last look.",
        static_cast<double>(parts.shard_threads.TakeLongestPause().count()) / 1e6);
}

}  // namespace sluice::app
