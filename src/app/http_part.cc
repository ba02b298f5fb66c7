#include "app/http_part.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "app/disk_watch.h"
#include "app/machine.h"
#include "app/status_source.h"
#include "app/version.h"
#include "base/log.h"
#include "gateway/http_server.h"
#include "gateway/overview.h"
#include "gateway/sql_endpoint.h"
#include "io/file.h"
#include "sql/session.h"

namespace sluice::app {
namespace {

// As configured, or `console` beside the folder of the program, where a release has it.
std::string ConsoleFolder(const Config& config) {
  if (config.IsSet("http.files")) return config.String("http.files");
  const std::string folder = io::JoinPath(io::FolderOf(ProgramFolder()), "console");
  const auto exists = io::LocalFileSystem().Exists(io::JoinPath(folder, "index.html"));
  return exists.ok() && *exists ? folder : std::string();
}

// The parts of "a, b".
std::vector<std::string> NamesIn(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream parts(list);
  for (std::string name; std::getline(parts, name, ',');) {
    std::erase(name, ' ');
    if (!name.empty()) names.push_back(std::move(name));
  }
  return names;
}

gateway::HttpServer::Options ServerOptions(const Config& config) {
  gateway::HttpServer::Options options;
  options.host = config.String("http.host");
  options.port = static_cast<uint16_t>(config.Int("http.port"));
  options.allowed_hosts = NamesIn(config.String("http.allowed-hosts"));
  options.threads = static_cast<size_t>(config.Int("http.threads"));
  options.files = ConsoleFolder(config);
  return options;
}

// Some threads stay for what is no statement: health, metrics, the console.
constexpr int64_t kThreadsForOthers = 4;

gateway::SqlEndpoint::Options EndpointOptions(const HttpPart::Options& options) {
  const int64_t statements = options.config.Int("http.threads") - kThreadsForOthers;
  return {
      .make_session =
          [&engine = options.engine, make_tables = options.make_tables, &clock = options.clock] {
            return std::make_unique<sql::Session>(engine, make_tables(), clock);
          },
      .clock = options.clock,
      .random = options.random,
      .sessions_max = static_cast<size_t>(options.config.Int("sql.sessions-max")),
      .statements_max = static_cast<size_t>(std::max<int64_t>(1, statements)),
      .idle_max = options.config.Duration("sql.session.idle-timeout"),
      .statement_max = options.config.Duration("sql.statement.timeout")};
}

}  // namespace

struct HttpPart::Parts {
  explicit Parts(const Options& options)
      : disks(options.disks),
        status(options.catalog, options.coordinator, options.tablet, options.tiering, options.loop,
               {.tables = static_cast<size_t>(options.config.Int("metrics.tables-max")),
                .buckets = static_cast<size_t>(options.config.Int("metrics.buckets-max"))}),
        overview(status, options.clock, std::string(kVersion)),
        statements(EndpointOptions(options)),
        server(ServerOptions(options.config)),
        host(options.config.String("http.host")) {}

  void AddRoutes() {
    // A server that refuses writes still answers reads, so it is not down.
    server.Route("GET", "/health", [this](const gateway::HttpRequest&) {
      const Status room = disks.CheckAll();
      nlohmann::json health = {{"status", room.ok() ? "ok" : "writes refused"}};
      if (!room.ok()) health["reason"] = room.message();
      return gateway::HttpResponse{.body = health.dump()};
    });
    server.Route("GET", "/metrics", [this](const gateway::HttpRequest&) {
      return gateway::HttpResponse{.content_type = "text/plain; version=0.0.4",
                                   .body = metrics.PrometheusText()};
    });
    server.Route("GET", "/api/v1/tables", [this](const gateway::HttpRequest&) {
      auto json = overview.Json();
      if (!json.ok()) return gateway::ErrorResponse(json.status());
      return gateway::HttpResponse{.body = std::move(json).ValueUnsafe()};
    });
    statements.Register(&server);
  }

  const DiskWatch& disks;
  MetricRegistry metrics;
  ProcessStatus status;
  gateway::Overview overview;
  gateway::SqlEndpoint statements;
  gateway::HttpServer server;  // After what its handlers use.
  const std::string host;
};

HttpPart::HttpPart(Options options) : parts_(std::make_unique<Parts>(options)) {
  parts_->metrics.AddSource(
      [this](std::vector<MetricSample>* samples) { parts_->status.Collect(samples); });
  parts_->metrics.AddSource(std::move(options.process_samples));
  parts_->AddRoutes();
}

HttpPart::~HttpPart() {
  parts_->statements.Stop();
  parts_->server.Stop();
}

Status HttpPart::Start() {
  RETURN_NOT_OK(parts_->server.Start());
  LogInfo("http is up address={}:{}", parts_->host, parts_->server.port());
  return Status::OK();
}

}  // namespace sluice::app
