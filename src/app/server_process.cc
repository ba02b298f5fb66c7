#include "app/server_process.h"

#include "app/catalog_tables.h"
#include "app/catalog_views.h"
#include "app/disk_watch.h"
#include "app/http_part.h"
#include "app/machine.h"
#include "app/memory_return.h"
#include "app/process_samples.h"
#include "app/run_time_settings.h"
#include "app/security.h"
#include "app/settings.h"
#include "app/status_source.h"
#include "app/tls_reload.h"
#include "base/log.h"
#include "client/cluster.h"
#include "coordinator/coordinator.h"
#include "io/net.h"
#include "io/remote_folder.h"
#include "io/tls_network.h"
#include "kv/key_store.h"
#include "lake/lake_catalog.h"
#include "meta/rocks_store.h"
#include "server/dispatcher.h"
#include "server/listener.h"
#include "server/local_transport.h"
#include "server/metadata_service.h"
#include "server/request_stats.h"
#include "shard/shards.h"
#include "sql/engine.h"
#include "sql/fluss_catalog.h"
#include "tiering/tiering_service.h"
#include "types/kv_snapshot.h"
#include "types/table_options.h"

namespace sluice::app {
namespace {

// Background work yields to requests by its nice value.
constexpr int kBackgroundNice = 5;

// Files of the data folder that name the folders of the last start.
constexpr char kKnownRemote[] = "remote.known";
constexpr char kKnownWarehouse[] = "warehouse.known";

std::chrono::milliseconds FreshnessOf(const types::TableDescriptor& table) {
  return std::chrono::milliseconds(types::FreshnessMs(table));
}

}  // namespace

// In the order of their making; what is further down uses what is above.
struct ServerProcess::Parts {
  explicit Parts(const Config& c)
      : config(c),
        settings(ClusterSettingsOf(c)),
        folders(FoldersOf(c)),
        remote_folder(types::RemotePath(folders.remote)),
        memory(MemoryPlanOf(c)) {}

  // The doors of a role, and what clients are told about them.
  struct Role {
    std::vector<std::unique_ptr<server::FrameListener>> listeners;
    std::vector<server::Endpoint> told;
  };

  Status OpenData();
  Status OpenRemote();
  Status OpenLake();
  Result<bool> IsKnown(const char* file, const std::string& folder);
  Status SetKnown(const char* file, const std::string& folder);
  Status StartTablet();
  Result<Role> BindRole(const std::string& name);
  Status Bind();
  Status StartCoordinator();
  void Serve();
  Status StartTiering();
  Status StartHttp();
  void Collect(std::vector<MetricSample>* samples);
  Status Stop();

  const Config config;
  const coordinator::ClusterSettings settings;
  const Folders folders;
  const io::RemoteFolder remote_folder;
  const MemoryPlan memory;
  io::FileSystem& files = io::LocalFileSystem();
  io::Clock& clock = io::SystemClock();
  io::Random& random = io::SystemRandom();
  std::unique_ptr<io::FileSystem::Lock> data_lock;
  std::unique_ptr<DiskWatch> disks;
  const io::DiskGuard* data_disk = nullptr;    // One of them,
  const io::DiskGuard* remote_disk = nullptr;  // and another.

  std::unique_ptr<io::Pool> read_pool, sync_pool, flush_pool, snapshot_pool, catalog_pool,
      remote_pool;
  std::unique_ptr<io::LoopThreads> shard_threads, coordinator_thread, local_thread;

