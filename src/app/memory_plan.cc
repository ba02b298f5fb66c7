#include "app/memory_plan.h"

#include <fmt/format.h>

namespace sluice::app {

MemoryPlan MemoryPlan::Cut(uint64_t limit_bytes) {
  MemoryPlan plan;
  plan.limit_bytes = limit_bytes;
  plan.request_bytes = limit_bytes / 8;
  plan.call_bytes = limit_bytes / 8;  // Bodies in mailboxes count among the requests too.
  plan.mailbox_bytes = limit_bytes / 8;
  plan.write_back_bytes = limit_bytes / 8;
  plan.block_cache_bytes = limit_bytes / 8;
  plan.tiering_bytes = limit_bytes / 8;
  plan.sql_bytes =
      limit_bytes / 4;  // The last eighth is RocksDB's memtables and what the allocator keeps.
  return plan;
}

std::string MemoryPlan::ToString() const {
  constexpr uint64_t kMiB = 1 << 20;
  return fmt::format(
      "limit={} MiB requests={} calls={} mailboxes={} write_back={} block_cache={} tiering={} "
      "sql={}",
      limit_bytes / kMiB, request_bytes / kMiB, call_bytes / kMiB, mailbox_bytes / kMiB,
      write_back_bytes / kMiB, block_cache_bytes / kMiB, tiering_bytes / kMiB, sql_bytes / kMiB);
}

}  // namespace sluice::app
