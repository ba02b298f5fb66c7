// The way into the lake and back: rows that tiering moves per CPU second of the server, and union
// reads by SQL beside a plain scan of the same Parquet files by the same engine. Prints one JSON
// object a measurement, then all as a table. The server is ours, on this machine, and fresh.
#include <arrow/record_batch.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/sql_client.h"
#include "base/check.h"
#include "bench/meter.h"
#include "bench/rows.h"
#include "client/admin.h"
#include "client/append_writer.h"
#include "client/socket_servers.h"
#include "client/upsert_writer.h"
#include "io/clock.h"
#include "io/loop.h"
#include "io/net.h"
#include "io/task.h"
#include "lake/lake_catalog.h"
#include "sql/duckdb_handles.h"

namespace sluice::bench {
namespace {

namespace duckdb = sql::duckdb;
using std::chrono::milliseconds;

struct Options {
  std::string bootstrap = "127.0.0.1:9123";
  std::string url = "http://127.0.0.1:9180";
  std::string warehouse;
  int64_t rows = 2'000'000;
  int64_t keys = 500'000;
  int32_t buckets = 4;
  int repeats = 7;
  int threads = 1;
  int server_pid = 0;
};

/// One line of the table.
struct Figure {
  std::string name;
  int64_t rows;
  double wall_s;
  double cpu_s;
};

class Figures {
 public:
  void Add(Figure figure) {
    std::printf("%s\n", nlohmann::json{{"workload", figure.name},
                                       {"rows", figure.rows},
                                       {"wall_s", figure.wall_s},
                                       {"cpu_s", figure.cpu_s},
                                       {"rows_per_cpu_s", PerCpuSecond(figure)}}
                            .dump()
                            .c_str());
    std::fflush(stdout);
    figures_.push_back(std::move(figure));
  }
  void PrintTable() const {
    std::printf("%-40s %12s %10s %10s %14s\n", "workload", "rows", "wall s", "CPU s", "rows/CPU s");
    for (const Figure& figure : figures_) {
      std::printf("%-40s %12lld %10.4f %10.4f %14.0f\n", figure.name.c_str(),
                  static_cast<long long>(figure.rows), figure.wall_s, figure.cpu_s,
                  PerCpuSecond(figure));
    }
  }