  std::map<std::string, ListenerSecurity>
      security;                  // By listener; of those that are not PLAINTEXT.
  std::shared_ptr<io::Tls> tls;  // Null without a listener that has it.
  std::unique_ptr<io::TlsNetwork> tls_network;
  const std::shared_ptr<tablet::LiveOptions> live_options = std::make_shared<tablet::LiveOptions>();
  std::unique_ptr<RunTimeSettings> run_time_settings;
  std::unique_ptr<coordinator::ClusterConfigs> configs;
  std::unique_ptr<meta::MetaStore> store;
  std::unique_ptr<meta::Catalog> catalog;
  std::unique_ptr<lake::LakeCatalog> lake;  // Null when no table may be tiered.
  std::unique_ptr<CatalogTables> tables;
  std::unique_ptr<kv::KeyStores> key_stores;
  std::unique_ptr<shard::Shards> shards;
  server::Membership membership;
  std::unique_ptr<tablet::TabletService> tablet;
  std::unique_ptr<server::MetadataService> metadata;
  std::unique_ptr<server::Dispatcher> tablet_calls, coordinator_calls;
  std::unique_ptr<coordinator::Coordinator> coordinator;
  std::unique_ptr<io::Transport> to_coordinator;  // Of the tablet server.
  std::unique_ptr<server::ByteBudget> request_budget;
  std::unique_ptr<server::RequestStats> request_stats;
  Role tablet_role, coordinator_role;
  client::ClusterPtr local_cluster;
  std::unique_ptr<tiering::TieringService> tiering;
  std::unique_ptr<sql::Engine> engine;
  std::unique_ptr<CatalogViews> views;
  sql::FlussCatalogOptions tables_options;  // Of all sessions.
  std::unique_ptr<HttpPart> http;
  bool tablet_started = false, coordinator_started = false;
};

Status ServerProcess::Parts::OpenData() {
  RETURN_NOT_OK(files.MakeFolders(folders.data));
  ASSIGN_OR_RAISE(data_lock, files.LockFile(io::JoinPath(folders.data, kDataLockFile)));
  RETURN_NOT_OK(files.MakeFolders(folders.metadata));
  RETURN_NOT_OK(OpenRemote());
  disks = std::make_unique<DiskWatch>(
      files, DiskWatch::Limits{config.Ratio("server.data-disk.write-limit-ratio"),
                               config.Ratio("server.data-disk.write-recover-ratio")});
  data_disk = &disks->Add(folders.data, data_lock.get());
  remote_disk = &disks->Add(folders.remote);
  read_pool = io::Pool::Start({.name = "read", .threads = 4});
  sync_pool = io::Pool::Start({.name = "sync", .threads = 2});
  flush_pool = io::Pool::Start({.name = "flush", .threads = 2, .nice = kBackgroundNice});
  // A shard makes one at a time: so none waits for another's, nor a bucket that closes meanwhile.
  snapshot_pool =
      io::Pool::Start({.name = "snapshot", .threads = ShardsOf(config), .nice = kBackgroundNice});
  catalog_pool = io::Pool::Start({.name = "catalog", .threads = 2});
  // Each shard copies one segment at a time; the rest is for readers.
  remote_pool = io::Pool::Start({.name = "remote", .threads = ShardsOf(config) + 2});
  shard_threads = io::LoopThreads::Start("shard", ShardsOf(config));
  coordinator_thread = io::LoopThreads::Start("coordinator", 1);
  local_thread = io::LoopThreads::Start("local", 2);
  ASSIGN_OR_RAISE(store, meta::OpenRocksMetaStore(folders.metadata));
  ASSIGN_OR_RAISE(catalog, meta::Catalog::Open(*store, clock));
  SetLiveOptions(config, live_options.get());
  run_time_settings = std::make_unique<RunTimeSettings>(config, *disks, security, *live_options);
  configs = std::make_unique<coordinator::ClusterConfigs>(ShownConfigsOf(config),
                                                          run_time_settings.get());
  return configs->Load(*catalog);
}

// A file of the data folder names a folder that this server made or took up, which must not be
// absent later. One that cannot be read may name it: only one that is not there does not.
Result<bool> ServerProcess::Parts::IsKnown(const char* file, const std::string& folder) {
  const auto known = files.ReadFile(io::JoinPath(folders.data, file));
  if (!known.ok() && io::IsNotFound(known.status())) return false;
  RETURN_NOT_OK(known.status());
  return *known == folder;
}
Status ServerProcess::Parts::SetKnown(const char* file, const std::string& folder) {
  return files.ReplaceFile(io::JoinPath(folders.data, file), folder);
}

Status ServerProcess::Parts::OpenRemote() {
  ASSIGN_OR_RAISE(const bool is_known, IsKnown(kKnownRemote, folders.remote));
  RETURN_NOT_OK(remote_folder.Open(files, /*may_make=*/!is_known));
  return is_known ? Status::OK() : SetKnown(kKnownRemote, folders.remote);
}

Status ServerProcess::Parts::OpenLake() {
  if (!settings.lake_enabled) return Status::OK();
  ASSIGN_OR_RAISE(const bool is_known, IsKnown(kKnownWarehouse, folders.warehouse));
  ASSIGN_OR_RAISE(lake, lake::LakeCatalog::Open({.format = settings.lake_format,
                                                 .properties = LakePropertiesOf(config),
                                                 .files = &files,
                                                 .clock = &clock,
                                                 .random = &random,
                                                 .may_make_warehouse = !is_known}));
  if (!is_known) RETURN_NOT_OK(SetKnown(kKnownWarehouse, folders.warehouse));
  disks->Add(lake->warehouse());
  return Status::OK();
}

Status ServerProcess::Parts::StartTablet() {
  disks->Start(local_thread->at(0), *sync_pool);
  StartMemoryReturn(local_thread->at(0), *sync_pool);
  shard::Shards::Options shard_options;
  for (size_t i = 0; i < shard_threads->size(); ++i)
    shard_options.loops.push_back(&shard_threads->at(i));
  shard_options.mailbox_bytes_max = memory.mailbox_bytes / shard_threads->size();
  shards = std::make_unique<shard::Shards>(std::move(shard_options));
  tables = std::make_unique<CatalogTables>(*catalog);
  key_stores = kv::MakeRocksStores(files, {.block_cache_bytes = memory.block_cache_bytes});
  tablet::TabletOptions options = TabletOptionsOf(config);
  options.live = live_options;
  options.tables = tables.get();
  options.shards = shards.get();
  options.files = &files;
  options.clock = &clock;
  options.random = &random;
  options.read_pool = read_pool.get();
  options.sync_pool = sync_pool.get();
  options.flush_pool = flush_pool.get();
  options.remote_pool = remote_pool.get();
  options.remote_disk = remote_disk;
  options.remote_folder = remote_folder;
  options.call_coordinator = [this](io::Loop& loop, io::Call call) {
    return to_coordinator->Send(loop, std::move(call));
  };
  options.key_stores = key_stores.get();
  options.snapshot_pool = snapshot_pool.get();
  options.disk = data_disk;
  options.write_back_share_bytes = memory.write_back_bytes;
  options.call_bytes_max = memory.call_bytes;
  options.new_writer_id = [this](io::Loop& loop) { return coordinator->NewWriterId(loop); };
  options.new_column_ids = [this](io::Loop& loop, int64_t table_id, int64_t count) {
    return coordinator->NewColumnIds(loop, table_id, count);
  };
  tablet = std::make_unique<tablet::TabletService>(std::move(options));
  io::Loop& loop = local_thread->at(0);
  RETURN_NOT_OK(io::SyncWait(loop, tablet->Start(loop)));
  tablet_started = true;
  return Status::OK();
}

Result<ServerProcess::Parts::Role> ServerProcess::Parts::BindRole(const std::string& name) {
  ASSIGN_OR_RAISE(const Listeners wanted, ListenersOf(config, name));
  Role role;
  std::vector<server::Endpoint> bound;
  for (const server::Endpoint& endpoint : wanted.bind) {
    server::FrameListener::Options options{.network = &io::SystemNetwork(),
                                           .loops = {},
                                           .bind = endpoint,
                                           .settings = ConnectionSettingsOf(config)};
    for (size_t i = 0; i < shard_threads->size(); ++i)
      options.loops.push_back(&shard_threads->at(i));
    options.settings.budget = request_budget.get();
    options.settings.stats = request_stats.get();
    options.settings.listener = endpoint.listener;
    options.settings.internal = endpoint.listener == config.String("internal.listener.name");
    const auto secured = security.find(endpoint.listener);
    if (secured != security.end()) {
      options.settings.users = secured->second.users;
      if (secured->second.tls) options.network = tls_network.get();
    }
    ASSIGN_OR_RAISE(auto listener, server::FrameListener::Bind(std::move(options)));
    bound.push_back(listener->endpoint());
    role.listeners.push_back(std::move(listener));
  }
  role.told = AdvertisedOf(wanted, bound, MachineAddress());
  LogInfo("bound role={} listeners={} told={}", name, server::FormatEndpoints(bound),
          server::FormatEndpoints(role.told));
  return role;
}

// Before anybody is told where the servers are, so that ports chosen here (0) are known.
Status ServerProcess::Parts::Bind() {
  request_budget = std::make_unique<server::ByteBudget>(memory.request_bytes);
  request_stats = std::make_unique<server::RequestStats>(RequestStatsOptionsOf(config, *catalog));
  ASSIGN_OR_RAISE(tls, ServerTlsOf(config, files, security));
  if (tls != nullptr) {
    tls_network = std::make_unique<io::TlsNetwork>(io::SystemNetwork(), tls);
    StartTlsReload(local_thread->at(0), *sync_pool, tls);
  }
  ASSIGN_OR_RAISE(tablet_role, BindRole("tablet-server"));
  ASSIGN_OR_RAISE(coordinator_role, BindRole("coordinator"));
  membership.Set({.coordinator = {{0, coordinator_role.told}},
                  .tablet_servers = {{TabletOptionsOf(config).server_id, tablet_role.told}}});
  return Status::OK();
}

Status ServerProcess::Parts::StartCoordinator() {
  metadata = std::make_unique<server::MetadataService>(server::MetadataService::Options{
      .catalog = catalog.get(),
      .membership = &membership,
      .files = &files,
      .pool = remote_pool.get(),  // It reads snapshots in the remote folder.
      .settings = settings,
      .lake_properties =
          lake == nullptr ? std::map<std::string, std::string>{} : LakePropertiesOf(config),
      .configs = configs.get()});
  tablet_calls = std::make_unique<server::Dispatcher>(
      server::Dispatcher::Options{wire::ServerType::kTabletServer, metadata.get(), tablet.get()});
  const auto& coordinator_told = coordinator_role.told;
  const auto& tablet_told = tablet_role.told;
  coordinator::TabletServer server{
      .id = TabletOptionsOf(config).server_id,
      .host = tablet_told[0].host,
      .port = tablet_told[0].port,
      .listeners = server::FormatEndpoints(tablet_told),
      .transport = server::MakeLocalTransport(*tablet_calls, *read_pool, {.internal = true})};
  coordinator = std::make_unique<coordinator::Coordinator>(coordinator::Coordinator::Options{
      .catalog = catalog.get(),
      .lake = lake.get(),
      .loop = &coordinator_thread->at(0),
      .pool = catalog_pool.get(),
      .files = &files,
      .clock = &clock,
      .random = &random,
      .disk = data_disk,
      .configs = configs.get(),
      .settings = settings,
      .address = {coordinator_told[0].host, coordinator_told[0].port,
                  server::FormatEndpoints(coordinator_told)},
      .tablet_servers = {std::move(server)}});
  coordinator_calls = std::make_unique<server::Dispatcher>(server::Dispatcher::Options{
      wire::ServerType::kCoordinator, metadata.get(), coordinator.get()});
  to_coordinator = server::MakeLocalTransport(*coordinator_calls, *read_pool, {.internal = true});
  io::Loop& loop = local_thread->at(0);
  RETURN_NOT_OK(io::SyncWait(loop, coordinator->Start(loop)));
  coordinator_started = true;
  return Status::OK();
}

void ServerProcess::Parts::Serve() {
  for (const auto& listener : tablet_role.listeners) listener->Serve(*tablet_calls);
  for (const auto& listener : coordinator_role.listeners) listener->Serve(*coordinator_calls);
}

Status ServerProcess::Parts::StartTiering() {
  auto servers = std::make_shared<client::LocalServers>(
      server::MakeLocalTransport(*coordinator_calls, *read_pool, {.client_name = "sluice"}),
      server::MakeLocalTransport(*tablet_calls, *read_pool, {.client_name = "sluice"}));
  local_cluster = client::Cluster::Make(std::move(servers), {});
  if (lake == nullptr) return Status::OK();
  tiering = std::make_unique<tiering::TieringService>(tiering::ServiceOptions{
      .link = tiering::MakeClientLink(local_cluster, local_thread->at(0)),
      .lake = lake.get(),
      .loop = &local_thread->at(0),
      .freshness_of = FreshnessOf,
      .has_room = [this] { return disks->CheckAll(); },
      .rounds_max = static_cast<size_t>(config.Int("tiering.rounds-max")),
      .bucket_threads = static_cast<size_t>(config.Int("tiering.bucket-threads")),
      .round_bytes_max = static_cast<int64_t>(config.SizeBytes("tiering.round-bytes-max")),
      .row_bytes_max = static_cast<int64_t>(memory.tiering_bytes),
      .round_time_max = config.Duration("tiering.table.duration.max"),
      .expire_all = config.IsSet("lake.tiering.auto-expire-snapshot")
                        ? std::optional(config.Bool("lake.tiering.auto-expire-snapshot"))
                        : std::nullopt});
  tiering->Start();
  return Status::OK();
}

Status ServerProcess::Parts::StartHttp() {
  engine = std::make_unique<sql::Engine>(sql::EngineOptions{
      .threads = static_cast<int>(config.IsSet("sql.threads") ? config.Int("sql.threads")
                                                              : std::max(1, MachineCores() - 1)),
      .memory_bytes_max = memory.sql_bytes / 8 * 5,
      .temp_folder = io::JoinPath(folders.data, kSpillFolder)});
  views = std::make_unique<CatalogViews>(*catalog, *coordinator, local_thread->at(0));
  tables_options.cluster = local_cluster;
  tables_options.lake = lake.get();
  tables_options.views = views.get();
  tables_options.lake_state = [status = std::make_shared<ProcessStatus>(
                                   *catalog, *coordinator, *tablet, tiering.get(),
                                   local_thread->at(0))](const types::TablePath& path) {
    return status->LakeStateOf(path);
  };
  tables_options.memory = std::make_shared<MemoryBudget>(memory.sql_bytes / 8 * 2);
  tables_options.passing = std::make_shared<MemoryBudget>(memory.sql_bytes / 8);
  for (size_t i = 0; i < local_thread->size(); ++i)
    tables_options.loops.push_back(&local_thread->at(i));
  const auto make_tables = [this] {
    return std::make_shared<sql::FlussTableCatalog>(tables_options);
  };
  http = std::make_unique<HttpPart>(HttpPart::Options{
      .config = config,
      .catalog = *catalog,
      .coordinator = *coordinator,
      .tablet = *tablet,
      .tiering = tiering.get(),
      .engine = *engine,
      .make_tables = make_tables,
      .disks = *disks,
      .process_samples = [this](std::vector<MetricSample>* samples) { Collect(samples); },
      .loop = local_thread->at(0),
      .clock = clock,
      .random = random});
  return http->Start();
}

void ServerProcess::Parts::Collect(std::vector<MetricSample>* samples) {
  SampledParts parts{.disks = *disks,
                     .memory = memory,
                     .request_budget = *request_budget,
                     .request_stats = *request_stats,
                     .shard_threads = *shard_threads,
                     .listeners = {},
                     .tablet = tablet.get(),
                     .tiering = tiering.get(),
                     .queries = tables_options};
  for (const Role* role : {&tablet_role, &coordinator_role}) {
    for (const auto& listener : role->listeners) parts.listeners.push_back(listener.get());
  }
  CollectSamples(parts, samples);
}

// Also called after a start that failed half way, so every part may be missing.
Status ServerProcess::Parts::Stop() {
  if (coordinator_thread == nullptr) return Status::OK();
  // Not one of the local loops: they may be decoding what a query or a round reads.
  io::Loop& loop = coordinator_thread->at(0);
  // Clients go first, so that their load does not hold up the rest.
  if (tablet_started) tablet->EndWaits();
  for (Role* role : {&tablet_role, &coordinator_role}) {
    for (const auto& listener : role->listeners) io::SyncWait(loop, listener->Stop(loop));
  }
  http.reset();
  // Only now: until it is down, /metrics counts their connections.
  for (Role* role : {&tablet_role, &coordinator_role}) role->listeners.clear();
  if (tiering != nullptr) tiering->Stop();
  if (std::exchange(coordinator_started, false)) io::SyncWait(loop, coordinator->Stop(loop));
  Status stopped = Status::OK();
  if (std::exchange(tablet_started, false)) stopped = io::SyncWait(loop, tablet->Stop(loop));
  tiering.reset();
  tables_options.cluster.reset();
  local_cluster.reset();
  // The loops last of what runs: nothing is posted to them any more, and what they still hold may
  // use the parts.
  local_thread.reset();
  coordinator_thread.reset();
  shard_threads.reset();
  return stopped;
}

Result<std::unique_ptr<ServerProcess>> ServerProcess::Start(const Config& config) {
  for (const std::string& key : config.Ignored())
    LogInfo("configuration key has no effect here key={}", key);
  std::unique_ptr<ServerProcess> process(new ServerProcess(std::make_unique<Parts>(config)));
  Parts& parts = *process->parts_;
  RETURN_NOT_OK(CheckListeners(config));
  ASSIGN_OR_RAISE(parts.security, SecurityOf(config));
  if (HttpIsWiderOpen(config, parts.security)) {
    LogWarn("listeners ask for logins, but HTTP runs SQL without one http.host={}",
            config.String("http.host"));
  }
  LogInfo("memory shares {}", parts.memory.ToString());
  RETURN_NOT_OK(parts.OpenData());
  RETURN_NOT_OK(parts.OpenLake());
  RETURN_NOT_OK(parts.StartTablet());
  RETURN_NOT_OK(parts.Bind());
  RETURN_NOT_OK(parts.StartCoordinator());
  parts.Serve();
  RETURN_NOT_OK(parts.StartTiering());
  RETURN_NOT_OK(parts.StartHttp());
  return process;
}

ServerProcess::ServerProcess(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

ServerProcess::~ServerProcess() { LogIfError(Stop(), "stop of the server"); }

Status ServerProcess::Stop() { return parts_->Stop(); }

}  // namespace sluice::app
