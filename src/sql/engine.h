#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"

namespace sluice::sql {

struct EngineOptions {
  /// Path of libduckdb.so; empty = the environment's SLUICE_DUCKDB_LIBRARY, then the loader's
  /// search (run path of the binary, lib/ in a release), then the copy that the build knows.
  std::string library;
  int threads = 1;  ///< Cores − 1 in the server.
  uint64_t memory_bytes_max = 1ull << 30;
  std::string temp_folder;  ///< Where a query spills; empty = it may not.
};

/// The query engine of a process: DuckDB, loaded and started by the first statement that needs it.
///
/// Threads: any.
class Engine {
 public:
  explicit Engine(EngineOptions options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const EngineOptions& options() const { return options_; }
  /// True once a statement has started it.
  bool started() const;

  struct State;
  /// For the module itself: load and open at the first call. Errors: a Status that names the
  /// library's path.
  Result<State*> Start();

 private:
  EngineOptions options_;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::sql