 private:
  static double PerCpuSecond(const Figure& figure) {
    return figure.cpu_s > 0 ? static_cast<double>(figure.rows) / figure.cpu_s : 0;
  }
  std::vector<Figure> figures_;
};

// --- into the lake ---

io::Task<Result<int64_t>> EndOfLog(io::Loop& loop, client::ClusterPtr cluster,
                                   types::TablePath path, Options options) {
  client::Admin admin(cluster);
  CO_ASSIGN_OR_RETURN(const auto info, co_await admin.GetTable(loop, path));
  std::vector<int32_t> buckets;
  for (int32_t bucket = 0; bucket < options.buckets; ++bucket) buckets.push_back(bucket);
  CO_ASSIGN_OR_RETURN(const auto ends,
                      co_await admin.ListOffsets(loop, path, info.table_id, std::nullopt, buckets,
                                                 client::OffsetType::kLatest, -1));
  int64_t rows = 0;
  for (const auto& [bucket, end] : ends) rows += end;
  co_return rows;
}

// Rows with ids in [from, to), `keys` of them different.
io::Task<Status> Write(io::Loop& loop, client::ClusterPtr cluster, types::TablePath path,
                       bool primary_key, int64_t from, int64_t to, int64_t keys) {
  constexpr int64_t kBatch = 10'000;
  client::WriterOptions writer_options;
  if (primary_key) {
    CO_ASSIGN_OR_RETURN(auto writer,
                        co_await client::UpsertWriter::Open(loop, cluster, path, writer_options));
    for (int64_t at = from; at < to; at += kBatch) {
      const auto batch = MakeRows(at % keys, kBatch);
      CO_RETURN_NOT_OK(co_await writer->Upsert(batch));
    }
    co_return co_await writer->Flush();
  }
  CO_ASSIGN_OR_RETURN(auto writer,
                      co_await client::AppendWriter::Open(loop, cluster, path, writer_options));
  for (int64_t at = from; at < to; at += kBatch) {
    const auto batch = MakeRows(at, kBatch);
    CO_RETURN_NOT_OK(co_await writer->Append(batch));
  }
  co_return co_await writer->Flush();
}

io::Task<Status> Alter(io::Loop& loop, client::ClusterPtr cluster, types::TablePath path,
                       std::string key, std::string value) {
  client::TableChange change;
  change.set[key] = value;
  client::Admin admin(cluster);
  co_return co_await admin.AlterTable(loop, path, std::move(change), false);
}

io::Task<Status> WaitForLake(io::Loop& loop, client::ClusterPtr cluster, types::TablePath path,
                             int64_t rows) {
  constexpr int kPollsMax = 60'000;
  client::Admin admin(cluster);
  for (int poll = 0; poll < kPollsMax; ++poll) {
    int64_t tiered = 0;
    const auto snapshot = co_await admin.GetLakeSnapshot(loop, path, std::nullopt, true);
    if (snapshot.ok()) {
      for (const auto& bucket : snapshot->buckets) tiered += bucket.log_end_offset;
    }
    if (tiered >= rows) co_return Status::OK();
    co_await io::Sleep(loop, milliseconds(10));
  }
  co_return Status::IOError("lake does not catch up table=", path.ToString());
}

// The log is filled first and the lake switched on then, so that only tiering is measured.
io::Task<Status> Tier(io::Loop& loop, client::ClusterPtr cluster, types::TablePath path,
                      bool primary_key, Options options, Figures* figures) {
  client::Admin admin(cluster);
  types::TableDescriptor descriptor;
  descriptor.schema = RowSchema(primary_key);
  descriptor.bucket_count = options.buckets;
  // What is there when the lake is switched on is tiered at once, what comes later stays in the
  // log.
  descriptor.properties["table.datalake.freshness"] = "1h";
  CO_RETURN_NOT_OK(co_await admin.CreateTable(loop, path, std::move(descriptor), false));
  CO_RETURN_NOT_OK(co_await Write(loop, cluster, path, primary_key, 0, options.rows, options.keys));
  CO_ASSIGN_OR_RETURN(const int64_t rows, co_await EndOfLog(loop, cluster, path, options));
  const Meter meter(options.server_pid);
  CO_RETURN_NOT_OK(co_await Alter(loop, cluster, path, "table.datalake.enabled", "true"));
  CO_RETURN_NOT_OK(co_await WaitForLake(loop, cluster, path, rows));
  figures->Add({primary_key ? "tier_keys" : "tier_append", rows, meter.wall(), meter.cpu()});
  co_return Status::OK();
}

// A tenth more rows that stay in the log, for half of the freshness at least.
io::Task<Status> AddTail(io::Loop& loop, client::ClusterPtr cluster, types::TablePath path,
                         bool primary_key, Options options) {
  co_return co_await Write(loop, cluster, path, primary_key, options.rows,
                           options.rows + options.rows / 10, options.keys);
}

// --- back from it ---

// The mean CPU time and the median wall time of some runs.
Status Measure(const std::string& name, int64_t rows, int pid, int repeats,
               const std::function<Status()>& run, Figures* figures) {
  RETURN_NOT_OK(run());  // The first one opens files.
  const double cpu = CpuSeconds(pid);
  std::vector<double> walls;
  for (int i = 0; i < repeats; ++i) {
    const double started = Seconds();
    RETURN_NOT_OK(run());
    walls.push_back(Seconds() - started);
  }
  std::ranges::sort(walls);
  figures->Add({name, rows, walls[walls.size() / 2], (CpuSeconds(pid) - cpu) / repeats});
  return Status::OK();
}

struct Question {
  const char* name;
  const char* text;  // Behind FROM.
  const char* select;
};
constexpr Question kQuestions[] = {
    {"count", "", "COUNT(*)"},
    {"sum", "", "SUM(quantity)"},
    {"filter", " WHERE quantity < 10 AND price > 1000", "COUNT(*)"},
    {"group", " GROUP BY quantity ORDER BY 1 LIMIT 1", "quantity, SUM(price)"},
};

Status AskServer(app::SqlRunner& client, const std::string& table, const std::string& name,
                 int64_t rows, const Options& options, Figures* figures) {
  for (const Question& question : kQuestions) {
    const std::string sql =
        std::string("SELECT ") + question.select + " FROM " + table + question.text;
    const auto run = [&] { return client.Run(sql, [](const nlohmann::json&) { return true; }); };
    RETURN_NOT_OK(Measure(name + "_" + question.name, rows, options.server_pid, options.repeats,
                          run, figures));
  }
  return Status::OK();
}

// The live files of the lake table, as a list for the engine, and the rows in them.
Result<std::pair<std::string, int64_t>> FilesOf(const types::TablePath& path,
                                                const Options& options) {
  ASSIGN_OR_RAISE(const auto lake,
                  lake::LakeCatalog::Open({.properties = {{"warehouse", options.warehouse}},
                                           .files = &io::LocalFileSystem(),
                                           .clock = &io::SystemClock(),
                                           .random = &io::SystemRandom(),
                                           .read_only = true}));
  ASSIGN_OR_RAISE(const auto table, lake->OpenTable(path));
  ASSIGN_OR_RAISE(const auto snapshot, table->LatestSnapshot());
  if (!snapshot.has_value()) return Status::IOError("lake table is empty");
  ASSIGN_OR_RAISE(const auto plan, table->Plan(*snapshot, {}));
  std::pair<std::string, int64_t> found{"read_parquet([", 0};
  for (const lake::LakeSplit& split : plan.splits) {
    for (const lake::LakeFile& file : split.files) {
      found.first += (found.second == 0 ? "'" : ", '") + file.path + "'";
      found.second += file.record_count;
    }
  }
  found.first += "])";
  return found;
}

/// The engine alone, which may read files by itself.
class PlainEngine {
 public:
  Status Open(int threads) {
    ASSIGN_OR_RAISE(api_, duckdb::LoadApi("libduckdb.so"));
    duckdb::Database raw = nullptr;
    char* message = nullptr;
    if (api_->open_ext(":memory:", &raw, nullptr, &message) != duckdb::State::kSuccess)
      return Status::IOError("query engine does not open, reason=", message);
    database_ = duckdb::Owned<duckdb::Database>(raw, api_->close);
    duckdb::Connection connection = nullptr;
    if (api_->connect(raw, &connection) != duckdb::State::kSuccess)
      return Status::IOError("query engine gives no connection");
    connection_ = duckdb::Owned<duckdb::Connection>(connection, api_->disconnect);
    return duckdb::Run(*api_, connection, "SET threads = " + std::to_string(threads));
  }
  Status Ask(const std::string& sql) const {
    ASSIGN_OR_RAISE(auto result, duckdb::Stream(*api_, connection_.get(), sql, {}));
    while (true) {
      ASSIGN_OR_RAISE(const auto chunk, result.Fetch({sql}));
      if (chunk.get() == nullptr) return Status::OK();
    }
  }

