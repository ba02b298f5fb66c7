// Load over the wire with our own client: append, scan, projected scan, upsert, lookup, and
// append-to-visible time. Prints one JSON object a workload. With --server-pid the server's CPU
// time is read from /proc.
#include <arrow/record_batch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "base/check.h"
#include "bench/meter.h"
#include "bench/rows.h"
#include "client/admin.h"
#include "client/append_writer.h"
#include "client/log_scanner.h"
#include "client/lookuper.h"
#include "client/socket_servers.h"
#include "client/upsert_writer.h"
#include "io/loop.h"
#include "io/net.h"
#include "io/task.h"

namespace sluice::bench {
namespace {

using std::chrono::milliseconds;

struct Options {
  std::string bootstrap = "127.0.0.1:9123";
  std::string workloads = "append,scan,scan1,upsert,lookup,tail";
  int64_t rows = 1'000'000;
  int64_t keys = 200'000;
  int32_t buckets = 4;
  std::string compression = "ZSTD";
  int server_pid = 0;
};

std::string Percentiles(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](double part) {
    return seconds[std::min(seconds.size() - 1,
                            static_cast<size_t>(part * static_cast<double>(seconds.size())))] *
           1e3;
  };
  char text[160];
  std::snprintf(text, sizeof(text),
                ",\"p50_ms\":%.3f,\"p95_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f", at(0.5),
                at(0.95), at(0.99), seconds.back() * 1e3);
  return text;
}

io::Task<Status> MakeTable(io::Loop& loop, client::ClusterPtr cluster, types::TablePath path,
                           bool primary_key, Options options) {
  client::Admin admin(cluster);
  CO_RETURN_NOT_OK(co_await admin.DropTable(loop, path, true));
  types::TableDescriptor descriptor;
  descriptor.schema = RowSchema(primary_key);
  descriptor.bucket_count = options.buckets;
  descriptor.properties["table.log.arrow.compression.type"] = options.compression;
  co_return co_await admin.CreateTable(loop, path, std::move(descriptor), false);
}

io::Task<Status> Append(io::Loop& loop, client::ClusterPtr cluster, types::TablePath path,
                        Options options) {
  CO_RETURN_NOT_OK(co_await MakeTable(loop, cluster, path, false, options));
  client::WriterOptions writer_options;
  CO_ASSIGN_OR_RETURN(auto writer,
                      co_await client::AppendWriter::Open(loop, cluster, path, writer_options));
  const auto batch = MakeRows(0, 10'000);
  const Meter meter(options.server_pid);
  int64_t sent = 0;
  for (; sent < options.rows; sent += batch->num_rows())
    CO_RETURN_NOT_OK(co_await writer->Append(batch));
  CO_RETURN_NOT_OK(co_await writer->Flush());
  meter.Report("append_" + options.compression, writer->counts().rows_acked);
  co_return Status::OK();
}

io::Task<Status> Scan(io::Loop& loop, client::ClusterPtr cluster, types::TablePath path,
                      Options options, std::vector<std::string> projection) {
  client::LogScannerOptions scan_options;
  scan_options.projection = projection;
  CO_ASSIGN_OR_RETURN(auto scanner,
                      co_await client::LogScanner::Open(loop, cluster, path, scan_options));
  client::Admin admin(cluster);
  const int64_t table_id = scanner->table().info.table_id;
  std::vector<int32_t> buckets;
  for (int32_t bucket = 0; bucket < options.buckets; ++bucket) buckets.push_back(bucket);
  CO_ASSIGN_OR_RETURN(const auto ends,
                      co_await admin.ListOffsets(loop, path, table_id, std::nullopt, buckets,
                                                 client::OffsetType::kLatest, -1));
  int64_t wanted = 0;
  for (const auto& [bucket, end] : ends) wanted += end;
  const Meter meter(options.server_pid);
  for (const int32_t bucket : buckets) scanner->Subscribe({table_id, std::nullopt, bucket}, 0);
  int64_t seen = 0;
  while (seen < wanted) {
    CO_ASSIGN_OR_RETURN(const auto batches, co_await scanner->Poll(milliseconds(5000)));
    if (batches.empty()) co_return Status::IOError("scan stalled seen=", seen, " wanted=", wanted);
    for (const auto& batch : batches) seen += batch.rows->num_rows();
  }
  meter.Report(projection.empty() ? "scan_full" : "scan_1_of_10", seen);
  co_return Status::OK();
}

io::Task<Status> Upsert(io::Loop& loop, client::ClusterPtr cluster, types::TablePath path,
                        Options options) {
  CO_RETURN_NOT_OK(co_await MakeTable(loop, cluster, path, true, options));
  client::WriterOptions writer_options;
  CO_ASSIGN_OR_RETURN(auto writer,
                      co_await client::UpsertWriter::Open(loop, cluster, path, writer_options));
  const Meter meter(options.server_pid);
  for (int64_t sent = 0; sent < options.rows; sent += 10'000) {
    const auto batch = MakeRows(sent % options.keys, 10'000);
    CO_RETURN_NOT_OK(co_await writer->Upsert(batch));
  }
  CO_RETURN_NOT_OK(co_await writer->Flush());
  meter.Report("upsert", writer->counts().rows_acked);
  co_return Status::OK();
}

io::Task<Status> Lookup(io::Loop& loop, client::ClusterPtr cluster, types::TablePath path,
                        Options options) {
  CO_ASSIGN_OR_RETURN(auto lookuper, co_await client::Lookuper::Open(loop, cluster, path));
  const int64_t count = std::min<int64_t>(options.keys, options.rows);
  const int64_t per_call = 64;
  std::vector<double> taken;
  int64_t found = 0;
  const Meter meter(options.server_pid);
  for (int64_t from = 0; from + per_call <= count; from += per_call) {
    const auto keys =
        MakeRows(from * 7919 % (count - per_call + 1), per_call)->SelectColumns({0}).ValueOrDie();
    const double started = Seconds();
    CO_ASSIGN_OR_RETURN(const auto rows, co_await lookuper->Lookup(loop, keys));
    taken.push_back(Seconds() - started);
    for (const auto& of_key : rows.of_key) found += static_cast<int64_t>(of_key.size());
  }
  meter.Report("lookup_64", found, Percentiles(taken));
  co_return Status::OK();
}

// A reader that tails the table while rows come in one by one; the time from before the append to
// after the poll.
io::Task<Status> Tail(io::Loop& loop, client::ClusterPtr cluster, types::TablePath path,
                      Options options) {
  Options one = options;
  one.buckets = 1;
  CO_RETURN_NOT_OK(co_await MakeTable(loop, cluster, path, false, one));
  client::WriterOptions writer_options;
  writer_options.linger = milliseconds(0);
  CO_ASSIGN_OR_RETURN(auto writer,
                      co_await client::AppendWriter::Open(loop, cluster, path, writer_options));
  client::LogScannerOptions scan_options;
  CO_ASSIGN_OR_RETURN(auto scanner,
                      co_await client::LogScanner::Open(loop, cluster, path, scan_options));
  scanner->Subscribe({scanner->table().info.table_id, std::nullopt, 0}, 0);
  std::vector<double> taken;
  const Meter meter(options.server_pid);
  for (int64_t i = 0; i < 2000; ++i) {
    const auto row = MakeRows(i, 1);
    const double started = Seconds();
    CO_RETURN_NOT_OK(co_await writer->Append(row));
    CO_ASSIGN_OR_RETURN(const auto batches, co_await scanner->Poll(milliseconds(5000)));
    if (batches.empty()) co_return Status::IOError("the tail saw nothing for 5 s");
    taken.push_back(Seconds() - started);
    co_await io::Sleep(loop, milliseconds(1));
  }
  meter.Report("append_to_visible", static_cast<int64_t>(taken.size()), Percentiles(taken));
  co_return Status::OK();
}

io::Task<Status> RunAll(io::Loop& loop, client::ClusterPtr cluster, Options options) {
  const types::TablePath log_table{"fluss", "bench_log"};
  const types::TablePath key_table{"fluss", "bench_keys"};
  const types::TablePath tail_table{"fluss", "bench_tail"};
  const auto wants = [&](const std::string& name) {
    return ("," + options.workloads + ",").find("," + name + ",") != std::string::npos;
  };
  if (wants("append")) CO_RETURN_NOT_OK(co_await Append(loop, cluster, log_table, options));
  std::vector<std::string> all;
  if (wants("scan")) CO_RETURN_NOT_OK(co_await Scan(loop, cluster, log_table, options, all));
  std::vector<std::string> first = {"quantity"};
  if (wants("scan1")) CO_RETURN_NOT_OK(co_await Scan(loop, cluster, log_table, options, first));
  if (wants("upsert")) CO_RETURN_NOT_OK(co_await Upsert(loop, cluster, key_table, options));
  if (wants("lookup")) CO_RETURN_NOT_OK(co_await Lookup(loop, cluster, key_table, options));
  if (wants("tail")) CO_RETURN_NOT_OK(co_await Tail(loop, cluster, tail_table, options));
  co_return Status::OK();
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Load over the wire");
  app.add_option("--bootstrap-servers", options.bootstrap)->capture_default_str();
  app.add_option("--workloads", options.workloads)->capture_default_str();
  app.add_option("--rows", options.rows)->capture_default_str();
  app.add_option("--keys", options.keys)->capture_default_str();
  app.add_option("--buckets", options.buckets)->capture_default_str();
  app.add_option("--compression", options.compression, "ZSTD or NONE")->capture_default_str();
  app.add_option("--server-pid", options.server_pid, "Process whose CPU time is read");
  CLI11_PARSE(app, argc, argv);
  auto loops = io::LoopThreads::Start("bench", 1);
  client::SocketOptions socket_options;
  socket_options.bootstrap_servers = options.bootstrap;
  auto servers = client::SocketServers::Make(io::SystemNetwork(), {&loops->at(0)}, socket_options);
  if (!servers.ok()) {
    std::fprintf(stderr, "%s\n", servers.status().ToString().c_str());
    return 2;
  }
  auto cluster = client::Cluster::Make(*servers, {});
  const Status status = io::SyncWait(loops->at(0), RunAll(loops->at(0), cluster, options));
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) { return sluice::bench::Main(argc, argv); }
