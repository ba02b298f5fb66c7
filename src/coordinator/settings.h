#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "io/transport.h"

namespace sluice::coordinator {

/// The cluster's settings that DDL depends on; key names of the configuration beside them.
struct ClusterSettings {
  int32_t default_bucket_number = 1;       ///< default.bucket.number
  int32_t default_replication_factor = 1;  ///< default.replication.factor
  int32_t max_bucket_number = 4096;        ///< max.bucket.num, per table or partition
  int32_t max_partition_number = 1000;     ///< max.partition.num, per table
  bool allow_create_log_tables = true;     ///< allow.create.log.tables
  bool allow_create_kv_tables = true;      ///< allow.create.kv.tables
  std::string lake_format;                 ///< datalake.format, empty = none
  bool lake_enabled = false;               ///< datalake.enabled, or implied by the format
  std::string remote_data_dir;             ///< remote.data.dir
  int64_t auto_partition_interval_ms = 10 * 60 * 1000;  ///< auto-partition.check.interval
  int64_t producer_offsets_ttl_ms = 24 * 3600 * 1000;   ///< coordinator.producer-offsets.ttl
  int32_t kv_snapshots_retained = 2;                    ///< kv.snapshot.num-retained
  int64_t kv_lease_check_interval_ms =
      10 * 60 * 1000;  ///< kv.snapshot.lease.expiration-check-interval
  /// Whether the machine has room for the files of so many more buckets; empty = always.
  std::function<Status(int64_t buckets)> check_room;
};

/// A tablet server that the coordinator may place buckets on.
struct TabletServer {
  int32_t id = 0;
  std::string host;
  int32_t port = 0;
  std::string listeners;  ///< "FLUSS://host:port,…"
  std::shared_ptr<io::Transport> transport;
};

/// Where clients find the coordinator.
struct CoordinatorAddress {
  std::string host;
  int32_t port = 0;
  std::string listeners;
};

}  // namespace sluice::coordinator