 private:
  const duckdb::Api* api_ = nullptr;
  duckdb::Owned<duckdb::Database> database_;
  duckdb::Owned<duckdb::Connection> connection_;
};

Status AskEngine(const types::TablePath& path, const std::string& name, const Options& options,
                 Figures* figures) {
  ASSIGN_OR_RAISE(const auto files, FilesOf(path, options));
  PlainEngine engine;
  RETURN_NOT_OK(engine.Open(options.threads));
  for (const Question& question : kQuestions) {
    const std::string sql =
        std::string("SELECT ") + question.select + " FROM " + files.first + question.text;
    const auto run = [&] { return engine.Ask(sql); };
    RETURN_NOT_OK(Measure(name + "_" + question.name, files.second, ::getpid(), options.repeats,
                          run, figures));
  }
  return Status::OK();
}

// Until upkeep, which follows a round, is through.
io::Task<Status> WaitForIdle(io::Loop& loop, int pid) {
  constexpr int kLooksMax = 120;
  double before = CpuSeconds(pid);
  for (int look = 0; look < kLooksMax; ++look) {
    co_await io::Sleep(loop, milliseconds(500));
    const double now = CpuSeconds(pid);
    if (now - before <= 0.02) break;
    before = now;
  }
  co_return Status::OK();
}

Status RunTable(io::Loop& loop, const client::ClusterPtr& cluster, app::SqlRunner& client,
                bool primary_key, const Options& options, Figures* figures) {
  const types::TablePath path{"fluss", primary_key ? "bench_lake_keys" : "bench_lake_append"};
  const std::string table = "`fluss`.`" + path.table + "`";
  const std::string kind = primary_key ? "keys" : "append";
  RETURN_NOT_OK(io::SyncWait(loop, Tier(loop, cluster, path, primary_key, options, figures)));
  RETURN_NOT_OK(io::SyncWait(loop, WaitForIdle(loop, options.server_pid)));
  const int64_t rows = primary_key ? std::min(options.keys, options.rows) : options.rows;
  RETURN_NOT_OK(AskEngine(path, "plain_scan_" + kind, options, figures));
  RETURN_NOT_OK(AskServer(client, table, "union_read_" + kind, rows, options, figures));
  RETURN_NOT_OK(io::SyncWait(loop, AddTail(loop, cluster, path, primary_key, options)));
  RETURN_NOT_OK(io::SyncWait(loop, WaitForIdle(loop, options.server_pid)));
  return AskServer(client, table, "union_read_with_log_" + kind,
                   primary_key ? rows : rows + rows / 10, options, figures);
}

Status RunAll(const Options& options) {
  auto loops = io::LoopThreads::Start("bench", 1);
  client::SocketOptions socket_options;
  socket_options.bootstrap_servers = options.bootstrap;
  ASSIGN_OR_RAISE(const auto servers, client::SocketServers::Make(io::SystemNetwork(),
                                                                  {&loops->at(0)}, socket_options));
  const auto cluster = client::Cluster::Make(servers, {});
  ASSIGN_OR_RAISE(const auto client, app::SqlClient::Connect(options.url));
  Figures figures;
  for (const bool primary_key : {false, true})
    RETURN_NOT_OK(RunTable(loops->at(0), cluster, *client, primary_key, options, &figures));
  figures.PrintTable();
  return Status::OK();
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Tiering and union reads");
  app.add_option("--bootstrap-servers", options.bootstrap)->capture_default_str();
  app.add_option("--url", options.url, "The server's HTTP")->capture_default_str();
  app.add_option("--warehouse", options.warehouse, "The server's warehouse")->required();
  app.add_option("--rows", options.rows)->capture_default_str();
  app.add_option("--keys", options.keys)->capture_default_str();
  app.add_option("--buckets", options.buckets)->capture_default_str();
  app.add_option("--repeats", options.repeats, "Runs of a query")->capture_default_str();
  app.add_option("--threads", options.threads, "Of the plain scan; the server's sql.threads")
      ->capture_default_str();
  app.add_option("--server-pid", options.server_pid, "Process whose CPU time is read")->required();
  CLI11_PARSE(app, argc, argv);
  const Status status = RunAll(options);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) { return sluice::bench::Main(argc, argv); }
