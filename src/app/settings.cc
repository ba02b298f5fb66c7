#include "app/settings.h"

#include <algorithm>

#include "app/machine.h"
#include "io/file.h"
#include "io/open_files.h"
#include "meta/catalog.h"

namespace sluice::app {
namespace {

std::string Beside(const std::string& folder, std::string_view name) {
  return io::JoinPath(io::FolderOf(folder), name);
}

// The first of these keys that was set, else the first one's default.
const std::string& FirstSet(const Config& config, std::initializer_list<std::string> keys) {
  for (const std::string& key : keys) {
    if (config.IsSet(key)) return config.String(key);
  }
  return config.String(*keys.begin());
}

}  // namespace

Folders FoldersOf(const Config& config) {
  Folders folders;
  folders.data = config.String("data.dir");
  folders.metadata = io::JoinPath(folders.data, kMetadataFolder);
  folders.remote = config.String("remote.data.dir");
  if (folders.remote.empty()) folders.remote = Beside(folders.data, "remote");
  folders.warehouse = LakePropertiesOf(config).at("warehouse");
  return folders;
}

Result<Listeners> ListenersOf(const Config& config, const std::string& role) {
  Listeners listeners;
  ASSIGN_OR_RAISE(listeners.bind, server::ParseEndpoints(FirstSet(
                                      config, {role + ".bind.listeners", "bind.listeners"})));
  ASSIGN_OR_RAISE(listeners.advertised,
                  server::ParseEndpoints(
                      FirstSet(config, {role + ".advertised.listeners", "advertised.listeners"})));
  if (listeners.bind.empty())
    return Error(ErrorCode::kInvalidConfig, "no listener key=", role, ".bind.listeners");
  for (const server::Endpoint& advertised : listeners.advertised) {
    if (std::ranges::find(listeners.bind, advertised.listener, &server::Endpoint::listener) ==
        listeners.bind.end()) {
      return Error(ErrorCode::kInvalidConfig,
                   "advertised listener is not bound name=", advertised.listener);
    }
  }
  return listeners;
}

Status CheckListeners(const Config& config) {
  const std::string& internal = config.String("internal.listener.name");
  bool is_bound = internal.empty();
  for (const char* role : {"coordinator", "tablet-server"}) {
    ASSIGN_OR_RAISE(const Listeners listeners, ListenersOf(config, role));
    for (const server::Endpoint& endpoint : listeners.bind)
      is_bound = is_bound || endpoint.listener == internal;
  }
  if (is_bound) return Status::OK();
  return Error(
      ErrorCode::kInvalidConfig,
      "internal listener is bound by neither role key=internal.listener.name value=", internal);
}

std::vector<server::Endpoint> AdvertisedOf(const Listeners& listeners,
                                           const std::vector<server::Endpoint>& bound,
                                           const std::string& machine_address) {
  std::vector<server::Endpoint> told = bound;
  for (server::Endpoint& endpoint : told) {
    const auto advertised =
        std::ranges::find(listeners.advertised, endpoint.listener, &server::Endpoint::listener);
    const uint16_t bound_port = endpoint.port;
    if (advertised != listeners.advertised.end()) endpoint = *advertised;
    if (endpoint.port == 0) endpoint.port = bound_port;
    if (endpoint.host == "0.0.0.0" || endpoint.host == "::") endpoint.host = machine_address;
  }
  return told;
}

coordinator::ClusterSettings ClusterSettingsOf(const Config& config) {
  coordinator::ClusterSettings settings;
  settings.default_bucket_number = static_cast<int32_t>(config.Int("default.bucket.number"));
  settings.default_replication_factor =
      static_cast<int32_t>(config.Int("default.replication.factor"));
  settings.max_bucket_number = static_cast<int32_t>(config.Int("max.bucket.num"));
  settings.max_partition_number = static_cast<int32_t>(config.Int("max.partition.num"));
  settings.allow_create_log_tables = config.Bool("allow.create.log.tables");
  settings.allow_create_kv_tables = config.Bool("allow.create.kv.tables");
  settings.lake_format = config.String("datalake.format");
  settings.lake_enabled = config.Bool("datalake.enabled");
  settings.remote_data_dir = FoldersOf(config).remote;
  settings.auto_partition_interval_ms =
      std::max<int64_t>(1, config.Duration("auto-partition.check.interval").count());
  settings.producer_offsets_ttl_ms = config.Duration("coordinator.producer-offsets.ttl").count();
  settings.kv_snapshots_retained = static_cast<int32_t>(config.Int("kv.snapshot.num-retained"));
  settings.kv_lease_check_interval_ms =
      config.Duration("kv.snapshot.lease.expiration-check-interval").count();
  settings.check_room = [open_files_max = RaiseOpenFilesMax()](int64_t buckets) {
    return CheckRoomForBuckets(buckets, io::OpenFiles(), open_files_max);
  };
  return settings;
}

std::map<std::string, std::string> ShownConfigsOf(const Config& config) {
  std::map<std::string, std::string> shown = config.Values();
  if (!config.Bool("datalake.enabled")) return shown;
  shown.try_emplace("datalake.format", config.String("datalake.format"));
  for (const auto& [key, value] : LakePropertiesOf(config))
    shown.try_emplace("datalake.paimon." + key, value);
  return shown;
}

tablet::TabletOptions TabletOptionsOf(const Config& config) {
  tablet::TabletOptions options;
  options.server_id = static_cast<int32_t>(config.Int("tablet-server.id"));
  options.data_dir = FoldersOf(config).data;
  options.log.segment_bytes = config.SizeBytes("log.segment.file-size");
  options.log.index_interval_bytes =
      static_cast<uint32_t>(config.SizeBytes("log.index.interval-size"));
  options.log.writer_expiry_ms = config.Duration("server.writer-id.expiration-time").count();
  options.write_back_bytes_max = config.SizeBytes("kv.write-back.bytes-max");
  options.retention_interval = config.Duration("log.retention.check-interval");
  options.remote_log_interval = config.Duration("remote.log.task-interval-duration");
  options.remote_uploads_max =
      static_cast<size_t>(config.Int("remote.log.task-max-upload-segments"));
  SetLiveOptions(config, options.live.get());
  options.scanner_ttl = config.Duration("kv.scanner.ttl");
  options.scanners_per_bucket_max = static_cast<size_t>(config.Int("kv.scanner.max-per-bucket"));
  options.scanners_max = static_cast<size_t>(config.Int("kv.scanner.max-per-server"));
  return options;
}

void SetLiveOptions(const Config& config, tablet::LiveOptions* live) {
  live->kv_snapshot_interval = config.Duration("kv.snapshot.interval");
  live->roll_active_segment = config.Bool("log.retention.roll-active-segment.enabled");
}

server::ConnectionSettings ConnectionSettingsOf(const Config& config) {
  server::ConnectionSettings settings;
  settings.request_bytes_max = config.SizeBytes("netty.server.max-request-size");
  settings.requests_max = static_cast<size_t>(config.Int("netty.server.max-queued-requests"));
  settings.connections_max = static_cast<size_t>(config.Int("server.connections-max"));
  settings.idle_max = config.Duration("netty.connection.max-idle-time");
  return settings;
}

server::RequestStats::Options RequestStatsOptionsOf(const Config& config,
                                                    const meta::Catalog& catalog) {
  return {.slow_from = config.Duration("server.slow-request.threshold"),
          .lines_per_second = config.Int("server.slow-request.lines-per-second"),
          .name_of =
              [&catalog](int64_t table_id) {
                const meta::TablePtr table = catalog.state()->FindTable(table_id);
                return table == nullptr ? std::string() : table->info.path.ToString();
              },
          .write = nullptr};
}

MemoryPlan MemoryPlanOf(const Config& config) {
  return MemoryPlan::Cut(config.IsSet("server.memory.limit")
                             ? config.SizeBytes("server.memory.limit")
                             : MachineMemoryBytes() / 4);
}

Result<LogLevel> LogLevelOf(const Config& config) {
  const std::string& name = config.String("server.log.level");
  if (name == "debug") return LogLevel::kDebug;
  if (name == "info") return LogLevel::kInfo;
  if (name == "warn") return LogLevel::kWarn;
  if (name == "error") return LogLevel::kError;
  return Error(ErrorCode::kInvalidConfig,
               "neither debug, info, warn nor error key=server.log.level value=", name);
}

size_t ShardsOf(const Config& config) {
  const int64_t shards =
      config.IsSet("server.shards") ? config.Int("server.shards") : MachineCores();
  return static_cast<size_t>(std::clamp<int64_t>(shards, 1, 256));  // A machine may have more.
}

std::map<std::string, std::string> LakePropertiesOf(const Config& config) {
  std::map<std::string, std::string> properties = config.Below("datalake.paimon.");
  properties.try_emplace("metastore", "filesystem");
  properties.try_emplace("warehouse", Beside(config.String("data.dir"), "warehouse"));
  return properties;
}

}  // namespace sluice::app
