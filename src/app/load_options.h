#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/client_options.h"

namespace sluice::app {

/// The command line of `sluice load`.
struct LoadOptions {
  std::string bootstrap_servers;
  std::string table;  ///< "db.t", or "t" in the database fluss.
  std::vector<std::string> files;
  std::string format;  ///< "csv", "parquet", empty = by the ending of the name.
  char delimiter = ',';
  bool header = true;  ///< The first line names the columns; else they are the table's in order.
  std::vector<std::string> nulls;  ///< Texts of a CSV file that stand for NULL.
  bool remove = false;             ///< Delete by primary key.
  bool partial = false;            ///< Change only the columns that the file has.
  bool ignore_extra = false;       ///< Leave out columns that the table does not have.
  int64_t batch_rows = 0;          ///< Rows of a batch at most, 0 = by size.
  int64_t rows_per_second = 0;     ///< Pace of the writes, 0 = as fast as the server takes them.
  bool json = false;               ///< Print the outcome as one JSON line.
  bool quiet = false;              ///< No progress.
  ClientOptions client;            ///< How to log in.
};

/// The exit code of a command line that was answered by itself (help, a mistake); nothing when it
/// is good.
std::optional<int> ParseLoadOptions(std::vector<std::string> args, LoadOptions* out);

}  // namespace sluice::app
