#pragma once
#include <cstdint>
#include <string>

namespace sluice::app {

/// The named shares of server.memory.limit. What is not named (code, stacks, small things) comes on
/// top.
struct MemoryPlan {
  uint64_t limit_bytes = 0;
  uint64_t request_bytes = 0;  ///< Bodies of requests under way.
  uint64_t call_bytes = 0;     ///< What they hold beside them: large answers until they are sent.
  uint64_t mailbox_bytes = 0;  ///< Work that waits for shards, all together.
  uint64_t write_back_bytes =
      0;  ///< Keys not yet in RocksDB, all buckets; puts are refused beyond.
  uint64_t block_cache_bytes = 0;
  uint64_t tiering_bytes = 0;
  /// Five eighths for the engine, two for rows that queries keep outside of it, one for rows on
  /// their way to it.
  uint64_t sql_bytes = 0;

  static MemoryPlan Cut(uint64_t limit_bytes);
  /// One line for the log.
  std::string ToString() const;
};

}  // namespace sluice::app
