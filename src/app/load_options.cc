#include "app/load_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace sluice::app {

std::optional<int> ParseLoadOptions(std::vector<std::string> args, LoadOptions* out) {
  CLI::App parser("Write CSV and Parquet files into a table.", "sluice load");
  std::string delimiter = ",";
  bool no_header = false;
  std::vector<std::string> nulls;
  parser
      .add_option("--bootstrap-servers", out->bootstrap_servers,
                  "host:port[,host:port] of the cluster")
      ->required();
  parser.add_option("--table", out->table, "Table, as database.table")->required();
  parser.add_option("FILE", out->files, "Files to load, in order")->required();
  parser.add_option("--format", out->format, "csv or parquet; else by the ending of the name")
      ->check(CLI::IsMember({"csv", "parquet"}));
  parser.add_option("--delimiter", delimiter, "Between the fields of a CSV line");
  parser.add_flag("--no-header", no_header,
                  "The CSV file has no line of names: its columns are the table's");
  parser
      .add_option("--null", nulls,
                  "Text that stands for NULL in CSV, may be repeated (default: empty and NA)")
      ->allow_extra_args(false)
      ->take_all();
  parser.add_flag("--delete", out->remove, "Delete the rows with these primary keys");
  parser.add_flag("--partial", out->partial, "Update only the columns that the file has");
  parser.add_flag("--ignore-extra", out->ignore_extra,
                  "Leave out columns that the table does not have");
  parser
      .add_option("--batch-rows", out->batch_rows,
                  "Send batches of at most so many rows (default: by size)")
      ->check(CLI::NonNegativeNumber);
  parser
      .add_option("--rows-per-second", out->rows_per_second,
                  "Write at this pace (default: as fast as the server takes the rows)")
      ->check(CLI::NonNegativeNumber);
  parser.add_flag("--json", out->json, "Print the outcome as one JSON line on standard output");
  parser.add_flag("--quiet", out->quiet, "Show no progress");
  AddClientOptions(&out->client, &parser);
  std::ranges::reverse(args);  // As the parser wants them.
  try {
    parser.parse(std::move(args));
    if (delimiter == "\\t") delimiter = "\t";
    if (delimiter.size() != 1) throw CLI::ValidationError("--delimiter", "one character is needed");
  } catch (const CLI::ParseError& error) {
    return parser.exit(error);
  }
  out->delimiter = delimiter[0];
  out->header = !no_header;
  out->nulls = parser.count("--null") > 0 ? nulls : std::vector<std::string>{"", "NA"};
  return std::nullopt;
}

}  // namespace sluice::app
