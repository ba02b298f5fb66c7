#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/admin.h"
#include "app/cluster_view.h"
#include "app/command_line.h"
#include "app/sql_printer.h"
#include "app/visible_text.h"
#include "base/json_text.h"
#include "types/table_options.h"

namespace sluice::app {
namespace {

using Json = nlohmann::ordered_json;

struct DescribeOptions {
  std::string bootstrap_servers;
  std::vector<std::string> tables;
  std::string format = "table";
  ClientOptions client;
};

// The exit code of a command line that was answered by itself (help, a mistake).
std::optional<int> ParseDescribeOptions(const std::string& text, const std::string& name,
                                        const std::vector<std::string>& arguments,
                                        DescribeOptions* out) {
  CLI::App parser(text, name);
  parser
      .add_option("--bootstrap-servers", out->bootstrap_servers,
                  "host:port[,host:port] of the cluster")
      ->required();
  parser.add_option("TABLE", out->tables, "Tables, as database.table");
  parser.add_option("--format", out->format, "table or json")
      ->check(CLI::IsMember({"table", "json"}));
  AddClientOptions(&out->client, &parser);
  return ParseCommandLine(arguments, &parser);
}

// Prints objects of the same members as a table.
Status PrintTable(const std::string& title, const Json& rows) {
  if (!title.empty()) std::cout << title << "\n";
  if (rows.empty()) {
    std::cout << "none\n\n";
    return Status::OK();
  }
  ASSIGN_OR_RAISE(const auto printer, SqlPrinter::Make("table", std::cout));
  nlohmann::json columns = nlohmann::json::array();
  for (const auto& [name, value] : rows[0].items()) {
    // Columns of numbers stand to the right.
    bool numbers = true;
    for (const Json& row : rows) numbers &= row[name].is_number() || row[name].is_null();
    columns.push_back({{"name", name}, {"type", numbers ? "BIGINT" : "STRING"}});
  }
  printer->Columns(columns);
  for (const Json& row : rows) {
    nlohmann::json cells = nlohmann::json::array();
    for (const auto& [name, value] : row.items()) cells.push_back(nlohmann::json(value));
    RETURN_NOT_OK(printer->Rows(nlohmann::json::array({cells})));
  }
  printer->End(-1);
  std::cout << "\n";
  return Status::OK();
}

void PrintJson(const Json& json) { std::cout << JsonText(json, 2) << "\n"; }

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value.has_value() ? Json(*value) : Json();
}

Json ServerRow(const char* role, const client::ServerInfo& server) {
  return {{"role", role},
          {"id", server.node.id},
          {"host", server.node.host},
          {"port", server.node.port},
          {"listeners", server.listeners.empty() ? Json() : Json(server.listeners)}};
}

Json ServerRows(const client::ClusterInfo& cluster) {
  Json rows = Json::array();
  if (cluster.coordinator) rows.push_back(ServerRow("coordinator", *cluster.coordinator));
  for (const client::ServerInfo& server : cluster.tablet_servers)
    rows.push_back(ServerRow("tablet server", server));
  return rows;
}

Json TableRow(const TableView& table) {
  const types::TableDescriptor& descriptor = table.info.descriptor;
  return {{"table", table.info.path.ToString()},
          {"table_id", table.info.table_id},
          {"kind", descriptor.has_primary_key() ? "primary key" : "log"},
          {"buckets", descriptor.bucket_count.value_or(1)},
          {"partitions", descriptor.partitioned() ? Json(table.partitions.size()) : Json()},
          {"schema_id", table.info.schema_id},
          {"lake", types::LakeEnabled(descriptor)}};
}

Json BucketRow(const BucketView& bucket, const TableView& table) {
  Json row = Json::object();
  row["table"] = table.info.path.ToString();
  row["partition"] = bucket.partition.empty() ? Json() : Json(bucket.partition);
  row["partition_id"] = OrNull(bucket.partition_id);
  row["bucket"] = bucket.bucket;
  row["leader"] = bucket.leader < 0 ? Json() : Json(bucket.leader);
  row["log_start"] = OrNull(bucket.log_start);
  row["high_watermark"] = OrNull(bucket.high_watermark);
  row["log_end"] = OrNull(bucket.log_end);
  row["lake_offset"] = OrNull(bucket.lake_offset);
  row["error"] = bucket.error.empty() ? Json() : Json(bucket.error);
  return row;
}

Json BucketRows(const TableView& table) {
  Json rows = Json::array();
  for (const BucketView& bucket : table.buckets) rows.push_back(BucketRow(bucket, table));
  return rows;
}

bool AnyError(const TableView& table) {
  return std::ranges::any_of(table.buckets,
                             [](const BucketView& bucket) { return !bucket.error.empty(); });
}

Json ColumnRows(const TableView& table) {
  Json rows = Json::array();
  for (const auto& [schema_id, schema] : table.schemas) {
    for (const types::Column& column : schema->columns) {
      rows.push_back({{"schema_id", schema_id},
                      {"column_id", column.id},
                      {"column", column.name},
                      {"type", column.type->ToString()},
                      {"comment", column.comment.empty() ? Json() : Json(column.comment)}});
    }
  }
  return rows;
}

Json SchemasOf(const TableView& table) {
  Json schemas = Json::array();
  for (const auto& [schema_id, schema] : table.schemas) {
    schemas.push_back(
        {{"schema_id", schema_id},
         {"schema", Json::parse(schema->ToJson(), nullptr, /*allow_exceptions=*/false)}});
  }
  return schemas;
}

Json PartitionRows(const TableView& table) {
  Json rows = Json::array();
  for (const types::PartitionInfo& partition : table.partitions)
    rows.push_back({{"partition", partition.Name()}, {"partition_id", partition.partition_id}});
  return rows;
}

Json TableJson(const TableView& table) {
  Json json = TableRow(table);
  json["partitions"] = PartitionRows(table);
  json["created_ms"] = table.info.created_ms;
  json["modified_ms"] = table.info.modified_ms;
  json["remote_data_dir"] = table.info.remote_data_dir;
  json["lake_snapshot_id"] = OrNull(table.lake_snapshot_id);
  json["descriptor"] =
      Json::parse(table.info.descriptor.ToJson(), nullptr, /*allow_exceptions=*/false);
  json["schemas"] = SchemasOf(table);
  json["offsets"] = BucketRows(table);
  return json;
}

std::string CommaJoined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

Status PrintOneTable(const TableView& table) {
  const types::TableDescriptor& descriptor = table.info.descriptor;
  Json facts = Json::array();
  const auto add = [&facts](const std::string& name, Json value) {
    facts.push_back({{"name", name}, {"value", value.is_string() ? value : Json(value.dump())}});
  };
  const Json row = TableRow(table);
  for (const auto& [name, value] : row.items()) add(name, value);
  add("lake_snapshot_id", OrNull(table.lake_snapshot_id));
  add("primary_key", CommaJoined(descriptor.schema.primary_key));
  add("bucket_keys", CommaJoined(descriptor.bucket_keys));
  add("partition_keys", CommaJoined(descriptor.partition_keys));
  add("comment", descriptor.comment);
  for (const auto* properties : {&descriptor.properties, &descriptor.custom_properties}) {
    for (const auto& [key, value] : *properties) add(key, value);
  }
  RETURN_NOT_OK(PrintTable("TABLE " + table.info.path.ToString(), facts));
  RETURN_NOT_OK(PrintTable("COLUMNS, of every schema", ColumnRows(table)));
  if (descriptor.partitioned()) RETURN_NOT_OK(PrintTable("PARTITIONS", PartitionRows(table)));
  return PrintTable("BUCKETS", BucketRows(table));
}

// Whether all was told.
Result<bool> DescribeTables(ClusterView& view, const DescribeOptions& options) {
  bool whole = true;
  Json tables = Json::array();
  for (const std::string& name : options.tables) {
    ASSIGN_OR_RAISE(TableView table, view.TableWithBuckets(PathOf(name)));
    RETURN_NOT_OK(view.AddSchemas(&table));
    whole &= !AnyError(table);
    if (options.format == "json") {
      tables.push_back(TableJson(table));
    } else {
      RETURN_NOT_OK(PrintOneTable(table));
    }
  }
  if (options.format == "json") PrintJson({{"tables", tables}});
  return whole;
}

// The tables of the cluster; those that are dropped meanwhile are left out.
Result<std::vector<TableView>> AllTables(ClusterView& view, bool with_buckets) {
  std::vector<TableView> tables;
  ASSIGN_OR_RAISE(const auto paths, view.Tables());
  for (const types::TablePath& path : paths) {
    auto table = with_buckets ? view.TableWithBuckets(path) : view.Table(path);
    if (CodeOf(table.status()) == ErrorCode::kTableNotExist) continue;
    RETURN_NOT_OK(table);
    tables.push_back(*std::move(table));
  }
  return tables;
}

Result<bool> DescribeCluster(ClusterView& view, const DescribeOptions& options) {
  ASSIGN_OR_RAISE(const auto cluster, view.Servers());
  ASSIGN_OR_RAISE(const auto configs, view.Configs());
  ASSIGN_OR_RAISE(const auto tables, AllTables(view, /*with_buckets=*/false));
  Json table_rows = Json::array(), config_rows = Json::array();
  for (const TableView& table : tables) table_rows.push_back(TableRow(table));
  for (const auto& [key, value] : configs) config_rows.push_back({{"key", key}, {"value", value}});
  if (options.format == "json") {
    PrintJson({{"servers", ServerRows(cluster)}, {"configs", configs}, {"tables", table_rows}});
    return true;
  }
  RETURN_NOT_OK(PrintTable("SERVERS", ServerRows(cluster)));
  RETURN_NOT_OK(PrintTable("SETTINGS", config_rows));
  RETURN_NOT_OK(PrintTable("TABLES", table_rows));
  return true;
}

Result<bool> PrintOffsets(ClusterView& view, const DescribeOptions& options) {
  std::vector<TableView> tables;
  for (const std::string& name : options.tables) {
    ASSIGN_OR_RAISE(TableView table, view.TableWithBuckets(PathOf(name)));
    tables.push_back(std::move(table));
  }
  if (options.tables.empty()) {
    ASSIGN_OR_RAISE(tables, AllTables(view, /*with_buckets=*/true));
  }
  bool whole = true;
  Json rows = Json::array();
  for (const TableView& table : tables) {
    whole &= !AnyError(table);
    for (Json& row : BucketRows(table)) rows.push_back(std::move(row));
  }
  if (options.format == "table") {
    RETURN_NOT_OK(PrintTable("", rows));
  } else {
    PrintJson({{"offsets", rows}});
  }
  return whole;
}

int RunOnCluster(const char* name, const DescribeOptions& options,
                 Result<bool> (*run)(ClusterView&, const DescribeOptions&)) {
  auto view = ClusterView::Connect(options.bootstrap_servers, options.client);
  const Result<bool> whole = view.ok() ? run(**view, options) : Result<bool>(view.status());
  std::cout.flush();
  if (whole.ok()) return *whole ? 0 : 1;
  std::fprintf(stderr, "%s: %s\n", name, VisibleText(whole.status().message()).c_str());
  return 1;
}

}  // namespace

int DescribeMain(const std::vector<std::string>& args) {
  DescribeOptions options;
  const auto answered = ParseDescribeOptions(
      "Show the servers, settings and tables of a cluster; or all that there is to know of the "
      "tables named.",
      "sluice admin describe", args, &options);
  if (answered) return *answered;
  return RunOnCluster("sluice admin describe", options,
                      options.tables.empty() ? &DescribeCluster : &DescribeTables);
}

int OffsetsMain(const std::vector<std::string>& args) {
  DescribeOptions options;
  const auto answered = ParseDescribeOptions(
      "Show where the log of every bucket begins and ends, and how far the lake has it; of all "
      "tables, or of those named.",
      "sluice admin offsets", args, &options);
  if (answered) return *answered;
  return RunOnCluster("sluice admin offsets", options, &PrintOffsets);
}

}  // namespace sluice::app
