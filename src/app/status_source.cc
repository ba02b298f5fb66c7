#include "app/status_source.h"

#include <algorithm>
#include <map>
#include <span>

#include "coordinator/coordinator.h"
#include "io/task.h"
#include "meta/catalog.h"
#include "tablet/tablet_service.h"
#include "tiering/tiering_service.h"

namespace sluice::app {
namespace {

using gateway::TableStatus;

void AddRemote(const tablet::BucketStatus& bucket, TableStatus::Remote* remote) {
  remote->segments += bucket.remote_segments;
  remote->size_bytes += bucket.remote_size_bytes;
  remote->copied_segments += bucket.remote_copied_segments;
  remote->copied_bytes += bucket.remote_copied_bytes;
  remote->copy_errors += bucket.remote_copy_errors;
  const int64_t copied = std::max(bucket.remote_copied_offset, bucket.local_start_offset);
  remote->lag_rows += std::max<int64_t>(0, bucket.high_watermark - copied);
}

// Sums over the buckets that are there, which are returned. All three are of one moment: the lake's
// offsets were read before the log's ends, so that none is past its end.
std::vector<tiering::BucketOffsets> AddOffsets(const std::vector<tablet::BucketStatus>& buckets,
                                               const meta::LakeSnapshot* lake,
                                               TableStatus* status) {
  std::vector<tiering::BucketOffsets> offsets;
  int64_t lake_offset = 0, lag_rows = 0;
  for (const tablet::BucketStatus& bucket : buckets) {
    status->log_end_offset += bucket.high_watermark;
    AddRemote(bucket, &status->remote);
    int64_t tiered = 0;
    if (lake != nullptr) {
      const auto found = lake->tiered->find({bucket.id.partition_id, bucket.id.bucket});
      if (found != lake->tiered->end()) tiered = found->second;
    }
    lake_offset += tiered;
    const int64_t from = std::max(tiered, bucket.log_start_offset);
    lag_rows += std::max<int64_t>(0, bucket.high_watermark - from);
    offsets.push_back({bucket.id, from, bucket.high_watermark});
  }
  if (lake != nullptr) {
    status->lake_snapshot_id = lake->snapshot_id;
    status->lake_offset = lake_offset;
  }
  if (status->lake_enabled) status->lag_rows = lag_rows;
  return offsets;
}

void AddTiering(const std::optional<tiering::TableState>& tiering, TableStatus* status) {
  if (!status->lake_enabled) return;
  status->state = "SCHEDULED";
  if (!tiering.has_value()) return;
  status->state = std::string(tiering::NameOf(tiering->state));
  status->reason = tiering->reason;
  if (!tiering->reason.empty()) status->failed_since_ms = tiering->failed_since_ms;
  status->lag_ms = tiering->lag_ms;
  status->freshness_ms = tiering->freshness_ms;
  status->late = tiering->late;
  for (const tiering::LogGap& gap : tiering->gaps)
    status->gaps.push_back({gap.partition, gap.bucket, gap.from, gap.to});
}

// Samples of one table.
void CollectTable(const TableStatus& table, int64_t now_ms, std::vector<MetricSample>* samples) {
  const std::map<std::string, std::string> labels = {{"database", table.database},
                                                     {"table", table.table}};
  const auto add = [&](const char* name, const char* help, double value) {
    samples->push_back({name, help, MetricSample::Kind::kGauge, labels, value});
  };
  add("sluice_log_end_offset", "Sum of the high watermarks of the table's buckets.",
      static_cast<double>(table.log_end_offset));
  add("sluice_remote_log_segments", "Log segments in remote storage.",
      static_cast<double>(table.remote.segments));
  add("sluice_remote_log_size_bytes", "Bytes of those segments.",
      static_cast<double>(table.remote.size_bytes));
  add("sluice_remote_log_lag_rows", "Log records that were never copied to remote storage.",
      static_cast<double>(table.remote.lag_rows));
  const auto count = [&](const char* name, const char* help, uint64_t value) {
    samples->push_back(
        {name, help, MetricSample::Kind::kCounter, labels, static_cast<double>(value)});
  };
  count("sluice_remote_log_copied_segments_total", "Log segments copied to remote storage.",
        table.remote.copied_segments);
  count("sluice_remote_log_copied_bytes_total", "Bytes of log segments copied there.",
        table.remote.copied_bytes);
  count("sluice_remote_log_copy_errors_total", "Copies, manifests and commits that failed.",
        table.remote.copy_errors);
  if (table.lake_offset) {
    add("sluice_lake_offset", "Sum of the offsets that the newest lake snapshot holds.",
        static_cast<double>(*table.lake_offset));
  }
  if (table.lag_rows) {
    add("sluice_tiering_lag_rows", "Log records that are not in the lake.",
        static_cast<double>(*table.lag_rows));
  }
  if (table.lag_ms) {
    add("sluice_tiering_lag_seconds", "Age of the oldest record that is not in the lake.",
        static_cast<double>(*table.lag_ms) / 1000);
  }
  if (table.lake_enabled) {
    double missing = 0;
    for (const gateway::TableGap& gap : table.gaps)
      missing += static_cast<double>(gap.to - gap.from);
    add("sluice_tiering_gap_records",
        "Log records that expired before they were in the lake, while tiering was off.", missing);
    add("sluice_tiering_failed", "1 while the table's last round failed.",
        table.state == "FAILED" ? 1 : 0);
    add("sluice_tiering_late", "1 while the table's lag is past its freshness.",
        table.late ? 1 : 0);
    auto with_state = labels;
    with_state["state"] = table.state;
    samples->push_back({"sluice_tiering_state", "1 for the state in which the table is.",
                        MetricSample::Kind::kGauge, std::move(with_state), 1});
  }
  const auto seconds_from = [now_ms](int64_t from_ms) {
    return static_cast<double>(now_ms - from_ms) / 1000;
  };
  if (table.failed_since_ms) {
    add("sluice_tiering_failed_seconds", "Time since the table's rounds have failed.",
        seconds_from(*table.failed_since_ms));
  }
  if (table.next_try_ms) {
    add("sluice_tiering_next_try_seconds", "Time until the failed table is tried again.",
        std::max(0.0, -seconds_from(*table.next_try_ms)));
  }
}

}  // namespace

struct ProcessStatus::Table {
  int64_t table_id = -1;
  TableStatus status;
  std::optional<tiering::TableState> tiering;
  meta::TablePtr catalog;
  std::vector<tablet::BucketStatus> buckets;  // By partition and bucket.
};

std::vector<ProcessStatus::Table> ProcessStatus::Gather() {
  std::map<int64_t, tiering::TableState> tierings;
  if (tiering_ != nullptr) {
    for (auto& state : tiering_->Tables()) tierings[state.table_id] = std::move(state);
  }
  const meta::CatalogStatePtr state = catalog_.state();
  std::map<int64_t, std::vector<tablet::BucketStatus>> buckets;
  for (auto& bucket : io::SyncWait(loop_, tablet_.Buckets(loop_)))
    buckets[bucket.id.table_id].push_back(std::move(bucket));
  const meta::CatalogStatePtr after = catalog_.state();  // What was dropped meanwhile is not shown.
  std::vector<Table> out;
  for (const auto& [database, entry] : state->databases) {
    for (const auto& [name, table] : entry->tables) {
      const int64_t table_id = table->info.table_id;
      if (after->FindTable(table_id) == nullptr) continue;
      Table shown{.table_id = table_id};
      TableStatus& status = shown.status;
      status.database = database;
      status.table = name;
      status.has_primary_key = table->info.descriptor.has_primary_key();
      status.buckets = table->bucket_count();
      status.lake_enabled = table->lake_enabled();
      shown.catalog = table;
      shown.buckets = std::move(buckets[table_id]);
      std::ranges::sort(shown.buckets, {}, &tablet::BucketStatus::id);
      const auto offsets = AddOffsets(shown.buckets, table->LatestLakeSnapshot(), &status);
      if (const auto found = tierings.find(table_id); found != tierings.end()) {
        shown.tiering = std::move(found->second);
        // The age of the oldest row is of the same moment as the count of rows.
        shown.tiering->BringUpTo(offsets, loop_.clock().Monotonic());
      }
      AddTiering(shown.tiering, &status);
      out.push_back(std::move(shown));
    }
  }
  AddNextTries(&out);
  return out;
}

void ProcessStatus::AddNextTries(std::vector<Table>* tables) {
  const auto fails = [](const Table& table) { return table.status.failed_since_ms.has_value(); };
  if (std::ranges::none_of(*tables, fails)) return;
  const auto tries = io::SyncWait(loop_, coordinator_.NextTries(loop_));
  const int64_t now_ms = loop_.clock().NowMs();
  for (Table& table : *tables) {
    const auto found = tries.find(table.table_id);
    if (fails(table) && found != tries.end())
      table.status.next_try_ms = now_ms + found->second.count();
  }
}

Result<std::vector<TableStatus>> ProcessStatus::Tables() {
  std::vector<TableStatus> tables;
  for (Table& table : Gather()) tables.push_back(std::move(table.status));
  return tables;
}

Result<sql::LakeState> ProcessStatus::LakeStateOf(const types::TablePath& path) {
  for (const Table& table : Gather()) {
    const TableStatus& status = table.status;
    if (status.database != path.database || status.table != path.table) continue;
    if (!status.lake_enabled)
      return Error(ErrorCode::kInvalidTable, "table is not tiered table=", path);
    sql::LakeState state{.state = status.state,
                         .reason = status.reason,
                         .failed_since_ms = status.failed_since_ms,
                         .next_try_ms = status.next_try_ms};
    if (!table.tiering.has_value()) return state;
    for (const tiering::BucketLag& lag : table.tiering->buckets) {
      state.buckets.push_back({.partition = lag.partition,
                               .bucket = lag.bucket.bucket,
                               .lake_offset = lag.lake_offset,
                               .log_end_offset = lag.log_end_offset,
                               .lag_rows = lag.lag_rows,
                               .lag_ms = lag.lag_ms});
    }
    return state;
  }
  return Error(ErrorCode::kTableNotExist, "table does not exist table=", path);
}

void ProcessStatus::Collect(std::vector<MetricSample>* samples) {
  const std::vector<Table> tables = Gather();
  const int64_t now_ms = loop_.clock().NowMs();
  size_t buckets = 0, tables_shown = 0, buckets_shown = 0;
  for (const Table& table : tables) {
    buckets += table.buckets.size();
    if (tables_shown < limits_.tables) {
      ++tables_shown;
      CollectTable(table.status, now_ms, samples);
    }
    const size_t room = std::min(table.buckets.size(), limits_.buckets - buckets_shown);
    buckets_shown += room;
    CollectBuckets(*table.catalog, std::span(table.buckets).first(room), samples);
  }
  const auto add = [samples](const char* name, const char* help, size_t value) {
    samples->push_back({name, help, MetricSample::Kind::kGauge, {}, static_cast<double>(value)});
  };
  add("sluice_tables", "Tables.", tables.size());
  add("sluice_buckets", "Buckets that this server has open.", buckets);
  add("sluice_tables_not_shown", "Tables beyond metrics.tables-max, which have no samples.",
      tables.size() - tables_shown);
  add("sluice_buckets_not_shown", "Buckets beyond metrics.buckets-max, which have no samples.",
      buckets - buckets_shown);
}

}  // namespace sluice::app
