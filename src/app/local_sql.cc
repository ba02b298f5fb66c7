#include "app/local_sql.h"

#include <arrow/record_batch.h>

#include <mutex>
#include <nlohmann/json.hpp>

#include "app/machine.h"
#include "client/admin.h"
#include "client/socket_servers.h"
#include "io/net.h"
#include "lake/lake_catalog.h"
#include "sql/engine.h"
#include "sql/fluss_catalog.h"
#include "sql/format.h"
#include "sql/session.h"
#include "sql/view_store.h"

namespace sluice::app {
namespace {

constexpr int64_t kRowsPerEventMax = 1000;
constexpr int kAttemptsToConnect = 4;
constexpr std::chrono::milliseconds kInterruptLook{100};

nlohmann::json ColumnsEvent(const std::vector<sql::ResultColumn>& columns) {
  std::string text;
  sql::AppendJsonColumns(columns, &text);
  nlohmann::json event = {{"kind", "columns"}};
  event["columns"] = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  return event;
}

}  // namespace

// In the order of their making; what is further down uses what is above.
struct LocalSql::State {
  explicit State(Options o)
      : options(std::move(o)),
        loops(io::LoopThreads::Start("sql", 2)),
        engine({.threads = MachineCores(), .memory_bytes_max = MachineMemoryBytes() / 4}) {}
  ~State() {
    session.reset();
    if (servers != nullptr) servers->Close();
  }

  Status Connect();
  Status OpenLake(const std::map<std::string, std::string>& configs);
  Status RunTo(const std::string& sql, const OnEvent& on_event);
  void Watch();
  void SetRunning(bool runs);

  const Options options;
  std::mutex mutex;  // Guards running, and the session's life while it is true.
  bool running = false;
  ClientSettings client;
  std::unique_ptr<io::LoopThreads> loops;
  std::shared_ptr<client::SocketServers> servers;
  client::ClusterPtr cluster;
  std::unique_ptr<lake::LakeCatalog> lake;  // Null when there is none, or it cannot be read.
  Status lake_status;
  sql::MemoryViewStore views;
  sql::Engine engine;
  std::unique_ptr<sql::Session> session;
};

Status LocalSql::State::Connect() {
  io::Loop& loop = loops->at(0);
  ASSIGN_OR_RAISE(client, ClientSettingsOf(options.client));
  client.sockets.bootstrap_servers = options.bootstrap_servers;
  ASSIGN_OR_RAISE(servers, client::SocketServers::Make(client.network(), {&loop, &loops->at(1)},
                                                       client.sockets));
  const auto first = client::Cluster::Make(servers, {.attempts = kAttemptsToConnect});
  RETURN_NOT_OK(io::SyncWait(loop, client::Admin(first).ListDatabases(loop)).status());
  cluster = client::Cluster::Make(servers, {});
  // What the cluster says of its lake: `datalake.format`, `datalake.FORMAT.*`.
  const auto configs = io::SyncWait(loop, client::Admin(cluster).DescribeConfigs(loop));
  lake_status = configs.ok() ? OpenLake(*configs) : configs.status();
  session =
      std::make_unique<sql::Session>(engine,
                                     std::make_shared<sql::FlussTableCatalog>(
                                         sql::FlussCatalogOptions{.cluster = cluster,
                                                                  .loops = {&loop, &loops->at(1)},
                                                                  .lake = lake.get(),
                                                                  .lake_status = lake_status,
                                                                  .views = &views}),
                                     io::SystemClock());
  loops->at(1).Post([this] { Watch(); });
  return Status::OK();
}

Status LocalSql::State::OpenLake(const std::map<std::string, std::string>& configs) {
  const auto format = configs.find("datalake.format");
  if (format == configs.end()) return Status::OK();
  std::map<std::string, std::string> properties;
  const std::string prefix = "datalake." + format->second + ".";
  for (const auto& [key, value] : configs) {
    if (key.starts_with(prefix)) properties[key.substr(prefix.size())] = value;
  }
  ASSIGN_OR_RAISE(lake, lake::LakeCatalog::Open({.format = format->second,
                                                 .properties = std::move(properties),
                                                 .files = &io::LocalFileSystem(),
                                                 .clock = &io::SystemClock(),
                                                 .random = &io::SystemRandom(),
                                                 .read_only = true}));
  return Status::OK();
}

Status LocalSql::State::RunTo(const std::string& sql, const OnEvent& on_event) {
  ASSIGN_OR_RAISE(const auto stream, session->Execute(sql));
  if (!stream->has_rows()) {
    const int64_t written = stream->rows_written();
    if (written >= 0 && !on_event({{"kind", "written"}, {"rows", written}}))
      return Status::Cancelled("statement given up");
    return Status::OK();
  }
  if (!on_event(ColumnsEvent(stream->columns()))) return Status::Cancelled("statement given up");
  while (true) {
    ASSIGN_OR_RAISE(const auto batch, stream->Next());
    if (batch == nullptr) return Status::OK();
    for (int64_t from = 0; from < batch->num_rows(); from += kRowsPerEventMax) {
      const int64_t count = std::min(kRowsPerEventMax, batch->num_rows() - from);
      std::string rows;
      RETURN_NOT_OK(sql::AppendJsonRows(stream->columns(), *batch, from, count, &rows));
      nlohmann::json event = {{"kind", "rows"}};
      event["rows"] = nlohmann::json::parse(rows, nullptr, /*allow_exceptions=*/false);
      if (!on_event(event)) return Status::Cancelled("statement given up");
    }
  }
}

// An interrupt may come while the engine just starts, so it is told again until the end.
void LocalSql::State::Watch() {
  {
    const std::lock_guard lock(mutex);
    if (running && options.interrupted && options.interrupted()) session->Interrupt();
  }
  loops->at(1).After(kInterruptLook, [this] { Watch(); });
}

void LocalSql::State::SetRunning(bool runs) {
  const std::lock_guard lock(mutex);
  running = runs;
}

LocalSql::LocalSql(std::unique_ptr<State> state) : state_(std::move(state)) {}
LocalSql::~LocalSql() = default;

Result<std::unique_ptr<LocalSql>> LocalSql::Connect(Options options) {
  auto state = std::make_unique<State>(std::move(options));
  RETURN_NOT_OK(state->Connect());
  return std::unique_ptr<LocalSql>(new LocalSql(std::move(state)));
}

Status LocalSql::Run(const std::string& sql, const OnEvent& on_event) {
  State& state = *state_;
  state.session->Resume();
  state.SetRunning(true);
  Status status = state.RunTo(sql, on_event);
  state.SetRunning(false);
  // Nobody knows when the next statement comes: its lake must not wait for it.
  if (state.lake != nullptr) state.lake->Trim(std::chrono::seconds(0));
  return status;
}

const Status& LocalSql::lake_status() const { return state_->lake_status; }

}  // namespace sluice::app
